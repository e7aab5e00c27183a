"""The event-driven engine on many ranks: windows, ghosts, and speculation that is checked (docs/theory/windows.md).

Every rank carries its own molecules and ghosts of others' through a window as if it were alone. It sends the owners'
histories to those that hold ghosts of them, sets its own ghosts right, and does again what that has changed. That ends
when no ghost anywhere differs from its owner's history. Then every contact was computed from its two owners' true
segments, and the window is what one rank would have made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import later, split
from hpcchain.parallel.ghosts.manager import GhostManager
from hpcchain.parallel.ghosts.migration import in_parts
from hpcchain.parallel.tuning.balance import Balance, imbalance
from hpcchain.parallel.tuning.window_length import GROW, WindowLength, first_window
from hpcchain.sector.ahead.helper import worth_of
from hpcchain.sector.core import Recorded, energies_of, failure_of
from hpcchain.sector.events import loop
from hpcchain.sector.setup.chain_parts import chain_parts_of
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from hpcchain.sector.setup.shell import default_shell
from hpcchain.sector.window import WindowBroken

if TYPE_CHECKING:
    from hpcchain.model.system import State, System
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.sector.core import Core
    from hpcchain.sector.ghosted import GhostedSector


MOST_PASSES = 40
PATIENCE = 8  # passes before molecules that an event is said to depend on are fetched
DESPERATE = 6  # windows taken back in a row before every rank gets all molecules


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
    threads : int or "auto"
        As `sector.serial.Engine` takes it; each rank may have its own.
    cost : callable, optional
        Takes the engine and returns what this rank's work has cost so far, in any unit; default: seconds of its
        processor. Sectors follow it; no effect on results.

    Attributes
    ----------
    now : (float, float)
        Ticks and remainder before which all events are done.
    ghosts : GhostManager
        Which molecules are here, and which ghosts of them elsewhere.
    length : WindowLength
    statistics : WindowStatistics
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
        threads: int | Literal["auto"] = 1,
        cost: Callable[..., float] | None = None,
    ) -> None:
        super().__init__(system)
        self.comm = comm
        self.physics, self.tick = system.physics, system.physics.tick
        self.now = latest(system.state, comm)
        self.log_events = log_events
        self.finished = {"contacts": 0, "wall_contacts": 0, "no_roots": 0}
        self._last_contacts = 0.0  # a molecule's in the window before
        self._wanted: set[int] = set()  # molecules that are needed here as full ghosts
        self._setbacks, self._trouble = 0, self.now  # windows taken back in a row, and where the last one ended
        self._crossing = 0.25 * float(np.min(system.box.size[system.box.periodic], initial=np.inf))
        chain_parts = chain_parts_of(system)
        if chain_parts is not None and shell is None:
            shell = default_shell(system, np.zeros((0, 3)))
        classes = MoleculeClasses(system) if chain_parts is None else chain_parts.classes()
        system = system if chain_parts is None else in_parts(system, chain_parts, comm)
        first, cell = first_window(window, self.tick), 0.0 if cell is None else cell
        worth = worth_of(threads)
        self.ghosts = GhostManager(system, comm, classes, shell, cell, growth, worth, sectors, self.now, first)
        beads = comm.maximum(np.array([float(len(self.ghosted.owned_beads))]))[0]
        self.length = WindowLength(beads, first, self.tick, window is not None)
        self.statistics = WindowStatistics()
        self.cost = cost or processor_seconds
        self._reported = self.cost(self)
        self.balance = Balance(comm)

    @property
    def ghosted(self) -> GhostedSector:
        """Molecules and ghosts of this rank."""
        return self.ghosts.ghosted

    @property
    def core(self) -> Core:
        """The arrays of this rank, and the loop over them."""
        return self.ghosted.core

    @property
    def window(self) -> float:
        """Length of the next window [time]."""
        return self.length.window

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """See `sector.interface.Engine`."""
        with self.statistics.spent("steering"):
            return self._advance(tuple(map(float, split(time, self.tick))), pause)

    def _advance(self, target: tuple, pause: Callable | None) -> bool:
        """Carry window after window up to a target; return whether it was reached."""
        while self.now < target or self.statistics.counts["windows"] == 0:
            end = min(later(self.now, self.window, self.tick), target)
            said = self._carry(end, pause)
            if not said.holds:
                self._take_back(end, said)
                continue
            length = self._since(end)
            self._finish(end)
            self._adapt(said, length, end == target)
            if said.pause > 0.0 and self.now < target:
                return False
        return True

    def _carry(self, end: tuple, pause: Callable | None) -> Said:
        """Carry all ranks to the end of a window, until no ghost anywhere is wrong; return what they agree on.

        1. Run to the end, as far as this rank knows.
        2. Send the histories of owned molecules to the ranks that hold them as ghosts.
        3. Set the ghosts here right, and run again, if anything came.
        4. All agree whether any ghost anywhere may still be wrong; if so, again from 2.
        """
        self._broken, self._bead, self._wanted = 0, -1, set()
        self._attempt("computing", self.ghosted.window.run, end)
        for number in range(MOST_PASSES):
            self.statistics.counts["passes"] += 1
            received = self._exchange()
            if received:
                self._attempt("setting_right", self._take, received)
                if not self._broken:
                    self._attempt("computing", self.ghosted.window.run, end)
            here = self._said(end, pause is not None and bool(pause()))
            with self.statistics.spent("waiting"):
                said = Said(*self.comm.maximum(np.array(here)).tolist())
            if said.wrong == 0.0 or said.broken > 0.0 or (said.wanted > 0.0 and number > PATIENCE):
                break
        return said

    def _violation(self, until: tuple) -> np.ndarray:
        """Return per molecule row how far beyond its skin it gets between now and a time [length]."""
        balls = self.ghosts.needs.balls
        return self.ghosted.skin_violation(balls.position, balls.skin, self.now, until)

    def _attempt(self, phase: str, action: Callable, *args: Any) -> None:
        """Do a part of a pass, and note what breaks the window."""
        try:
            with self.statistics.spent(phase):
                action(*args)
        except WindowBroken as reason:
            self._broken, self._bead = 1 + reason.status, reason.bead

    def _exchange(self) -> dict:
        """Send what has changed to the ranks that hold it, and return what others sent: source rank -> message."""
        needs = self.ghosts.needs
        with self.statistics.spent("packing"):
            outgoing = self.ghosted.window.pack(needs.lent, needs.lent_at_all)
        self.statistics.sent(outgoing)
        with self.statistics.spent("waiting"):
            received = self.comm.exchange_known(outgoing, needs.sources)
        return {rank: rows for rank, rows in received.items() if len(rows)}

    def _take(self, received: dict) -> None:
        """Set ghosts right by messages, source rank -> message; note which molecules are needed for it."""
        for source in sorted(received):
            self._wanted.update(self.ghosted.window.receive(received[source]).tolist())
        self.ghosted.window.set_right()

    def _said(self, end: tuple, pause: bool) -> Said:
        """Return what this rank has to say about a pass; a place that is not a number breaks the window."""
        needs, broken = self.ghosts.needs, self._broken
        wrong = broken > 0 or self.ghosted.window.unsettled(needs.lent_at_all)
        excess = next_excess = -np.inf
        if not wrong:
            next_end = later(end, GROW * self.window, self.tick)  # of the next window, at the latest
            excess = next_excess = float(self._violation(next_end).max(initial=-np.inf))
            if np.isnan(excess):
                broken, excess, next_excess = 1 + loop.NOT_A_NUMBER, -np.inf, -np.inf
            elif excess > 0.0:
                excess = float(self._violation(end).max(initial=-np.inf))
        seen = self._last_contacts, needs.skins.typical, needs.skins.usual
        return Said(wrong, broken, len(self._wanted), self._bead + 1, pause, excess, next_excess, *seen)

    def _since(self, end: tuple) -> float:
        """Return the time from now to the end of a window."""
        return (end[0] - self.now[0]) * self.tick + (end[1] - self.now[1])

    def _rebuild_ghosts(self, **options: Any) -> None:
        with self.statistics.spent("rebuilding"):
            self.ghosts.rebuild_ghosts(self.now, self.window, **options)

    def _look_at_balance(self) -> bool:
        """Move sectors when ranks have cost unequally much; return whether all ghosts were chosen anew for that."""
        if not self.ghosts.movable:
            return False
        segments = int(self.ghosted.counts[L.N_SEGMENTS])
        costs = self.balance.observe(self.statistics.counts["windows"], self.cost(self), segments)
        if costs is not None:
            self._rebuild_ghosts(cost=costs[self.comm.rank])
        return costs is not None

    def _take_back(self, end: tuple, said: Said) -> None:
        """Return to the window's start; choose ghosts anew, take shorter windows, or give up."""
        if said.wanted > 0.0:
            with self.statistics.spent("rebuilding"):
                self.ghosts.needs.request(sorted(self._wanted))
        self.statistics.counts["undone"] += 1
        self._setbacks += 1
        self._trouble = max(self._trouble, end)
        if said.excess > 0.0 and said.wrong == 0.0:
            self.ghosts.needs.widen(self.ghosted.molecule_ids, self._violation(end))
        self.ghosted.window.undo()
        lost = said.wrong > 0.0 and not said.broken and not said.wanted
        if not self.length.taken_back(lost or said.status in (loop.STUCK, loop.NOT_A_NUMBER)):
            bead = int(said.bead) - 1
            raise failure_of(said.status, self.physics, bead if bead >= 0 else None, self.time)
        full = said.status in (loop.LIST_FULL, loop.TABLE_FULL)
        self._rebuild_ghosts(everything=self._setbacks > DESPERATE, more_space=full)

    def _finish(self, end: tuple) -> None:
        """Make final what was done up to the end of the window."""
        with self.statistics.spent("finishing"):
            log, sums = self.ghosted.window.finish(self._since(end))
        self.count(sums[: L.SUMS])
        walls, rootless, others = sums[L.SUMS :].tolist()
        self.finished["contacts"] += len(log) - walls - others
        self.finished["wall_contacts"] += walls
        self.finished["no_roots"] += rootless
        self._last_contacts = 2.0 * len(log) / max(self.ghosted.owned_molecules, 1)
        if self.log_events:
            self.keep(log)
        if end >= self._trouble:
            self._setbacks = 0
        self.now = end
        self.ghosts.needs.window_done(self.ghosted)
        self.statistics.counts["windows"] += 1

    def _adapt(self, said: Said, length: float, cut: bool) -> None:
        """Choose the next window's length, and new ghosts if a molecule may get out of its skin in it.

        `said` is what all agreed on in the window that has ended: of its contacts nothing is known yet. That window was
        `length` long [time], and perhaps `cut` short.
        """
        easy, builder = self.ghosts.needs.skins.easy_window(said.speed), self.ghosts.builder
        across = said.pace + builder.common_speed  # lists move with the system; segments end where beads cross sides
        ways = ((builder.options.shell, said.pace), (self._crossing, across))
        renewed = min((way / speed for way, speed in ways if speed > 0.0), default=np.inf)
        self.length.observe(length, cut, said.contacts, easy, renewed)
        if self._look_at_balance():
            return
        if said.next_excess > 0.0:
            with self.statistics.spent("rebuilding"):
                fits = self.ghosts.refresh_skins(self.now, self.window)
            if not fits:
                self.ghosts.needs.requested.clear()
                self._rebuild_ghosts()

    @property
    def ids(self) -> np.ndarray:
        """(n,) int64 global ids of the beads that this rank owns."""
        return self.ghosted.owned_ids

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of the beads `ids` at a time, in their order."""
        return self.ghosted.frame(*map(float, split(time, self.tick)))

    def energies(self) -> np.ndarray | None:
        """Return (n, 2) potential energies of the beads `ids`, and zeros; None where nothing has any."""
        return energies_of(self.ghosted.system, self.ghosted.core, self.ghosted.owned_beads)

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
        counts = self.ghosted.counts
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
        since, self._reported = cost - self._reported, cost
        counts, owned = self.ghosted.counts, len(self.ghosted.owned_beads)
        made = {"segments": int(counts[L.N_SEGMENTS]), "restored": int(counts[L.N_RESTORED])}
        return {
            "window": self.window,
            **self.statistics.report(self.comm, made | {"owned": owned, "ghosts": self.ghosted.ghosts}, since),
            "ghost_rebuilds": self.ghosts.rebuilds,
            "skin_refreshes": self.ghosts.skin_refreshes,
        }


class Said(NamedTuple):
    """What a rank has to say of a pass, numbers all; ranks agree on the greatest of each.

    Attributes
    ----------
    wrong : float
        Whether ghosts may still be wrong, or others may not know all of a molecule.
    broken : float
        1 + the status (`loop`) that breaks the window, 0 for none.
    wanted : float
        How many molecules others' events are said to depend on.
    bead : float
        1 + the global id of one that has to do with what breaks the window.
    pause : float
        Whether `advance` is to return.
    excess, next_excess : float
        How far a molecule gets out of its skin by the end of the window, and of the next one; -inf while that is not
        known [length].
    contacts : float
        A molecule's in the window before.
    speed, pace : float
        Typical speed of beads, and that which half of them exceed [length / time].
    """

    wrong: float
    broken: float
    wanted: float
    bead: float
    pause: float
    excess: float
    next_excess: float
    contacts: float
    speed: float
    pace: float

    @property
    def status(self) -> int:
        """What breaks the window, -1 for nothing."""
        return int(self.broken) - 1

    @property
    def holds(self) -> bool:
        """Whether the window is what one rank would have made of it."""
        return self.wrong == self.broken == 0.0 and self.excess <= 0.0


def latest(state: State, comm: Exchange) -> tuple[float, float]:
    """Return the ticks and remainder at which the last of all ranks' segments begins; collective."""
    ticks = comm.maximum(np.array([state.ticks.max(initial=-np.inf)]))[0]
    remainder = comm.maximum(np.array([state.remainder[state.ticks == ticks].max(initial=-np.inf)]))[0]
    return float(ticks), float(remainder)


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
        PHASES; they add up to the time in `advance` [wall seconds].
    processor : float
        Seconds of the processor for a rank's own WORK, whatever else its processor had to do.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.processor = 0.0

    @contextmanager
    def spent(self, phase: str) -> Iterator[None]:
        """Add to a phase what of the body's time is in no other phase."""
        start, processor, others = perf_counter(), thread_time(), sum(self.seconds.values())
        try:
            yield
        finally:
            self.seconds[phase] += perf_counter() - start - (sum(self.seconds.values()) - others)
            if phase in WORK:
                self.processor += thread_time() - processor

    def sent(self, outgoing: dict) -> None:
        """Count messages, rank -> floats."""
        self.counts["messages"] += len(outgoing)
        self.counts["floats"] += sum(map(len, outgoing.values()))

    def report(self, comm: Exchange, sizes: dict, cost: float) -> dict:
        """Return what windows have cost so far over all ranks, name -> number; collective.

        `sizes`: this rank's segments, restored, owned and ghosts; `cost`: its own since the last report, in any unit.
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
