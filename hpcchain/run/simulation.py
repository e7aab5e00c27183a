"""A run: the command line takes it to its end, Python programs go as far as they like."""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.values import counted
from hpcchain.errors import UsageError
from hpcchain.io.hdf5.collective import on_root
from hpcchain.io.hdf5.files import require_parallel
from hpcchain.io.output.lineage import GROWTH
from hpcchain.model.system import State
from hpcchain.observe.observables import Observables
from hpcchain.parallel.agreement import Communicator
from hpcchain.parallel.comm import Single, World, launched, world
from hpcchain.parallel.signals import Signals, interrupts_later
from hpcchain.run import folder as folders
from hpcchain.run.compiling import CompilingNotice
from hpcchain.run.controller import Run, sums_of
from hpcchain.run.engines import brought_together, engine_for, freedom_of, in_slabs
from hpcchain.run.guards.disk import require_disk_for
from hpcchain.run.guards.lock import FolderLock
from hpcchain.run.guards.memory import require_memory_for
from hpcchain.run.schedule import Schedule
from hpcchain.run.starts.growth_file import GrowthFile
from hpcchain.run.starts.starting import (
    read_input,
    require_walls_apart,
    start_system,
    try_steps,
    warn,
)
from hpcchain.run.starts.user_system import System, named_in_python, read_only
from hpcchain.run.totals import Totals

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model import system as model
    from hpcchain.run.guards.wall_limit import WallLimit
    from hpcchain.run.recorder import Report
    from hpcchain.sector.interface import Frame

PATIENCE = 10.0
"""Wall seconds that a rank on which an action failed waits for the others to hear of it."""


class Simulation:
    """Molecules that move as far as the caller says; on several ranks every method and property is collective.

    Parameters
    ----------
    source : path or System
        An input file, or a start made of arrays.
    output : path, optional
        Where frames, reports and checkpoints go, as the input's [output] says; nothing is written without it.
    comm : mpi4py communicator, optional
        Default: all ranks that mpirun or srun started, else this process alone.
    overrides : iterable of str
        "section.key=value", as --set of the command line.
    trust_code : bool
        Run potentials' files that other users could have changed, as --trust-code does.

    Examples
    --------
    >>> with hpcchain.Simulation("input.toml", output="out") as simulation:  # doctest: +SKIP
    ...     simulation.run(10.0)
    """

    def __init__(
        self,
        source: str | PathLike[str] | System,
        output: str | PathLike[str] | None = None,
        comm: Communicator | Single | None = None,
        overrides: Iterable[str] = (),
        trust_code: bool = False,
    ) -> None:
        if not isinstance(source, System):
            require_path("source", source, " of an input file, or a System")
        if output is not None:
            require_path("output", output, " of a folder")
        if isinstance(overrides, (str, Mapping)) or not isinstance(overrides, Iterable):
            raise UsageError(f"Simulation: overrides: is {overrides!r:.100}; give a list of texts, section.key=value")
        overrides = tuple(map(str, overrides))
        ranks = ranks_of(comm)
        mpi = ranks.mpi
        if output is not None:
            require_parallel(mpi)
        if isinstance(source, System):
            if overrides:
                raise UsageError("overrides are for input files; give a System its settings when it is made")
            config = source.config
            with named_in_python():
                on_root(mpi, lambda: try_steps(config, trust_code))
        else:
            config = read_input(os.fspath(source), overrides, mpi, trust_code)
        warn(config, mpi)
        self._stack = ExitStack()
        self._run: Run | Moving
        self._growth: GrowthFile | None = None
        self._callbacks: list[tuple[Schedule, Callable[[Simulation], object]]] = []
        self._open = self._busy = self._closed = False
        try:
            self._stack.enter_context(CompilingNotice())
            with named_in_python() if isinstance(source, System) else nullcontext():
                if output is None:
                    self._run = Moving(config, start_system(config, Signals(), ranks), ranks)
                else:
                    folder = Path(output)
                    self._stack.enter_context(FolderLock(folder, mpi))
                    folders.refuse_occupied(folder, mpi)
                    self._run, self._growth = begun_run(config, folder, ranks, Signals())
            self._totals, self._begin = Totals(self._run.engine, {}, ranks), 0.0
        except BaseException:
            self._stack.close()
            raise

    def __repr__(self) -> str:
        run, topology = self._run, self._run.system.topology
        size = " x ".join(f"{edge:.6g}" for edge in run.config.box.size)
        what = f"{counted(topology.beads, 'bead')} in {counted(topology.molecules, 'molecule')}, box {size}"
        state = "closed" if self._closed else what
        return f"<Simulation of {run.config.source}: {state}, time {self.time:.6g} of {run.end:.6g}>"

    def every(self, interval: float, action: Callable[[Simulation], object]) -> None:
        """Call an action with this Simulation at all multiples of an interval of time, from the present time on.

        A true result, on any rank, ends the present `run`. If an action fails on one rank, all ranks raise.

        Parameters
        ----------
        interval : float
            [time]
        action : callable

        Raises
        ------
        UsageError
            When the interval is no number above 0, or the action cannot be called.
        """
        if not (is_number(interval) and interval > 0.0):
            raise UsageError(f"every: the interval {interval!r} is no number above 0")
        if not callable(action):
            raise UsageError(f"every: {action!r} cannot be called; give a function of one argument, the Simulation")
        self._callbacks.append((Schedule(interval, self.time), action))

    def run(self, dt: float | None = None, until: float | None = None) -> float:
        """Run for a span of time, or until a time; return the new time [time].

        Without either it goes to the input's end time. Results do not depend on where a run is cut.

        Parameters
        ----------
        dt : float, optional
            [time]
        until : float, optional
            [time]

        Raises
        ------
        UsageError
            When both are given, the time is not after the present one, the Simulation is closed, or an action of
            `every` asks for it.
        """
        if dt is not None and until is not None:
            raise UsageError("run: give dt or until, not both")
        if not all(value is None or is_number(value) for value in (dt, until)):
            raise UsageError(f"run: {dt if until is None else until!r} is no time; give a finite number")
        if self._closed:
            raise UsageError("run: this Simulation is closed; 'hpcchain resume' goes on with what it wrote")
        if self._busy:
            raise UsageError("run: goes on already: an action of every() cannot run the Simulation that calls it")
        dt, until = (None if value is None else float(value) for value in (dt, until))  # not of numpy's precision
        end = self.time + dt if dt is not None else self._run.end if until is None else until
        if not (math.isfinite(end) and end >= self.time):
            raise UsageError(f"run: the time {end} is not after the present one, {self.time}")
        require_walls_apart(self._run.config, end)
        self._run.end = max(self._run.end, end)
        if not self._open:
            with interrupts_later():
                self._run.open()
                self._open = True
        self._totals.gather()
        self._totals.begin_interval()
        self._begin, self._busy = self.time, True
        try:
            while not self._called() and self.time < end:
                self._run.carry(min([end, *(schedule.next for schedule, _ in self._callbacks)]))
            self._called()
        finally:
            self._busy = False
        return self.time

    def _called(self) -> bool:
        """Call what is due now; return whether any has asked to end."""
        ends = False
        for schedule, action in self._callbacks:
            if schedule.due(self.time):
                schedule.serve()
                ends = self._all_called(action) or ends
        return ends

    def _all_called(self, action: Callable[[Simulation], object]) -> bool:
        """Call an action on every rank; return whether any rank's has asked to end."""
        # Where it fails on one rank, all of them raise: those that went on without it would wait for it for ever.
        comm = self._run.comm
        try:
            ends = bool(action(self))
        except Exception:
            if comm.agree((0, 1), PATIENCE) is None:  # the others wait inside of the action, for this rank
                traceback.print_exc()
                comm.abort(1)
            raise
        outcomes = comm.agree((int(ends), 0))
        failed = [rank for rank, (_, failure) in enumerate(outcomes) if failure]
        if failed:
            raise UsageError(f"run: an action of every() failed on rank {failed[0]}; its traceback says where")
        return any(end for end, _ in outcomes)

    @property
    def time(self) -> float:
        """Simulated time [time]."""
        return self._run.time

    @property
    def position(self) -> NDArray[np.float64]:
        """(N, 3) positions now, a read-only copy; molecules are whole [length]."""
        return read_only(self._frame()[0])

    @property
    def velocity(self) -> NDArray[np.float64]:
        """(N, 3) velocities now, a read-only copy [length / time]."""
        return read_only(self._frame()[1])

    @property
    def image(self) -> NDArray[np.int64]:
        """(N, 3) box lengths to add to the positions to continue them through periodic sides; a copy."""
        return read_only(self._frame()[2])

    @property
    def box(self) -> NDArray[np.float64]:
        """(3,) edge lengths of the box, a read-only copy [length]."""
        return read_only(np.array(self._run.config.box.size))

    @property
    def bonds(self) -> NDArray[np.int64]:
        """(B, 2) pairs of bonded beads, a read-only copy."""
        topology = self._run.system.topology
        return read_only(topology.rows("bonds", 0, topology.count("bonds")).copy())

    @property
    def energy(self) -> float:
        """Kinetic energy of translation now, without spins and potentials [mass length^2 / time^2]."""
        velocity, topology = self.velocity, self._run.system.topology
        mass = topology.prototypes.mass[topology.prototype_of(np.arange(topology.beads))]
        return 0.5 * math.fsum(np.einsum("ik,ik->i", velocity, velocity) * mass)

    @property
    def potential_energy(self) -> float:
        """Potential energy now, with that of gravity; 0 without potentials [mass length^2 / time^2]."""
        return float(self._measured().get("potential_energy", 0.0))

    @property
    def temperature(self) -> float:
        """Temperature of translation now [mass length^2 / time^2]."""
        return float(self._measured()["temperature"])

    @property
    def pressure(self) -> float:
        """Molecular pressure, its contact part as the mean since the last `run` began; NaN before the first.

        With potentials in the engine of steps it is that of the present time [mass / (length time^2)].
        """
        return float(self._measured()["pressure"])

    def _measured(self) -> Report:
        """Return what a report of now would hold; contacts are counted from where the last `run` began."""
        run = self._run
        slabs = in_slabs(run.comm, run.system, run.engine, self.time, False, True)
        sums = sums_of(run.observables, slabs, run.comm.mpi)
        self._totals.gather()
        return run.comm.bcast(run.observables.measure(sums, self.time - self._begin, self._totals.interval))

    def _frame(self) -> Frame:
        run = self._run
        return brought_together(run.comm, run.system.topology.beads, run.engine.ids, run.engine.frame(run.time))

    def close(self) -> None:
        """Write a last frame and a checkpoint, complete the output, and release the folder."""
        if self._busy:
            raise UsageError("close: an action of every() cannot close the Simulation that calls it: return True")
        self._closed = True
        with self._stack:
            if self._open:
                self._open = False
                self._run.end_at(self.time)
                try:
                    with interrupts_later():
                        self._run.finish()
                finally:
                    if self._growth is not None:
                        self._growth.forget()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True
            self._run.abort()
            self._stack.close()


class Moving:
    """What a Simulation without output runs: the engine alone, with the names of `Run`."""

    def __init__(self, config: Config, system: model.System, comm: Single | World) -> None:
        self.comm, self.end, self.time, self.config = comm, config.run.end_time, 0.0, config
        self.engine = engine_for(system, replace(config, output=replace(config.output, events=False)), comm)
        self.observables = Observables(system, freedom_of(system, comm))
        self.system = replace(system, state=State.at_time_zero(*np.zeros((2, 0, 3))))

    def open(self) -> None:
        """Do nothing: there is no output."""

    def carry(self, until: float) -> None:
        """Run up to a time [time]."""
        self.engine.advance(until)
        self.time = until

    finish = abort = open

    def end_at(self, time: float) -> None:
        """End at a time [time]."""
        self.end = time


def complete(
    config: Config, folder: Path, comm: Single | World, signals: Signals, limit: WallLimit | None = None
) -> int:
    """Run an input in its locked folder to the end, or until a signal or the limit ends it; return the exit code."""
    run, growth = begun_run(config, folder, comm, signals, limit)
    try:
        return run.go()
    finally:
        growth.forget()


def begun_run(
    config: Config, folder: Path, comm: Single | World, signals: Signals, limit: WallLimit | None = None
) -> tuple[Run, GrowthFile]:
    """Return the Run of an input in its locked folder, and the GrowthFile of its start."""
    mpi = comm.mpi
    extent = require_memory_for(config, comm)
    require_disk_for(config, extent.beads, folder, mpi)
    growth = GrowthFile(folder / GROWTH, config, mpi)
    system = start_system(config, signals, comm, limit, growth)
    folders.open_folder(folder, config, mpi, keep=True)
    folders.cut_back(folder, 0.0, 0, 0, mpi)
    return Run(comm, config, system, folder, signals, limit=limit), growth


def require_path(name: str, value: object, more: str = "") -> None:
    """Raise UsageError unless a value is a path; `more` says what may be given besides."""
    if not isinstance(value, (str, PathLike)):
        raise UsageError(f"Simulation: {name}: {value!r:.60} is no path; give the path{more}")


def is_number(value: object) -> bool:
    """Return whether a value is a finite real number."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


def ranks_of(comm: Communicator | Single | None) -> Single | World:
    """Return the ranks of an mpi4py communicator; of None those that a launcher started."""
    if comm is None:
        return world() if launched()[0] > 1 else Single()
    if isinstance(comm, Single):
        return comm
    if not hasattr(comm, "Get_size"):
        raise UsageError(f"Simulation: comm: {comm!r:.60} is no communicator; give one of mpi4py, or leave it out")
    return World(comm) if comm.Get_size() > 1 else Single()
