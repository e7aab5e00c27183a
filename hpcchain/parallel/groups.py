"""Ranks in groups that each carry runs of their own, and what they send one another meanwhile.

No rank may wait for another that computes, and none answers before it looks. So runs are handed out through files: the
rank that makes the file of a run has it (`Turns`). What becomes of runs is sent to the root, and signals to all, as
short notes that each rank finds when it looks for signals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcchain.machine import processors_allowed
from hpcchain.parallel.activity import nap
from hpcchain.parallel.comm import Alone, Single, World

if TYPE_CHECKING:
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.parallel.signals import Signals

SIGNALS, NEWS, OVER, END = "signals", "news", "over", "end"


def sharing_with(world: Single) -> int:
    """Return how many ranks of all groups may run on processors that this one may run on; collective."""
    here = processors_allowed()
    return sum(not here.isdisjoint(theirs) for theirs in world.on_node(here))


class Groups:
    """The groups of some ranks, each of so many in their order; what is left over has none. Making it is collective.

    Parameters
    ----------
    world : Single or World
    size : int
        Ranks of a group, at most as many as there are.
    most : int
        Groups at most, at least one.
    on_news : callable
        What the root does with news.

    Attributes
    ----------
    count : int
        How many groups there are.
    number : int or None
        This rank's group.
    comm : Single or World
        Its ranks.
    """

    def __init__(
        self, world: Single | World, size: int, most: int, on_news: Callable[[Any], None] = lambda _: None
    ) -> None:
        self.world, self.size = world, size
        self.count = min(world.size // size, most)
        self.number = world.rank // size if world.rank < self.count * size else None
        self._exchange: Exchange | None = None
        self._sent: tuple[bool, int] = (False, 0)
        self._over: set[int] = set()
        self._lost = False
        self._news = on_news
        sharing = sharing_with(world)
        self.comm: Single | World = Alone(world, sharing=sharing)  # its last resort ends all groups
        if world.size > 1:
            from hpcchain.parallel.exchange import Exchange  # needs MPI

            self._exchange = Exchange(world.mpi, world.activity)
            part = world.mpi.Split(self.count if self.number is None else self.number, world.rank)
            self.comm = World(part, sharing) if self.number is not None and size > 1 else self.comm

    @property
    def leads(self) -> bool:
        """Whether this rank speaks for its group."""
        return self.number is not None and self.comm.rank == 0

    def renew(self) -> None:
        """Take new communicators after a failure, so that no message that was on its way is taken for another."""
        if isinstance(self.comm, World):
            old, self.comm = self.comm, World(self.comm.mpi.Dup(), self.comm.sharing)
            old.free()

    def give_up(self) -> bool:
        """Take this rank's group for lost, where others of it wait for ever, unless the root may be one of these.

        Returns
        -------
        bool
            Whether other groups go on.
        """
        self._lost = self.count > 1 and (self.number != 0 or self.world.rank == 0)
        return self._lost

    def report(self, news: Any) -> None:
        """Send news to the root; no rank waits."""
        if self.world.rank == 0:
            self._news(news)
        elif self._exchange is not None:
            self._exchange.send_note(0, (NEWS, news))

    def listen(self, signals: Signals) -> Any:
        """Take in what others have sent; send them this rank's signals. Called before each look at these.

        Returns what the root says at the end, None before.
        """
        if self._exchange is None:
            return None
        is_root = self.world.rank == 0
        while (note := self._exchange.heard(None if is_root else 0)) is not None:
            word, *what = note
            if word == SIGNALS:
                signals.pass_on(*what)
            elif word == NEWS:
                self._news(*what)
            elif word == OVER:
                self._gone(*what)
            else:
                return note
        if signals.requests != self._sent:
            self._sent = signals.requests
            for rank in range(1, self.world.size) if is_root else (0,):
                self._exchange.send_note(rank, (SIGNALS, *self._sent))
        return None

    def _gone(self, rank: int, lost: bool) -> None:
        """Note on the root that a rank, or all of its group, takes no more runs."""
        first = rank // self.size * self.size
        self._lost = self._lost or lost
        self._over |= set(range(first, first + self.size)) if lost else {rank}

    def end(self, signals: Signals, outcome: Callable[[], Any], meanwhile: Callable[[], None] = lambda: None) -> Any:
        """Return what the root finds when all groups have ended, on every rank; those that wait sleep.

        Where a group was lost, all ranks are ended instead, with what the root finds as the exit code.

        Parameters
        ----------
        signals : Signals
        outcome : callable
            Called on the root, when all news have come; returns an exit code.
        meanwhile : callable
            What the root does while it waits, now and then.
        """
        begin = time.monotonic()
        if self._exchange is None:
            return outcome()
        if self.world.rank == 0:
            self._gone(0, self._lost)
            while len(self._over) < self.world.size:
                self.listen(signals)
                meanwhile()
                nap(begin)
            found = outcome()
            if self._lost:
                self.world.abort(found)
            for rank in range(1, self.world.size):
                self._exchange.send_note(rank, (END, found))
            return found
        self._exchange.send_note(0, (OVER, self.world.rank, self._lost))
        while (note := self.listen(signals)) is None:
            nap(begin)
        return note[1]


class Turns:
    """Numbers from 0 on that each are taken once, by whichever rank comes first: each is a file that one rank makes.

    That works on all file systems, and needs no answer from a rank that computes.

    Parameters
    ----------
    folder : path
        Made and removed by the root (`open`, `close`).
    count : int
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count, self._next = Path(folder), count, 0

    def open(self) -> None:
        """Make the folder, empty; on the root, before anybody takes a turn."""
        self.close()
        self._folder.mkdir(exist_ok=True)

    def take(self) -> int | None:
        """Return the least number that is not taken yet, None where none is left."""
        while self._next < self._count:
            number = self._next
            self._next += 1
            try:
                os.close(os.open(self._folder / str(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            except FileExistsError:
                continue
            return number
        return None

    def close(self) -> None:
        """Remove the turns, and the folder unless it has other files; on the root, when no rank takes any more."""
        for turn in self._folder.glob("[0-9]*"):
            turn.unlink()
        with suppress(OSError):
            self._folder.rmdir()
