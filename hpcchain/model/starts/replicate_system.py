"""A start copied along the axes of its box, made some molecules at a time: no array has all beads of the copies.

Molecules keep their kinds' order: those of the first kind come first, copy after copy, then those of the second.
A *unit*, so many molecules of one kind that they have about `UNIT` beads, is always made as a whole. So its arithmetic
is the same whoever makes it, and no bit of a bead depends on how beads are shared out among ranks or cut into chunks.

Velocities are those that `maxwell` makes of all beads at once: each bead draws by its global id, the draw is put onto
the bonds, the centre of mass is brought to rest, and all is scaled to the temperature. What that takes of all beads are
a few sums. They are exact, so no bit depends on which rank adds what.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import Composition, running_sum
from hpcchain.model.molecules.equal_shapes import groups_of, parted
from hpcchain.model.starts.constraints import EPS, degrees_of_freedom, project_group, project_group_velocities
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.starts.velocities import drawn, require_freedom
from hpcchain.model.system import State

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


@dataclass
class Sums:
    """What some beads' drawn velocities add up to, exactly, and how far their places were projected, at most [length].

    The sums (6,), Fractions, are those of mass, momentum along each axis, twice the kinetic energy, and squared speed.
    """

    sums: np.ndarray = field(default_factory=lambda: np.full(6, Fraction(0)))
    projected: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        """Return what two parts add up to."""
        return Sums(self.sums + other.sums, max(self.projected, other.projected))


class Thermal:
    """The state of copies, with velocities of a temperature.

    Parameters
    ----------
    copies : Copies
    temperature : float
        [mass length^2 / time^2].
    seed : int
        The run's seed.

    Attributes
    ----------
    speed : float
        Root mean square speed, but for what bringing them to rest changes; known after `settle` [length / time].

    Raises
    ------
    ConfigError
        When nothing but the centre of mass can move, so that there is no temperature.
    """

    def __init__(self, copies: Copies, temperature: float, seed: int) -> None:
        self._freedom = copies.freedom
        require_freedom(self._freedom)
        self._copies, self._temperature, self._seed = copies, temperature, seed
        self._drift, self._scale, self.speed = np.zeros(3), 1.0, 0.0

    def sums(self, low: int, high: int) -> Sums:
        """Return the Sums of beads low ... high - 1."""
        return sum((self._sums_of(unit, low, high) for unit in self._copies.units(low, high)), Sums())

    def settle(self, total: Sums) -> None:
        """Take the Sums of all beads: from now on velocities are at rest as a whole and have the temperature."""
        mass, *momentum, energy, squared = total.sums
        self._drift = np.array([float(one / mass) for one in momentum])
        left = float(energy - sum(one * one for one in momentum) / mass)
        self._scale = math.sqrt(self._freedom * self._temperature / left)
        self.speed = self._scale * math.sqrt(float(squared) / self._copies.composition.beads)

    def state(self, low: int, high: int) -> State:
        """Return the State of beads low ... high - 1, all clocks at zero."""
        pieces = [(np.empty((0, 3)), np.empty((0, 3)))]
        for unit in self._copies.units(low, high):
            position = self._copies.positions(unit)
            velocity = self._scale * (self._drawn(unit, position) - self._drift)
            velocity = self._on_bonds(unit, position, velocity)  # the round-off that resting and scaling brought back
            pieces.append((within(unit, position, low, high), within(unit, velocity, low, high)))
        return State.of_start(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _sums_of(self, unit: Unit, low: int, high: int) -> Sums:
        position = self._copies.positions(unit)
        velocity = within(unit, self._drawn(unit, position), low, high)
        mass = within(unit, self._masses(unit), low, high)
        squared = np.einsum("ik,ik->i", velocity, velocity)
        summed = [mass, *(mass * velocity.T), mass * squared, squared]
        return Sums(np.array([exact_sum(one) for one in summed]), self._copies.projected(unit, position))

    def _drawn(self, unit: Unit, position: np.ndarray) -> np.ndarray:
        """Return velocities (C, n, 3) of a unit that satisfy the bonds, of the temperature in the mean."""
        ids = unit.bead + np.arange(position.shape[0] * position.shape[1])
        velocity = drawn(ids, self._masses(unit).ravel(), self._temperature, self._seed)
        return self._on_bonds(unit, position, velocity.reshape(position.shape))

    def _on_bonds(self, unit: Unit, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        group = self._copies.group(unit)
        return project_group_velocities(group, position, velocity) if len(group.bonds) else velocity

    def _masses(self, unit: Unit) -> np.ndarray:
        mass = self._copies.group(unit).mass
        return np.broadcast_to(mass, (unit.last - unit.first, len(mass)))


def within(unit: Unit, rows: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the rows (m, ...) of beads low ... high - 1 of a unit's (C, n, ...)."""
    rows = rows.reshape(-1, *rows.shape[2:])
    return rows[max(low - unit.bead, 0) : high - unit.bead]


DIGITS, HALF = 53, 27
MOST = 1 << 26
"""Numbers taken at once: so many halves of their digits are added in a float64 without rounding."""


def exact_sum(values: np.ndarray) -> Fraction:
    """Return the sum of an array of finite float64, of any shape, as a Fraction; its float is the nearest one."""
    values = np.ravel(values)
    return sum((_sum(values[begin : begin + MOST]) for begin in range(0, len(values), MOST)), Fraction(0))


def _sum(values: np.ndarray) -> Fraction:
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, DIGITS).astype(np.int64)
    low, total = int(exponent.min()), 0
    for part, above in ((digits >> HALF, HALF), (digits & ((1 << HALF) - 1), 0)):
        sums = np.bincount(exponent - low, weights=part)
        total += sum(int(one) << (above + digit) for digit, one in enumerate(sums.tolist()) if one)
    return total * Fraction(2) ** (low - DIGITS)
