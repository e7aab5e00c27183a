"""What contacts have done so far in the engine of steps: counts, sums in whole units, and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.composition import centres_of
from hpcchain.sector.interface import EVENT_ROW, ROUGH_EVENT_ROW
from hpcchain.steps.contacts.clusters import dot

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.steps.contacts.inclusions import Solution
    from hpcchain.steps.friction.contact_dynamics import Outcome


class Tally:
    """Counts and adds up what contacts of this rank do.

    Parameters
    ----------
    composition : Composition
    quanta : (float, float, float)
        Units of virial, of impulses on walls, and of work (`sector.setup.allocate`).
    spins : bool
        Whether contacts make beads spin, so that the log has their impulses across normals.
    logs : bool
        Whether a log is kept.

    Attributes
    ----------
    counts : dict
        "contacts" and "wall_contacts" so far, of those that this rank solves.
    sums : list of int
        Over them (`sector.interface.Engine`), in units of `quanta`; work of walls and of fixed beads that move.
    """

    def __init__(self, composition: Composition, quanta: tuple[float, float, float], spins: bool, logs: bool) -> None:
        self.composition, self.quanta, self.logs = composition, quanta, logs
        self.event_row = ROUGH_EVENT_ROW if spins else EVENT_ROW
        self.counts = {"contacts": 0, "wall_contacts": 0}
        self.sums = [0] * L.SUMS
        self.log: list[tuple] = []  # time, contacts (n, 2), impulses (n,) along normals, (n, 3) across or 0.0

    def count(
        self, one: Solution | Outcome, impulse: np.ndarray, time: float, across: np.ndarray | None = None
    ) -> None:
        """Count contacts of a step with impulses (n,) along normals, and what these do.

        `across`: parts (n, 3) of impulses that are not along normals.
        """
        acts, wall = impulse > 0.0, one.geometry.wall
        self.counts["contacts"] += int(np.count_nonzero(acts & ~wall))
        self.counts["wall_contacts"] += int(np.count_nonzero(acts & wall))
        self.add(one, impulse, acts, time, across)

    def add(
        self,
        one: Solution | Outcome,
        impulse: np.ndarray,
        acts: np.ndarray,
        time: float,
        across: np.ndarray | None = None,
    ) -> None:
        """Add what impulses of those contacts that act (n,) do: virial, impulses on walls, work, rows of the log."""
        if not acts.any():
            return
        pool, geometry = one.pool, one.geometry
        mass = self.composition.prototypes.mass[self.composition.prototype_of(pool.ids)]
        lever = geometry.lever(pool.position, centres_of(pool.first, mass, pool.position))
        product = impulse * dot(one.normal, lever)
        virial = np.rint((product if across is None else product + dot(across, lever)) / self.quanta[0])
        self.sums[L.SUM_VIRIAL] += int(virial[acts].sum())
        self.sums[L.SUM_WORK] += int(np.rint(self._work(one, impulse, across)[acts] / self.quanta[2]).sum())
        for axis in range(3):
            mine = acts & ((geometry.pairs[:, 1] == -1 - axis) | (geometry.pairs[:, 1] == -4 - axis))
            self.sums[L.SUM_WALL_IMPULSE + axis] += int(np.rint(impulse[mine] / self.quanta[1]).sum())
        if self.logs:
            self.log.append((time, geometry.pairs[acts], impulse[acts], 0.0 if across is None else across[acts]))

    def _work(self, one: Solution | Outcome, impulse: np.ndarray, across: np.ndarray | None) -> np.ndarray:
        """Return the work (n,) of walls and fixed beads that move, with impulses as `add` takes them."""
        pool, geometry = one.pool, one.geometry
        whole = impulse[:, None] * one.normal + (0.0 if across is None else across)
        work = impulse * geometry.moving + dot(whole, geometry.sliding)
        fixed = self.composition.prototypes.fixed[self.composition.prototype_of(pool.ids)]
        if fixed.any():
            pace = np.where(fixed[:, None], pool.velocity, 0.0)
            mate = np.where(geometry.wall[:, None], 0.0, pace[geometry.other])
            work = work + dot(whole, mate) - dot(whole, pace[geometry.one])
        return work

    def drained(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of `event_row`."""
        rows = np.empty(sum(len(pairs) for _, pairs, *_ in self.log), dtype=self.event_row)
        at = 0
        for time, pairs, impulse, across in self.log:
            part = rows[at : at + len(pairs)]
            part["time"], part["kind"], part["bead"], part["impulse"] = time, pairs[:, 1] < 0, pairs, impulse
            if self.event_row is ROUGH_EVENT_ROW:
                part["tangential"] = across
            at += len(pairs)
        self.log.clear()
        return rows
