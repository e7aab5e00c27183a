"""Ranks that sleep while the first of all ranks work, and what they and the root send each other.

A sleeping rank looks now and then whether the root has sent something. It sleeps between looks for a small part of the
time that it has waited so far: a collective call of MPI would keep a core busy, and a long sleep would keep the others
waiting. What it alone knows, a signal or a clock, it sends to the root. It ends as the root ends: with what has come of
the work, or with its failure.

Ranks sleep while an engine works (`active_ranks`), or while the root carries a whole run by itself, its files and its
end included (`shared_or_alone`). Then, where ranks outnumber a node's processors, those that sleep have not loaded what
a run needs.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hpcchain.parallel.activity import BEAT, nap
from hpcchain.parallel.agreement import sendable
from hpcchain.parallel.comm import Alone

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.parallel.signals import Signals


class Standby:
    """What ranks that sleep and the root send each other; all ranks make it, and only these two sorts use it.

    Parameters
    ----------
    exchange : Exchange
        All ranks.
    ranks : int
        How many of them work.

    Attributes
    ----------
    time : float
        What the root has sent last of how far it has come.
    failure : exception or None
        On the root: of one that slept.
    """

    def __init__(self, exchange: Exchange, ranks: int) -> None:
        self.exchange, self.ranks = exchange, ranks
        self.time = 0.0
        self.failure: BaseException | None = None
        self._call, self._beat = 0, clock.monotonic()  # a wish of a call that is over counts no more

    def carry(self, work: Callable[[], Any]) -> Any:
        """Return what work returns, and have it returned by `sleep` where ranks sleep; the root alone sends it."""
        self._call += 1
        try:
            found = work()
        except BaseException as failure:
            self._send_all((None, sendable(failure)))
            raise
        self._send_all((found, None))
        return found

    def heard(self, time: float = 0.0) -> list:
        """Return on the root what sleepers wish since it has looked; now and then send them how far it has come.

        A failure is kept in mind: the caller ends its work as others have to know.
        """
        wishes = []
        while self.ranks < self.exchange.size and (news := self.exchange.heard()) is not None:
            if isinstance(news, BaseException):
                self.failure = news
            elif news[0] == self._call:
                wishes.append(news[1])
        if clock.monotonic() > self._beat + BEAT:
            self._beat = clock.monotonic()
            self._send_all(time)
        return wishes

    def listen(self, signals: Signals) -> None:
        """Take in the signals of those that sleep while the root works by itself, or raise their failure."""
        self.exchange.activity.note()  # no call that waits for others does
        for wish in self.heard():
            signals.pass_on(*wish)
        if self.failure is not None:
            raise self.failure

    def sleep(self, wish: Callable[[], Any], nothing: Any) -> Any:
        """Sleep until the root's `carry` ends; return what it returns, or raise its failure.

        What `wish` returns is sent to the root when it changes, from `nothing` at first; if it fails, all do.
        """
        self._call += 1
        begin, sent = clock.monotonic(), nothing
        try:
            with self.exchange.activity.asleep():
                while not isinstance(note := self.exchange.heard(0), tuple):
                    if note is not None:
                        self.time = note
                        self.exchange.activity.heard()
                    if (wished := wish()) != sent:
                        sent = wished
                        self.exchange.send_note(0, (self._call, wished))
                    nap(begin)
        except BaseException as failure:
            self.exchange.send_note(0, sendable(failure))
            raise
        found, failure = note
        if failure is not None:
            raise failure
        return found

    def _send_all(self, note: Any) -> None:
        """Send to all that sleep: a number is a sign of life, a pair how it has ended."""
        if self.exchange.rank == 0:
            for rank in range(self.ranks, self.exchange.size):
                self.exchange.send_note(rank, note)


def shared_or_alone(
    world: World, alone: Callable[[], bool], action: Callable[[Single], Any], signals: Signals, load: Callable[[], None]
) -> Any:
    """Return what an action returns, of all ranks, or of the root by itself; collective.

    Parameters
    ----------
    world : World
        More than one rank.
    alone : callable
        Called on the root: whether it is to work by itself.
    action : callable
        Takes the ranks that take part; looks at signals now and then.
    signals : Signals
        This rank's. Where the root works by itself, those that come to others count, too.
    load : callable
        Loads what the action needs; others call it before they know, unless they would take processors from the root.
    """
    from hpcchain.parallel.exchange import Exchange  # needs MPI

    standby = Standby(Exchange(world.mpi, world.activity), 1)  # what has not been heard in the end is dropped
    crowded = len(world.on_node(None)) > (os.cpu_count() or 1)
    if world.rank > 0:
        if not crowded:
            load()

        def sleep() -> Any:
            return standby.sleep(lambda: signals.requests, (False, 0))

        by_itself = sleep()
        return sleep() if by_itself else action(world)
    if not standby.carry(alone):
        return action(world)
    signals.listen = standby.listen
    try:
        return standby.carry(lambda: action(Alone(world, world.size, activity=world.activity)))
    finally:
        signals.listen = None
