"""Checkpoints and start files: everything that a run needs to go on to the same bits on any rank count.

A checkpoint is sealed (every byte), and carries per-block checksums of its arrays taken from memory as they were
written: the seal finds damage to the file, the checksums a write that went wrong before it was sealed.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from hpcchain.errors import DataError
from hpcchain.io import directors, files, rows
from hpcchain.io.checkpoint_layout import (
    OPTIONAL,
    STATE,
    TOPOLOGY,
    check_system,
    part_problem,
    stored_type,
    wrong_contents,
)
from hpcchain.io.collective import agree, gathered, is_parallel
from hpcchain.io.provenance import collect
from hpcchain.io.summed import get_summed, put_summed
from hpcchain.model.composition import composition_from
from hpcchain.model.system import Box, Physics, State, System, Topology


@dataclass
class Checkpoint:
    """What a checkpoint holds.

    Attributes
    ----------
    system : System
        Its state has the rows that were asked for; a table of directors has this rank's slab of the beads.
    time : float
        Simulated time that the run has reached [time].
    counters : dict
        Running totals (events, frames, reports, ...).
    config_toml : str
        The resolved input.
    provenance : dict
        See `provenance.collect`.
    """

    system: System
    time: float
    counters: dict
    config_toml: str
    provenance: dict


def write_checkpoint(path, comm, system, time, counters, config_toml, perf=None, ids=None, provenance=None):
    """Write a checkpoint, atomically and durably; collective.

    Parameters
    ----------
    path : path
    comm : communicator or None
    system : System
        Box, topology (or its Composition) and physics are the same on all ranks; the state has this rank's rows, and a
        table of directors at least this rank's slab of the beads.
    time : float
        [time]
    counters : dict of str -> int or float
    config_toml : str
    perf : dict of phase -> (min, avg, max), optional
        Wall seconds over ranks.
    ids : (n,) int64 array, optional
        Global bead ids of the state's rows, in any order; None: all beads are held, in order, on every rank.
    provenance : dict, optional
        Default: `provenance.collect(comm)`.

    Raises
    ------
    DataError
        On every rank, when the file cannot be written; an earlier file of this name is then untouched.
    """
    topology, state = system.topology, system.state
    provenance = provenance or collect(comm)
    _refuse_impossible_time(path, time, comm)
    arrays = {name: np.asarray(getattr(state, name), stored_type(kind)) for name, (kind, _) in STATE.items()}
    arrays = rows.in_order(comm, topology.beads, ids, arrays)
    with files.writing(path, "checkpoint", comm) as file:
        for name, part in arrays.items():
            put_summed(file, f"state/{name}", topology.beads, part, comm)
        if system.directors is not None:
            directors.put(file, system.directors, topology.beads, comm)
        for name, (kind, _) in TOPOLOGY.items():
            if name in OPTIONAL and not _in_use(topology, name):
                continue
            count = topology.count(name)
            part = np.asarray(topology.rows(name, *rows.slab(count, comm)), stored_type(kind))
            put_summed(file, f"topology/{name}", count, part, comm)
        for name, kind in (("size", np.float64), ("origin", np.float64), ("boundary", np.int8)):
            rows.put(file, f"box/{name}", np.asarray(getattr(system.box, name), dtype=kind), comm)
        rows.put(file, "time", np.float64(time), comm)
        files.put_text(file, "config_toml", config_toml, comm)
        values = {"names": list(topology.names), "physics": _constants(system.physics), "counters": counters,
                  "perf": perf or {}, "provenance": provenance}
        for name, value in values.items():
            files.put_json(file, name, value, comm)


def read_checkpoint(path, comm=None, ids=None):
    """Read a checkpoint or start file; collective.

    Parameters
    ----------
    path : path
    comm : communicator or None
    ids : (n,) int64 array, optional
        Global ids of the beads wanted on this rank, in the order wanted; None: all beads.

    Returns
    -------
    Checkpoint

    Raises
    ------
    DataError
        On every rank, when the file is missing, foreign, truncated or damaged anywhere.
    """
    with files.reading(path, "checkpoint", comm) as file:
        topology = _read_topology(file, comm)
        state = State(**_wanted(comm, topology.beads, ids, _state_slabs(file, topology.beads, comm)))
        found = _read_rest(file, topology, state, None, comm)
        check_system(path, found.system, found.time)
    return found


def read_part(path, comm):
    """Read this rank's part of a checkpoint or start file, an even one of all molecules; collective.

    On several ranks the system's topology is a Composition, and nothing on any rank grows with the number of molecules
    of the whole; one rank gets what `read_checkpoint` returns.

    Raises
    ------
    DataError
        On every rank, as `read_checkpoint`, or when molecules of one kind are not alike.
    """
    if not is_parallel(comm):
        return read_checkpoint(path, comm)
    with files.reading(path, "checkpoint", comm) as file:
        composition = _read_composition(file, comm)
        low, high = rows.slab(composition.beads, comm)
        names = composition.beginning_in(low, high)
        slabs = _state_slabs(file, composition.beads, comm)
        state = State(**rows.pick(comm, composition.beads, composition.beads_of(names), slabs))
        found = _read_rest(file, composition, state, names, comm)
        problem = part_problem(found.system, found.time)
        agree(comm, wrong_contents(path, problem) if problem else None)
    return found


def _state_slabs(file, beads, comm):
    return {name: get_summed(file, f"state/{name}", *rule, beads, comm) for name, rule in STATE.items()}


def _read_rest(file, topology, state, held, comm):
    """Return the Checkpoint of a file whose topology and state have been read."""
    box = Box(*(files.get(file, f"box/{name}", comm) for name in ("size", "origin", "boundary")))
    physics = Physics(**files.get_json(file, "physics", comm))
    turning = directors.get(file, topology.beads, len(topology.names), comm)
    return Checkpoint(
        system=System(box, topology, state, physics, held, turning),
        time=float(files.get(file, "time", comm)[0]),
        counters=files.get_json(file, "counters", comm),
        config_toml=files.get_text(file, "config_toml", comm),
        provenance=files.get_json(file, "provenance", comm),
    )


def read_system(path, comm=None, ids=None):
    """Return the System of a checkpoint or of a start file that `build` made; see `read_checkpoint`."""
    return read_checkpoint(path, comm, ids).system


def read_perf(path):
    """Return where a run's time went until a checkpoint: dict of phase -> (min, avg, max) wall seconds over ranks."""
    with files.reading(path, "checkpoint") as file:
        return {phase: tuple(row) for phase, row in files.get_json(file, "perf").items()}


def read_time(path, comm=None):
    """Return the simulated time of a checkpoint whose seal, kind and version are right [time]; collective."""
    return read_progress(path, comm)[0]


def read_progress(path, comm=None):
    """Return the simulated time [time] and the counters of a checkpoint, as `read_time` does; collective."""
    with files.reading(path, "checkpoint", comm) as file:
        return float(files.get(file, "time", comm)[0]), files.get_json(file, "counters", comm)


def _constants(physics):
    """Return the constants as a dict, without kinds where none has any: an earlier program does not know them."""
    return {name: value for name, value in asdict(physics).items() if name != "kinds" or value}


def _in_use(topology, name):
    """Return whether a flag is set for any molecule."""
    return bool(np.any(getattr(topology.examples, name)))


def _refuse_impossible_time(path, time, comm):
    wrong = not (math.isfinite(time) and time >= 0.0)
    agree(comm, DataError(f"{path}: a checkpoint at time {time} cannot be written") if wrong else None)


def _read_topology(file, comm):
    tables = {}
    for name, slab in _topology_slabs(file, comm):
        tables |= rows.everywhere(comm, {name: slab})
    return Topology(names=tuple(files.get_json(file, "names", comm)), **tables)


def _read_composition(file, comm):
    """Return the Composition of a file's molecules; each rank compares its slabs of the tables with it.

    Raises
    ------
    DataError
        On every rank, when they differ: molecules of one kind are not alike, or their beads or bonds do not add up.
    """
    tables = {name: files.dataset_of(file, f"topology/{name}") for name, _ in _tables_in(file)}
    slabs = _topology_slabs(file, comm)
    (_, kind), low = next(slabs), rows.slab(len(tables["kind"]), comm)[0]
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    every = gathered(comm, (low + starts, kind[starts]))
    runs = [np.concatenate([pair[k] for pair in every]) for k in (0, 1)]

    def rows_of(name, first, count):
        table = tables[name]
        return rows.read_at(table, (first, *[0] * (table.ndim - 1)), (count, *table.shape[1:]), comm)

    names = tuple(files.get_json(file, "names", comm))
    found = composition_from(names, *runs, {name: len(table) for name, table in tables.items()}, rows_of)
    for name, part in slabs:
        low, high = rows.slab(len(tables[name]), comm)
        fits = found is not None and len(tables[name]) == found.count(name)
        if not fits or not np.array_equal(part, found.rows(name, low, high)):
            found = None  # and on with reading, which is collective
    problem = "molecules of one kind are not alike, or their beads or bonds do not add up"
    agree(comm, None if found is not None else wrong_contents(file.filename, problem))
    return found


def _tables_in(file):
    """Return the names and types of the tables of molecules, bonds and beads that a file has."""
    return [(name, rule) for name, rule in TOPOLOGY.items() if name not in OPTIONAL or f"topology/{name}" in file]


def _topology_slabs(file, comm):
    """Yield the name and this rank's slab of each table of molecules, bonds and beads that a file has."""
    for name, (kind, columns) in _tables_in(file):
        yield name, get_summed(file, f"topology/{name}", kind, columns, None, comm)


def _wanted(comm, count, ids, slabs):
    return rows.everywhere(comm, slabs) if ids is None else rows.pick(comm, count, np.asarray(ids, np.int64), slabs)
