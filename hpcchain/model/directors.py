"""Which spheres carry an orientation and spin, and with which they start (Leyendecker et al. 2012, 4.1).

A random start is a function of the seed and a molecule's global number alone, so that any rank can make any sphere's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.numerics.double_double import length
from hpcchain.model.numerics.portable_math import circle, logarithm
from hpcchain.model.random import Stream, uniform
from hpcchain.model.rotation import Rotation, unit

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition

STILL = (1.0, 0.0, 0.0, 0.0)
"""The orientation of what has not been turned, and of beads without directors."""


@dataclass(frozen=True)
class Table:
    """Orientation (n, 4) and angular velocity (n, 3) [1 / time] at time 0 of beads `low`, `low + 1`, ..."""

    low: int
    orientation: np.ndarray
    angular_velocity: np.ndarray

    def rows(self, low: int, high: int) -> Table:
        """Return the Table of beads low ... high - 1, a copy."""
        part = slice(low - self.low, high - self.low)
        return Table(low, self.orientation[part].copy(), self.angular_velocity[part].copy())


@dataclass(frozen=True)
class Directors:
    """What decides every orientation at every time.

    Attributes
    ----------
    moment : (K,) float64 array
        Moment of inertia of the molecules of each kind, 0 for kinds without directors [mass length^2].
    step : (K,) float64 array
        Length of the null-space step of each kind, 0 for exact rotation [time].
    seed : int
        Of a random start.
    temperature : float
        Of a random start [mass length^2 / time^2].
    table : Table or None
        A start that is given, at least this rank's slab of it; None: a random one.
    """

    moment: np.ndarray
    step: np.ndarray
    seed: int
    temperature: float
    table: Table | None = None

    def part(self, low: int, high: int) -> Directors:
        """Return the Directors with the table of beads low ... high - 1 alone."""
        return self if self.table is None else replace(self, table=self.table.rows(low, high))

    def fresh(self, seed: int, temperature: float) -> Directors:
        """Return the Directors of the same kinds of spheres with a random start."""
        return replace(self, seed=seed, temperature=temperature, table=None)

    def moments(self, topology: Composition, low: int, high: int) -> np.ndarray:
        """Return the moments of inertia of beads low ... high - 1, 0 of those without directors [mass length^2]."""
        return self.moment[kind_of_beads(topology, np.arange(low, high))]

    def start(self, topology: Composition, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return orientation (n, 4) and angular velocity (n, 3) [1 / time] of beads low ... high - 1 at time 0."""
        if self.table is not None:
            found = self.table.rows(low, high)
            return found.orientation, found.angular_velocity
        moment = self.moments(topology, low, high)
        orientation, velocity = at_rest(high - low)
        own = np.flatnonzero(moment > 0.0)
        numbers = topology.molecule_of(low + own)
        orientation[own], velocity[own] = drawn(moment[own], self.temperature, self.seed, numbers)
        return orientation, velocity

    def turning(self, topology: Composition, low: int, high: int) -> Turning:
        """Return the Turning of beads low ... high - 1; ConfigError where one is too fast for its steps."""
        return Turning(self, topology, low, high)

    def restarted(self, topology: Composition, low: int, high: int, time: float) -> Directors:
        """Return the Directors of a run that begins with the orientations at a time, of beads low ... high - 1."""
        turning = self.turning(topology, low, high)
        return replace(self, table=Table(low, unit(turning.orientation(time)), turning.velocity))


class Turning:
    """The orientations of some beads at any time; see `Directors.turning`.

    Attributes
    ----------
    moment : (n,) float64 array
        Moments of inertia, 0 of beads without directors [mass length^2].
    velocity : (n, 3) float64 array
        Angular velocities, 0 of beads without directors [1 / time].
    """

    def __init__(self, directors: Directors, topology: Composition, low: int, high: int) -> None:
        self.moment = directors.moments(topology, low, high)
        start, self.velocity = directors.start(topology, low, high)
        self._own = np.flatnonzero(self.moment > 0.0)
        step = directors.step[kind_of_beads(topology, np.arange(low, high))][self._own]
        _require_slow(low + self._own, self.velocity[self._own], step)
        self._rotation = Rotation(start[self._own], self.velocity[self._own], step)

    def orientation(self, time: float) -> np.ndarray:
        """Return the (n, 4) unit quaternions at a time [time]; those of beads without directors are not turned."""
        found = at_rest(len(self.moment))[0]
        found[self._own] = self._rotation.at(time)
        return found

    def sums(self, block: int) -> np.ndarray:
        """Return (blocks, 4): kinetic energy of rotation and spin angular momentum of each block of beads.

        Units are [mass length^2 / time^2] and [mass length^2 / time].
        """
        starts = range(0, len(self.moment), block)
        spin = self.moment[:, None] * self.velocity
        each = np.column_stack([0.5 * np.sum(spin * self.velocity, axis=1), spin])
        return np.array([each[start : start + block].sum(axis=0) for start in starts]).reshape(-1, 4)


def kind_of_beads(topology: Composition, ids: np.ndarray) -> np.ndarray:
    """Return the number of the kind that each of some beads belongs to."""
    prototypes = topology.prototypes
    return prototypes.kind[prototypes.molecule_of(topology.prototype_of(ids))]


def at_rest(beads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return orientations and angular velocities of beads that are not turned and do not turn."""
    return np.tile(STILL, (beads, 1)), np.zeros((beads, 3))


def drawn(moment: np.ndarray, temperature: float, seed: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return uniformly random orientations (n, 4) and Maxwellian angular velocities (n, 3) [1 / time].

    Parameters
    ----------
    moment : (n,) float64 array
        [mass length^2].
    temperature : float
        [mass length^2 / time^2].
    seed : int
    numbers : (n,) int64 array
        The molecules' global numbers.
    """
    orientation = unit(normals(seed, Stream.ORIENTATION, numbers))
    return orientation, normals(seed, Stream.SPIN, numbers)[:, :3] * np.sqrt(temperature / moment)[:, None]


def normals(seed: int, purpose: Stream, ids: np.ndarray) -> np.ndarray:
    """Return four standard normal numbers per id as `random.normal` does, but the same bits on every processor.

    A checkpoint keeps the seed alone, and a run may go on elsewhere.
    """
    u = uniform(seed, purpose, ids)
    radius = np.sqrt(-2.0 * logarithm(1.0 - u[:, :2]))
    cosine, sine = circle(u[:, 2:])
    return np.concatenate([radius * cosine, radius * sine], axis=1)


def _require_slow(beads: np.ndarray, velocity: np.ndarray, step: np.ndarray) -> None:
    """Raise ConfigError unless every sphere turns slowly enough for its null-space step."""
    product = step * length(velocity)[0]
    bad = np.flatnonzero(~(product < 1.0))
    if len(bad):
        at = bad[np.argmax(product[bad])]
        raise ConfigError(
            f"propagator.step: {step[at]:g} is too long for how fast bead {beads[at]} spins: step × angular speed = "
            f"{product[at]:.6g} must be below 1; shorten the step or lower initial.temperature"
        )
