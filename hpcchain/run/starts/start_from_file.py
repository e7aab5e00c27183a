"""Starting from a file: one that `hpcchain build` made, or any run's checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.units import Beads, check_units
from hpcchain.config.keys.values import wrong_as
from hpcchain.errors import ConfigError, DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.hdf5.collective import agreed
from hpcchain.io.hdf5.files import NOT_OURS, wrong_contents
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import complete, first_rows
from hpcchain.model.physics.spins import draw_orientations, orientations_at
from hpcchain.model.rotation import unit
from hpcchain.model.starts.constraints import project_positions, project_velocities
from hpcchain.model.starts.given import TOLERANCE, GivenBeads, check_start, require_apart
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import at_time_zero, physics_with
from hpcchain.model.system import TOPOLOGY, State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel import slabs
from hpcchain.parallel.agreement import gathered
from hpcchain.parallel.comm import Single
from hpcchain.parallel.slabs import slab
from hpcchain.run.engines import brought_together, engine_for, level_problem, overlap_in
from hpcchain.run.orientations import checked

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.io.checkpoint.checkpoint import Checkpoint
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors
    from hpcchain.model.system import Box
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.parallel.comm import World
    from hpcchain.sector.interface import Frame

KEY_OF_TABLE = {
    "first_bead": "kind, beads or count",
    "first_bond": "kind or bonds",
    "bonds": "kind or bonds",
    "rod": "kind",
    "flexible": "rigid",
    "soft": "hard",
    "body": "kind",
    "site": "sites",
}
"""Input keys that are not called as the table of a Topology that they make."""


def system_from_file(config: Config, comm: Single | World | None = None) -> System:
    """Return the System of initial.file with all clocks at zero; collective.

    A start that `build` made is taken to the bit, and on several ranks each has a part of it. Of a checkpoint, whose
    molecules have clocks of their own, the beads are taken at the checkpoint's time, and every rank has all of them.

    Parameters
    ----------
    config : Config
        With initial.method "file"; its molecules may be left out.
    comm : Single or World, optional
        Default: this process alone.

    Raises
    ------
    DataError
        When the file cannot be read.
    ConfigError
        When its box or molecules are not those of the input, or it is no possible start.
    """
    comm = comm or Single()
    path = str(config.initial.file)
    found, composition = read_start(config, comm.mpi)
    directors = directors_from(config, found, composition, comm.mpi)
    if found.time == 0.0 and not comm.any(not is_fresh(found.system.state)):  # nothing has happened yet
        return replace(fresh_system(config, found, composition, comm), directors=directors)
    if comm.size > 1:
        found = read_checkpoint(path, comm.mpi)
    topology, system = composition.whole(), replace(found.system, topology=composition)
    GivenBeads(path, topology, system.state.position, system.state.velocity).require_tried()
    fresh = is_fresh(system.state)
    ids, frame, extra = moved_to(found.time, system, config, comm)
    position, velocity, image = brought_together(comm, composition.beads, ids, frame)
    check_start(path, system.box, topology, position, velocity)
    GivenBeads(path, topology, position, velocity).require_within(config)
    if not fresh:
        position = project_positions(topology, position, path)
        velocity = project_velocities(topology, position, velocity)
    start = at_time_zero(config, system.box, topology, position, velocity, directors, path)
    start.state.image[:] = image
    start.state.extra = spins_of(found, comm, start, ids, extra)
    return start


def moved_to(
    time: float, system: System, config: Config, comm: Single | World
) -> tuple[NDArray[np.int64], Frame, NDArray[np.float64]]:
    """Return ids, (position, velocity, image) and `State.extra` of this rank's beads at a file's time; collective.

    Steps have all beads at one time, and those of a file could run code that the file names: they are not made.
    """
    if system.physics.steps:
        state, ids = system.state, np.arange(*slab(system.topology.beads, comm.mpi))
        extra = complete(state.extra, system.physics, 0)
        return ids, (state.position[ids], state.velocity[ids], state.image[ids]), extra[ids]
    engine = engine_for(system, config, comm)
    problem = level_problem(system, comm, engine, time)
    if problem:
        raise wrong_contents(str(config.initial.file), problem)
    return engine.ids, engine.frame(time), engine.state().extra


def spins_of(
    found: Checkpoint, comm: Single | World, system: System, ids: NDArray[np.int64], extra: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `State.extra` of a run that starts with the angular velocities of another; no columns if one has none.

    So it does with the other's orientations; if that has none, they are random. `ids` and `extra` are this rank's.
    """
    topology, there = system.topology, found.system.physics.extended
    rough = system.physics.extended.rough
    if there.rough is None or rough is None:
        return np.zeros((topology.beads, 0))
    given = {"spin": extra[:, L.SPIN : L.SPIN + 3]}
    if there.orientations:
        given["orientation"] = orientations_at(found.system, extra, ids, found.time)
    given = slabs.whole(comm.mpi, topology.beads, ids, given)
    rows = first_rows(topology.beads)
    rows[:, L.SPIN : L.SPIN + 3] = given["spin"]
    if "orientation" in given:
        rows[:, L.ORIENTATION : L.ORIENTATION + 4] = unit(given["orientation"])
    else:
        draw_orientations(system, rough.seed, rows, np.arange(topology.beads))
    return rows


def fresh_system(config: Config, found: Checkpoint, composition: Composition, comm: Single | World) -> System:
    """Return the System of a start that `build` made, on several ranks this rank's part of it; collective.

    Beads and tick are the file's to the bit: they are those of the run that would have made the start itself.
    """
    path, system = str(config.initial.file), replace(found.system, topology=composition)
    held = system.held
    ids = np.arange(composition.beads) if held is None else composition.beads_of(held)
    part = composition.whole() if held is None else composition.part(held)
    given = sum(comm.allgather(np.array([len(system.state.velocity), np.sum(system.state.velocity**2)])))
    squared = float(given[1] / max(given[0], 1.0))
    own = GivenBeads(path, part, system.state.position, system.state.velocity, ids, squared)
    try:
        with agreed(comm.mpi):
            own.check(system.box)
        pair = overlap_in(system, comm, ids, own.position, TOLERANCE)
        require_apart(path, pair, composition.diameters_of)
    except ConfigError as error:  # `build` makes none of these
        raise DataError(f"{error}; {NOT_OURS}") from error
    state = State.of_start(system.state.position, system.state.velocity)
    state.image[:] = system.state.image
    state.extra = system.state.extra
    physics = physics_with(config, system.physics.tick)
    with agreed(comm.mpi):
        own.require_within(config)
    with agreed(comm.mpi):
        own.require_limits(physics)
    return replace(system, state=state, physics=physics)


def read_start(config: Config, mpi: Communicator | None = None) -> tuple[Checkpoint, Composition]:
    """Return the Checkpoint in initial.file, on several ranks a part of it, and its topology with the input's names.

    Raises
    ------
    DataError, ConfigError
        As `system_from_file`, which also looks at the beads' places.
    """
    path = str(config.initial.file)
    try:
        found = read_checkpoint(path, mpi, part=True)
    except DataError as error:
        raise DataError(f"{config.source}: initial.file: {error}") from error
    require_same_box(config, path, found.system.box)
    topology = agreed_topology(config, path, found.system, mpi)
    one, thermal = topology.prototypes, 32.0 * found.system.physics.tick  # `tick_for`
    with wrong_as(ConfigError, f"{config.source}: "):
        check_units(config, Beads(float(one.diameter.min()), float(one.mass.min()), thermal))
    return found, topology


def directors_from(
    config: Config, found: Checkpoint, topology: Composition, mpi: Communicator | None
) -> Directors | None:
    """Return the Directors of a run that starts from a Checkpoint, None where no sphere has any; collective.

    Spheres go on with the orientation and spin that they have there. Where the file has none at all, those that have
    directors in the input get random ones, by the input's seed and temperature.

    Parameters
    ----------
    config : Config
    found : Checkpoint
        The start file.
    topology : Composition
        As `read_start` returns it.
    mpi : communicator or None

    Raises
    ------
    ConfigError
        On every rank, when other spheres have directors in the input than in the file, or other moments of inertia, or
        one is too fast for its null-space step.
    """
    path, there, given = str(config.initial.file), found.system.directors, build_directors(config)
    if there is None:
        return checked(given, topology, mpi, config.source)
    low, high = slab(topology.beads, mpi)
    moment = there.moments(found.system.topology, low, high)
    ours = np.zeros(high - low) if given is None else given.moments(topology, low, high)
    require_same_moments(config.source, path, low, ours, moment, mpi)
    if found.time > 0.0:
        there = there.restarted(found.system.topology, low, high, found.time)
    own = there if given is None else given
    return checked(replace(there, moment=own.moment, step=own.step), topology, mpi, config.source)


def require_same_moments(
    source: str,
    path: str,
    low: int,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    mpi: Communicator | None,
) -> None:
    """Raise ConfigError on every rank unless this rank's beads, from `low` on, have the file's moments of inertia."""
    with agreed(mpi):
        for at in np.flatnonzero(ours != theirs)[:1]:
            key = "moment" if ours[at] > 0.0 and theirs[at] > 0.0 else "directors"
            raise ConfigError(
                f"{source}: molecule.{key}: bead {low + at} has moment of inertia {ours[at]:.17g} here, "
                f"{theirs[at]:.17g} in the start file {path} (0: no directors); correct it, or leave [[molecule]] out"
            )


def is_fresh(state: State) -> bool:
    """Return whether nothing has happened yet in a state: all clocks are at zero."""
    return not (np.any(state.ticks) or np.any(state.remainder) or np.any(state.depth >= 0))


def require_same_box(config: Config, path: str, box: Box) -> None:
    """Raise ConfigError unless the input's box is the file's."""
    given = build_box(config.box)
    for key in ("size", "origin", "boundary"):
        ours, theirs = getattr(given, key).tolist(), getattr(box, key).tolist()
        if ours != theirs:
            raise ConfigError(
                f"{config.source}: box.{key}: {ours} is not that of the start file {path}: {theirs}; a start keeps its "
                "box"
            )


def agreed_topology(config: Config, path: str, system: System, mpi: Communicator | None) -> Composition:
    """Return the topology of a file's system with the input's names; ConfigError when they differ.

    Each rank compares its slabs of the tables; collective. Moments of inertia are a file's only where its beads spin.
    """
    given, topology = build_composition(config), system.topology
    new = ("kind", "bead_type") if system.physics.extended.rough else ("kind", "bead_type", "moment")
    if given.beads != topology.beads or given.molecules != topology.molecules:
        raise ConfigError(
            f"{config.source}: molecule: {given.molecules} molecules of {given.beads} beads in all are "
            f"not the {topology.molecules} of {topology.beads} in the start file {path}; correct them, "
            "or leave [[molecule]] out"
        )
    for table in [table.name for table in TOPOLOGY if table.name not in new]:
        where = first_difference(given, topology, table, mpi)
        if where is not None:
            key = KEY_OF_TABLE.get(table, table)
            raise ConfigError(
                f"{config.source}: molecule.{key}: differs from the start file {path}{where}; correct "
                "it, or leave [[molecule]] out"
            )
    return given


def first_difference(given: Composition, topology: Composition, table: str, mpi: Communicator | None) -> str | None:
    """Return for a message where the tables of this name differ first, None where they do not; collective."""
    count = given.count(table)
    if count != topology.count(table):
        return ""
    low, high = slab(count, mpi)
    ours, theirs = given.rows(table, low, high), topology.rows(table, low, high)
    other, text = np.argwhere(ours != theirs), None
    if len(other):
        row = int(other[0][0])
        text = f" in row {low + row}: {ours[row].tolist()} here, {theirs[row].tolist()} there"
    return next((found for found in gathered(mpi, text) if found is not None), None)
