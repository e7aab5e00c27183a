"""The run's main loop: the engine from one due time to the next, and what is written at each."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcchain import machine
from hpcchain.config.keys.values import counted
from hpcchain.errors import EXIT_DONE, EXIT_RESUBMIT, DataError
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.checkpoint.layout import number
from hpcchain.io.checkpoint.store import checkpoint_name, prune
from hpcchain.io.hdf5.atomic import make_folder
from hpcchain.io.hdf5.collective import together
from hpcchain.io.output.assemble import is_due
from hpcchain.io.output.lineage import CHECKPOINTS, FILES, LOG_NAME
from hpcchain.io.provenance import collect
from hpcchain.model.physics.external import exchanges_energy
from hpcchain.model.system import State, System
from hpcchain.observe.observables import Observables, kept_energy
from hpcchain.observe.runlog import RunLog, duration
from hpcchain.observe.timers import WITHIN, Timers, table
from hpcchain.parallel.agreement import gathered
from hpcchain.parallel.signals import interrupts_later
from hpcchain.parallel.slabs import BLOCK, slab
from hpcchain.propagators.catalogue import PROPAGATORS
from hpcchain.run.engines import (
    ANGULAR_VELOCITY,
    ENERGIES,
    FRAME,
    Slabs,
    engine_for,
    freedom_of,
    in_slabs,
    level_problem,
    overlap_in,
    ranks_at_work,
    report_ranks,
    report_threads,
)
from hpcchain.run.guards.collapse import CollapseWatch
from hpcchain.run.guards.energy import EnergyWatch
from hpcchain.run.guards.wall_limit import WallLimit
from hpcchain.run.orientations import rotation_of, turning_of
from hpcchain.run.progress import Progress
from hpcchain.run.recorder import Recorder
from hpcchain.run.schedule import Schedule
from hpcchain.run.totals import Totals, solving

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.signals import Signals

LOG = logging.getLogger("hpcchain.run")
DEEP = 1e-3
"""Overlap, relative to the contact distance, that no propagator leaves: with it a state is none that a run has had."""


class Requests(NamedTuple):
    """What is asked of a run between two due times: an end, a checkpoint in passing, either for the wall clock."""

    stop: bool
    save: bool
    wall: bool
    limit: bool


class Run:
    """One run in one output directory, which is open, locked and cut back to where the run goes on from; collective.

    Every rank has the same due times and takes every turn with the others; what only one knows, a signal or its own
    clock, is asked of all before anything is done about it.

    Parameters
    ----------
    comm : hpcchain.parallel.comm.Single or World
    config : Config
        The resolved input.
    system : System
        Its state is where the run goes on from; the caller should let go of it.
    folder : path
        Output directory.
    signals : Signals
    time : float
        Simulated time reached so far [time].
    counters : dict, optional
        Those of the checkpoint that the run goes on from.
    limit : WallLimit, optional
    """

    def __init__(
        self,
        comm: Single | World,
        config: Config,
        system: System,
        folder: Path,
        signals: Signals,
        time: float = 0.0,
        counters: Mapping[str, object] | None = None,
        limit: WallLimit | None = None,
    ) -> None:
        counters = counters or {}
        self.comm = comm
        self.mpi = comm.mpi
        self.config = config
        self.folder = Path(folder)
        self.signals = signals
        self.limit = limit or WallLimit(environment={})
        self.time = time
        self.end = config.run.end_time
        self.timers = Timers()
        self.provenance = collect(self.mpi)
        with self.timers.phase("setting up"):
            self.engine = engine_for(system, config, comm)
            report_ranks(system, config, comm, self.engine)
            report_threads(config, comm, self.engine)
            self.observables = Observables(system, freedom_of(system, comm))
            composition = self.observables.composition
            turning = turning_of(system.directors, composition, self.mpi)
            self.rotation = rotation_of(turning, self.mpi) if turning else {}
        directors = system.directors and system.directors.part(*slab(composition.beads, self.mpi))
        no_beads = State.at_time_zero(*np.zeros((2, 0, 3)))
        system = System(system.box, composition, no_beads, system.physics, directors=directors)
        self.system = system
        output = config.output
        self.frames = Schedule(output.frame_every, time, number(counters, "frame_time"))
        self.reports = Schedule(output.report_every, time, number(counters, "report_time"))
        self.checkpoints = Schedule(output.checkpoint_every, time, number(counters, "checkpoint_time"))
        self.wall_of_checkpoint = self.timers.wall
        self.recorder = Recorder(self.folder, self.mpi, system, counters, output.events, turning)
        share = system.topology.beads / ranks_at_work(self.engine, comm)
        self.collapse = CollapseWatch(system.physics, share, self.end)
        self.energy = EnergyWatch(system, self.observables.freedom, number(counters, "energy"))
        self.totals = Totals(self.engine, counters, comm)
        self.begin, self.contacts_before = time, self.totals.contacts + self.totals.wall_contacts
        self.log = RunLog(self.folder / LOG_NAME if comm.rank == 0 else None, self.contacts_before)
        self.progress = Progress("t", time, self.end, comm.rank)

    def go(self) -> int:
        """Run to the end time, or until asked to stop; return the exit code.

        1. Write the frame, report or checkpoint that is due now; at the end time, finish.
        2. Heed signals that came to any rank, and the wall limit: a checkpoint in passing, or a checkpoint and out.
        3. Carry the engine to the next due time, or until a signal comes.
        """
        try:
            self.open()
            machine.return_freed()  # of what it took to set up
            code = self.carry(self.end)
            return self.finish() if code is None else code
        except BaseException:
            self.abort()
            raise
        finally:
            self.progress.close()

    def end_at(self, time: float) -> None:
        """End at a time; a later one than the input's takes its place, for a caller that goes on from here [time]."""
        self.end = time
        if time > self.config.run.end_time:
            self.config = replace(self.config, run=replace(self.config.run, end_time=time))

    def open(self) -> None:
        """Begin to write."""
        self.recorder.open()

    def abort(self) -> None:
        """Give up the part that is being written."""
        self.recorder.abort()

    def carry(self, until: float) -> int | None:
        """Run to a time, up to the end time, writing what is due; return the exit code of an early stop, else None."""
        while True:
            with interrupts_later():
                self._serve()
            if self.time >= until:
                return None
            requests = self._requests()
            if requests.stop or requests.limit:
                return self._stop("asked to by a signal" if requests.stop else "the wall limit is near")
            if requests.save or requests.wall:
                with interrupts_later():
                    self._checkpoint_in_passing(requests.save)
            self._advance(min(until, self.frames.next, self.reports.next, self.checkpoints.next))

    def require_possible(self, path: Path) -> None:
        """Raise DataError on every rank when the state gone on from, read from a path, is none that a run comes to.

        Beads lie in one another, are on other levels of their potentials than their distances say, or have another
        energy than the run had. Steps leave beads in one another by what they move in a step; that is not looked at.
        """
        problem = None
        if not self.system.physics.steps:
            place = self.engine.frame(self.time)[0]
            pair = overlap_in(self.system, self.comm, self.engine.ids, place, DEEP)
            if pair is not None:
                one, other, distance = pair
                problem = f"beads {one} and {other} are {distance:.6g} apart, deep in one another"
            problem = problem or level_problem(self.system, self.comm, self.engine, self.time)
        if not problem:
            kept, kinetic = self._kept()
            if self.energy.impossible(kept, kinetic):
                problem = f"the energy is {kept:.6g}, and was {self.energy.reference:.6g} at first (counters: energy)"
        if problem:
            raise DataError(
                f"{path}: its state is impossible: at t {self.time:.6g} {problem}; go on from another checkpoint"
            )

    def _serve(self) -> None:
        """Write what is due now; a checkpoint at the end time is left to `finish`."""
        frame, report = self.frames.due(self.time), self.reports.due(self.time)
        if frame or report:
            self._output(frame, report)
        if frame:
            self.frames.serve()
        if report:
            self.reports.serve()
            self.totals.begin_interval()
        if self.checkpoints.due(self.time):
            self.checkpoints.serve()
            if self.time < self.end:
                self._checkpoint_and_next_part()

    def _advance(self, target: float) -> None:
        """Run events up to a time; a signal or the wall clock may stop it earlier.

        Then all events before the engine's time are done and none after it, and the target is still to be reached:
        what is due there comes after all events up to it.
        """
        self.limit.resume()
        self.target = target
        with self.timers.phase("events"):
            reached = self.engine.advance(target, self._interrupted)
        if reached:
            self.time = target
        else:
            self.time = max(self.time, min(self.engine.time, math.nextafter(target, -math.inf)))

    def _requests(self) -> Requests:
        """Return what any rank has been asked for, or finds due; collective."""
        own = Requests(self.signals.stop, self.signals.save, self._wall_due(), self.limit.near())
        return Requests(*map(any, zip(*self.comm.allgather(own), strict=True)))

    def _interrupted(self) -> bool:
        self.comm.activity.note()
        self.progress.look(max(self.time, min(self.engine.time, self.target)))
        warning = self.collapse.warning(self.engine)
        if warning:
            LOG.warning("t %.6g: %s", self.engine.time, warning)
        return self.signals.stop or self.signals.save or self._wall_due() or self.limit.near()

    def _wall_due(self) -> bool:
        minutes = self.config.output.checkpoint_wall_minutes
        return minutes is not None and self.timers.wall - self.wall_of_checkpoint > 60.0 * minutes

    def _output(self, frame: bool, report: bool) -> None:
        """Write a frame, a report or both at the present time."""
        with self.timers.phase("frames and reports"):
            slabs = in_slabs(self.comm, self.system, self.engine, self.time, frame, report)
            self._drain_events()
            if frame:
                self.recorder.frame(self.time, {name: slabs[name] for name in slabs if name != ENERGIES})
            if report:
                self._report(sums_of(self.observables, slabs, self.mpi))

    def _report(self, sums: NDArray[np.float64]) -> None:
        """Write a report, from all ranks' sums over blocks of beads; unlike machines take the root's."""
        self.totals.gather()
        windows = self.engine.window_report()
        if self.comm.started > 1:
            windows = windows | {"ranks_at_work": ranks_at_work(self.engine, self.comm)}
        if any(physics.propagator == "variational" for physics in self.system.physics.every()):
            windows = windows | {"contacts_without_root": self.totals.no_roots}
        if any(PROPAGATORS[physics.propagator].stepped for physics in self.system.physics.every()):
            windows = windows | solving(self.totals.solved)
        row = self.observables.measure(sums, self.time - (self.reports.served or 0.0), self.totals.interval)
        if exchanges_energy(self.system.physics):
            row |= self.totals.energies
        row = self.comm.bcast(row | self.rotation)
        self.recorder.part.report(row, self.time)
        kept, kinetic = kept_energy(row), row["kinetic_energy"]
        self.energy.reference = kept if self.energy.reference is None else self.energy.reference
        with together(self.mpi, self.folder / LOG_NAME, "writing"):
            left, totals, error = self.progress.seconds_left, self.totals, self.energy.error(kept, kinetic)
            note = self.log.report(self.time, row, totals.contacts, totals.wall_contacts, error, windows, left)
        self.progress.look(self.time, note)
        self._heed(kept, kinetic)

    def _heed(self, energy: float, kinetic: float) -> None:
        """Report an energy that is off, or end the run because of it, on every rank; the energy is the same on all."""
        warning = self.energy.heed(self.time, energy, kinetic, self.totals.contacts)
        if warning and self.comm.rank == 0:
            LOG.warning("t %.6g: %s", self.time, warning)

    def _kept(self) -> tuple[float, float]:
        """Return the energy that elastic motion keeps, and the kinetic energy, the same on all ranks; collective."""
        slabs = in_slabs(self.comm, self.system, self.engine, self.time, False, True)
        row = self.observables.measure(sums_of(self.observables, slabs, self.mpi), 0.0)
        return self.comm.bcast((kept_energy(row | self.totals.energies), row["kinetic_energy"]))

    def _drain_events(self) -> None:
        if self.config.output.events:
            self.recorder.part.events(self.engine.drain_events())

    def _checkpoint(self) -> None:
        """Close the part, then write a checkpoint that counts it."""
        begin = self.timers.wall
        with self.timers.phase("checkpoints"):
            self._drain_events()
            self.totals.gather()
            if self.reports.served != self.time:  # no checkpoint of a bad state takes a good one's place
                self._heed(*self._kept())
            self.recorder.close()
            state = replace(self.system, state=self.engine.state())
            path = self.folder / CHECKPOINTS / checkpoint_name(self.time)
            make_folder(path.parent, self.mpi)  # someone may have tidied up
            write_checkpoint(
                path,
                self.mpi,
                state,
                self.time,
                self._counters(),
                self.config,
                self._perf(),
                self.engine.ids,
                self.provenance,
            )
            prune(self.folder / CHECKPOINTS, self.config.output.keep_checkpoints, self.mpi)
            self.wall_of_checkpoint = self.timers.wall
        self.limit.saved(self.wall_of_checkpoint - begin)

    def _checkpoint_and_next_part(self) -> None:
        """Write a checkpoint, join the parts where they have become many, and begin another."""
        begin = self.timers.wall
        self._checkpoint()
        if is_due(self.folder, self.mpi):
            with self.timers.phase("output files"):
                self.recorder.assemble(self.provenance)
            self.limit.saved(self.timers.wall - begin)  # the end of the run joins as many, too
        self.recorder.open()

    def _perf(self) -> dict[str, tuple[float, float, float]]:
        """Return where the time went, over all ranks; collective."""
        parts = {f"events{WITHIN}{part.replace('_', ' ')}": wall for part, wall in self.engine.seconds.items()}
        return self.timers.table(self.comm, parts)

    def _counters(self) -> dict[str, object]:
        """Return what a run that goes on from here needs to know besides the state."""
        return {
            **self.recorder.counters,
            **self.totals.saved(),
            "frame_time": self.frames.served,
            "report_time": self.reports.served,
            "checkpoint_time": self.checkpoints.served,
            "energy": self.energy.reference,
        }

    def _checkpoint_in_passing(self, asked: bool) -> None:
        """Write a checkpoint and go on; `asked`: a signal to some rank asked for it."""
        mine, self.signals.save = self.signals.save, False
        self._checkpoint_and_next_part()
        if asked:
            LOG.info("checkpoint written at t %.6g", self.time)
            self.signals.save = self.signals.save and mine  # else it is the same signal, passed on to this rank late

    def _stop(self, reason: str) -> int:
        """Leave a checkpoint and whole output files."""
        self._checkpoint()
        self._complete()
        LOG.info(
            "stopped at t %.6g with a checkpoint, %s; go on with: hpcchain resume %s", self.time, reason, self.folder
        )
        return EXIT_RESUBMIT

    def finish(self) -> int:
        """End the run: a frame and a report are due at the end time in any case.

        Where the schedules do not have them they go into a part that the checkpoint does not count: a run that is
        extended leaves no trace of where it had ended before.
        """
        self._checkpoint()
        frame, report = self.frames.served != self.time, self.reports.served != self.time
        if frame or report:
            self.recorder.open()
            self._output(frame, report)
            self.recorder.close()
        self._complete()
        self.progress.close()
        for line in self._summary():
            LOG.info(line)
        for line in table(self._perf()).splitlines():
            LOG.info(line)
        return EXIT_DONE

    def _summary(self) -> list[str]:
        """Return the lines for the end: what was done how fast, where the results are, and what may come next."""
        contacts = self.totals.contacts + self.totals.wall_contacts
        files = [f"{kind}.h5" for kind in FILES if kind != "events" or self.config.output.events]
        wall = max(self.timers.wall, 1e-9)
        moved = self.system.topology.beads * (self.time - self.begin)
        return [
            f"done at t {self.time:.6g}: {counted(contacts, 'contact')} in this run",
            f"speed: {(contacts - self.contacts_before) / wall:.3g} contacts/s, {moved / wall:.3g} beads × time/s, "
            f"{duration(wall)} in all",
            f"results: {self.folder} ({', '.join(files)}); next: hpcchain analyze {self.folder}",
        ]

    def _complete(self) -> None:
        with self.timers.phase("output files"):
            self.recorder.end(self.provenance)


def sums_of(observables: Observables, slabs: Slabs, mpi: Communicator | None) -> NDArray[np.float64]:
    """Return all ranks' sums over blocks of beads for a report, of this rank's slab of the beads; collective."""
    low = slab(observables.composition.beads, mpi)[0]
    position, velocity, image = (slabs[name] for name in FRAME)
    energies, spins = slabs.get(ENERGIES), slabs.get(ANGULAR_VELOCITY)
    return np.concatenate(gathered(mpi, observables.sums(low, position, velocity, image, BLOCK, energies, spins)))
