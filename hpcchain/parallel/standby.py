"""Ranks that stand by: the root carries a whole run by itself, its files and its end included, while the others sleep.

Who sleeps passes signals on to the root, and ends as the root ends: with what it returns, or with its failure. Where
ranks outnumber a node's processors, those that sleep have not loaded what a run needs.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hpcchain.parallel.activity import BEAT, nap
from hpcchain.parallel.agreement import sendable
from hpcchain.parallel.comm import Single

if TYPE_CHECKING:
    from hpcchain.parallel.comm import World
    from hpcchain.parallel.exchange import Exchange

JOIN = "join"
"""What the root tells those who are to take part after all."""


class Heeds(Protocol):
    """What keeps in mind the signals of a rank (`run.guards.signals`)."""

    stop: bool
    saves: int
    listen: Callable[[Any], None] | None

    def pass_on(self, stop: bool, saves: int) -> None:
        """Heed another rank's signals."""


class Alone(Single):
    """The root of some ranks when it works by itself.

    Attributes
    ----------
    started : int
        How many ranks there are, with those that sleep.
    """

    def __init__(self, world: World) -> None:
        self.activity, self.started, self._world = world.activity, world.size, world

    def abort(self, code: int) -> None:
        """End every rank at once, those that sleep too."""
        self._world.abort(code)


def shared_or_alone(
    world: World, alone: Callable[[], bool], action: Callable[[Single], Any], signals: Heeds, load: Callable[[], None]
) -> Any:
    """Return what an action returns, of all ranks, or of the root by itself; collective.

    Parameters
    ----------
    world : World
        More than one rank.
    alone : callable
        Asked on the root: whether it is to work by itself.
    action : callable
        Takes the ranks that take part; looks at signals now and then.
    signals : Signals
        This rank's. Where the root works by itself, those that come to others count, too.
    load : callable
        Loads what the action needs; others call it before they know, unless they would take processors from the root.
    """
    from hpcchain.parallel.exchange import Exchange  # needs MPI

    exchange = Exchange(world.mpi, world.activity)  # what has not been heard in the end is nobody's
    crowded = len(world.on_node(None)) > (os.cpu_count() or 1)
    if world.rank > 0:
        if not crowded:
            load()
        found = _slept(exchange, signals)
        return action(world) if found == JOIN else found[0]
    if not _asked(alone, exchange):
        _tell_all(exchange, JOIN)
        return action(world)
    signals.listen = _Ear(exchange)
    try:
        found = action(Alone(world))
    except BaseException as failure:
        _tell_all(exchange, (None, sendable(failure)))
        raise
    finally:
        signals.listen = None
    _tell_all(exchange, (found, None))
    return found


def _asked(alone: Callable[[], bool], exchange: Exchange) -> bool:
    """Return whether the root is to work by itself; all hear of it when that cannot be told."""
    try:
        return alone()
    except BaseException as failure:
        _tell_all(exchange, (None, sendable(failure)))
        raise


class _Ear:
    """Hears what signals have asked of those who sleep, and lets them know that the root is at work."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self._beat = exchange, clock.monotonic()

    def __call__(self, signals: Heeds) -> None:
        self._exchange.activity.note()  # no call that waits for others does
        while (told := self._exchange.heard()) is not None:
            if isinstance(told, BaseException):
                raise told
            signals.pass_on(*told)
        if clock.monotonic() > self._beat + BEAT:
            self._beat = clock.monotonic()
            _tell_all(self._exchange, self._beat)


def _tell_all(exchange: Exchange, note: Any) -> None:
    """Tell all who sleep: a number is a sign of life, a pair how it has ended."""
    for rank in range(1, exchange.size):
        exchange.tell(rank, note)


def _slept(exchange: Exchange, signals: Heeds) -> Any:
    """Sleep until the root has told that one is to join, or how it has ended; return that, or raise it."""
    begin, told = clock.monotonic(), (False, 0)
    try:
        with exchange.activity.asleep(0):
            while not isinstance(note := exchange.heard(0), tuple | str):
                if note is not None:
                    exchange.activity.heard()
                if (signals.stop, signals.saves) != told:
                    told = signals.stop, signals.saves
                    exchange.tell(0, told)
                nap(begin)
    except BaseException as failure:
        exchange.tell(0, sendable(failure))
        raise
    if isinstance(note, tuple) and note[1] is not None:
        raise note[1]
    return note
