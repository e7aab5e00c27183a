"""Starting from a file: one that `hpcchain build` made, or any run's checkpoint."""

from dataclasses import replace

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.io.checkpoint import read_checkpoint
from hpcchain.model.constraints import NotConverged, project_positions, project_velocities
from hpcchain.model.start import build_physics, check_start
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_topology
from hpcchain.parallel.comm import Single
from hpcchain.run.engines import brought_together, engine_for

BOX_KEYS = ("size", "origin", "boundary")
KEY_OF_TABLE = {
    "first_bead": "kind, beads or count", "first_bond": "kind or bonds", "bonds": "kind or bonds",
    "bond_length": "bond_length", "mass": "mass", "diameter": "diameter", "self_contact": "self_contact",
    "rod": "kind",
}  # fmt: skip


def system_from_file(config, comm=None):
    """Return the System of initial.file with all clocks at zero; collective.

    A start that `build` made is taken to the bit: the run is the one that would have made that start itself. Of a
    checkpoint, whose molecules have clocks of their own, the beads are taken at the checkpoint's time.

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
    path = config.initial.file
    found, topology = read_start(config, comm.mpi)
    system = replace(found.system, topology=topology)
    fresh = is_fresh(system.state)
    position, velocity, image = common_time(system, found.time, fresh, config, comm)
    check_start(str(path), system.box, topology, position, velocity)
    if not fresh:
        position, velocity = projected(path, topology, position, velocity)
    state = State.at_rest_clock(position, velocity)
    state.image[:] = image
    return System(system.box, topology, state, build_physics(config, topology, velocity))


def read_start(config, mpi=None):
    """Return the Checkpoint in initial.file and its topology with the input's names; collective.

    Raises
    ------
    DataError, ConfigError
        As `system_from_file`, which also looks at the beads' places.
    """
    path = config.initial.file
    found = read_checkpoint(path, mpi)
    require_same_box(config, path, found.system.box)
    return found, agreed_topology(config, path, found.system.topology)


def is_fresh(state):
    """Return whether nothing has happened yet in a state: all clocks are at zero."""
    return not (np.any(state.ticks) or np.any(state.remainder) or np.any(state.depth >= 0))


def common_time(system, time, fresh, config, comm):
    """Return position, velocity and image of all beads at one time, (N, 3) each, on every rank; collective."""
    if fresh and time == 0.0:
        return system.state.position, system.state.velocity, system.state.image
    engine = engine_for(system, config, comm)
    return brought_together(comm, system.topology, engine.ids, engine.frame(time))


def projected(path, topology, position, velocity):
    """Return positions and velocities that satisfy the bonds to round-off."""
    try:
        position = project_positions(topology, position)
    except NotConverged as error:
        raise ConfigError(f"{path}: {error}") from None
    return position, project_velocities(topology, position, velocity)


def require_same_box(config, path, box):
    """Raise ConfigError unless the input's box is the file's."""
    given = build_box(config)
    for key in BOX_KEYS:
        if not np.array_equal(getattr(given, key), getattr(box, key)):
            raise ConfigError(f"{config.source}: box.{key}: {getattr(given, key).tolist()} is not that of the start "
                              f"file {path}: {getattr(box, key).tolist()}; a start keeps its box")


def agreed_topology(config, path, topology):
    """Return the file's topology, with the input's names where it names molecules; ConfigError when they differ."""
    if not config.molecules:
        return topology
    given = build_topology(config)
    if given.beads != topology.beads or given.molecules != topology.molecules:
        raise ConfigError(f"{config.source}: molecule: {given.molecules} molecules of {given.beads} beads in all are "
                          f"not the {topology.molecules} of {topology.beads} in the start file {path}; correct them, "
                          "or leave [[molecule]] out")
    for table, key in KEY_OF_TABLE.items():
        ours, theirs = getattr(given, table), getattr(topology, table)
        if not np.array_equal(ours, theirs):
            raise ConfigError(f"{config.source}: molecule.{key}: differs from the start file "
                              f"{path}{place(ours, theirs)}; correct it, or leave [[molecule]] out")
    return given


def place(ours, theirs):
    """Return where two tables differ first, for the message."""
    if ours.shape != theirs.shape:
        return ""
    row = int(np.argwhere(ours != theirs)[0][0])
    return f" in row {row}: {ours[row].tolist()} here, {theirs[row].tolist()} there"
