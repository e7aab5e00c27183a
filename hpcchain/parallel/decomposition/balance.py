"""When sectors are moved, and for what costs: measured work is partly chance, which is not to be followed.

A rank's cost since the last move is a sum over the segments that it has made, two at a time in a contact. With few of
them ranks differ by chance alone, and sectors that followed it would be moved for ever. So costs are compared when
enough segments have been made, and what they differ by is reduced by what chance would do (the positive-part
estimator of James and Stein, 1961); while more than half of it is chance, or little is left, measuring goes on.

Processor seconds also differ by what else a machine has to do for a while. Sectors follow them only when a second
measurement, begun after the first, says the same. And a move has its price: it is made when as much time has been lost
without it, so that what is spent on moves is never more than what was lost for want of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hpcchain.parallel.exchange import Exchange

ALIKE = 0.5  # least correlation of two measurements that say the same
CLEAR = 0.5  # least part of the differences that chance does not explain
UNEVEN = 1.04  # cost of a rank over the mean, beyond chance, at which sectors are moved
UNEVEN_TIME = 1.08  # the same of processor seconds, which differ by what else processors and their caches have to do
ENOUGH = 600.0  # segments per rank that say something
TOGETHER = 2.0  # segments that one contact makes: as good as one for telling costs apart
STALE = 40.0 * ENOUGH  # segments per rank after which measuring begins anew: by then molecules have moved
SETTLING = 4  # windows that say nothing of what molecules cost: kernels are loaded, and lists grow
FIRST_LOOK, LAST_LOOK = 8, 256  # windows between two looks: more and more of them while nothing is to be done


class Balance:
    """Decides between windows whether sectors are to be moved; the same on all ranks.

    Parameters
    ----------
    comm : Exchange
    uneven : float
        Cost of a rank over the mean at which sectors are moved.
    twice : bool
        Whether two measurements have to say so.
    """

    def __init__(self, comm: Exchange, uneven: float = UNEVEN, twice: bool = False) -> None:
        self.comm, self.uneven, self.twice = comm, uneven, twice
        self.said = None
        self.begun = np.zeros(2)
        self.next_look, self.between = SETTLING, FIRST_LOOK

    def costs(self, windows: int, cost: float, segments: np.ndarray, price: float = 0.0) -> np.ndarray | None:
        """Return all ranks' costs that sectors are to be moved for, None for leaving them; collective.

        Parameters
        ----------
        windows : int
            Windows so far.
        cost : float
            What this rank's work has cost so far, in any unit.
        segments : int
            Segments that it has made so far.
        price : float
            What moving sectors has cost this rank, in the same unit.
        """
        if windows < self.next_look:
            return None
        now = np.array([cost, segments], dtype=np.float64)
        if windows == SETTLING:
            self._begin(windows, now)
            return None
        costs, segments, prices = np.array(self.comm.allgather([*(now - self.begun), price])).T
        part = beyond_chance(costs, segments)
        steady = costs.mean() + part * (costs - costs.mean())
        uneven = segments.mean() >= ENOUGH and part > CLEAR and imbalance(steady) > self.uneven
        if uneven and steady.max() - steady.mean() >= prices.max():
            self._begin(windows, now)
            return self._agreed(steady)
        if segments.mean() > STALE and costs.mean() * (self.uneven - 1.0) >= prices.max():
            self._begin(windows, now)
        elif segments.mean() >= ENOUGH:
            self.between = min(2 * self.between, LAST_LOOK)
        self.next_look = windows + self.between
        return None

    def _agreed(self, steady: np.ndarray) -> np.ndarray | None:
        """Return what sectors are to follow now that a measurement has found them uneven, None to measure again."""
        if not self.twice:
            return steady
        before, self.said = self.said, steady / steady.mean()
        if before is None or alike(before, self.said) < ALIKE:
            return None
        both, self.said = 0.5 * (before + self.said), None
        return both

    def _begin(self, windows: int, now: np.ndarray) -> None:
        """Measure from now on."""
        self.begun, self.between = now, FIRST_LOOK
        self.next_look = windows + self.between


def alike(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of two measurements' differences from their means, -1 ... 1."""
    a, b = one - one.mean(), other - other.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def beyond_chance(costs: np.ndarray, segments: Any) -> float:
    """Return the part of the differences between costs that is not to be expected from chance, 0 ... 1.

    Parameters
    ----------
    costs, segments : (ranks,) float64 array
        Costs, and of how many segments each is the sum.
    """
    mean = costs.mean()
    chance = TOGETHER * mean * float(np.sum(costs)) / max(segments.mean(), 1.0)
    differ = float(np.sum((costs - mean) ** 2))
    return max(0.0, 1.0 - chance / differ) if differ > 0.0 else 0.0


def imbalance(costs: np.ndarray) -> float:
    """Return greatest over mean of the ranks' costs (at least 1), 1 where there are none."""
    return float(costs.max() * len(costs) / costs.sum()) if costs.sum() > 0.0 else 1.0
