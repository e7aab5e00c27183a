"""Contacts of each bead along its molecule, from the log of contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.statistics import BLOCKS, Sums
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind

KINDS = {"contacts_by_bead": 0, "wall_contacts_by_bead": 1}
"""Curve, and the kind of event that it counts."""


class ContactCounts:
    """How often the beads of each number in a molecule touch others, per time; whole counts, so sums are exact.

    Parameters
    ----------
    kinds : list of Kind
    times : (float, float)
        Events after the first and up to the last are counted [time].
    """

    def __init__(self, kinds: list[Kind], times: tuple[float, float]) -> None:
        self.kinds = kinds
        self.edges = np.linspace(*times, BLOCKS + 1)
        beads = sum(kind.beads.size for kind in kinds)
        self._kind, self._group, self._in_molecule = (np.zeros(beads, dtype=np.int64) for _ in range(3))
        for number, kind in enumerate(kinds):
            group = np.repeat(np.arange(len(kind.bounds) - 1), np.diff(kind.bounds))
            self._kind[kind.beads], self._group[kind.beads] = number, group[:, None]
            self._in_molecule[kind.beads] = np.arange(kind.size)
        self.by_time = [np.zeros((len(KINDS), BLOCKS, kind.size), dtype=np.int64) for kind in kinds]
        self.by_group = [np.zeros((len(KINDS), len(kind.molecules), kind.size), dtype=np.int64) for kind in kinds]

    def add(self, table: np.ndarray) -> None:
        """Count a table of events."""
        block = np.searchsorted(self.edges, table["time"], side="left") - 1
        inside = (block >= 0) & (block < BLOCKS)
        for row, event in enumerate(KINDS.values()):
            chosen = inside & (table["kind"] == event)
            beads, when = table["bead"][chosen].ravel(), np.repeat(block[chosen], 2)
            real = (beads >= 0) & (beads < len(self._kind))
            beads, when = beads[real], when[real]
            for number in range(len(self.kinds)):
                own = self._kind[beads] == number
                in_molecule = self._in_molecule[beads[own]]
                np.add.at(self.by_time[number][row], (when[own], in_molecule), 1)
                np.add.at(self.by_group[number][row], (self._group[beads[own]], in_molecule), 1)

    def join(self, counts: list) -> None:
        """Add the counts of others, each (by_time, by_group)."""
        for by_time, by_group in counts:
            for mine, theirs in zip(self.by_time + self.by_group, by_time + by_group, strict=True):
                mine += theirs

    def result(self) -> list[Value | Curve]:
        """Return the contacts per time of the bead of each number; those with walls only where there are any."""
        found: list[Value | Curve] = []
        length = np.diff(self.edges)
        for number, kind in enumerate(self.kinds):
            for row, name in enumerate(KINDS):
                by_time, by_group = self.by_time[number][row], self.by_group[number][row]
                if row == 0 or by_time.any():
                    weight = length * len(kind.beads)
                    sums = Sums(by_time.astype(float), weight, by_group.astype(float), kind.molecules * length.sum())
                    value, error = sums.estimate(lambda x: x)
                    in_molecule = np.arange(float(kind.size))
                    found.append(Curve(name, kind.name, "1 / time", "bead", "", in_molecule, value, error))
        return found
