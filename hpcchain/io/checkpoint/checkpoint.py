"""Checkpoints and start files: everything that a run needs to go on to the same bits on any rank count.

Box, molecules and constants follow from the input in the file. Besides it there are the states of the beads, and what
the program chose where the input leaves that to it.

A checkpoint is sealed (every byte), and carries per-block checksums of its arrays taken from memory as they were
written: the seal finds damage to the file, the checksums a write that went wrong before it was sealed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import h5py
import numpy as np

from hpcchain.config.keys.values import LARGEST
from hpcchain.config.load import stored_config
from hpcchain.errors import DataError, HpcchainError
from hpcchain.io.checkpoint import orientations
from hpcchain.io.checkpoint.layout import STATE, check_system, counters_problem
from hpcchain.io.hdf5 import files, slabs
from hpcchain.io.hdf5.checksummed import RowsOf, Rule, check_table, get_pieces, put_tables, stored_type
from hpcchain.io.hdf5.collective import FAILURES, together, translated
from hpcchain.io.provenance import collect
from hpcchain.layout import arrays as L
from hpcchain.layout.workspace import PART_COLUMNS, PART_SERIES
from hpcchain.model.molecules.long_chains import columns_in_use, divides_any, with_columns
from hpcchain.model.physics.extended import EXTRA, UNKNOWN, column, joined, tables_of, widened
from hpcchain.model.sound import MUTUAL, imbalance, tick_problem
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import choices_in, physics_as_chosen
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import agree, gathered, is_parallel

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.composition import Composition
    from hpcchain.model.starts.start import Choices
    from hpcchain.model.system import Physics
    from hpcchain.parallel.agreement import Communicator

OUTLINED = 64
"""Blocks of rows that `read_outline` looks at together."""

PARTS = "parts"
"""`State.parts`, of runs whose long chains have segments of parts (`layout.workspace`)."""


class Progress(NamedTuple):
    """How far a run has come: simulated time [time] and running totals (events, frames, reports, ...)."""

    time: float
    counters: dict[str, object]


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
    config : Config
        The resolved input.
    provenance : dict
        See `provenance.collect`.
    """

    system: System
    time: float
    counters: dict[str, object]
    config: Config
    provenance: dict[str, object]


def write_checkpoint(
    path: Path,
    comm: Communicator | None,
    system: System,
    time: float,
    counters: Mapping[str, object],
    config: Config,
    perf: Mapping[str, tuple[float, float, float]] | None = None,
    ids: np.ndarray | None = None,
    provenance: Mapping[str, str | int] | None = None,
) -> None:
    """Write a checkpoint, atomically and durably; collective.

    Parameters
    ----------
    path : path
    comm : communicator or None
    system : System
        Box, topology and physics are those of the input; the state has this rank's rows, and a table of directors at
        least this rank's slab of the beads.
    time : float
        [time]
    counters : dict of str -> what JSON holds
    config : Config
        The resolved input.
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
    good = math.isfinite(time) and time >= 0.0
    agree(comm, None if good else DataError(f"{path}: a checkpoint at time {time} cannot be written"))
    beads = system.topology.beads
    arrays = {name: np.asarray(getattr(system.state, name), stored_type(rule.kind)) for name, rule in STATE.items()}
    further = extra_tables(system, comm)
    arrays = parallel_slabs.sorted_slabs(comm, beads, ids, arrays | further)
    first = parallel_slabs.slab(beads, comm)[0]

    def held(low: int, high: int) -> dict[str, np.ndarray]:
        return {name: array[low - first : high - first] for name, array in arrays.items()}

    values: dict[str, object] = {"counters": counters, "perf": perf or {}, "provenance": provenance or collect(comm)}
    tables = STATE | {name: Rule.of(rows) for name, rows in further.items()}
    _write(path, comm, system, held, time, config, values, tables=tables)


def write_start(
    path: Path,
    comm: Communicator | None,
    system: System,
    state_of: Callable[[int, int], State],
    config: Config,
    blocks: int,
) -> None:
    """Write the file of a start at time 0 of which no rank has more beads at a time than it is asked for; collective.

    Parameters
    ----------
    path : path
    comm : communicator or None
    system : System
        Without a state.
    state_of : function of (int, int)
        Returns the State of beads low ... high - 1, of `blocks` blocks of 4096 at most, maybe of none; all ranks ask
        equally often, so that it may be collective.
    config : Config
    blocks : int

    Raises
    ------
    DataError
        On every rank, when the file cannot be written; an earlier file of this name is then untouched.
    """

    def made(low: int, high: int) -> dict[str, np.ndarray]:
        state = state_of(low, high)
        return {name: getattr(state, name) for name in STATE}

    values: dict[str, object] = {"counters": {}, "perf": {}, "provenance": collect(comm)}
    _write(path, comm, system, made, 0.0, config, values, blocks)


def _write(
    path: Path,
    comm: Communicator | None,
    system: System,
    state_of: RowsOf,
    time: float,
    config: Config,
    values: dict[str, object],
    blocks: int | None = None,
    tables: Mapping[str, Rule] | None = None,
) -> None:
    """Write a checkpoint of which `state_of` returns the state's rows, so many blocks of them at a time."""
    beads = system.topology.beads
    with files.writing(path, "checkpoint", comm) as file:
        put_tables(file, "state", tables or STATE, beads, state_of, comm, blocks)
        if system.directors is not None and config.initial.method == "file":  # else they follow from the input
            orientations.put(file, system.directors, beads, comm, blocks)
        slabs.put(file, "time", np.float64(time), comm)
        files.put_text(file, "config_toml", config.to_toml(), comm)
        for name, value in (values | {"physics": choices_in(system.physics)}).items():
            files.put_json(file, name, value, comm)


def read_checkpoint(path: Path | str, comm: Communicator | None = None, part: bool = False) -> Checkpoint:
    """Read a checkpoint or start file; collective.

    Every rank has all molecules, or an even `part` of them: then nothing on any of several ranks grows with the number
    of molecules of the whole.

    Raises
    ------
    DataError
        On every rank, when the file is missing, foreign, truncated or damaged anywhere.
    """
    return _read(path, comm, whole=not (part and is_parallel(comm)))


def read_outline(path: Path | str) -> Checkpoint:
    """Read a checkpoint or start file but for the states of its beads, in memory that does not follow their number.

    Returns
    -------
    Checkpoint
        Its system has the state of no bead; a table of directors has no row.

    Raises
    ------
    DataError
        As `read_checkpoint`; the states and directors are checked, too.
    """
    return _read(path, None, whole=False, blocks=OUTLINED)


def _read(path: Path | str, comm: Communicator | None, whole: bool, blocks: int | None = None) -> Checkpoint:
    """Return a Checkpoint with the molecules that this rank is to have, the states of which are checked; collective.

    They are all of them (`whole`), or an even part. With `blocks` so many blocks of rows are looked at together, by one
    rank alone, and none is kept.
    """
    with files.reading(path, "checkpoint", comm) as file:
        found = _read_rest(file, comm, blocks)
        composition, unlike = found.system.topology, 0
        tables = _states_in(file, composition.beads, comm, blocks)
        for held, state in _rows(tables, None if whole else composition, comm):
            system = replace(found.system, state=state)
            if held is not None:
                system.held = held
            with together(comm, path, "checking"):
                check_system(path, system, found.time, found.config)
            if held is not None and blocks:
                unlike += imbalance(system, composition.beads_of(held))
            else:
                found.system = system
        if unlike % 2**64:
            raise files.wrong_contents(path, MUTUAL)
    return found


Pieces = Iterator[tuple[int, dict[str, np.ndarray]]]
"""First rows, and the rows by table, of the pieces of this rank's slab of the states."""


def _states_in(file: h5py.File, beads: int, comm: Communicator | None, blocks: int | None) -> Pieces:
    """Yield the tables of states of this rank's slab of the beads, so many blocks of rows at a time."""
    tables = {
        name: get_pieces(file, f"state/{name}", rule, beads, comm, blocks)
        for name, rule in [*STATE.items(), *_rules_in(file)]
    }
    for parts in zip(*tables.values(), strict=True):
        yield parts[0][0], dict(zip(tables, (rows for _, rows in parts), strict=True))


def _rows(
    tables: Pieces, composition: Composition | None, comm: Communicator | None
) -> Iterator[tuple[np.ndarray | None, State]]:
    """Yield molecules that follow one another, and the State of their beads.

    Without a Composition they are all of them (None), on every rank. On several ranks they are those that begin in this
    rank's slab, which is one piece. On one they are those that end in each of the pieces.
    """
    if composition is None:
        for _, rows in tables:
            yield None, State(**_with_extra(parallel_slabs.everywhere(comm, rows)))
        return
    if comm is not None and is_parallel(comm):
        molecules = composition.beginning_in(*parallel_slabs.slab(composition.beads, comm))
        bounds, wanted = parallel_slabs.bounds(composition.beads, comm), composition.bead_range(molecules)
        for _, rows in tables:
            yield molecules, State(**_with_extra(parallel_slabs.range_from_slabs(comm, bounds, *wanted, rows)))
        return
    first, over = 0, None
    for low, rows in tables:
        high = low + len(rows["depth"])
        if over is not None:
            rows = {name: np.concatenate([over[name], part]) for name, part in rows.items()}
        end = composition.molecules if high >= composition.beads else int(composition.molecule_of(high))
        molecules = np.arange(first, end)
        beads = int(composition.size_of(molecules).sum())
        yield molecules, State(**_with_extra({name: part[:beads] for name, part in rows.items()}))
        first, over = end, {name: part[beads:] for name, part in rows.items()}


def system_in(file: h5py.File, comm: Communicator | None) -> tuple[Config, System]:
    """Return the input in an open checkpoint, and the System that follows from it, without the state of a bead."""
    path, text = file.filename, files.get_text(file, "config_toml", comm)
    with together(comm, path, "reading its input"):
        config, beads = stored_config(text, path), len(files.dataset_of(file, "state/depth"))
        if config.beads != beads:
            raise files.wrong_contents(path, f"state: is of {beads} beads, the input in it of {config.beads}")
    with translated(f"{path}: physics", "reading"):
        physics = physics_as_chosen(config, cast("Choices", files.get_json(file, "physics", dict, comm)))
    problem = tick_problem(physics.tick)
    if problem:
        raise files.wrong_contents(path, problem)
    no_beads = State.at_time_zero(np.empty((0, 3)), np.empty((0, 3)))
    return config, System(build_box(config.box), build_composition(config), no_beads, physics)


def _read_rest(file: h5py.File, comm: Communicator | None, blocks: int | None) -> Checkpoint:
    """Return the Checkpoint of a file without the state of a bead; `blocks` as for `orientations.get`."""
    config, system = system_in(file, comm)
    system.directors = build_directors(config)
    if system.directors is not None and config.initial.method == "file":
        with translated(f"{file.filename}: {orientations.GROUP}", "reading"):
            system.directors = orientations.get(file, system.directors, config.beads, comm, blocks)
    reached = _progress(file, comm)
    _require_extra(file, system.physics, reached.time)
    return Checkpoint(
        system=system,
        time=reached.time,
        counters=reached.counters,
        config=config,
        provenance=files.get_json(file, "provenance", dict, comm),
    )


def _progress(file: h5py.File, comm: Communicator | None) -> Progress:
    """Return the Progress in an open checkpoint."""
    check_table(files.dataset_of(file, "time"), Rule(np.float64), 1)
    time = float(files.get(file, "time", comm)[0])
    counters = files.get_json(file, "counters", dict, comm)
    problem = None if 0.0 <= time <= LARGEST else f"the time, {time!r}, is not a finite positive number"
    problem = problem or counters_problem(counters, time)
    if problem:
        raise files.wrong_contents(file.filename, problem)
    return Progress(time, counters)


def read_perf(path: Path) -> dict[str, tuple[float, float, float]]:
    """Return where a run's time went until a checkpoint: dict of phase -> (min, avg, max) wall seconds over ranks."""
    with files.reading(path, "checkpoint") as file:
        table = files.get_json(file, "perf", dict)
        rows = {phase: row if isinstance(row, list) and len(row) == 3 else [None] for phase, row in table.items()}
        if not all(type(x) in (int, float) for row in rows.values() for x in row):
            raise files.wrong_contents(path, "perf: is no table of three numbers each")
        return cast("dict[str, tuple[float, float, float]]", {phase: tuple(row) for phase, row in rows.items()})


def read_extent(path: Path | str) -> tuple[int, float]:
    """Return (beads, time) of a checkpoint or start file as it says without proof; (0, 0.0) where it does not say.

    Nothing of what follows the number of beads is read, not even the seal: whoever reads the file will check it.
    """
    try:
        with files.reading(path, "checkpoint", checked=False) as file:
            return len(files.dataset_of(file, "state/depth")), float(files.get(file, "time")[0])
    except (*FAILURES, HpcchainError):
        return 0, 0.0


def read_config(path: Path | str) -> Config:
    """Return the input in a checkpoint or start file without proof, as `read_extent`; raises DataError where it cannot.

    Not even a damaged file makes this read more than an input may hold.
    """
    with files.reading(path, "checkpoint", checked=False) as file:
        return stored_config(files.get_text(file, "config_toml"), path)


def read_progress(path: Path, comm: Communicator | None = None) -> Progress:
    """Return the Progress in a checkpoint whose seal, kind and version are right; collective."""
    with files.reading(path, "checkpoint", comm) as file:
        return _progress(file, comm)


def extra_tables(system: System, comm: Communicator | None) -> dict[str, np.ndarray]:
    """Return name -> rows of the tables that a system's checkpoint has besides; collective."""
    return _own_tables(system, comm) | _part_tables(system, comm)


def _own_tables(system: System, comm: Communicator | None) -> dict[str, np.ndarray]:
    """Return what `extra_tables` does of what beads have in an extended run; collective."""
    # Whether there are any, ranks with beads say: one that sleeps may have columns where those have none.
    tables, rows = tables_of(system.physics), system.state.extra
    if not tables:
        return {}
    inside = rows[:, L.INSIDE :]
    known = len(rows) == 0 or (inside.shape[1] > 0 and not np.any(inside == UNKNOWN))
    used = int(np.max(np.sum(inside != 0.0, axis=1), initial=0))
    every = gathered(comm, (rows.size > 0, used, known))
    if not any(some for some, *_ in every):
        return {}
    columns, everyone_knows = max(most for _, most, _ in every), all(known for *_, known in every)
    rows = widened(rows, L.INSIDE + columns)  # those of a rank without beads are as wide as at the start
    found = {}
    for one in tables:
        if one.columns or everyone_knows:
            found[one.name] = column(widened(rows, one.first + one.columns), one, max(columns, 1))
    return found


def _part_tables(system: System, comm: Communicator | None) -> dict[str, np.ndarray]:
    """Return what `extra_tables` does of a run whose long chains may be divided; collective."""
    if not divides_any(system.topology, system.physics):
        return {}
    rows = system.state.parts
    columns = max(gathered(comm, columns_in_use(rows)))
    return {PARTS: with_columns(rows)[:, :columns]} if columns else {}


def _rules_in(file: h5py.File) -> list[tuple[str, Rule]]:
    """Return (name, Rule) of the tables of `model.physics.extended.EXTRA` that a file has."""
    found = []
    for one in EXTRA:
        dataset = file.get(f"state/{one.name}")
        if isinstance(dataset, h5py.Dataset):
            columns = dataset.shape[1] if one.columns == 0 and dataset.ndim == 2 else one.columns
            found.append((one.name, Rule(one.bounds.dtype, 0 if columns == 1 and one.columns == 1 else columns)))
    parts = file.get(f"state/{PARTS}")
    if isinstance(parts, h5py.Dataset) and parts.ndim == 2 and PART_SERIES < parts.shape[1] <= PART_COLUMNS:
        found.append((PARTS, Rule(np.float64, parts.shape[1])))
    return found


def _with_extra(tables: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the tables of states with those of `EXTRA` as one, `State.extra`, and all columns of `State.parts`."""
    own = {one.name: tables[one.name] for one in EXTRA if one.name in tables}
    others = {name: rows for name, rows in tables.items() if name not in own}
    parts = {PARTS: with_columns(tables[PARTS])} if PARTS in tables else {}
    return others | parts | {"extra": joined(own, len(tables["depth"]))}


def _require_extra(file: h5py.File, physics: Physics, time: float) -> None:
    """Raise DataError where a file of a run that has begun lacks a table that such runs have."""
    for one in tables_of(physics) if time > 0.0 else []:
        if f"state/{one.name}" not in file:
            raise DataError(f"{file.filename}: state/{one.name} is missing, and its run has {one.meaning}")
