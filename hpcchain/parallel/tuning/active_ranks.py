"""An engine on as many of the ranks as pay; the others sleep until it has come to where it is to stop.

The first ranks have all the molecules, and carry them in an engine of their own: that of one rank, or that of windows
on a communicator of theirs. The others have none, and stand by (`standby`).
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import complete, widened
from hpcchain.model.system import State
from hpcchain.parallel.ghosts.migration import handed_over
from hpcchain.parallel.ghosts.molecules import MoleculeSet
from hpcchain.parallel.tuning.standby import Standby
from hpcchain.sector.core import Recorded

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.parallel.exchange import Exchange


class ActiveRanksEngine:
    """Carries a system forward on the first of some ranks; making it and `advance` are collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it.
    exchange : Exchange
        All ranks.
    make : callable
        Takes a System and an Exchange of several ranks, or None for one, and returns their engine.
    ranks : int
        How many have molecules.

    Attributes
    ----------
    engine : Engine
        That has this rank's molecules; a `NoMolecules` where it sleeps. All that is not here is its.
    """

    def __init__(self, system: System, exchange: Exchange, make: Callable, ranks: int) -> None:
        self.exchange, self.ranks = exchange, ranks
        self._standby, self._stopped = Standby(exchange, ranks), False
        self._seconds = {"at work": 0.0, "waiting": 0.0, "asleep": 0.0}  # besides those of the engine
        self._at_work: Any = exchange.subset(ranks)
        if system.held is not None:
            system = given_to(system, exchange, ranks)
        self.asleep = self._at_work is None
        self.engine: Any = NoMolecules(system) if self.asleep else make(system, self._at_work if ranks > 1 else None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """See `sector.interface.Engine`."""
        begin = clock.perf_counter()
        if not self.asleep:
            return self._standby.carry(lambda: self._work(time, pause))[0]
        reached, self.engine.time = self._standby.sleep(lambda: self._wish(pause), False)
        self._seconds["asleep"] += clock.perf_counter() - begin
        return reached

    def _work(self, time: float, pause: Callable | None) -> tuple[bool, float]:
        """Carry the engine; return whether it has come to a time, and its time."""
        begin, self._stopped = clock.perf_counter(), False
        reached = self.engine.advance(time, self._or_stopped(pause))
        spent = clock.perf_counter() - begin
        if not self.engine.seconds:  # its work is not told apart
            self._seconds["at work"] += spent
        failure = self._standby.failure
        if self._at_work.size > 1:
            failure = self._at_work.allgather(failure)[0]
        if failure is not None:
            raise failure
        self._seconds["waiting"] += clock.perf_counter() - begin - spent
        return reached, self.engine.time

    def _or_stopped(self, pause: Callable | None) -> Callable | None:
        """Return what the engine calls between steps: on the root also for those that sleep."""
        if pause is None or self.exchange.rank > 0:
            return pause

        def stopped() -> bool:
            self._stopped |= any(self._standby.heard(self.engine.time))
            return bool(pause()) or self._stopped or self._standby.failure is not None

        return stopped

    def _wish(self, pause: Callable | None) -> bool:
        """Return whether a rank that sleeps wants to stop."""
        self.engine.time = max(self.engine.time, self._standby.time)
        return pause is not None and bool(pause())

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds of this rank in each part of `advance`, asleep among them."""
        own = {name: spent for name, spent in self._seconds.items() if spent > 0.0}
        engine = self.engine.seconds
        return engine | {name: engine.get(name, 0.0) + spent for name, spent in own.items()}


class NoMolecules(Recorded):
    """The engine of a rank that sleeps; see `sector.interface.Engine`."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.physics, self.time = system.physics, 0.0
        self.ids = np.zeros(0, dtype=np.int64)
        self.counters = dict.fromkeys((*L.COUNTERS, "contacts", "wall_contacts", "no_roots"), 0)
        state = State.at_time_zero(np.zeros((0, 3)), np.zeros((0, 3)))
        self._state = replace(state, extra=complete(state.extra, system.physics, 0))

    def frame(self, _: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of no beads."""
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)

    def state(self) -> State:
        """Return the State of no beads."""
        return self._state

    def energies(self) -> np.ndarray | None:
        """Return (0, 2) energies; None where beads have none."""
        return np.zeros((0, 2)) if self.physics.steps or self.physics.extended.potentials else None


def given_to(system: System, exchange: Exchange, ranks: int) -> System:
    """Return what this rank has of a system, parts of which all have, once the first so many have it; collective."""
    composition, state = system.topology, system.state
    widths = np.array([float(state.extra.shape[1]), float(state.parts.shape[1])])
    columns, parts = exchange.maximum(widths).astype(int).tolist()
    state = replace(state, extra=widened(state.extra, columns), parts=with_columns(state.parts, parts))
    own, owner = MoleculeSet(system.held, state, state.position), system.held * ranks // composition.molecules
    held = handed_over(composition, exchange, own, owner)
    return replace(system, state=held.state, held=held.molecule_ids if ranks > 1 else None)
