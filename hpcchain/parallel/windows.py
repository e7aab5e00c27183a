"""The event-driven engine on many ranks: windows, ghosts, and speculation that is checked (docs/theory/windows.md).

Every rank carries its own molecules and ghosts of others' through a window as if it were alone. It sends the owners'
histories to those that hold ghosts of them, sets its own ghosts right, and does again what that has changed. That ends
when no ghost anywhere differs from its owner's history. Then every contact was computed from its two owners' true
segments, and the window is what one rank would have made of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import WindowError
from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.system import PERIODIC
from hpcchain.parallel.ghosts.manager import GhostManager
from hpcchain.parallel.ghosts.migration import in_parts
from hpcchain.parallel.tuning.balance import Balance, imbalance
from hpcchain.parallel.tuning.window_length import GROW, WindowLength
from hpcchain.sector.collapse import not_a_number, stuck
from hpcchain.sector.core import Recorded, energies_of
from hpcchain.sector.events import loop
from hpcchain.sector.setup.chain_parts import chain_parts_of
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from hpcchain.sector.setup.shell import default_shell
from hpcchain.sector.speculation.window import WindowBroken

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, State, System
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.sector.ghosted import GhostedSector


MOST_PASSES = 40
PATIENCE = 8  # passes before molecules that an event is said to depend on are fetched
AHEAD = 12.0  # windows for which molecules get new reference positions beforehand
LEAST_WINDOW, MOST_WINDOW = 2.0**-24, 2.0**40  # ticks
DESPERATE = 6  # windows taken back in a row before every rank gets all molecules
WRONG, BROKEN, WANTED, PAUSE, EXCESS, NEXT_EXCESS, CONTACTS, BEAD, SPEED, PACE = range(10)


class WindowedEngine(Recorded):
    """Carries a system forward event by event on all ranks of a communicator; every method is collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; each keeps what is its own.
    comm : Exchange
    log_events : bool
        Keep a log of this rank's contacts for `drain_events`.
    shell, cell : float or None
        Half width of the neighbour lists' shell and least cell width [length]; no effect on results.
    growth : (float, float)
        Contact distances as a fraction of the full ones at time 0, and the rate of that fraction [1 / time].
    window : float, optional
        Time between agreements of the ranks, else it follows the contacts; no effect on results [time].
    sectors : sequence of 3 int, optional
        Ranks along each axis; no effect on results.
    cost : callable, optional
        Takes the engine and returns what this rank's work has cost so far, in any unit; default: seconds of its
        processor. Sectors follow it; no effect on results.
    """

    def __init__(
        self,
        system: System,
        comm: Exchange,
        log_events: bool = False,
        shell: float | None = None,
        cell: float | None = None,
        growth: tuple = (1.0, 0.0),
        window: Any = None,
        sectors: tuple | list | None = None,
        cost: Callable[..., float] | None = None,
    ) -> None:
        super().__init__(system)
        self.comm = comm
        self.physics, self.tick = system.physics, system.physics.tick
        self.now = latest(system.state, comm)
        self.begun = False
        self.requested = None if window is None else min(float(window), MOST_WINDOW * self.tick)
        self.window = 2.0**-4 * self.tick if window is None else self.requested
        self.log_events = log_events
        self.finished = {"contacts": 0, "wall_contacts": 0, "no_roots": 0}
        self.last_contacts, self.last_length = 0.0, 0.0  # length 0: none, or taken back
        self.last_cut = True
        self.setbacks, self.failed_bead = 0, -1
        self.trouble = self.now
        self.crossing = 0.25 * float(np.min(system.box.size[system.box.boundary == PERIODIC], initial=np.inf))
        chain_parts = chain_parts_of(system)
        if chain_parts is not None and shell is None:
            shell = default_shell(system, np.zeros((0, 3)))
        classes = MoleculeClasses(system) if chain_parts is None else chain_parts.classes()
        system = system if chain_parts is None else in_parts(system, chain_parts, comm)
        self.system = replace(system, topology=classes.composition, state=None, held=None)
        self.ghosts = GhostManager(
            system,
            comm,
            classes,
            shell,
            0.0 if cell is None else cell,
            growth,
            sectors,
            self.now,
            self.window,
        )
        self.length = WindowLength(comm.maximum(np.array([float(len(self.ghosted.owned_beads))]))[0])
        self.statistics = WindowStatistics()
        self.cost = cost or processor_seconds
        self.reported = self.cost(self)
        self.balance = Balance(comm)

    @property
    def ghosted(self) -> GhostedSector:
        """Molecules and ghosts of this rank."""
        return self.ghosts.ghosted

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """See `sector.interface.Engine`."""
        with self.statistics.whole():
            return self._advance(tuple(map(float, split(time, self.tick))), pause)

    def _advance(self, target: tuple, pause: Callable | None) -> bool:
        """Carry window after window up to a target; return whether it was reached."""
        while self.now < target or not self.begun:
            end = min(self._later(self.now, self.window), target)
            flags = self._carry(end, pause)
            if flags is None:
                self.last_length = 0.0
                continue
            length = self._since(end)
            self._finish(end)
            self._adapt(flags, length, end == target)
            if flags[PAUSE] > 0.0 and self.now < target:
                return False
        return True

    def _later(self, time: tuple, dt: float) -> tuple[float, float]:
        remainder = time[1] + dt
        whole = math.floor(remainder / self.tick)
        return time[0] + whole, remainder - whole * self.tick

    def _since(self, end: tuple) -> float:
        """Return the time from now to the end of a window."""
        return (end[0] - self.now[0]) * self.tick + (end[1] - self.now[1])

    def _carry(self, end: tuple, pause: Callable | None) -> np.ndarray | None:
        """Carry all ranks to the end of a window; return what they agreed on, or None if it was taken back.

        1. Run to the end, as far as this rank knows.
        2. Send the histories of owned molecules to the ranks that hold them as ghosts.
        3. Set the ghosts here right, and run again, if anything came.
        4. All agree whether any ghost anywhere may still be wrong; if so, again from 2.
        """
        wanted, self.failed_bead = set(), -1
        broken = self._attempt("computing", self.ghosted.window.run, end)
        for number in range(MOST_PASSES):
            self.statistics.counts["passes"] += 1
            received = self._exchange()
            if received:
                broken = self._attempt("setting_right", self._take, received, wanted) or broken
                broken = broken or self._attempt("computing", self.ghosted.window.run, end)
            wrong = 1 if broken else self.ghosted.window.unsettled(self.ghosts.needs.lent_at_all)
            flags = self._flags(end, wrong, broken, wanted, pause)
            with self.statistics.spent("waiting"):
                flags = self.comm.maximum(flags)
            if flags[WRONG] == 0.0 or flags[BROKEN] > 0.0 or (flags[WANTED] > 0.0 and number > PATIENCE):
                break
        if flags[WRONG] == flags[BROKEN] == 0.0 and flags[EXCESS] <= 0.0:
            if end >= self.trouble:
                self.setbacks = 0
            return flags
        if flags[WANTED] > 0.0:
            with self.statistics.spent("rebuilding"):
                self.ghosts.needs.request(sorted(wanted))
        self._take_back(flags, end)
        return None

    def _attempt(self, phase: str, action: Callable, *args: Any) -> int:
        """Do a part of a pass; return 0, or what breaks the window (BROKEN)."""
        try:
            with self.statistics.spent(phase):
                action(*args)
        except WindowBroken as reason:
            self.failed_bead = reason.bead
            return 1 + reason.status
        return 0

    def _take(self, received: dict, wanted: set) -> None:
        """Set ghosts right by messages, source rank -> message; add to `wanted` which molecules are needed for it."""
        for source in sorted(received):
            wanted.update(self.ghosted.window.receive(received[source]).tolist())
        self.ghosted.window.set_right()

    def _flags(self, end: tuple, wrong: int, broken: int, wanted: set, pause: Callable | None) -> np.ndarray:
        """Return what this rank has to say about a pass; a place that is not a number breaks the window."""
        flags = np.zeros(10)
        flags[[WRONG, BROKEN, WANTED]] = wrong, broken, len(wanted)
        flags[BEAD] = self.failed_bead + 1  # 0 for none
        flags[PAUSE] = float(pause is not None and bool(pause()))
        flags[EXCESS] = flags[NEXT_EXCESS] = -np.inf
        if wrong == 0 and broken == 0:
            next_end = self._later(end, GROW * self.window)
            flags[EXCESS] = flags[NEXT_EXCESS] = self._violation(next_end).max(initial=-np.inf)
            if np.isnan(flags[EXCESS]):
                flags[BROKEN], flags[EXCESS], flags[NEXT_EXCESS] = 1 + loop.NOT_A_NUMBER, -np.inf, -np.inf
            elif flags[EXCESS] > 0.0:
                flags[EXCESS] = self._violation(end).max(initial=-np.inf)
        flags[CONTACTS] = self.last_contacts
        flags[SPEED], flags[PACE] = self.ghosts.needs.skins.typical, self.ghosts.needs.skins.usual
        return flags

    def _violation(self, until: tuple) -> np.ndarray:
        """Return per molecule row how far beyond its skin it gets between now and a time [length]."""
        return self.ghosts.needs.violation(self.ghosted, self.now, until)

    def _exchange(self) -> dict:
        """Send what has changed to the ranks that hold it, and return what others sent: source rank -> message."""
        with self.statistics.spent("packing"):
            outgoing = self.ghosted.window.pack(self.ghosts.needs.lent, self.ghosts.needs.lent_at_all)
        self.statistics.sent(outgoing)
        with self.statistics.spent("waiting"):
            received = self.comm.exchange_known(outgoing, self.ghosts.needs.sources)
        return {rank: rows for rank, rows in received.items() if len(rows)}

    def _rebuild_ghosts(self, **options: Any) -> None:
        with self.statistics.spent("rebuilding"):
            self.ghosts.rebuild_ghosts(self.now, self.window, **options)

    def _look_at_balance(self) -> bool:
        """Move sectors when ranks have cost unequally much; return whether all ghosts were chosen anew for that."""
        if not self.ghosts.movable:
            return False
        segments = int(self.ghosts.builder.counts(self.ghosted)[L.C["segments"]])
        costs = self.balance.observe(self.statistics.counts["windows"], self.cost(self), segments)
        if costs is not None:
            self._rebuild_ghosts(cost=costs[self.comm.rank])
        return costs is not None

    def _take_back(self, flags: np.ndarray, end: tuple) -> None:
        """Return to the window's start; choose ghosts anew, take shorter windows, or give up."""
        self.statistics.counts["undone"] += 1
        self.setbacks += 1
        self.trouble = max(self.trouble, end)
        if flags[EXCESS] > 0.0 and flags[WRONG] == 0.0:
            self.ghosts.needs.widen(self.ghosted.molecule_ids, self._violation(end))
        self.ghosted.window.undo()
        status = int(flags[BROKEN]) - 1
        lost = flags[WRONG] > 0.0 and not flags[BROKEN] and not flags[WANTED]
        if lost or status in (loop.STUCK, loop.NOT_A_NUMBER):
            self.window *= 0.25
            if self.window < LEAST_WINDOW * self.tick:
                raise error_of(status, self.physics, int(flags[BEAD]) - 1, self.time)
        full = status in (loop.LIST_FULL, loop.TABLE_FULL)
        self._rebuild_ghosts(everything=self.setbacks > DESPERATE, more_space=full)

    def _finish(self, end: tuple) -> None:
        """Make final what was done up to the end of the window."""
        with self.statistics.spent("finishing"):
            log, sums = self.ghosted.window.finish(self._since(end))
        self.count(sums[: L.SUMS])
        walls, rootless, others = sums[L.SUMS :].tolist()
        self.finished["contacts"] += len(log) - walls - others
        self.finished["wall_contacts"] += walls
        self.finished["no_roots"] += rootless
        self.last_contacts = 2.0 * len(log) / max(self.ghosted.owned_molecules, 1)
        if self.log_events:
            self.keep(log)
        self.now = end
        self.begun = True
        self.ghosts.needs.window_done(self.ghosted)
        self.statistics.counts["windows"] += 1

    def _adapt(self, flags: np.ndarray, length: float, cut: bool) -> None:
        """Choose the next window's length, and new ghosts if a molecule may get out of its skin in it.

        Parameters
        ----------
        flags : (10,) float64 array
            What all ranks agreed on in the window that has ended: of its contacts nothing is known yet.
        length : float
            Of that window [time].
        cut : bool
            Whether it was cut short.
        """
        if self.requested is not None:
            self.window = min(self.requested, GROW * self.window)  # it may have been shortened
        else:
            if self.last_length > 0.0:
                self._choose_length(flags)
            self.last_length, self.last_cut = length, cut
        if self._look_at_balance():
            return
        if flags[NEXT_EXCESS] > 0.0:
            with self.statistics.spent("rebuilding"):
                fits = self.ghosts.refresh_skins(self.now, self._later(self.now, AHEAD * self.window), self.window)
            if not fits:
                self.ghosts.needs.requested.clear()
                self._rebuild_ghosts()

    def _choose_length(self, flags: np.ndarray) -> None:
        """Choose the next window's length by the window before, whose contacts all ranks have agreed on."""
        easy = self.ghosts.needs.skins.easy_window(float(flags[SPEED]))
        pace = float(flags[PACE])
        renewed = min(self.ghosts.builder.options.shell, self.crossing) / pace if pace > 0.0 else math.inf
        contacts = float(flags[CONTACTS])
        self.window = self.length.observe(contacts, self.last_length, self.last_cut, self.window, easy, renewed)

    @property
    def ids(self) -> np.ndarray:
        """(n,) int64 global ids of the beads that this rank owns."""
        return self.ghosted.owned_ids

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of the beads `ids` at a time, in their order."""
        return self.ghosted.frame(*map(float, split(time, self.tick)))

    def energies(self) -> np.ndarray | None:
        """Return (n, 2) potential energies of the beads `ids`, and zeros; None where nothing has any."""
        return energies_of(self.ghosted.system, self.ghosted.owned_ids, self.ghosted.core, self.ghosted.owned_beads)

    def state(self) -> State:
        """Return the State of the beads `ids`, in their order, from which a run continues to the same bits."""
        return self.ghosted.state()

    @property
    def time(self) -> float:
        """The time before which all events are done [time]."""
        return self.now[0] * self.tick + self.now[1]

    @property
    def counters(self) -> dict:
        """Name -> number of events and operations of this rank so far (int), for reports."""
        counts = self.ghosts.builder.counts(self.ghosted)
        return {name: int(counts[i]) for i, name in enumerate(L.COUNTERS)} | self.finished

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds of this rank in each part of `advance`; they add up to what it has taken."""
        return self.statistics.seconds

    def window_report(self) -> dict:
        """Return what windows have cost so far, over all ranks, for reports: name -> number; collective.

        The imbalance, greatest over mean cost, is that since the last report.
        """
        cost = self.cost(self)
        since, self.reported = cost - self.reported, cost
        return {
            "window": self.window,
            **self.statistics.report(self.comm, self.ghosts.builder.sizes(self.ghosted), since),
            "ghost_rebuilds": self.ghosts.rebuilds,
            "skin_refreshes": self.ghosts.skin_refreshes,
        }


def latest(state: State, comm: Exchange) -> tuple[float, float]:
    """Return the ticks and remainder at which the last of all ranks' segments begins; collective."""
    ticks = comm.maximum(np.array([state.ticks.max(initial=-np.inf)]))[0]
    remainder = comm.maximum(np.array([state.remainder[state.ticks == ticks].max(initial=-np.inf)]))[0]
    return float(ticks), float(remainder)


def error_of(status: int, physics: Physics, bead: int, time: float) -> Any:
    """Return the error for a window that could not be done however short it was."""
    if status == loop.STUCK:
        return stuck(physics, bead if bead >= 0 else None, time)
    if status == loop.NOT_A_NUMBER:
        return not_a_number(physics, "a contact time")
    return WindowError("the ranks do not come to agree on a window however short; please report this with the input")


def processor_seconds(engine: WindowedEngine) -> float:
    """Return the processor seconds of a rank's own work in windows, whatever else its processor had to do."""
    return engine.statistics.processor


COUNTED = ("windows", "passes", "undone", "messages", "floats")
WORK = ("computing", "packing", "setting_right", "finishing")
PHASES = ("computing", "packing", "setting_right", "waiting", "finishing", "rebuilding", "steering")
"""Waiting is for messages and agreement in a window, steering all that the other phases leave."""


class WindowStatistics:
    """Counts of what windows have done, and the time of their phases.

    Attributes
    ----------
    counts : dict of str -> int
        COUNTED; floats are those of messages.
    seconds : dict of str -> float
        PHASES; they add up to the time in `whole` [wall seconds].
    processor : float
        Seconds of the processor for a rank's own WORK, whatever else its processor had to do.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.processor = 0.0

    @contextmanager
    def spent(self, phase: str) -> Iterator[None]:
        """Add the time of the body to a phase."""
        start, processor = perf_counter(), thread_time()
        try:
            yield
        finally:
            self.seconds[phase] += perf_counter() - start
            if phase in WORK:
                self.processor += thread_time() - processor

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Add to steering what of the body's time is in no other phase."""
        start, before = perf_counter(), sum(self.seconds.values())
        try:
            yield
        finally:
            self.seconds["steering"] += perf_counter() - start - (sum(self.seconds.values()) - before)

    def sent(self, outgoing: dict) -> None:
        """Count messages, rank -> floats."""
        self.counts["messages"] += len(outgoing)
        self.counts["floats"] += sum(map(len, outgoing.values()))

    def report(self, comm: Exchange, sizes: dict, cost: float) -> dict:
        """Return what windows have cost so far over all ranks, name -> number; collective.

        Parameters
        ----------
        comm : Exchange
        sizes : dict of str -> int
            Of this rank: segments, restored, owned, ghosts.
        cost : float
            Of this rank since the last report, in any unit; the imbalance is the greatest over the mean.
        """
        every = comm.allgather(self.counts | sizes | self.seconds | {"cost": cost})
        total = {name: sum(one[name] for one in every) for name in every[0]}
        ranks, windows = len(every), max(self.counts["windows"], 1)
        return {
            "passes_per_window": self.counts["passes"] / windows,
            "windows_undone": self.counts["undone"],
            "redone": total["restored"] / max(total["segments"], 1),
            "ghosts_per_owned": total["ghosts"] / total["owned"],
            "messages_per_window": total["messages"] / windows / ranks,
            "bytes_per_window": 8.0 * total["floats"] / windows / ranks,
            "imbalance": imbalance(np.array([one["cost"] for one in every])),
            "seconds": {phase: spread([one[phase] for one in every]) for phase in PHASES},
        }


def spread(values: list) -> list:
    """Return least, mean and greatest of the ranks' numbers."""
    return [min(values), sum(values) / len(values), max(values)]
