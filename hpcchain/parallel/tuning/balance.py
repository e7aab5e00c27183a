"""When sectors are moved, and for what costs: a rank costs a tenth more than the mean, in two looks one after another.

A rank's cost is a sum over the segments that it makes, two at a time in a contact. With few of them ranks differ by
chance alone, and sectors that followed it would be moved for ever. So a look goes on until it has seen enough segments
for what it says. It takes two, since processors also differ by what else a machine has to do for a while. Looks are
ever farther apart while nothing is to be done, or moves do not help: molecules that are too few have no even sectors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.parallel.exchange import Exchange

UNEVEN = 1.1  # cost of a rank over the mean at which sectors are moved
SURE = 4.0  # how many times what chance explains an imbalance has to be
TOGETHER = 2.0  # segments that one contact makes: as good as one for telling costs apart
ENOUGH = TOGETHER * (SURE / (UNEVEN - 1.0)) ** 2  # segments per rank that a look needs, unless all is clear
SETTLING = 4  # windows that say nothing of what molecules cost: kernels are loaded, and lists grow
FIRST_LOOK, LAST_LOOK = 4, 256  # windows of a look, at first and at last


class Balance:
    """Decides between windows whether sectors are to be moved; the same on all ranks."""

    def __init__(self, comm: Exchange) -> None:
        self.comm = comm
        self._begun = np.zeros(2)
        self._next_look, self._between = SETTLING, FIRST_LOOK
        self._before: np.ndarray | None = None  # costs of the look before, if they were uneven
        self._least = math.inf  # imbalance of those that sectors have been moved for since costs were even

    def observe(self, windows: int, cost: float, segments: int) -> np.ndarray | None:
        """Return all ranks' costs that sectors are to be moved for, None for leaving them; collective.

        Takes the number of windows so far, what this rank's work has cost in them, in any unit, and its segments.
        """
        if windows < self._next_look:
            return None
        now, costs = np.array([cost, segments], dtype=np.float64), None
        if windows > SETTLING:
            found, made = np.array(self.comm.allgather([*(now - self._begun)])).T
            chance = SURE * math.sqrt(TOGETHER / max(made.mean(), 1.0))
            uneven = imbalance(found) - 1.0 > max(UNEVEN - 1.0, chance)
            if not uneven and made.mean() < ENOUGH:
                self._next_look = windows + self._between
                return None
            costs = self._said(found if uneven else None)
        self._begun, self._next_look = now, windows + self._between
        return costs

    def _said(self, found: np.ndarray | None) -> np.ndarray | None:
        """Return what two looks have found uneven, None otherwise; choose how long the next look is."""
        before, self._before = self._before, found
        both = None if found is None or before is None else before + found
        if both is not None:
            self._before = None
            helped, self._least = imbalance(both) < self._least, min(imbalance(both), self._least)
            self._between = FIRST_LOOK if helped else min(2 * self._between, LAST_LOOK)
        elif found is None:
            self._between, self._least = min(2 * self._between, LAST_LOOK), math.inf
        return both


def imbalance(costs: np.ndarray) -> float:
    """Return greatest over mean of the ranks' costs (at least 1), 1 where there are none."""
    return float(costs.max() * len(costs) / costs.sum()) if costs.sum() > 0.0 else 1.0
