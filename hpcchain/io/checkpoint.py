"""Checkpoints and start files: everything that a run needs to go on to the same bits on any rank count.

A checkpoint is sealed (every byte), and carries per-block checksums of its arrays taken from memory as they were
written: the seal finds damage to the file, the checksums a write that went wrong before it was sealed.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from hpcchain.errors import DataError
from hpcchain.io import files, rows
from hpcchain.io.checkpoint_layout import OPTIONAL, STATE, TOPOLOGY, check_system, check_table, stored_type
from hpcchain.io.collective import agree
from hpcchain.io.provenance import collect
from hpcchain.model.system import Box, Physics, State, System, Topology


@dataclass
class Checkpoint:
    """What a checkpoint holds.

    Attributes
    ----------
    system : System
        Its state has the rows that were asked for.
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
        Box, topology (or its Composition) and physics are the same on all ranks; the state has this rank's rows.
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
            _put_summed(file, f"state/{name}", topology.beads, part, comm)
        for name, (kind, _) in TOPOLOGY.items():
            if name in OPTIONAL and not _in_use(topology, name):
                continue
            count = topology.count(name)
            part = np.asarray(topology.rows(name, *rows.slab(count, comm)), stored_type(kind))
            _put_summed(file, f"topology/{name}", count, part, comm)
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
        slabs = {name: _get_slab(file, f"state/{name}", *rule, topology.beads, comm) for name, rule in STATE.items()}
        state = State(**_wanted(comm, topology.beads, ids, slabs))
        box = Box(*(files.get(file, f"box/{name}", comm) for name in ("size", "origin", "boundary")))
        physics = Physics(**files.get_json(file, "physics", comm))
        found = Checkpoint(
            system=System(box, topology, state, physics),
            time=float(files.get(file, "time", comm)[0]),
            counters=files.get_json(file, "counters", comm),
            config_toml=files.get_text(file, "config_toml", comm),
            provenance=files.get_json(file, "provenance", comm),
        )
        check_system(path, found.system, found.time)
    return found


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
    return bool(np.any(getattr(getattr(topology, "examples", topology), name)))


def _refuse_impossible_time(path, time, comm):
    wrong = not (math.isfinite(time) and time >= 0.0)
    agree(comm, DataError(f"{path}: a checkpoint at time {time} cannot be written") if wrong else None)


def _put_summed(file, name, count, part, comm):
    rows.put_slab(file, name, count, part, comm)
    rows.put(file, f"checksum/{name}", rows.all_block_sums(part, comm), comm)


def _get_slab(file, name, kind, columns, count, comm):
    """Return this rank's slab of a table after checking its type, shape and block checksums."""
    dataset = files.dataset_of(file, name)
    check_table(dataset, kind, columns, count)
    low, high = rows.slab(len(dataset), comm)
    part = rows.read_at(dataset, (low, *[0] * (dataset.ndim - 1)), (high - low, *dataset.shape[1:]), comm)
    stored = files.get(file, f"checksum/{name}", comm)
    mine = stored[low // rows.BLOCK : -(-high // rows.BLOCK)] if high > low else stored[:0]
    same = np.array_equal(rows.block_sums(part), mine)
    agree(comm, None if same else DataError(f"{file.filename}: {name} was not written correctly; use an older one"))
    return part.astype(bool) if kind is np.bool_ else part


def _read_topology(file, comm):
    tables = {}
    for name, (kind, columns) in TOPOLOGY.items():
        if name in OPTIONAL and f"topology/{name}" not in file:
            continue
        slab = {name: _get_slab(file, f"topology/{name}", kind, columns, None, comm)}
        tables |= rows.everywhere(comm, slab)
    return Topology(names=tuple(files.get_json(file, "names", comm)), **tables)


def _wanted(comm, count, ids, slabs):
    return rows.everywhere(comm, slabs) if ids is None else rows.pick(comm, count, np.asarray(ids, np.int64), slabs)
