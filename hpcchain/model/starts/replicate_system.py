"""A start copied along the axes of its box, made some molecules at a time: no array has all beads of the copies.

Molecules keep their kinds' order: those of the first kind come first, copy after copy, then those of the second.
A *unit*, so many molecules of one kind that they have about `UNIT` beads, is always made as a whole. So its arithmetic
is the same whoever makes it, and no bit of a bead depends on how beads are shared out among ranks or cut into chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import Composition, running_sum
from hpcchain.model.molecules.equal_shapes import groups_of, parted
from hpcchain.model.starts.constraints import EPS, degrees_of_freedom, project_group
from hpcchain.model.starts.overlap import bead_overlap

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Box

UNIT = 4096
NO_BEADS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class Unit:
    """Molecules first ... last - 1 of a class, counted within it over all copies; `bead` is their first bead's id."""

    kind: int
    first: int
    last: int
    bead: int


class Copies:
    """The copies of a start, n[k] of them along axis k.

    Parameters
    ----------
    box : Box
        Of one copy; periodic along each axis of more than one.
    one : Composition
        Of one copy.
    position : (N, 3) float64 array
        Of one copy's beads [length].
    numbers : (int, int, int)

    Attributes
    ----------
    box : Box
        Of all copies together; its lower corner is that of the first.
    composition : Composition
        Of all copies together.
    """

    def __init__(self, box: Box, one: Composition, position: np.ndarray, numbers: Sequence[int]) -> None:
        self._one, self._position, self._small, self._numbers = one, position, box, tuple(numbers)
        molecules = np.arange(one.molecules)
        self._members = parted(molecules, one.class_of(molecules))
        self._groups = groups_of(one.prototypes)
        self.count = math.prod(numbers)
        self.box = replace(box, size=box.size * np.array(numbers))
        self.composition = copied(one, self.count)

    def units(self, low: int, high: int) -> Iterator[Unit]:
        """Yield the units that beads low ... high - 1 are in, in the order of their beads."""
        first = self.composition.first_bead.tolist()
        for kind, group in enumerate(self._groups):
            size = len(group.mass)
            each, total = max(1, UNIT // size), len(self._members[kind]) * self.count
            begin, end = (min(max(bead, first[kind]), first[kind + 1]) - first[kind] for bead in (low, high))
            for number in range(begin // (each * size), -(-end // (each * size))) if begin < end else ():
                molecule = number * each
                yield Unit(kind, molecule, min(molecule + each, total), first[kind] + molecule * size)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of all copies together, as `degrees_of_freedom`."""
        first = self._position[self._one.beads_of(self._one.firsts)]
        return degrees_of_freedom(self._one.prototypes, first, self.composition.copies)

    def group(self, unit: Unit) -> Group:
        """Return the Group of a unit's molecules; it does not know which beads are theirs."""
        return replace(self._groups[unit.kind], molecules=np.arange(unit.first, unit.last), beads=NO_BEADS)

    def positions(self, unit: Unit) -> np.ndarray:
        """Return positions (C, n, 3) of a unit's molecules: shifted by whole box lengths, then put onto the bonds."""
        group, shifted = self.group(unit), self._shifted(unit)
        return project_group(group, shifted) if len(group.bonds) else shifted

    def projected(self, unit: Unit, position: np.ndarray) -> float:
        """Return how far the beads of a unit have been moved to put them onto the bonds, at most [length]."""
        return float(np.sqrt(np.sum((position - self._shifted(unit)) ** 2, axis=2).max()))

    def overlap(self, tolerance: float) -> tuple[int, int, float] | None:
        """Return (bead, bead, distance) of two beads of one copy that overlap, or None; see `bead_overlap`.

        Before rounding all copies have the separations that one and its periodic images have. So it is enough to look
        at one, and to ask there for as much more room as `taken` says.
        """
        return bead_overlap(self._small, self._one.whole(), self._position, tolerance)

    def taken(self, projected: float) -> float:
        """Return what rounding and projection may take from two beads' room, relative to the smallest diameter.

        Parameters
        ----------
        projected : float
            The greatest `projected` of all units [length].
        """
        return (2.0 * projected + 3.0 * self.rounding) / self.least_diameter  # two beads, and the box around them

    @property
    def least_diameter(self) -> float:
        """Diameter of the smallest beads [length]."""
        return float(self._one.prototypes.diameter.min())

    @property
    def rounding(self) -> float:
        """How far off rounding may put a shifted bead, or a corner of the box, at most [length].

        A product and a sum that are no larger than `largest` are each off by half of its last bit along each axis.
        """
        largest = np.abs(self._position).max() + np.abs(self.box.size).max()
        return float(np.sqrt(3.0) * EPS * largest)

    def _shifted(self, unit: Unit) -> np.ndarray:
        """Return a unit's beads (C, n, 3) where the shift by whole box lengths has them, rounded to the last bit."""
        members, group = self._members[unit.kind], self.group(unit)
        copy, member = np.divmod(np.arange(unit.first, unit.last), len(members))
        index = np.stack(np.unravel_index(copy, self._numbers), axis=1)
        start = self._one.first_bead_of(members[member])
        return self._position[start[:, None] + np.arange(len(group.mass))] + (index * self._small.size)[:, None]


def copied(one: Composition, count: int) -> Composition:
    """Return the Composition of `count` copies of a system, kind after kind."""
    copies, sizes = (
        one.copies * count,
        (np.diff(first) for first in (one.prototypes.first_bead, one.prototypes.first_bond)),
    )
    beads, bonds = (running_sum(copies * size) for size in sizes)
    return Composition(one.prototypes, np.arange(len(copies)), running_sum(copies), beads, bonds)
