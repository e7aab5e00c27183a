"""The event-driven engine of one rank: arrays, kernels, and what to do when they ask for room."""

import numpy as np

from hpcchain.errors import EngineError
from hpcchain.layout import arrays as L
from hpcchain.layout.memory import aligned_zeros, gathered
from hpcchain.layout.segment_bits import unpacked_starts
from hpcchain.model.clock import split
from hpcchain.model.composition import composition_of
from hpcchain.model.system import State
from hpcchain.sector import sampling
from hpcchain.sector.collapse import Standstill, stuck
from hpcchain.sector.event_budget import EventBudget
from hpcchain.sector.events import loop
from hpcchain.sector.search.neighbour_lists import CELL_FULL
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.allocate import build_sector, cell_arrays, list_capacity, quanta
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from hpcchain.sector.setup.morton import space_order

EVENT_ROW = np.dtype([("time", "f8"), ("kind", "u1"), ("bead", "i8", (2,)), ("impulse", "f8")])
LOG_ROWS = 65536


class Engine:
    """Carries a system forward event by event.

    Parameters
    ----------
    system : System
        Its state gives the start of every bead's segment; the trajectory depends on nothing else.
    log_events : bool
        Keep a log of contacts for `drain_events`.
    shell, cell : float or None
        Half width of the neighbour lists' shell and least cell width [length]; no effect on results.
    growth : (float, float)
        Contact distances as a fraction of the full ones at time 0, and the rate of that fraction [1 / time].

    Attributes
    ----------
    ids : (n,) int64 array
        Global ids of the beads, in the order of `frame` and `state`.
    virial : int
        Sum over contacts so far of impulse times centre-of-mass vector, in units of `quantum`.
    pushes : (3,) list of int
        Sum over contacts so far with the walls of each axis of the impulse, in units of `impulse_quantum`.
    quantum, impulse_quantum : float
        Powers of two [mass length^2 / time], [mass length / time].
    """

    at = None  # the row of each bead in the state and in `capacity`: its global id, where these have all beads

    def __init__(self, system, log_events=False, shell=None, cell=None, growth=(1.0, 0.0)):
        self.system = system
        self.log_rows = LOG_ROWS if log_events else 0
        self.shell = default_shell(system) if shell is None else shell
        self.cell = 0.0 if cell is None else cell
        self.growth = growth
        self.quantum, self.impulse_quantum = quanta(system)
        self.virial, self.pushes = 0, [0, 0, 0]
        self.blueprint = MoleculeClasses(system)
        topology = system.topology
        self.order = space_order(system, np.arange(topology.molecules), topology.first_bead[:-1])
        self.capacity = list_capacity(topology, self.shell)
        self.rows = []
        self.cell_capacity_factor = 1.0
        self.base = float(system.state.ticks.max(initial=0.0))
        self._build(system)

    def _build(self, system):
        self.sector, self.ids = build_sector(
            self.blueprint, system, self.shell, self.cell, self.order, self.capacity, self.log_rows, self.at
        )
        self.at = self.ids if self.at is None else self.at
        self.batch = EventBudget()
        self.sector.par[L.GROWTH], self.sector.par[L.GROWTH_RATE] = self.growth
        self._require_finite()
        self._prepare()
        arrays, self.sector = self.sector._asdict(), None  # nobody else holds them: they go as they are copied
        self.sector = L.Sector(**gathered(arrays))
        initialise.start(self.sector)
        self._enlist()

    def _prepare(self):
        """Do what a kind of engine needs before its first segments are made."""

    def _enlist(self):
        while status := initialise.enlist(self.sector):
            if status == CELL_FULL:
                self.cell_capacity_factor *= 2.0
                entries = len(self.sector.found) // max(len(self.ids), 1)
                cells = cell_arrays(self.sector.cells, len(self.ids), self.cell_capacity_factor, max(entries, 1))
                self.sector = self.sector._replace(**cells)
                continue
            need = self.sector.row[:, L.LIST_LENGTH].astype(np.int64)
            np.maximum.at(self.capacity, self.at, need + need // 2 + 8)  # vacant rows share theirs
            self._resize_lists()
        initialise.search_all(self.sector, self.base)

    def _resize_lists(self):
        room = self.capacity[self.at]
        starts = np.concatenate([[0], np.cumsum(room)])
        self.sector.row[:, L.LIST_FIRST] = starts[:-1]
        self.sector.row[:, L.LIST_CAPACITY] = room
        self.sector = self.sector._replace(neighbour=aligned_zeros(int(starts[-1]), np.int32))

    def advance(self, time, pause=None):
        """Run all events up to and including a time [time].

        Parameters
        ----------
        time : float
            Where to stop [time].
        pause : callable, optional
            Called between kernel calls, about ten times a second; a true result stops early.

        Returns
        -------
        bool
            Whether the time was reached.
        """
        ticks, rest = split(time, self.system.physics.tick)
        until, standstill = (float(ticks), float(rest)), Standstill(self.system.physics)
        while True:
            status = self.batch.run_timed(
                lambda most: loop.advance(self.sector, *until, self.base, most, self.log_rows), loop.PAUSED
            )
            self._count_sums()
            self._require_finite()
            if status == loop.REACHED:
                return True
            if status == loop.LOG_FULL:
                self._drain()
            elif status == loop.LIST_FULL:
                self._grow_lists()
            elif status != loop.PAUSED:
                raise self._failure(status)
            bead = standstill.bead(self.sector)
            if bead is not None:
                raise stuck(self.system.physics, int(self.ids[bead]), self.time)
            if pause is not None and pause():
                return False

    def _count_sums(self):
        """Move the kernel's sums to Python's integers, which do not overflow."""
        book = self.sector.book
        self.virial += int(book[L.BOOK_VIRIAL])
        self.pushes = [
            old + int(more) for old, more in zip(self.pushes, book[L.BOOK_PUSH : L.BOOK_PUSH + L.AXES], strict=True)
        ]
        book[L.BOOK_VIRIAL], book[L.BOOK_PUSH : L.BOOK_PUSH + L.AXES] = 0, 0

    def _require_finite(self):
        """Raise EngineError when a bead's state has become infinite or not a number."""
        starts = self.sector.starts[: self.sector.book[L.BOOK_BEADS]]
        if not np.isfinite(starts).all():
            bead = int(self.ids[np.flatnonzero(~np.isfinite(starts).all(axis=1)).min()])
            raise EngineError(
                f"bead {bead}: its position or velocity is not a number; check masses, lengths and "
                "velocities for extreme values"
            )

    def _grow_lists(self):
        self.capacity = self.capacity + self.capacity // 4 + 4
        self._resize_lists()
        self._enlist()

    def _failure(self, status):
        bead = int(self.ids[self.sector.count[L.C["failed_bead"]]])
        if status == loop.STUCK:
            return stuck(self.system.physics, bead, self.time)
        stepped = any(each.step for each in self.system.physics.every())
        steps = "; shorten propagator.step if it is long for how fast bonds turn" if stepped else ""
        return EngineError(
            f"a contact time is not a number; check masses, lengths and velocities for extreme values{steps}"
        )

    def _drain(self):
        count = int(self.sector.count[L.C["logged"]])
        if count:
            log = self.sector.log[:count]
            rows = np.empty(count, dtype=EVENT_ROW)
            rows["time"], rows["kind"], rows["impulse"] = log[:, L.LOG_TIME], log[:, L.LOG_KIND], log[:, L.LOG_IMPULSE]
            rows["bead"] = log[:, L.LOG_LOWER : L.LOG_IMPULSE]
            self.rows.append(rows)
            self.sector.count[L.C["logged"]] = 0

    def drain_events(self):
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse."""
        self._drain()
        rows = np.concatenate(self.rows) if self.rows else np.empty(0, dtype=EVENT_ROW)
        self.rows = []
        return rows

    def frame(self, time):
        """Return position, velocity and image counts, (n, 3) each, of the beads `ids`, in that order, at a time."""
        ticks, rest = split(time, self.system.physics.tick)
        n = len(self.ids)
        position, velocity, image = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3), dtype=np.int64)
        sampling.frame(self.sector, float(ticks), float(rest), position, velocity, image)
        return position, velocity, image

    def state(self):
        """Return the start states of the present segments of the beads `ids`, in that order.

        A run continues from them to the same bits.
        """
        s = self.sector
        mol = s.segment[:, L.MOLECULE]
        depth, struck, left = unpacked_starts(s.segment[:, L.START_MARKS])
        return State(
            position=s.starts[:, L.X : L.VX].copy(),
            velocity=s.starts[:, L.VX : L.START_TICKS].copy(),
            image=s.mol[mol, L.MOL_IMAGE : L.MOL_IMAGE + L.AXES].astype(np.int64),
            ticks=s.starts[:, L.START_TICKS].copy(),
            remainder=s.starts[:, L.START_REM].copy(),
            depth=depth,
            struck=struck,
            step=s.timing[mol, L.RUNNING_LENGTH],
            in_contact=left,
        )

    @property
    def time(self):
        """A time before which all events are done: that of the next one [time]."""
        m = int(self.sector.winner[L.ROOT])
        return float(self.sector.first[m, L.EVENT_TICKS] * self.system.physics.tick + self.sector.first[m, L.EVENT_REM])

    @property
    def counters(self):
        """Name -> number of events and operations so far (int), for reports."""
        return {name: int(self.sector.count[i]) for i, name in enumerate(L.COUNTERS)}

    def window_report(self):
        """Return what the run log says of the ranks' working together, name -> number: nothing for one rank."""
        return {}


def default_shell(system):
    """Return a half width of the neighbour lists' shell that suits the density [length].

    Of single beads' work lists are a greater part, and their flights are longer: they get a wider one.
    """
    composition = composition_of(system.topology)
    diameter, size = composition.examples.diameter, np.diff(composition.examples.first_bead)
    copies = np.repeat(composition.copies, size)
    fraction = float(np.sum(copies * diameter**3)) * np.pi / 6.0 / system.box.volume
    mean = float(np.sum(copies * diameter)) / max(composition.beads, 1)
    single = float(np.sum(composition.copies[size == 1])) / max(composition.beads, 1)
    volume = 1.0 / max(fraction, 0.03)
    wider = 0.025 * single * max(volume - 2.2, 0.0)
    return mean * float(np.clip(0.2 + 0.03 * volume + wider, 0.2, 0.6 + 0.6 * single))
