"""Maxwellian velocities of all copies of a start, made some molecules at a time as their positions are.

What `maxwell` does with all beads at once: each bead draws by its global id, the draw is put onto the bonds, the centre
of mass is brought to rest, and all is scaled to the temperature. What that takes of all beads are a few sums. They are
exact, so no bit depends on which rank adds what.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.starts.constraints import project_group_velocities
from hpcchain.model.starts.velocities import drawn, require_freedom
from hpcchain.model.system import State

if TYPE_CHECKING:
    from hpcchain.model.starts.replicate_system import Copies, Unit


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
