"""An ensemble: many runs of one input that differ in a few keys, handed out to groups of ranks as these become free.

Each run has a folder of its own in the ensemble's, in which it goes on as any run does; the table runs.csv says how far
all are (`hpcchain/io/output/runs.py`). The root writes it, as others report (`hpcchain/parallel/groups.py`).

1. The root plans: which runs are left, the longest first, and how many ranks each gets.
2. A group takes the next run, carries it, reports to the root how it has ended, and takes the next.
3. A failure that all ranks of a group come out of ends its run alone. Where some wait for ever for one that failed,
   their group takes no more runs, and is ended when all others are done. A signal or the wall limit ends all runs.
"""

from __future__ import annotations

import gc
import heapq
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config import load_config
from hpcchain.config.keys.values import counted
from hpcchain.config.override import read_settings
from hpcchain.config.packing import bead_volume
from hpcchain.errors import EXIT_DONE, EXIT_INTERNAL, EXIT_RESUBMIT, ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import plain
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.output.lineage import CHECKPOINTS, GROWTH, INPUT
from hpcchain.io.output.runs import (
    DONE,
    FAILED,
    NAME,
    RUNNING,
    STOPPED,
    WAITING,
    Row,
    is_ensemble,
    note_row,
    read_runs,
    write_runs,
)
from hpcchain.observe.runlog import duration
from hpcchain.parallel.groups import Groups, Turns
from hpcchain.parallel.tuning.ranks_at_work import CONTACTS, GAIN
from hpcchain.run.alone import works_of
from hpcchain.run.engines import ranks_for
from hpcchain.run.failures import describe, one_line
from hpcchain.run.folder import write_input
from hpcchain.run.guards.memory import extent_of, require_memory
from hpcchain.run.starts.preconditions import require_same_physics

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.config.vary import Combination
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.signals import Signals
    from hpcchain.run.guards.memory import Extent
    from hpcchain.run.guards.wall_limit import WallLimit

LOG = logging.getLogger("hpcchain.ensemble")
PROGRAM = logging.getLogger("hpcchain")
COMPILING = "hpcchain.compiling"
LOG_FILE, TURNS = "run.log", ".turns"
WRITE_SECONDS = 1.0
"""Wall time between two writes of the table at least, but for the last."""
PATIENCE = 5.0
"""Wall seconds that a rank on which a run failed waits for its group to fail, too."""
DENSEST = 0.7
"""Packing fraction above which the estimate of contacts rises no further."""

Action = Callable[[Path, "Single | World"], int]
"""Begins or goes on with the run in a folder, on the ranks of a group; returns its exit code."""


@dataclass(frozen=True)
class Plan:
    """What there is to do, the same on all ranks.

    Attributes
    ----------
    rows : list of Row
        Of the table.
    left : list of int
        Those that are not done yet, in the order in which they are handed out.
    ranks : int
        Ranks of each run.
    largest : Extent, optional
        Of those that are left the one with the most beads.
    """

    rows: list[Row]
    left: list[int]
    ranks: int
    largest: Extent | None = None


def planned(
    folder: Path, wanted: Sequence[tuple[Combination, Config]], ranks: int, ranks_per_run: int | None = None
) -> Plan:
    """Return the Plan of an ensemble in a locked folder, with its inputs and its table written; on the root.

    Parameters
    ----------
    folder : path
    wanted : list of (Combination, Config)
    ranks : int
        That there are.
    ranks_per_run : int, optional
        Default: what the model says pays.

    Raises
    ------
    ConfigError
        Where runs that are there vary other keys, or began with other physics.
    UsageError
        Where the folder holds a run of its own, or a run cannot have so many ranks.
    """
    if ranks_per_run is not None and not 1 <= ranks_per_run <= ranks:
        raise UsageError(
            f"--ranks-per-run {ranks_per_run}: the command has {counted(ranks, 'rank')}; give 1 to that many"
        )
    if list_checkpoints(folder / CHECKPOINTS):
        raise UsageError(f"{folder}: holds a run of its own; choose another --output for those of --vary")
    known = read_runs(folder) if is_ensemble(folder) else []
    found = [(earlier_row(folder, known, run), config) for run, config in wanted]
    for row, config in found:
        path = folder / row.run
        if (path / INPUT).is_file() and not is_new(path):
            require_same_physics(config, load_config(path / INPUT, stored=True), path)
    configs = {row.run: config for row, config in found}
    rows = {row.run: replace(row, state=STOPPED) if row.state == RUNNING else row for row in known}
    for row, config in found:
        if row.state != DONE or remaining(folder / row.run, config):  # the end may be later than it was
            path = folder / row.run
            path.mkdir(parents=True, exist_ok=True)
            write_input(path / INPUT, config.to_toml(), keep=is_new(path))
            row = row if row.state == FAILED else replace(row, state=WAITING if is_new(path) else STOPPED)
        rows[row.run] = row
    table = list(rows.values())
    write_runs(folder, table)
    left = [k for k, row in enumerate(table) if row.run in configs and row.state != DONE]
    ours = [configs[table[k].run] for k in left]
    given = ranks_per_run or ranks_for_all(ours, ranks)
    length = {k: remaining(folder / table[k].run, one) * seconds(one, given) for k, one in zip(left, ours, strict=True)}
    left.sort(key=lambda k: (table[k].state == FAILED, -length[k], k))
    largest = max(ours, key=lambda config: config.beads, default=None)
    return Plan(table, left, given, None if largest is None else extent_of(largest))


def earlier_row(folder: Path, known: Sequence[Row], run: Combination) -> Row:
    """Return the row that a combination has in a table, or a new one; folders may be called otherwise than it would be.

    Raises
    ------
    ConfigError
        Where the table is of other keys, or has a run of this name with other values.
    """
    keys = list(run.settings)
    for row in known:
        if list(row.settings) != keys:
            raise ConfigError(
                f"{folder / NAME}: its runs vary {', '.join(row.settings)}, not {', '.join(keys)}; choose another "
                "--output"
            )
    same = [row for row in known if read_settings(row.settings) == read_settings(run.settings)]
    if not same and run.name in (row.run for row in known):
        raise ConfigError(f"{folder / run.name}: is a run with other values already; choose another --output")
    return same[0] if same else Row(run.name, run.settings)


def is_new(folder: Path) -> bool:
    """Return whether there is nothing in a folder that a run would go on from."""
    return not list_checkpoints(folder / CHECKPOINTS) and not (folder / GROWTH).is_file()


def remaining(folder: Path, config: Config) -> float:
    """Return which part of its time a run still has to go, by the name of its newest checkpoint."""
    found, end = list_checkpoints(folder / CHECKPOINTS), config.run.end_time
    if not found:
        return 1.0
    return max(end - found[0][0], 0.0) / end if end > 0.0 and found[0][0] < round(end, 12) else 0.0


def seconds(config: Config, ranks: int) -> float:
    """Return about how many wall seconds an input's run takes on so many ranks, by the model of windows.

    What it is compared with are other runs on the same machine. How often beads collide is Enskog's estimate for single
    beads; steps are taken to cost as much for each bead of each run.
    """
    works = works_of(config)
    if not works:  # only its start file says it
        return config.run.end_time
    work, kinds = works[-1], config.molecules
    used = ranks_for(work, config.run.sectors, ranks, config.steps is not None)
    if config.steps is not None:
        return 1e-6 * work.beads / used * config.run.end_time / config.steps.step
    packed, beads = min(bead_volume(kinds) / math.prod(config.box.size), DENSEST), max(config.beads, 1)
    diameter = sum(kind.count * kind.beads * float(np.mean(kind.diameter)) for kind in kinds) / beads
    mass = sum(kind.count * kind.beads * float(np.mean(kind.mass)) for kind in kinds) / beads
    speed = math.sqrt((config.initial.temperature or 1.0) / (mass or 1.0))
    contacts = 24.0 / math.sqrt(math.pi) * packed * (1.0 - 0.5 * packed) / (1.0 - packed) ** 3 * speed
    windows = config.run.end_time * contacts / (diameter or 1.0) * work.beads / work.molecules / CONTACTS
    return 1e-6 * windows * work.microseconds(used)


def ranks_for_all(configs: Sequence[Config], ranks: int) -> int:
    """Return how many ranks each run gets so that all runs are done soonest, by the model; as few as do as well.

    Where there are as many runs as ranks or more, that is one, unless runs differ much or the input asks for sectors.
    """
    if ranks == 1 or not configs:
        return 1
    grids = [config.run.sectors for config in configs if not isinstance(config.run.sectors, str)]
    asked = max((product for grid in grids if (product := math.prod(grid)) <= ranks), default=1)
    sizes = {asked, ranks, max(ranks // len(configs), 1), *(1 << k for k in range(ranks.bit_length()))}
    best, least = asked, math.inf
    for size in sorted(size for size in sizes if asked <= size <= ranks):
        found = time_of_all([seconds(config, size) for config in configs], ranks // size)
        if found < (1.0 - GAIN) * least:
            best, least = size, found
    return best


def time_of_all(lengths: Sequence[float], groups: int) -> float:
    """Return when so many groups have done runs of these lengths, the longest of which are taken first."""
    free = [0.0] * groups
    for length in sorted(lengths, reverse=True):
        heapq.heapreplace(free, free[0] + length)
    return max(free)


class Table:
    """The table of an ensemble while it runs; on the root."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.rows, self._left = folder, list(plan.rows), plan.left
        self._written, self._changed, self._complains = -math.inf, False, True
        self._tried: set[int] = set()  # runs of which something has been reported

    def take(self, news: tuple[int, Row]) -> None:
        """Take in what a group reports of a run, and log it."""
        number, row = news
        self.rows[number], self._changed = row, True
        self._tried.add(number)
        if row.state == FAILED:
            LOG.error("%s: failed (exit code %s): %s", self.folder / row.run, row.code, row.message)
        elif row.state != RUNNING:
            ended = sum(self.rows[k].state in (DONE, FAILED) for k in self._left)
            lasted = duration(row.seconds)
            LOG.info("%s: %s, %s in all; %d of %d", self.folder / row.run, row.state, lasted, ended, len(self._left))
        self.write_if_due()

    def write_if_due(self) -> None:
        """Write what is new, unless that was done a moment ago."""
        if self._changed and time.monotonic() - self._written > WRITE_SECONDS:
            self._write()

    def _write(self) -> None:
        """Write the table; where that fails runs go on, and say for themselves how far they are."""
        self._written, self._changed = time.monotonic(), False
        try:
            write_runs(self.folder, self.rows)
        except DataError as error:
            if self._complains:
                LOG.warning("%s", error)
            self._complains, self._changed = False, True

    def finish(self) -> int:
        """Write the last table, say what came of it all, and return the exit code: 75, else the first that failed."""
        self._write()
        states = [row.state for row in self.rows]
        done, failed = states.count(DONE), [self.rows[k] for k in sorted(self._left) if self.rows[k].state == FAILED]
        tried = {DONE: self._left, FAILED: self._tried}  # a failed run that was not tried again is still to be done
        missing = [k for k in self._left if k not in tried.get(self.rows[k].state, ())]
        some = f"{self.folder}: {done} of {counted(len(states), 'run')} done"
        if failed:
            some += f", {len(failed)} failed ({self.folder / NAME} says why)"
        if missing:
            LOG.info("%s; stopped with checkpoints; go on with: hpcchain resume %s", some, self.folder)
            return EXIT_RESUBMIT
        if failed:
            LOG.info("%s; the same command tries them again", some)
            return failed[0].code or EXIT_INTERNAL
        LOG.info("%s; next: hpcchain analyze %s --over %s", some, self.folder, next(iter(self.rows[0].settings)))
        return EXIT_DONE


def carry(plan: Plan, folder: Path, world: Single | World, signals: Signals, limit: WallLimit, action: Action) -> int:
    """Carry all runs of a plan to their ends, or until a signal or the limit ends them; return the exit code.

    Collective.
    """
    table = Table(folder, plan)
    if plan.largest is None:
        return table.finish() if world.rank == 0 else EXIT_DONE
    way = "start fewer ranks on each node, or give each run more (--ranks-per-run)"
    require_memory(plan.largest, world, str(folder), way, ranks=plan.ranks)
    groups, turns = Groups(world, plan.ranks, len(plan.left), table.take), Turns(folder / TURNS, len(plan.left))
    log_groups(groups, plan)
    root_does(world.mpi, folder, "making a folder", turns.open)

    def listen(own: Signals) -> None:
        groups.listen(own)
        if world.rank == 0:
            table.write_if_due()

    def finish() -> int:
        turns.close()
        return table.finish()

    def next_turn() -> int | None:
        limit.resume()  # what was done since it was looked at last is no measure of a run's looks
        return None if signals.stop or limit.near() else turns.take()

    signals.listen = listen
    try:
        while groups.number is not None:
            turn = root_does(groups.comm.mpi, folder, "taking a run", next_turn)
            if turn is None or carried(plan, plan.left[turn], folder, groups, action) in (EXIT_RESUBMIT, None):
                break
        return groups.end(signals, finish, table.write_if_due)
    finally:
        signals.listen = None
        if world.rank == 0:
            turns.close()


def log_groups(groups: Groups, plan: Plan) -> None:
    """Log on the root how many runs are left, and how many ranks have nothing to do."""
    if groups.world.rank > 0:
        return
    idle = groups.world.size - groups.count * groups.size
    LOG.info("left to do: %s, %s each", counted(len(plan.left), "run"), counted(groups.size, "rank"))
    if idle:
        LOG.warning(
            "%d of %d ranks have no run: %d times %d are at work", idle, groups.world.size, groups.count, groups.size
        )


def carried(plan: Plan, number: int, folder: Path, groups: Groups, action: Action) -> int | None:
    """Carry one run on the ranks of a group, report how it has ended, and return its exit code.

    Where one rank fails and others of its group wait for it in the middle of an exchange, None: the group is lost.

    Raises
    ------
    Exception
        Where that ends all, since it is the root that waits, or there are no other groups; the table has it.
    """
    row, comm, begin = plan.rows[number], groups.comm, time.monotonic()
    path = folder / row.run
    row = replace(row, state=RUNNING, code=None, ranks=comm.size, began=row.began or now(), ended="", message="")
    if groups.leads:
        groups.report((number, row))
    code, failure = EXIT_DONE, None
    try:
        with logged_to(path / LOG_FILE, row.run) if groups.leads else nullcontext():
            code = action(path, comm)
    except Exception as error:
        LOG.debug("%s: failed", path, exc_info=True)
        code, failure = describe(error, comm.rank, comm.size)[0], error
    message = "" if failure is None else one_line(describe(failure, comm.rank, comm.size)[1] or "")
    spent = row.seconds + time.monotonic() - begin

    def ended(code: int, message: str) -> Row:
        state = {EXIT_DONE: DONE, EXIT_RESUBMIT: STOPPED}.get(code, FAILED)
        why = message if state == FAILED else ""
        return replace(row, state=state, code=code, ended=now(), seconds=spent, message=why)

    outcomes = comm.agree((code, int(failure is not None)), None if failure is None else PATIENCE)
    if outcomes is None and groups.give_up():
        groups.report((number, ended(code, message)))
        return None
    if outcomes is None:
        with suppress(DataError):  # the failure itself matters more
            note_row(folder, ended(code, message))
        raise failure
    failed = [rank for rank, (_, fails) in enumerate(outcomes) if fails]
    if failed:
        code, message = outcomes[failed[0]][0], comm.allgather(message)[failed[0]]
        groups.renew()
    if groups.leads:
        groups.report((number, ended(code, message)))
    gc.collect()
    return code


def now() -> str:
    """Return the time of day with its date."""
    return time.strftime("%Y-%m-%dT%H:%M:%S")


@contextmanager
def logged_to(path: Path, run: str) -> Iterator[None]:
    """Send what the program logs to a file; the console has warnings alone meanwhile, with the run's name before them.

    What is said of the ensemble itself, and of compiling, goes to the console as ever.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = plain.appending(path)
    file, consoles, level = logging.StreamHandler(stream), list(PROGRAM.handlers), PROGRAM.level
    file.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    file.addFilter(lambda record: record.name != LOG.name)
    ours = {LOG.name, *([COMPILING] if level <= logging.INFO else [])}

    def only_warnings(record: logging.LogRecord) -> bool:
        if record.name not in ours and record.levelno >= logging.WARNING:
            record.msg = f"{run}: {record.msg}"
        return record.name in ours or record.levelno >= logging.WARNING

    for console in consoles:
        console.addFilter(only_warnings)
    PROGRAM.addHandler(file)
    PROGRAM.setLevel(min(level or logging.INFO, logging.INFO))  # a program of its own may have set none
    try:
        yield
    finally:
        PROGRAM.setLevel(level)
        PROGRAM.removeHandler(file)
        for console in consoles:
            console.removeFilter(only_warnings)
        stream.close()
