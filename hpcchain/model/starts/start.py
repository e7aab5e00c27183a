"""Start configurations: check and project an explicit start, and the constants that go with a start."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

import numpy as np

from hpcchain.config.demands.check import untried_speed, walls_of
from hpcchain.config.keys.key import required
from hpcchain.config.keys.values import PLACES
from hpcchain.config.sizes import table_number
from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from hpcchain.model.clock import tick_for
from hpcchain.model.molecules.bodies import body_length
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.independence import require_independent
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
from hpcchain.model.physics.walls import at_rest, outside
from hpcchain.model.starts.constraints import (
    NotConverged,
    bond_vectors,
    project_group,
    project_group_velocities,
    project_positions,
    project_velocities,
)
from hpcchain.model.starts.limits import require_limits
from hpcchain.model.starts.overlap import bead_overlap, wall_overlap
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.velocities import maxwell
from hpcchain.model.starts.wholeness import made_whole
from hpcchain.model.system import WALL, KindPhysics, Options, Physics, State, System
from hpcchain.model.topology import build_box, build_topology

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PropagatorSection
    from hpcchain.model.composition import Composition
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Box, Topology


HOP = 1e-5
"""Of (diameter / gravity)^1/2: beads that hop for less count as at rest."""
TOLERANCE = 1e-9
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
    box, topology = build_box(config.box), build_topology(config)
    position = np.concatenate([kind.positions for kind in config.molecules])
    length = np.where(topology.rigid, topology.bond_length, np.nan)
    position, _ = made_whole(f"{config.source}: molecule.positions", box, topology.bonds, position, length)
    given = config.molecules[0].velocities is not None
    velocity = np.zeros_like(position)
    if given:
        require_still(config)
        velocity = np.concatenate([kind.velocities for kind in config.molecules])
    check_start(config.source, box, topology, position, velocity)
    require_within(config, position, topology.diameter, np.arange(topology.beads))
    try:
        position = project_positions(topology, position)
    except NotConverged as error:
        raise ConfigError(f"{config.source}: molecule.positions: {error}") from None
    if given:
        velocity = project_velocities(topology, position, velocity)
    else:
        velocity = maxwell(topology, position, config.initial.temperature, config.initial.seed)
    velocity = moved_along(config, velocity)
    state, physics = State.at_time_zero(position, velocity), build_physics(config, topology, velocity)
    require_limits(config.source, topology, physics, position, np.arange(topology.beads))
    require_no_rest(config, box, topology, position, velocity)
    return System(box, topology, state, physics, directors=build_directors(config))


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


def require_within(config: Config, position: np.ndarray, diameter: np.ndarray, ids: np.ndarray) -> None:
    """Raise ConfigError unless beads are inside all walls with shapes, to 1e-9 of their diameters.

    Parameters
    ----------
    config : Config
    position, diameter : (n, 3), (n,) float64 arrays
        Of some beads [length].
    ids : (n,) int64 array
        Their global ids, for the message.
    """
    shapes = [wall for wall in walls_of(config) if wall.shape is not None]
    if not shapes or not len(position):
        return
    depth = outside(shapes, position, 0.5 * diameter)
    bead, shape = np.unravel_index(np.argmax(depth - TOLERANCE * diameter[:, None]), depth.shape)
    if depth[bead, shape] > TOLERANCE * diameter[bead]:
        wall = shapes[shape]
        raise ConfigError(
            f"{config.source}: wall: bead {ids[bead]} reaches {depth[bead, shape]:.6g} beyond the {wall.shape} of "
            f"radius {wall.radius:g} about {[*required(wall.center)]}; move it inside, or enlarge wall.radius"
        )


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


def check_start(source: str, box: Box, topology: Topology, position: np.ndarray, velocity: np.ndarray) -> None:
    """Raise ConfigError unless a start satisfies its bonds and nothing overlaps, to 1e-9 relative.

    Parameters
    ----------
    source : str
        The input's name for messages.
    box, topology :
        The system.
    position, velocity : (N, 3) float64 arrays
        [length], [length / time].
    """
    squared = float(np.einsum("ik,ik->i", velocity, velocity).mean()) if len(velocity) else 0.0
    check_molecules(source, box, topology, position, velocity, np.arange(topology.beads), squared)
    require_apart(source, topology, bead_overlap(box, topology, position, TOLERANCE))


def check_molecules(
    source: str,
    box: Box,
    topology: Topology,
    position: np.ndarray,
    velocity: np.ndarray,
    ids: np.ndarray,
    squared: float,
) -> None:
    """Raise ConfigError unless each of some molecules satisfies its bonds and is inside the walls, to 1e-9 relative.

    Its bonds must also be independent (`hpcchain.model.molecules.independence`).

    Parameters
    ----------
    source, box, position, velocity :
        See `check_start`; of these molecules' beads.
    topology : Topology
        Of these molecules alone.
    ids : (n,) int64 array
        Global ids of their beads, for messages.
    squared : float
        Mean square speed of all beads of the system [length^2 / time^2].
    """
    require_tried(source, topology, position, squared)
    _check_bonds(source, topology, position, ids)
    check_rates(source, topology, position, velocity, ids, squared)
    _check_rigid(source, topology, position, velocity, ids, squared)
    require_independent(source, topology, position, ids)
    wall = wall_overlap(box, topology, position, TOLERANCE) if len(position) else None
    if wall is not None:
        bead, axis, depth = wall
        raise ConfigError(
            f"{source}: molecule.positions: bead {ids[bead]} reaches {depth:.3g} into a wall of axis {axis}; "
            "move it inside the box"
        )


def require_tried(source: str, topology: Topology, position: np.ndarray, squared: float) -> None:
    """Raise ConfigError for places and speeds that have not been tried (`hpcchain.config.keys.values`).

    Parameters
    ----------
    source : str
        The input's or file's name for messages.
    topology : Topology
        Of some molecules.
    position : (n, 3) float64 array
        Of their beads [length].
    squared : float
        Mean square speed of all beads of the system [length^2 / time^2].
    """
    if not len(position):
        return
    why = PLACES.wrong(float(np.abs(position).max()))
    if why is not None:
        raise ConfigError(f"{source}: molecule.positions: {why}")
    why = untried_speed(float(topology.diameter.min()), squared)
    if why is not None:
        raise ConfigError(f"{source}: molecule.velocities: they are too far from the diameters: {why}")


def require_apart(source: str, topology: Composition | Topology, pair: tuple[int, int, float] | None) -> None:
    """Raise ConfigError where there is a pair of overlapping beads, (bead, bead, distance)."""
    if pair is not None:
        i, j, distance = pair
        first, other = topology.prototypes.diameter[topology.prototype_of(np.array([i, j]))]
        raise ConfigError(
            f"{source}: molecule.positions: beads {i} and {j} overlap: their distance {distance:.12g} is below the "
            f"contact distance {0.5 * (first + other):.12g}; move them apart"
        )


def _check_bonds(source: str, topology: Topology, position: np.ndarray, ids: np.ndarray) -> None:
    bond = bond_vectors(position, topology.bonds)
    length = np.sqrt(np.einsum("bk,bk->b", bond, bond))
    error = np.where(topology.rigid, np.abs(length / topology.bond_length - 1.0), 0.0)
    bad = np.flatnonzero(error > TOLERANCE)
    if len(bad):
        at = bad[np.argmax(error[bad])]
        i, j = ids[topology.bonds[at]]
        raise ConfigError(
            f"{source}: molecule.positions: beads {i} and {j} are {length[at]:.12g} apart, their bond_length is "
            f"{topology.bond_length[at]:.12g}; they must agree to {TOLERANCE:g} relative"
        )


def check_rates(
    source: str,
    topology: Topology,
    position: np.ndarray,
    velocity: np.ndarray,
    ids: np.ndarray,
    typical: float,
    tolerance: float = TOLERANCE,
) -> None:
    """Raise ConfigError where velocities change a bond's length, to a tolerance of their speed; see `check_molecules`.

    `typical` is `squared` there.
    """
    rate, excess = lengthening(topology, position, velocity, typical, tolerance)
    if np.any(excess > 0.0):
        at = np.argmax(excess)
        i, j = ids[topology.bonds[at]]
        raise ConfigError(
            f"{source}: molecule.velocities: the bond of beads {i} and {j} would lengthen at {rate[at]:.6g}; "
            f"velocities must not change a bond's length, to {tolerance:g} of their speed"
        )


def lengthening(
    topology: Topology, position: np.ndarray, velocity: np.ndarray, typical: float, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return how fast each bond's length changes, and by how much that is beyond a tolerance of its beads' speed."""
    bond = bond_vectors(position, topology.bonds)
    rate = np.abs(np.einsum("bk,bk->b", bond, bond_vectors(velocity, topology.bonds))) / topology.bond_length
    squared = np.einsum("ik,ik->i", velocity, velocity)
    speed = np.sqrt(np.maximum(squared[topology.bonds].max(axis=1), typical))
    return rate, np.where(topology.rigid, rate - tolerance * speed, 0.0)


def _check_rigid(
    source: str, topology: Topology, position: np.ndarray, velocity: np.ndarray, ids: np.ndarray, typical: float
) -> None:
    """Look at rods and rigid bodies: their beads are where these have them, and so are velocities."""
    for group in groups_of(topology, topology.rod | topology.body):
        x, v = position[group.beads], velocity[group.beads]
        if group.rod:
            length, has, gives = group.length.sum(), "the straight line of its rod", "a rigid rod would"
            lie, keep = "beads of a rod must lie there", "velocities must keep a rod straight"
        else:
            length, has, gives = body_length(group.site), "its rigid body", "its rigid body would"
            lie, keep = "beads must lie as sites say, not mirrored", "velocities must be rigid"
        _require_near(
            f"{source}: molecule.positions",
            f"where {has} has it",
            f"{lie}{'' if group.rod else ','} to {TOLERANCE:g} of its length {length:.12g}",
            *(group, ids, x - project_group(group, x), length),
        )
        _require_near(
            f"{source}: molecule.velocities",
            f"the velocity that {gives} give it",
            f"{keep}, to {TOLERANCE:g} of their speed",
            *(group, ids, v - project_group_velocities(group, x, v), _speeds(v, typical)),
        )


def _speeds(velocity: np.ndarray, typical: float) -> np.ndarray:
    """Return each molecule's greatest speed, or the typical one if that is more: (n, 1)."""
    return np.sqrt(np.maximum(np.einsum("cnk,cnk->cn", velocity, velocity).max(axis=1), typical))[:, None]


def _require_near(
    key: str, where: str, rule: str, group: Group, ids: np.ndarray, difference: np.ndarray, scale: np.ndarray | float
) -> None:
    """Raise ConfigError with the bead whose difference is the largest share of the scale, if that is too large."""
    off = np.sqrt(np.sum(difference**2, axis=2))
    scale = np.broadcast_to(scale, off.shape)
    error = np.divide(off, scale, out=np.zeros_like(off), where=scale > 0.0)
    if not np.all(error <= TOLERANCE):
        at = np.argmax(np.where(np.isnan(error), np.inf, error))
        bead = ids[group.beads.ravel()[at]]
        raise ConfigError(f"{key}: bead {bead} is {off.ravel()[at]:.6g} off {where}; {rule}")


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

    def own(one: Physics | KindPhysics) -> Chosen:
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
