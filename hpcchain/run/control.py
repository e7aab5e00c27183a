"""The run's main loop: the engine from one due time to the next, and what is written at each."""

import logging
import math
import time
from pathlib import Path

import numpy as np

from hpcchain.errors import EXIT_DONE, EXIT_RESUBMIT
from hpcchain.io import atomic
from hpcchain.io.assemble import assemble
from hpcchain.io.checkpoint import write_checkpoint
from hpcchain.io.checkpoint_store import checkpoint_name, prune
from hpcchain.io.parts import PartWriter, remove_from
from hpcchain.io.provenance import collect
from hpcchain.model.system import System
from hpcchain.observe.observables import Observables
from hpcchain.observe.runlog import RunLog
from hpcchain.observe.timers import Timers
from hpcchain.run.schedule import Schedule
from hpcchain.run.signals import Signals
from hpcchain.sector.engine import Engine

LOG = logging.getLogger("hpcchain.run")
FRESH = {
    "part": 0, "frames": 0, "events": 0, "reports": 0, "frames_served": 0, "reports_served": 0,
    "checkpoints_served": 1, "contacts": 0, "wall_contacts": 0, "virial": 0.0, "contacts_reported": 0,
    "report_time": 0.0, "energy": 0.0, "freedom": -1, "steps": 0,
}  # fmt: skip


class Run:
    """One run in one output directory.

    Parameters
    ----------
    comm : hpcchain.parallel.comm.Single or World
    config : Config
        The resolved input.
    system : System
        Its state is where the run goes on from.
    folder : path
        Output directory; exists.
    time : float
        Simulated time reached so far [time].
    counters : dict, optional
        Those of the checkpoint that the run goes on from.
    """

    def __init__(self, comm, config, system, folder, time=0.0, counters=None):
        self.comm = comm
        self.mpi = comm.mpi if comm.size > 1 else None
        self.config = config
        self.folder = Path(folder)
        self.time = time
        self.counters = dict(FRESH, **(counters or {}))
        self.timers = Timers()
        self.provenance = collect(self.mpi)
        self.system = system
        with self.timers.phase("compile and set up"):
            self.engine = self._engine()
        output = config.output
        self.frames = Schedule(output.frame_every, self.counters["frames_served"])
        self.reports = Schedule(output.report_every, self.counters["reports_served"])
        self.checkpoints = Schedule(output.checkpoint_every, self.counters["checkpoints_served"])
        freedom = self.counters["freedom"]
        self.observables = Observables(system, freedom if freedom >= 0 else None)
        self.counters["freedom"] = self.observables.freedom
        self.log = RunLog(self.folder / "run.jsonl" if comm.rank == 0 else None, config.run.end_time)
        self.wall_of_checkpoint = self.timers.wall
        self.contacts_timed = (self.timers.wall, 0)
        self.part = None

    def _engine(self):
        run = self.config.run
        return Engine(
            self.system,
            log_events=self.config.output.events,
            shell=None if run.list_shell == "auto" else run.list_shell,
            cell=None if run.cell_size == "auto" else run.cell_size,
        )

    def go(self):
        """Run to the end time, or until asked to stop; return the exit code."""
        end = self.config.run.end_time
        self._open_folder()
        self._open_part()
        with Signals() as signals:
            while True:
                self._outputs(end)
                if self.time >= end:
                    break
                target = min(end, self.frames.next, self.reports.next, self.checkpoints.next)
                with self.timers.phase("events"):
                    reached = self.engine.advance(target, lambda: signals.stop or signals.save or self._wall_due())
                if reached:
                    self.time = target
                    continue
                self.time = max(self.time, min(self.engine.time, math.nextafter(target, -math.inf)))
                stop = signals.stop
                signals.save = False
                if stop:
                    self._checkpoint(final=True)
                    LOG.info("stopped at t %.6g with a checkpoint; resume with: hpcchain resume %s", self.time,
                             self.folder)
                    return EXIT_RESUBMIT
                self._checkpoint()
        self._checkpoint(final=True)
        LOG.info("done at t %.6g", self.time)
        return EXIT_DONE

    def _wall_due(self):
        minutes = self.config.output.checkpoint_wall_minutes
        return minutes is not None and self.timers.wall - self.wall_of_checkpoint > 60.0 * minutes

    def _outputs(self, end):
        """Write what is due now; at the end time a frame and a report are due in any case."""
        last = self.time >= end
        frame, report = self.frames.due(self.time), self.reports.due(self.time)
        if frame or report or last:
            with self.timers.phase("frames and reports"):
                state = self.engine.frame(self.time)
                self._drain_events()
                if frame or last:
                    self.part.frame(self.counters["frames"], self.time, *state)
                    self.counters["frames"] += 1
                if report or last:
                    self._report(state)
        self.extra = (int(last and not frame), int(last and not report))
        if frame:
            self.frames.serve()
        if report:
            self.reports.serve()
        if self.checkpoints.due(self.time):
            self.checkpoints.serve()
            if not last:
                self._checkpoint()

    def _totals(self):
        """Return contacts, wall contacts and virial of the whole run so far."""
        engine, counters = self.engine.counters, self.counters
        return (
            counters["contacts"] + engine["contacts"],
            counters["wall_contacts"] + engine["wall_contacts"],
            counters["virial"] + self.engine.virial,
        )

    def _report(self, state):
        contacts, wall_contacts, virial = self._totals()
        interval = self.time - self.counters["report_time"]
        new = contacts + wall_contacts - self.counters["contacts_reported"]
        row = self.observables.measure(*state, interval, virial, new)
        self.part.report(row, self.counters["reports"], self.time)
        if self.counters["reports"] == 0:
            self.counters["energy"] = row["kinetic_energy"]
        start = self.counters["energy"]
        wall = self.timers.wall
        elapsed, done = wall - self.contacts_timed[0], self.engine.counters["contacts"] - self.contacts_timed[1]
        self.contacts_timed = (wall, self.engine.counters["contacts"])
        self.log.report(self.time, {
            "contacts": contacts + wall_contacts,
            "events_per_second": done / elapsed if elapsed > 0 else 0.0,
            "energy": row["kinetic_energy"],
            "energy_error": row["kinetic_energy"] / start - 1.0 if start else 0.0,
            "temperature": row["temperature"],
            "pressure": row["pressure"],
            "momentum": float(np.abs(row["momentum"]).max()),
        })  # fmt: skip
        self.counters["reports"] += 1
        self._reported = (self.time, contacts + wall_contacts)
        if self.reports.due(self.time):
            self.counters["report_time"], self.counters["contacts_reported"] = self._reported
            self.counters["virial"] -= virial

    def _drain_events(self):
        if self.config.output.events:
            table = self.engine.drain_events()
            self.part.events(table)

    def _open_folder(self):
        for name in ("checkpoints", "parts"):
            atomic.make_folder(self.folder / name, self.mpi)
        remove_from(self.folder / "parts", self.counters["part"], self.mpi)

    def _open_part(self):
        start = {name: self.counters[name] for name in ("frames", "events", "reports")}
        self.part = PartWriter(self.folder / "parts", self.counters["part"], self.mpi, self.system.topology, start,
                               log_events=self.config.output.events)

    def _checkpoint(self, final=False):
        """Close the part, then write a checkpoint that counts it; at the end make the output files."""
        with self.timers.phase("checkpoints"):
            self._drain_events()
            self.part.close()
            self.counters["events"] = self.part.counters["events"]
            kept = self._saved_counters()
            state = System(self.system.box, self.system.topology, self.engine.state(), self.system.physics)
            path = self.folder / "checkpoints" / checkpoint_name(self.time)
            write_checkpoint(path, self.mpi, state, self.time, kept, self.config.to_toml(),
                             self.timers.table(self.comm), provenance=self.provenance)
            prune(self.folder / "checkpoints", self.config.output.keep_checkpoints, self.mpi)
            self.counters["part"] += 1
            self.wall_of_checkpoint = self.timers.wall
            if final:
                assemble(self.folder, self.mpi, self.system.topology, self.system.box, self.part.counters,
                         provenance=self.provenance)
            else:
                self._open_part()

    def _saved_counters(self):
        """Return the counters that a resumed run starts from: a frame or report made only because of the end is not
        counted, so a run that is extended leaves none behind."""
        contacts, wall_contacts, virial = self._totals()
        extra_frame, extra_report = getattr(self, "extra", (0, 0)) if self.time >= self.config.run.end_time else (0, 0)
        return dict(
            self.counters,
            part=self.counters["part"] + 1,
            frames=self.counters["frames"] - extra_frame,
            reports=self.counters["reports"] - extra_report,
            frames_served=self.frames.done,
            reports_served=self.reports.done,
            checkpoints_served=self.checkpoints.done,
            contacts=contacts,
            wall_contacts=wall_contacts,
            virial=virial,
            saved_at=time.time(),
        )
