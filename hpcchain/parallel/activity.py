"""What a rank is doing right now, for a watchdog to report when nothing moves, and how it waits at next to no cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ALL = "all ranks"


class Activity:
    """A rank's present state.

    Attributes
    ----------
    signs : int
        Grows with every exchange between ranks and every time the run looks at its signals: while it grows, the run is
        alive.
    awaited : int or str or None
        The rank that this one is waiting for, `ALL`, or None when it waits for none.
    since : float
        When the present state began, on the monotonic clock [wall seconds].
    """

    def __init__(self) -> None:
        self.signs = 0
        self.awaited: int | str | None = None
        self.since = time.monotonic()
        self._asleep = False

    def note(self) -> None:
        """Note that something has been done; looks of a rank that sleeps do not count."""
        if not self._asleep:
            self.heard()

    def heard(self) -> None:
        """Note a sign of life: one's own, or what others have sent to a rank that sleeps."""
        self.signs += 1
        self.since = time.monotonic()

    @contextmanager
    def waiting(self, awaited: int | str = ALL) -> Iterator[None]:
        """Note that inside this rank waits for others."""
        self.awaited = awaited
        self.note()
        try:
            yield
        finally:
            self.awaited = None
            self.note()

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Note that inside this rank sleeps until the root wakes it; only what that one sends is a sign of life."""
        with self.waiting(0):
            self._asleep = True
            try:
                yield
            finally:
                self._asleep = False


LEAST_SLEEP, MOST_SLEEP = 5e-5, 0.02  # wall seconds between two looks
BEAT = 1.0  # wall seconds between two signs of life that the root gives to those that sleep
SLEEP = 0.01  # part of the time waited so far that a rank sleeps until it looks again


def nap(begin: float) -> None:
    """Sleep until the next look of a rank that has waited since `begin`, on the monotonic clock [wall seconds]."""
    time.sleep(min(max(SLEEP * (time.monotonic() - begin), LEAST_SLEEP), MOST_SLEEP))


def found_asleep(look: Callable) -> Any:
    """Return the first result of `look` that is not None and not false."""
    begin = time.monotonic()
    while not (found := look()):
        nap(begin)
    return found
