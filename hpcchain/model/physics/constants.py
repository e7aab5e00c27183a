"""What a run has beyond smooth hard beads that fly by one propagator: constants with names, and their tables.

Files keep them as tables of numbers, texts, lists and tables, in which what is not there is left out; `read` makes the
constants of such a table, and `table` the table of the constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NOT_OF_STEPS, NOT_OF_EVENTS = ("tangential_restitution", "contact_time"), ("friction",)
"""Keys of a pair that do not stand in tables of the engine."""

Constants = TypeVar("Constants", bound="DataclassInstance")


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

    Attributes
    ----------
    types : tuple of 2 str
    restitution : float or None
        e_n.
    tangential_restitution, contact_time : float or None
        e_t and how long a contact takes [time], of the engine of events.
    friction : float or None
        Of contact dynamics.
    """

    types: tuple[str, ...]
    restitution: float | None
    tangential_restitution: float | None
    contact_time: float | None
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
    """The thermostat of the engine of steps: "langevin" or "andersen".

    Attributes
    ----------
    name : str
    temperature : float
        [mass length^2 / time^2]
    damping, rate : float or None
        Of the one and the other [1 / time].
    """

    name: str
    temperature: float
    damping: float | None
    rate: float | None


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
class AndersenThermostat:
    """Temperature [mass length^2 / time^2] and how often a molecule's velocities are drawn anew [1 / time]."""

    temperature: float
    rate: float


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
    thermostat : AndersenThermostat or None
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
    thermostat: AndersenThermostat | None = None
    seed: int | None = None

    @classmethod
    def read(cls, table: object) -> ExtendedPhysics:
        """Return the constants of a table.

        Raises
        ------
        ValueError
            If it is no such table.
        """
        values = table_of(table, "extended")
        unknown = values.keys() - {each.name for each in fields(cls)}
        if unknown:
            raise ValueError(f"extended: {min(unknown)} is unknown to this version")
        rows = {"pairs": PairConstants, "potentials": StepPotential, "walls": WallConstants}
        for name, kind in rows.items():
            if name in values:
                values[name] = tuple(_made(kind, one, name) for one in _list_of(values[name], name))
        for name, kind in {"rough": Roughness, "thermostat": AndersenThermostat}.items():
            if name in values:
                values[name] = _made(kind, values[name], name)
        if (name := "distance_limits") in values:
            values[name] = tuple(
                tuple(
                    DistanceLimit._make(_list_of(one, "distance_limits")) for one in _list_of(kind, "distance_limits")
                )
                for kind in _list_of(values["distance_limits"], "distance_limits")
            )
        return _made(cls, values, "extended")

    def table(self) -> dict[str, object]:
        """Return the table of what is there."""
        defaults = {each.name: each.default for each in fields(self)}
        found = {name: one for name, one in asdict(self).items() if getattr(self, name) != defaults[name]}
        for name, left_out in (
            ("pairs", NOT_OF_EVENTS),
            ("potentials", ("bridge",)),
            ("walls", ("tangential_restitution", "sliding", "amplitude", "shaking", "period")),
        ):
            if name in found:
                found[name] = [_without(one, *left_out) for one in found[name]]
        return {name: _plain(one) for name, one in found.items()}


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

    @classmethod
    def read(cls, table: object) -> SteppedPhysics | None:
        """Return the constants of a table, None of an empty one.

        Raises
        ------
        ValueError
            If it is no such table.
        """
        values = table_of(table, "steps")
        if not values:
            return None
        if "pairs" in values:
            tables = [
                dict.fromkeys(NOT_OF_STEPS) | table_of(one, "pairs") for one in _list_of(values["pairs"], "pairs")
            ]
            values["pairs"] = tuple(_made(PairConstants, one, "pairs") for one in tables)
        potentials = _list_of(values.get("potentials"), "potentials")
        values["potentials"] = tuple(_made(PotentialConstants, one, "potentials") for one in potentials)
        if values.get("thermostat") is not None:
            values["thermostat"] = _made(ThermostatConstants, values["thermostat"], "thermostat")
        return _made(cls, values, "steps")

    def table(self) -> dict[str, object]:
        """Return the table of what is there."""
        found = asdict(self)
        for one in found["pairs"]:
            for name in NOT_OF_STEPS:
                del one[name]
        nothing: dict[str, object] = {"simultaneous": "joint", "friction": None, "pairs": (), "walls": {}}
        return {name: _plain(one) for name, one in found.items() if name not in nothing or one != nothing[name]}


def made(kind: type[Constants], table: Mapping[str, object]) -> Constants:
    """Return constants of a table that has just their names; what their values are is not looked at here."""
    return kind(**table)


def table_of(value: object, name: str) -> dict[str, object]:
    """Return a copy of a table, which may come from a file."""
    if not isinstance(value, dict):
        raise ValueError(f"{name}: are no table")
    return dict(value)


def _list_of(value: object, name: str) -> Sequence[object]:
    """Return a list, which may come from a file."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name}: are no list")
    return value


def _made(kind: type[Constants], value: object, name: str) -> Constants:
    """Return constants of a table that has just their names, lists as tuples."""
    table = table_of(value, name)
    known = {each.name: each.default is each.default_factory is MISSING for each in fields(kind)}
    wrong = (table.keys() - known.keys()) | {each for each, needed in known.items() if needed and each not in table}
    if wrong:
        raise ValueError(f"{name}: {', '.join(sorted(wrong))} is missing, or unknown to this version")
    return made(kind, {name: tuple(one) if isinstance(one, list) else one for name, one in table.items()})


def _without(table: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return a table without those of some values that are None."""
    return {name: value for name, value in table.items() if value is not None or name not in names}


def _plain(value: object) -> object:
    """Return a value with lists in place of tuples."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
