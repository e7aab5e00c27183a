"""What the commands do: run, resume, build and warm up."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions
from hpcchain.config.load import read_table
from hpcchain.config.override import apply
from hpcchain.config.vary import Combination, combinations
from hpcchain.errors import EXIT_DONE, CodeError, ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint.layout import whole
from hpcchain.io.checkpoint.store import list_checkpoints, newest_valid
from hpcchain.io.hdf5.collective import on_root, root_does
from hpcchain.io.hdf5.files import reading, require_parallel, wrong_contents
from hpcchain.io.output.lineage import CHECKPOINTS, GROWTH, INPUT
from hpcchain.io.output.recoverable_output import is_finished, output_in
from hpcchain.io.output.runs import is_ensemble, read_runs
from hpcchain.io.tools.overwrite_guard import require_other
from hpcchain.parallel.comm import Single
from hpcchain.parallel.signals import Signals
from hpcchain.run import ensemble
from hpcchain.run import folder as folders
from hpcchain.run.compiling import CompilingNotice
from hpcchain.run.controller import Run
from hpcchain.run.engines import engine_on
from hpcchain.run.guards.disk import require_disk_for
from hpcchain.run.guards.lock import FolderLock
from hpcchain.run.guards.memory import require_memory_for, require_memory_to_resume
from hpcchain.run.guards.wall_limit import WallLimit
from hpcchain.run.guards.watchdog import Watchdog
from hpcchain.run.simulation import complete
from hpcchain.run.starts.growth_file import GrowthFile, input_of
from hpcchain.run.starts.preconditions import (
    counted_on,
    newest,
    require_free,
    require_reported,
    require_same_physics,
    require_time_left,
)
from hpcchain.run.starts.replicate import enlarged, write_copies
from hpcchain.run.starts.start_from_configuration import found_in, run_input, started_from
from hpcchain.run.starts.starting import (
    input_from_table,
    own_potentials,
    read_input,
    require_own_potentials,
    require_trusted,
    start_system,
    try_steps,
    warn,
    with_end,
)
from hpcchain.run.warming import warmup as warmup  # one of what commands do

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.io.checkpoint.checkpoint import Checkpoint
    from hpcchain.io.output.recoverable_output import Output
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.parallel.comm import World
    from hpcchain.run.starts.start_from_configuration import Found, Source

LOG = logging.getLogger("hpcchain.api")
WARMUP_ON_RANKS = 0.4


def run(
    path: Path | str,
    output: Path | str | None = None,
    until: float | None = None,
    overrides: list | tuple = (),
    resume: str | None = None,
    comm: Single | World | None = None,
    wall_limit: float | None = None,
    silence: float = 0.0,
    trust_code: bool = False,
) -> int:
    """Run an input file; return the exit code.

    Parameters
    ----------
    path : path
        The input file.
    output : path, optional
        Output directory, instead of output.directory.
    until : float, optional
        End time, instead of run.end_time [time].
    overrides : sequence of str
        "key.sub=value".
    resume : str, optional
        "auto": go on from the newest whole checkpoint of the output directory, if there is one.
    comm : Single or World, optional
        One rank without it.
    wall_limit : float, optional
        Stop with a checkpoint before this is used up [wall seconds].
    silence : float
        After so long without a step each rank writes what it is doing; 0: never [wall seconds].
    trust_code : bool
        Run potentials' files that other users could have changed.
    """
    limit, comm = WallLimit(wall_limit), comm or Single()
    mpi = comm.mpi
    require_parallel(mpi)
    config = with_end(read_input(path, overrides, mpi, trust_code), until)
    warn(config, mpi)
    folder = Path(output if output is not None else config.output.directory)
    return run_in(folder, config, resume == "auto", comm, limit, silence)


def run_in(folder: Path, config: Config, goes_on: bool, comm: Single | World, limit: WallLimit, silence: float) -> int:
    """Run an input in a folder, or go on where it has a checkpoint, if that is wanted; return the exit code."""
    mpi = comm.mpi
    with Signals() as signals, FolderLock(folder, mpi), Watchdog(comm, folder, silence), CompilingNotice():
        if goes_on:
            earlier = output_in(folder, mpi)
            found = newest(folder, earlier, mpi)
            if found is not None:
                require_memory_to_resume(found, comm)
                checkpoint = timed_read(found, mpi, limit)
                require_same_physics(config, checkpoint.config, found)
                return continued(checkpoint, found, config, folder, earlier, signals, comm, limit)
        folders.refuse_occupied(folder, mpi)
        return complete(config, folder, comm, signals, limit)


def run_many(
    path: Path | str,
    vary: list | tuple,
    output: Path | str | None = None,
    until: float | None = None,
    overrides: list | tuple = (),
    comm: Single | World | None = None,
    wall_limit: float | None = None,
    silence: float = 0.0,
    trust_code: bool = False,
    ranks_per_run: int | None = None,
) -> int:
    """Run an ensemble: an input with every combination of some keys' values; return the exit code.

    A second call goes on with unfinished runs. The code is 75 if runs were stopped, else that of the first run that
    failed, else 0.

    Parameters
    ----------
    path : path
        The input file.
    vary : sequence of str
        "key=first:last" or "key=value,value,…", as --vary takes them.
    output : path, optional
        The folder for the runs' folders and runs.csv, instead of output.directory.
    ranks_per_run : int, optional
        Ranks of each run; by default as many as the cost model says pay.
    until, overrides, comm, wall_limit, silence, trust_code :
        As for `run`.
    """
    limit, comm = WallLimit(wall_limit), comm or Single()
    runs: list[tuple[Combination, Config]] = []  # on the root alone: inputs may be large

    def read() -> Path:
        wanted = combinations(vary, overrides)
        table = read_table(path, overrides)  # once, as a pipe gives it
        runs.extend((one, combined(one, table, str(path), until)) for one in wanted)
        return Path(output if output is not None else runs[0][1].output.directory)

    folder = on_root(comm.mpi, read)
    return run_all(folder, lambda: runs, comm, limit, silence, trust_code, ranks_per_run)


def combined(one: Combination, table: dict[str, object], name: str, until: float | None) -> Config:
    """Return the input of one run of several, of the table of all; not collective."""
    own = deepcopy(table)
    try:
        for override in one.overrides:
            apply(own, override)
        return with_end(input_from_table(own, name), until)
    except ConfigError as error:
        raise ConfigError(f"{error} (run {one.name})") from None


def run_all(
    folder: Path,
    wanted: Callable[[], list[tuple[Combination, Config]]],
    comm: Single | World,
    limit: WallLimit,
    silence: float,
    trust_code: bool,
    ranks_per_run: int | None,
) -> int:
    """Carry the runs of an ensemble that are not done, in their folders in a folder; return the exit code.

    Parameters
    ----------
    folder : path
    wanted : callable
        Returns, on the root, the runs and their inputs.
    comm, limit, silence, trust_code, ranks_per_run :
        As for `run_many`.
    """
    mpi = comm.mpi

    def plan() -> ensemble.Plan:
        runs = wanted()
        found = ensemble.planned(folder, runs, comm.size, ranks_per_run)
        for line in dict.fromkeys(line for _, config in runs for line in cautions(config)):
            LOG.warning("%s", line)
        return found

    def one(path: Path, group: Single | World) -> int:
        def read() -> Config:
            config = load_config(path / INPUT, stored=True)
            try_steps(config, trust_code, path / INPUT)
            return config

        return run_in(path, on_root(group.mpi, read), True, group, limit, silence)

    with Signals() as signals, FolderLock(folder, mpi):
        planned = root_does(mpi, folder, "planning its runs", plan)
        require_parallel(mpi if planned.ranks > 1 else None)
        return ensemble.carry(planned, folder, comm, signals, limit, one)


def resume(
    source: Path | str,
    until: float | None = None,
    output: str | None = None,
    comm: Single | World | None = None,
    wall_limit: float | None = None,
    silence: float = 0.0,
    trust_code: bool = False,
    ranks_per_run: int | None = None,
) -> int:
    """Continue a run from its directory or one of its checkpoints, or all of an ensemble; return the exit code.

    Parameters
    ----------
    source : path
        A run's directory, or a checkpoint, or the directory of an ensemble.
    until : float, optional
        New end time [time].
    output : path, optional
        Another directory to write to; the output up to the checkpoint is copied there.
    comm, wall_limit, silence, trust_code :
        As for `run`.
    ranks_per_run : int, optional
        As for `run_many`.
    """
    limit, comm = WallLimit(wall_limit), comm or Single()
    source, mpi = Path(source), comm.mpi
    if not root_does(mpi, source, "looking for it", source.exists):
        raise DataError(f"{source}: no such file or directory; name a run's output directory or one of its checkpoints")
    if root_does(mpi, source, "looking at it", lambda: is_ensemble(source)):
        if output is not None:
            raise UsageError(f"{source}: is an ensemble, which goes on where it is; leave out --output")
        return run_all(
            source, lambda: stored(source, until, trust_code), comm, limit, silence, trust_code, ranks_per_run
        )
    if ranks_per_run is not None:
        raise UsageError(f"{source}: is no ensemble, which alone --ranks-per-run is for")
    require_parallel(mpi)
    is_run = root_does(mpi, source, "looking at it", source.is_dir)
    home = source if is_run else folders.home_of(source)
    if home is None and output is None:
        with reading(source, "checkpoint", mpi):  # what is none is to be named first
            pass
        raise UsageError(f"{source}: stands in no run's folder checkpoints; say with --output where to write")
    folder = Path(output) if output is not None else home
    copying = home is None or folder.resolve() != home.resolve()
    with Signals() as signals, FolderLock(folder, mpi), Watchdog(comm, folder, silence), CompilingNotice():
        growing = input_of(home, mpi) if is_run and not copying else None
        if growing and not root_does(mpi, home, "listing checkpoints", lambda: list_checkpoints(home / CHECKPOINTS)):
            on_root(mpi, lambda: try_steps(growing, trust_code, home / GROWTH))
            return complete(with_end(growing, until), folder, comm, signals, limit)
        earlier = output_in(home, mpi)
        path = newest(source, earlier, mpi, required=True) if is_run else source
        require_memory_to_resume(path, comm)
        checkpoint = timed_read(path, mpi, limit)
        config = with_end(checkpoint.config, until)
        require_time_left(config, checkpoint, path)
        if not is_over(checkpoint, config, earlier, mpi):
            require_own_potentials(checkpoint.system.physics, mpi, trust_code, path)
        warn(config, mpi, checkpoint.time)
        if copying:
            folders.refuse_occupied(folder, mpi)
            path = folders.bring_along(home, path, whole(checkpoint.counters, "part"), folder, mpi)
        return continued(checkpoint, path, config, folder, earlier, signals, comm, limit)


def stored(folder: Path, until: float | None, trust: bool) -> list[tuple[Combination, Config]]:
    """Return the runs of an ensemble's table, each with the input in its folder; not collective.

    It is written anew with another end, so that whose it was is to be looked at here.
    """
    runs = []
    for row in read_runs(folder):
        path = folder / row.run / INPUT
        config = load_config(path, stored=True)
        require_trusted(own_potentials(config), trust, path)
        runs.append((Combination(row.run, row.settings), with_end(config, until)))
    return runs


def build(
    path: Path | str,
    out: Path | str,
    overrides: list | tuple = (),
    comm: Single | World | None = None,
    trust_code: bool = False,
    copies: list | tuple | None = None,
) -> Config:
    """Write the start of an input file, or one of copies of that; return the input's Config, or that of the copies.

    Parameters
    ----------
    path : path
        The input file, of one copy.
    out : path
        The start file.
    overrides, comm, trust_code :
        As for `run`.
    copies : (int, int, int), optional
        How many along each axis; their Config is that of a run that begins with them.
    """
    comm = comm or Single()
    mpi = comm.mpi
    require_parallel(mpi)
    config = read_input(path, overrides, mpi, trust_code)
    large = config if copies is None else enlarged(config, copies, out)
    require_free(out, config, mpi)
    require_memory_for(config, comm)
    growth = GrowthFile(f"{out}.{GROWTH}", config, mpi)
    with Signals() as signals, CompilingNotice():
        system = start_system(config, signals, comm, keep=growth)
        if copies is None:
            ids = None if system.held is None else system.topology.beads_of(system.held)
            write_checkpoint(Path(out), mpi, system, 0.0, {}, config, ids=ids)
        else:
            write_copies(Path(out), large, system, copies, comm, lambda: signals.stop)
    growth.remove()
    return large


def build_from(
    source: Source,
    out: Path | str,
    path: Path | str | None = None,
    overrides: list | tuple = (),
    grow: bool = False,
    comm: Single | World | None = None,
    trust_code: bool = False,
) -> Config:
    """Write a start made from another program's file; return the Config of a run that begins with it.

    Parameters
    ----------
    source : Source
        The file and how to read it (`hpcchain.run.starts.start_from_configuration`).
    out : path
        The start file.
    path : path, optional
        An input file with what the file does not have.
    overrides : sequence of str
        "key.sub=value"; molecule.KEY holds for all molecules if the input has no [[molecule]].
    grow : bool
        Whether beads that overlap begin smaller and grow.
    comm, trust_code :
        As for `run`.
    """
    comm = comm or Single()
    mpi = comm.mpi
    require_parallel(mpi)

    def read() -> Found:
        require_other(out, source.path)
        table: dict[str, object] = {} if path is None else read_table(path)
        for override in overrides:
            apply(table, override)
        found = found_in(source, table, None if path is None else str(path))
        try_steps(found.config, trust_code)
        return found

    found = on_root(mpi, read)
    config = found.config
    require_free(out, config, mpi)
    require_memory_for(config, comm)
    large = run_input(config, out)
    with Signals() as signals, CompilingNotice():
        system = started_from(found, grow, signals, comm)
        write_checkpoint(Path(out), mpi, system, 0.0, {}, large)
    return large


def warm_up(text: str) -> None:
    """Compile what the run of an input needs, on one rank with and without a second core, and on several."""
    from hpcchain.parallel.thread_ranks import on_ranks

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warmup.toml"
        path.write_text(text, encoding="utf-8")
        with quiet():
            run(path, output=Path(folder) / "out", comm=Single())
        config = load_config(path)
        system = read_checkpoint(newest_valid(Path(folder) / "out" / CHECKPOINTS)[0]).system

    def on_rank(exchange: Any) -> None:
        engine: Any = engine_on(system, config, exchange, None)
        engine.advance(WARMUP_ON_RANKS)
        if not system.physics.steps:
            engine.ghosts.refresh_skins(engine.now, engine.window)
        engine.frame(WARMUP_ON_RANKS)
        if not system.physics.steps:
            engine.ghosted.window.undo()

    engine_on(system, config, None, None, cores=2).advance(WARMUP_ON_RANKS)
    on_ranks(2, on_rank)


@contextmanager
def quiet() -> Iterator[Any]:
    """Keep to itself what a run says of itself, but for warnings."""
    loggers = [logging.getLogger(name) for name in ("hpcchain.api", "hpcchain.run")]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def timed_read(path: Path, mpi: Communicator | None, limit: WallLimit) -> Checkpoint:
    """Return this rank's part of a checkpoint; how long reading takes is a first guess for writing one."""
    begin = time.monotonic()
    checkpoint = read_checkpoint(path, mpi, part=True)
    limit.saved(time.monotonic() - begin)
    return checkpoint


def is_over(checkpoint: Checkpoint, config: Config, output: Output, mpi: Communicator | None) -> bool:
    """Return whether a checkpoint is a run's last, with all of its output; collective."""
    return bool(checkpoint.time == config.run.end_time and is_finished(output, config.run.end_time, mpi))


def continued(
    checkpoint: Checkpoint,
    path: Path,
    config: Config,
    folder: Path,
    output: Output,
    signals: Signals,
    comm: Single | World,
    limit: WallLimit,
) -> int:
    """Continue a run from a checkpoint in its directory, which has this output; return the exit code."""
    mpi = comm.mpi
    require_time_left(config, checkpoint, path)
    counters = checkpoint.counters | counted_on(output, checkpoint, path, folder)
    require_reported(output, counters, path, mpi)
    if is_over(checkpoint, config, output, mpi):
        LOG.info("%s: the run has reached its end time %.6g already; --until extends it", folder, checkpoint.time)
        return EXIT_DONE
    require_disk_for(config, checkpoint.system.topology.beads, folder, mpi, checkpoint.time)
    GrowthFile(folder / GROWTH, config, mpi).remove()
    LOG.info("resuming from %s at t %.6g", path, checkpoint.time)
    folders.open_folder(folder, config, mpi)
    folders.cut_back(folder, checkpoint.time, whole(counters, "part"), whole(counters, "reports"), mpi)
    try:
        run = Run(comm, config, checkpoint.system, folder, signals, checkpoint.time, counters, limit)
    except CodeError:
        raise
    except ConfigError as error:  # what no input of its own allows
        raise wrong_contents(path, str(error)) from error
    checkpoint.system = None  # each rank has now what is its own of it
    run.require_possible(path)
    return run.go()
