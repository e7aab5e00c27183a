"""Start configurations: check and project an explicit start, and the constants that go with a start."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

import numpy as np

from hpcchain.config.demands.check import walls_of
from hpcchain.config.keys.key import required
from hpcchain.config.sizes import table_number
from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from hpcchain.model.clock import tick_for
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.molecules.long_chains import LEAST, LONG
from hpcchain.model.physics.constants import (
    Acting,
    ExtendedPhysics,
    PairConstants,
    PotentialConstants,
    Roughness,
    SteppedPhysics,
    StepPotential,
    ThermostatConstants,
)
from hpcchain.model.physics.extended import type_pairs
from hpcchain.model.physics.walls import at_rest
from hpcchain.model.starts.constraints import project_positions, project_velocities
from hpcchain.model.starts.given import GivenBeads, check_start
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.velocities import maxwell
from hpcchain.model.starts.wholeness import made_whole
from hpcchain.model.system import WALL, KindPhysics, Options, Physics, State, System
from hpcchain.model.topology import build_box, build_composition

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PropagatorSection
    from hpcchain.model.directors import Directors
    from hpcchain.model.system import Box, Topology


HOP = 1e-5
"""Of (diameter / gravity)^1/2: beads that hop for less count as at rest."""
Value = TypeVar("Value")

RESTING = (
    "what gravity holds on a wall or on other beads would rest, and the engine of events has no rest: it hops ever so "
    'fast; start it higher, by a hundredth of a diameter or more, or set run.engine = "steps" and steps.integrator = '
    '"contact", which lets it rest'
)


def build_system(config: Config) -> System:
    """Return the System of an input with an explicit start, positions and velocities on the bonds to round-off.

    Molecules that periodic sides cut are made whole. Velocities that are not given are Maxwellian, at
    initial.temperature, the centre of mass at rest.

    Parameters
    ----------
    config : Config
        A checked input with initial.method "explicit".

    Raises
    ------
    ConfigError
        When bonds or velocities are off by more than 1e-9 relative, or beads overlap; the message names global beads.
    """
    if config.initial.method != "explicit":
        raise ConfigError(f'{config.source}: initial.method: "{config.initial.method}" is not an explicit start')
    box, topology = build_box(config.box), build_composition(config).whole()
    position = np.concatenate([kind.positions for kind in config.molecules])
    length = np.where(topology.rigid, topology.bond_length, np.nan)
    position, _ = made_whole(f"{config.source}: molecule.positions", box, topology.bonds, position, length)
    given = config.molecules[0].velocities is not None
    velocity = np.zeros_like(position)
    if given:
        require_still(config)
        velocity = np.concatenate([kind.velocities for kind in config.molecules])
    check_start(config.source, box, topology, position, velocity)
    GivenBeads(config.source, topology, position, velocity).require_within(config)
    position = project_positions(topology, position, f"{config.source}: molecule.positions")
    if given:
        velocity = project_velocities(topology, position, velocity)
    else:
        velocity = maxwell(topology, position, config.initial.temperature, config.initial.seed)
    velocity = moved_along(config, velocity)
    require_no_rest(config, box, topology, position, velocity)
    return at_time_zero(config, box, topology, position, velocity, build_directors(config))


def at_time_zero(
    config: Config,
    box: Box,
    topology: Topology,
    position: np.ndarray,
    velocity: np.ndarray,
    directors: Directors | None,
    source: str | None = None,
) -> System:
    """Return the System of a start with all clocks at zero; ConfigError where it breaks limits of distances."""
    state, physics = State.of_start(position, velocity), build_physics(config, topology, velocity)
    GivenBeads(source or config.source, topology, position, velocity).require_limits(physics)
    return System(box, build_composition(config), state, physics, directors=directors)


def moved_along(config: Config, velocity: np.ndarray) -> np.ndarray:
    """Return velocities (N, 3) with those of fixed beads as molecule.fixed_velocity says."""
    first = 0
    for kind in config.molecules:
        if kind.fixed_velocity is not None:
            velocity[first : first + kind.count] = kind.fixed_velocity
        first += kind.count * kind.beads
    return velocity


def require_still(config: Config) -> None:
    """Raise ConfigError where velocities are given of fixed beads that are not theirs."""
    first = 0
    for index, kind in enumerate(config.molecules):
        given = required(kind.velocities).reshape(kind.count, kind.beads, 3)[:, kind.pinned]
        wrong = np.argwhere(np.any(given != np.array(kind.fixed_velocity or (0.0, 0.0, 0.0)), axis=2))
        if len(wrong):
            bead = first + int(wrong[0, 0]) * kind.beads + int(np.flatnonzero(kind.pinned)[wrong[0, 1]])
            where = f"molecule[{table_number(config.molecules, index)}]"
            raise ConfigError(
                f"{config.source}: {where}.velocities: bead {bead} is fixed; give it 0, or its fixed_velocity"
            )
        first += kind.count * kind.beads


def require_no_rest(config: Config, box: Box, topology: Topology, position: np.ndarray, velocity: np.ndarray) -> None:
    """Raise ConfigError where gravity holds a single bead on a side of the box: it would hop there without end.

    What counts is how long it takes to fall back, were it thrown up at the speed at which it meets the side.
    """
    gravity = np.array(config.external.gravity)
    if config.run.engine != "events" or not gravity.any():
        return
    own = {wall.side: wall for wall in walls_of(config) if wall.side is not None}
    single = (np.diff(topology.first_bead) == 1)[topology.molecule_of_bead] & ~topology.fixed
    for number, side in enumerate(L.SIDE_NAMES):
        axis, up = number % L.AXES, 1.0 if number < L.AXES else -1.0
        weight, wall = -up * gravity[axis], own.get(side)
        if box.boundary[axis] != WALL or weight <= 0.0 or (wall is not None and wall.temperature):
            continue
        place = box.origin[axis] + (0.0 if up > 0.0 else box.size[axis])
        gap = np.maximum(up * (position[:, axis] - place) - 0.5 * topology.diameter, 0.0)
        speed = np.hypot(up * velocity[:, axis] - (0.0 if wall is None else wall.closing), np.sqrt(2.0 * weight * gap))
        rests = np.flatnonzero(single & (2.0 * speed / weight < HOP * np.sqrt(topology.diameter / weight)))
        if len(rests):
            raise ConfigError(
                f'{config.source}: molecule.positions: bead {rests[0]} rests on the wall "{side}", where '
                f"external.gravity holds it; {RESTING}"
            )


def build_physics(config: Config, topology: Topology, velocity: np.ndarray) -> Physics:
    """Return the constants of a run; the clock's tick follows from the contact distance and the root mean square speed.

    Parameters
    ----------
    config : Config
        The input.
    topology : Topology
        For the diameters.
    velocity : (N, 3) float64 array
        At the start [length / time].
    """
    speed = float(np.sqrt(np.mean(np.einsum("ik,ik->i", velocity, velocity)))) if len(velocity) else 0.0
    contact = float(topology.diameter.min())
    if speed == 0.0 and config.run.engine == "events":  # what is at rest begins to fall
        speed = float(np.sqrt(np.linalg.norm(config.external.gravity) * contact))
    return physics_with(config, tick_for(contact / speed if speed > 0.0 else 0.0))


def physics_with(config: Config, tick: float) -> Physics:
    """Return the constants of a run whose clock has this tick [time].

    Single beads have no propagator of their own here: one can only say how their directors turn.
    """
    own = [kind.propagator if kind.beads > 1 else None for kind in config.molecules]
    return Physics(
        tick=tick,
        restitution=config.contact.restitution,
        contact_time=config.contact.contact_time,
        kinds=tuple(settings(each, config) if each else None for each in own) if any(own) else (),
        steps=stepping(config),
        extended=beyond_smooth_beads(config),
        **vars(settings(config.propagator, config)),
    )


class Chosen(TypedDict):
    """What the program has chosen for a propagator: `stretches`, by this name."""

    options: dict[str, int]


class Choices(Chosen):
    """The same of a run, with the tick of its clock, and of kinds that have a propagator of their own; {}: none."""

    tick: float
    kinds: list[Chosen]


def choices_in(physics: Physics) -> Choices:
    """Return what the program has chosen for a run where its input leaves that to it."""

    def own(one: KindPhysics) -> Chosen:
        return {"options": {"stretches": one.options.stretches}}

    kinds = [cast("Chosen", {}) if one is None else own(one) for one in physics.kinds]
    return {"tick": physics.tick, "kinds": kinds, **own(physics)}


def physics_as_chosen(config: Config, choices: Choices) -> Physics:
    """Return the constants of a run that has begun with what is chosen so: another version may choose otherwise.

    Choices are from a file: what they lack or have wrong raises LookupError, TypeError or ValueError.
    """

    def like(one: PropagatorSection, own: Chosen) -> PropagatorSection:
        chosen = own["options"]["stretches"]
        if type(chosen) is not int or chosen < 0:
            raise ValueError(f"stretches: is {chosen!r:.60}")
        left = one.stretches == "auto" and (chosen == 0 or divided_from(one, config) > 0)
        return replace(one, stretches=chosen) if left else one

    kinds = [*choices["kinds"], *[cast("Chosen", {})] * len(config.molecules)]
    molecules = tuple(
        kind if kind.propagator is None or not own else replace(kind, propagator=like(kind.propagator, own))
        for kind, own in zip(config.molecules, kinds, strict=False)
    )
    config = replace(config, propagator=like(config.propagator, choices), molecules=molecules)
    return physics_with(config, choices["tick"])


def settings(propagator: PropagatorSection, config: Config) -> KindPhysics:
    """Return what Physics has from a PropagatorSection of an input."""
    return KindPhysics(
        propagator.name, propagator.stages, propagator.step or 0.0, propagator.tolerance, options(propagator, config)
    )


def options(propagator: PropagatorSection, config: Config) -> Options:
    """Return the Options of a PropagatorSection; what is for nested intervals has its default where there are none."""
    names = [each.name for each in fields(Options) if hasattr(propagator, each.name)]
    given = {name: getattr(propagator, name) for name in names} | {"stretches": divided_from(propagator, config)}
    found = Options(**given)
    if propagator.contact_search != "nested":
        return replace(found, contact_interval=Options.contact_interval, contact_stages=Options.contact_stages)
    return found


def divided_from(propagator: PropagatorSection, config: Config) -> int:
    """Return of how many beads chains are at least that move in stretches, 0: none does."""
    if isinstance(propagator.stretches, int):
        return propagator.stretches
    return LONG if propagator.name == "taylor" and config.run.engine == "events" else 0


def in_stretches(kind: MoleculeSection, config: Config) -> bool:
    """Whether molecules of a kind move in stretches, as far as the input says it without making one (`is_divided`)."""
    least = divided_from(kind.propagator or config.propagator, config)
    whole = not kind.self_contact or kind.exclude > 1 or bool(kind.fixed) or bool(kind.distance_limits)
    return kind.kind == "chain" and 0 < least <= kind.beads >= LEAST and not whole


def stepping(config: Config) -> SteppedPhysics | None:
    """Return the steps, potentials, field and thermostat of a checked input; None for the engine of events."""
    if config.steps is None:
        return None
    return SteppedPhysics(
        **asdict(config.steps),
        **vars(acting(config, config.initial.seed)),
        friction=config.contact.friction if config.steps.integrator == "contact" else None,
        potentials=tuple(
            PotentialConstants(**{each.name: getattr(one, each.name) for each in fields(PotentialConstants)})
            for one in config.potentials
        ),
        damping=tuple(kind.damping for kind in config.molecules),
    )


def acting(config: Config, seed: int | None) -> Acting:
    """Return what runs of either engine may have, of a checked input; `seed` as Acting has it."""
    heat, own = config.thermostat, [each.name for each in fields(PairConstants)]
    pairs = [one for one in config.contact.pairs if one.has_coefficients]
    return Acting(
        pairs=tuple(PairConstants(**{name: getattr(one, name) for name in own}) for one in pairs),
        simultaneous=config.contact.simultaneous,
        gravity=tuple(config.external.gravity) if any(config.external.gravity) else (),
        thermostat=None
        if heat is None
        else ThermostatConstants(heat.temperature, heat.rate or 0.0, heat.damping or 0.0, heat.name),
        seed=seed,
    )


def of_kinds(values: list[Value]) -> tuple[Value, ...]:
    """Return what each kind of molecules has of its own; empty where none has any."""
    return tuple(values) if any(values) else ()


def beyond_smooth_beads(config: Config) -> ExtendedPhysics:
    """Return what a run with a checked input has beyond smooth hard beads."""
    if config.steps is not None:
        return moved_from_outside(config)
    kinds = config.molecules
    thermal = config.thermostat is not None or any(wall.temperature for wall in config.walls)
    return replace(
        shapes_of(config),
        **vars(acting(config, config.initial.seed if thermal else None)),
        rough=spinning(config) if config.is_rough else None,
        orientations=of_kinds([kind.directors for kind in kinds]) if config.is_rough else (),
        potentials=step_potentials(config),
        distance_limits=of_kinds([kind.distance_limits for kind in kinds]),
        walls=walls_of(config),
        fixed_speed=max((float(np.linalg.norm(kind.fixed_velocity or 0.0)) for kind in kinds), default=0.0),
    )


def step_potentials(config: Config) -> tuple[StepPotential, ...]:
    """Return the wells and shoulders of pairs, and the bridges of wet grains."""
    steps = [
        StepPotential(pair, required(one.distances), required(one.energies))
        for one in config.potentials
        for pair in type_pairs(one.types, type_names(config.molecules))
    ]
    bridges = [
        StepPotential(one.types, (one.bridge_distance,), (0.0,), one.bridge_energy)
        for one in config.contact.pairs
        if one.bridge_distance is not None
    ]
    return (*steps, *bridges)


def spinning(config: Config) -> Roughness:
    """Return how beads of a run spin whose contacts make them."""
    return Roughness(config.contact.tangential_restitution, config.initial.seed, config.initial.temperature)


def moved_from_outside(config: Config) -> ExtendedPhysics:
    """Return what a run in steps has besides: walls, fixed beads that move, and what contact dynamics keeps."""
    keeps = required(config.steps).integrator == "contact"
    return ExtendedPhysics(
        impulses=keeps,
        rough=spinning(config) if keeps and config.contact.rubs else None,
        walls=walls_of(config),
        fixed=any(np.any(kind.fixed_velocity or (0.0,)) for kind in config.molecules),
    )


def shapes_of(config: Config) -> ExtendedPhysics:
    """Return what starts of runs in steps grow with, which the runs themselves need not have."""
    return ExtendedPhysics(
        exclude=any(kind.exclude > 1 for kind in config.molecules), fixed=any(kind.fixed for kind in config.molecules)
    )


def while_growing(extended: ExtendedPhysics, config: Config) -> ExtendedPhysics:
    """Return what acts while a start of a run with an input is grown: which beads collide, and where, walls at rest."""
    shapes = shapes_of(config)
    return ExtendedPhysics(
        exclude=extended.exclude or shapes.exclude,
        fixed=extended.fixed or shapes.fixed,
        distance_limits=extended.distance_limits,
        walls=at_rest(extended.walls),
    )
