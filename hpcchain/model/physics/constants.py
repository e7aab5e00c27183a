"""What a run has beyond smooth hard beads that fly by one propagator: constants with names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class WallConstants:
    """A wall that moves, is thermal, has a shape or coefficients of its own.

    Attributes
    ----------
    side : str or None
        "x-" ... "z+"; None of one with a shape.
    shape : str or None
        "sphere" or "cylinder".
    center : tuple of 3 float, or None
        Of a shape [length].
    radius : float or None
        Of a shape at time 0 [length].
    axis : str or None
        Of a cylinder: "x", "y" or "z".
    velocity : float
        Inwards [length / time].
    temperature : float
        0 of one that is not thermal [mass length^2 / time^2].
    restitution : float
        Its own e_n; NOT_GIVEN (`walls`) of one that has none.
    tangential_restitution : float or None
        Its own e_t.
    sliding : tuple of 3 float, or None
        Velocity along itself [length / time].
    amplitude : float or None
        Of one that oscillates, inwards [length].
    shaking : tuple of 3 float, or None
        Its amplitude along itself [length].
    period : float or None
        Its period [time].
    """

    side: str | None
    shape: str | None
    center: tuple[float, ...] | None
    radius: float | None
    axis: str | None
    velocity: float
    temperature: float
    restitution: float
    tangential_restitution: float | None = None
    sliding: tuple[float, ...] | None = None
    amplitude: float | None = None
    shaking: tuple[float, ...] | None = None
    period: float | None = None

    @property
    def angular(self) -> float:
        """2 pi / period of one that oscillates, else 0 [1 / time]."""
        return 2.0 * math.pi / self.period if self.period else 0.0

    @property
    def closes(self) -> bool:
        """Whether it moves along its normal."""
        return bool(self.velocity or self.amplitude)

    @property
    def moves(self) -> bool:
        """Whether it moves, if only along itself."""
        return self.closes or bool(self.sliding or self.shaking)

    @property
    def closing(self) -> float:
        """Its velocity inwards at time 0 [length / time]."""
        return self.velocity + (self.amplitude or 0.0) * self.angular

    @property
    def speed(self) -> float:
        """No part of its velocity ever is greater than this in sum [length / time]."""
        along = math.hypot(*(self.sliding or ())) + math.hypot(*(self.shaking or ())) * self.angular
        return abs(self.velocity) + abs(self.amplitude or 0.0) * self.angular + along


@dataclass(frozen=True)
class PairConstants:
    """Coefficients of the contacts of two types of beads, or of a type and a side; None: those of all contacts.

    The names are those of the input's [[contact.pair]]; an engine has those that mean something to it.
    """

    types: tuple[str, ...]
    restitution: float | None
    tangential_restitution: float | None = None
    contact_time: float | None = None
    friction: float | None = None


@dataclass(frozen=True)
class PotentialConstants:
    """A potential of the engine of steps; what it does not have is None, as is `types` where it is for all.

    The names are those of the input's [[potential]]; `digest` is that of the file's content.
    """

    name: str
    types: tuple[str, ...] | None
    epsilon: float | None
    sigma: float | None
    cutoff: float | str | None
    shift: bool | None
    stiffness: float | None
    length: float | None
    center: tuple[float, ...] | None
    file: str | None
    function: str | None
    on: str | None
    digest: str | None

    @property
    def range(self) -> float:
        """How far one of pairs acts, infinite where the cutoff is "none"; 0 of others [length]."""
        if self.name == "wca":
            return 2.0 ** (1.0 / 6.0) * (self.sigma or 0.0)
        return math.inf if isinstance(self.cutoff, str) else self.cutoff or 0.0


@dataclass(frozen=True)
class ThermostatConstants:
    """A thermostat: its name and temperature [mass length^2 / time^2]; damping or rate, 0 without one [1 / time]."""

    temperature: float
    name: str = "andersen"
    damping: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True)
class StepPotential:
    """A potential of two types of beads that is constant between distances, or what a bridge between them is.

    Attributes
    ----------
    types : tuple of 2 str
    distances : tuple of float
        Of its steps, ascending [length].
    energies : tuple of float
        Of pairs that are nearer than each distance, and not nearer than the one before [mass length^2 / time^2].
    bridge : float or None
        Of wet grains: energy that is lost when a bridge breaks, at the one distance. Their pairs have the energy 0.
    """

    types: tuple[str, ...]
    distances: tuple[float, ...]
    energies: tuple[float, ...]
    bridge: float | None = None


class DistanceLimit(NamedTuple):
    """Between which distances beads so many bonds apart are kept [length]."""

    separation: int
    least: float
    most: float


@dataclass(frozen=True)
class Roughness:
    """How contacts make beads spin, and how they spin at the start.

    Attributes
    ----------
    tangential_restitution : float
        e_t.
    seed : int
        Of the first angular velocities.
    temperature : float
        Of the first angular velocities [mass length^2 / time^2].
    """

    tangential_restitution: float
    seed: int
    temperature: float


@dataclass(frozen=True)
class ExtendedPhysics:
    """What the engine of events needs beyond smooth hard beads, and contact dynamics besides its steps.

    Attributes
    ----------
    exclude : bool
        Whether beads of a molecule that few bonds join do not collide (`Topology.exclude`).
    fixed : bool
        Whether beads are fixed (engine "events"), or fixed ones move.
    fixed_speed : float
        The greatest of fixed beads (engine "events") [length / time].
    impulses : bool
        Whether impulses of contacts are kept from step to step.
    pairs : tuple of PairConstants
        As the input's [[contact.pair]].
    simultaneous : str
        Rule of contacts at one instant: "joint", "generalised" or "moreau".
    rough : Roughness or None
        Where beads spin.
    orientations : tuple of bool
        Per kind of molecules, whether its beads have orientations that contacts change; empty: none have.
    potentials : tuple of StepPotential
    distance_limits : tuple of tuples of DistanceLimit
        Per kind of molecules; empty: none have.
    gravity : tuple of 3 float
        Empty: none [length / time^2].
    walls : tuple of WallConstants
        As the input's [[wall]].
    thermostat : ThermostatConstants or None
    seed : int or None
        Of what thermal walls and the thermostat draw.
    """

    exclude: bool = False
    fixed: bool = False
    fixed_speed: float = 0.0
    impulses: bool = False
    pairs: tuple[PairConstants, ...] = ()
    simultaneous: str = "joint"
    rough: Roughness | None = None
    orientations: tuple[bool, ...] = ()
    potentials: tuple[StepPotential, ...] = ()
    distance_limits: tuple[tuple[DistanceLimit, ...], ...] = ()
    gravity: tuple[float, ...] = ()
    walls: tuple[WallConstants, ...] = ()
    thermostat: ThermostatConstants | None = None
    seed: int | None = None


@dataclass(frozen=True)
class SteppedPhysics:
    """What the engine of steps needs.

    Attributes
    ----------
    step : float
        Length of a step [time].
    integrator, base, energy, solver : str
    predictions : int
        See the input's [steps].
    potentials : tuple of PotentialConstants
        As the input's [[potential]].
    gravity : tuple of 3 float
        [length / time^2]
    thermostat : ThermostatConstants or None
    seed : int
        Of what the thermostat draws.
    damping : tuple of float
        Per kind of molecules [1 / time]; empty: none.
    simultaneous : str
        Rule of contacts at one instant: "joint" or "moreau".
    friction : float or None
        Of contact dynamics.
    pairs : tuple of PairConstants
        As the input's [[contact.pair]].
    walls : dict of str -> float
        e_n of sides that have one of their own.
    """

    step: float
    integrator: str
    base: str
    energy: str
    predictions: int
    solver: str
    potentials: tuple[PotentialConstants, ...]
    gravity: tuple[float, ...]
    thermostat: ThermostatConstants | None
    seed: int
    damping: tuple[float, ...]
    simultaneous: str = "joint"
    friction: float | None = None
    pairs: tuple[PairConstants, ...] = ()
    walls: dict[str, float] = field(default_factory=dict)

    @property
    def modules(self) -> list[PotentialConstants]:
        """The potentials that are a user's own."""
        return [one for one in self.potentials if one.name == "module"]
