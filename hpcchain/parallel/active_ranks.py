"""An engine on as many of the ranks as pay; the others sleep until it has come to where it is to stop.

The first ranks have all the molecules, and carry them in an engine of their own: that of one rank, or that of windows
on a communicator of theirs. The others have none. They wait by looking now and then whether the root has told them
something, and sleep between looks for a small part of the time that they have waited so far: a collective call of MPI
would keep a core busy, and a long sleep would keep the others waiting. What they alone know, a signal or a clock, they
tell the root, which stops the engine as for one of its own.

How many ranks have molecules may change between two calls of the engine. Then all molecules are handed over, as from a
checkpoint to a run that goes on from it on other ranks: the bits are the same.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.composition import composition_of
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import complete, widened
from hpcchain.parallel.activity import BEAT, nap
from hpcchain.parallel.agreement import sendable
from hpcchain.parallel.ghosts.molecules import WIDTH, pack, taken, unpack
from hpcchain.sector.core import event_row
from hpcchain.sector.interface import added
from hpcchain.sector.setup.allocate import energy_quantum, quanta

if TYPE_CHECKING:
    from hpcchain.model.system import State, System
    from hpcchain.parallel.decomposition.worth import Choice
    from hpcchain.parallel.exchange import Exchange

GREATEST = tuple(name for name, summed in zip(L.COUNTERS, L.SUMMED, strict=True) if not summed)


class ActiveRanksEngine:
    """Carries a system forward on the first of some ranks; making it, `advance` and `window_report` are collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it.
    exchange : Exchange
        All ranks.
    make : callable
        Takes a System and an Exchange of several ranks, or None for one, and returns their engine.
    ranks : int
        How many have molecules at first.
    choice : Choice, optional
        Says on the root how many ranks have molecules from now on; default: as many as at first.

    Attributes
    ----------
    ranks : int
        How many have molecules.
    quantum, impulse_quantum :
        See `sector.interface.Engine`, as are all other methods.
    """

    def __init__(
        self, system: System, exchange: Exchange, make: Callable, ranks: int, choice: Choice | None = None
    ) -> None:
        self.exchange, self.ranks, self._make, self._choice = exchange, ranks, make, choice
        self.quantum, self.impulse_quantum = quanta(system)
        self.energy_quantum = energy_quantum(system)
        self.composition = composition_of(system.topology)
        self.system = replace(system, topology=self.composition, state=None, held=None)
        self._past: dict[str, Any] = {
            "counters": {},
            "seconds": {},
            "virial": 0,
            "virial_tensor": [0] * L.TENSOR_PARTS,
            "work": 0,
            "heat": 0,
            "wall_impulse": [0, 0, 0],
        }
        self._rows: list[np.ndarray] = []
        self._time, self._beat = 0.0, clock.monotonic()
        self._seconds = {"at work": 0.0, "waiting": 0.0, "moving": 0.0, "asleep": 0.0}  # besides those of engines
        self._failure: BaseException | None = None  # of one who slept
        self._call = self._stopped = 0  # calls of `advance`, and the last that one who sleeps has asked to stop
        self.engine: Any = None
        self._part: Any = None
        if system.held is None:
            self._begin(system)
        else:
            self._begin(self._dealt(self.composition.beads_of(system.held), system.state))

    def _begin(self, system: System) -> None:
        """Make the engine of those ranks that have molecules."""
        self._part = part = self.exchange.part(self.ranks)
        if part is not None:
            self.engine = self._make(system, part if part.size > 1 else None)

    def _dealt(self, ids: np.ndarray, state: State) -> System:
        """Return what this rank is given of the system whose beads, by global id, all ranks have here; collective."""
        composition, sequence = self.composition, np.argsort(ids)
        widths = np.array([float(state.extra.shape[1]), float(state.parts.shape[1])])
        columns, parts = self.exchange.maximum(widths).astype(int).tolist()
        state = taken(state, sequence)
        state = replace(state, extra=widened(state.extra, columns), parts=with_columns(state.parts, parts))
        rows = pack(ids[sequence], state, state.position)
        to = composition.molecule_of(ids[sequence]) * self.ranks // composition.molecules
        received = self.exchange.exchange_unknown({int(rank): rows[to == rank].ravel() for rank in np.unique(to)})
        rows = np.concatenate([np.zeros(0), *received.values()]).reshape(-1, WIDTH + columns + parts)
        held = unpack(composition, rows[np.argsort(rows[:, 0])], parts)
        if self.ranks > 1:
            return replace(self.system, state=held.state, held=held.molecule_ids)
        return replace(self.system, topology=composition.whole(), state=held.state)

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """Run all events up to and including a time; return whether it was reached, the same on all ranks.

        Parameters
        ----------
        time : float
            Where to stop [time].
        pause : callable, optional
            Asked on every rank now and then; a true result of any stops all. It may also end earlier without one.

        Raises
        ------
        EngineError
            On every rank.
        """
        self._call += 1
        reached, ranks = self._sleep(pause) if self.engine is None else self._work(time, pause)
        if ranks != self.ranks:
            self._move(ranks)
            if pause is None and not reached:
                return self.advance(time)
        return reached

    def _work(self, time: float, pause: Callable | None) -> tuple[bool, int]:
        """Carry the engine; return whether it has come to a time, and how many ranks are to have molecules next."""
        begin = clock.perf_counter()
        try:
            reached = self.engine.advance(time, self._asked(pause))
            spent = clock.perf_counter() - begin
            if not self.engine.seconds:  # its work is not told apart
                self._seconds["at work"] += spent
            ranks, failure = self._agreed(spent)
            if failure is not None:
                raise failure
        except BaseException as failure:
            self._wake(None, failure)
            raise
        self._wake((reached, self.engine.time, ranks), None)
        self._seconds["waiting"] += clock.perf_counter() - begin - spent
        return reached, ranks

    def _agreed(self, seconds: float) -> list:
        """Return how many ranks are to have molecules from now on, and how one that slept has failed; collective."""
        # It is what the root says, of an engine that has taken so many seconds.
        said = [self.ranks, self._failure]
        if self.exchange.rank == 0 and self._choice is not None:
            said[0] = self._choice.next(self.ranks, self.engine.time, seconds)
        return self._part.allgather(said)[0] if self._part.size > 1 else said

    def _asked(self, pause: Callable | None) -> Callable | None:
        """Return what the engine asks: on the root also for those who sleep, and whether to choose ranks anew."""
        if pause is None or self.exchange.rank > 0:
            return pause

        def asked() -> bool:
            self._give_sign()
            called, wanted = self._called(), self._choice is not None and self._choice.due(self.engine.time)
            return bool(pause()) or called or wanted

        return asked

    def _give_sign(self) -> None:
        """Let those who sleep know, now and then, that the others are at work."""
        if clock.monotonic() > self._beat + BEAT:
            self._beat = clock.monotonic()
            for rank in range(self.ranks, self.exchange.size):
                self.exchange.tell(rank, self.engine.time)

    def _called(self) -> bool:
        """Return whether one who sleeps has asked to stop in this call of `advance`, or has failed."""
        while self.ranks < self.exchange.size and (call := self.exchange.heard()) is not None:
            if isinstance(call, BaseException):
                self._failure = call
            else:
                self._stopped = max(self._stopped, call)
        return self._stopped == self._call or self._failure is not None

    def _wake(self, found: tuple | None, failure: BaseException | None) -> None:
        """Tell those who sleep what has come of it."""
        if self.exchange.rank == 0:
            note = found, None if failure is None else sendable(failure)
            for rank in range(self.ranks, self.exchange.size):
                self.exchange.tell(rank, note)

    def _sleep(self, pause: Callable | None) -> tuple[bool, int]:
        """Wait until the root tells what `_work` returns there, at next to no cost."""
        begin, called = clock.monotonic(), False
        with self.exchange.activity.asleep(0):
            while not isinstance(note := self.exchange.heard(0), tuple):
                if note is not None:
                    self._time = note
                    self.exchange.activity.heard()
                if not called and self._wants_to_stop(pause):
                    called = True
                    self.exchange.tell(0, self._call)
                nap(begin)
        self._seconds["asleep"] += clock.monotonic() - begin
        found, failure = note
        if failure is not None:
            raise failure
        reached, self._time, ranks = found
        return reached, ranks

    def _wants_to_stop(self, pause: Callable | None) -> bool:
        """Return what a rank that sleeps finds when it is asked whether to stop; the root is told if it fails."""
        try:
            return pause is not None and bool(pause())
        except BaseException as failure:
            self.exchange.tell(0, sendable(failure))
            raise

    def _move(self, ranks: int) -> None:
        """Let so many ranks have the molecules from now on; collective."""
        begin, ids, state = clock.perf_counter(), self.ids, self.state()
        if self.engine is not None:
            self._rows.append(self.engine.drain_events())
            self._time = self.engine.time
        self._past = {
            "counters": self.counters,
            "seconds": self._engine_seconds(),
            "virial": self.virial,
            "virial_tensor": self.virial_tensor,
            "work": self.work,
            "heat": self.heat,
            "wall_impulse": self.wall_impulse,
        }
        self.engine, self.ranks = None, ranks
        self._begin(self._dealt(ids, state))
        self._seconds["moving"] += clock.perf_counter() - begin

    @property
    def ids(self) -> np.ndarray:
        """(n,) int64 global ids of this rank's beads."""
        return np.zeros(0, dtype=np.int64) if self.engine is None else self.engine.ids

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of the beads `ids` at a time, in their order."""
        if self.engine is None:
            return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        return self.engine.frame(time)

    def state(self) -> State:
        """Return the State of the beads `ids`, in their order, from which a run continues to the same bits."""
        if self.engine is not None:
            return self.engine.state()
        nobody = unpack(self.composition, np.zeros((0, WIDTH))).state
        return replace(nobody, extra=complete(nobody.extra, self.system.physics, 0))

    def drain_events(self) -> np.ndarray:
        """Return and forget this rank's contacts: (n,) structured array of time, kind, bead (2,), impulse."""
        rows, self._rows = self._rows, []
        if self.engine is not None:
            rows = [*rows, self.engine.drain_events()]
        return np.concatenate(rows) if rows else np.empty(0, dtype=event_row(self.system.physics))

    @property
    def time(self) -> float:
        """A time before which all events are done; where a rank sleeps, as of late [time]."""
        return self._time if self.engine is None else self.engine.time

    @property
    def virial(self) -> int:
        """Share of this rank of the sum over contacts, in units of `quantum`."""
        return self._past["virial"] + (0 if self.engine is None else self.engine.virial)

    @property
    def virial_tensor(self) -> list[int]:
        """Share of this rank of the parts of the virial's tensor, in units of `quantum`."""
        own = [0] * L.TENSOR_PARTS if self.engine is None else self.engine.virial_tensor
        return added(self._past["virial_tensor"], own)

    @property
    def work(self) -> int:
        """Share of this rank of the energy through walls that move, in units of `energy_quantum`."""
        return self._past["work"] + (0 if self.engine is None else self.engine.work)

    @property
    def heat(self) -> int:
        """Share of this rank of the energy that comes as heat, in units of `energy_quantum`."""
        return self._past["heat"] + (0 if self.engine is None else self.engine.heat)

    @property
    def wall_impulse(self) -> list[int]:
        """Share of this rank of the impulses on the walls of each axis, in units of `impulse_quantum`."""
        own = [0, 0, 0] if self.engine is None else self.engine.wall_impulse
        return added(self._past["wall_impulse"], own)

    @property
    def counters(self) -> dict[str, int]:
        """Name -> number of events and operations of this rank so far (int)."""
        own = dict.fromkeys((*L.COUNTERS, "contacts", "wall_contacts", "no_roots"), 0)
        past = own | self._past["counters"]
        if self.engine is not None:
            own |= self.engine.counters
        return {
            name: max(past.get(name, 0), number) if name in GREATEST else past.get(name, 0) + number
            for name, number in own.items()
        }

    def _engine_seconds(self) -> dict[str, float]:
        return summed(self._past["seconds"], {} if self.engine is None else self.engine.seconds)

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds of this rank in each part of `advance`, asleep or moving molecules to other ranks among them."""
        return summed(self._engine_seconds(), {name: spent for name, spent in self._seconds.items() if spent > 0.0})

    def window_report(self) -> dict:
        """Return what the run log says of the ranks' working together, name -> number; collective."""
        report = {} if self.engine is None else self.engine.window_report()
        return report | {"ranks_at_work": self.ranks}


def summed(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Return the sums of numbers of the same name."""
    return one | {name: one.get(name, 0.0) + number for name, number in other.items()}


class ActiveRanksWithEnergies(ActiveRanksEngine):
    """The same of an engine whose beads have potential energies."""

    def energies(self) -> np.ndarray:
        """Return (n, 2) potential energies and virials of the beads `ids`."""
        return np.zeros((0, 2)) if self.engine is None else self.engine.energies()
