"""How far something has come, for whoever waits: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from hpcchain.observe.runlog import duration

if TYPE_CHECKING:
    from tqdm import tqdm

LOG = logging.getLogger("hpcchain.run")
LINE_SECONDS = 10.0
"""Wall time between two lines at least, where there is no terminal."""
MEMORY_SECONDS = 30.0
"""Wall time over which the speed is averaged, or the last two or three looks where these are further apart."""
COLUMNS = 80
"""Of a bar on a terminal that does not say how wide it is."""
BAR = "{desc}: {percentage:3.0f}%|{bar}| {unit}"
"""What tqdm calls a unit holds the text: its postfix begins with a comma."""


class Speed:
    """Progress per wall second, the more recent the more it counts.

    Parameters
    ----------
    begin : float
        Where progress starts.
    clock : callable
        Returns wall seconds.
    """

    def __init__(self, begin: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin, self._at, self._when = begin, begin, clock()
        self._done = self._spent = 0.0

    def look(self, reached: float) -> None:
        """Note how far it has come."""
        now = self._clock()
        elapsed = now - self._when
        if reached < self._at:  # growth goes back where beads jam
            self._at, self._when = reached, now
        if elapsed <= 0.0 or reached <= self._at and now == self._when:
            return
        fading = math.exp(-min(elapsed / MEMORY_SECONDS, 1.0))  # one look that came late is not all that counts
        self._done = self._done * fading + reached - self._at
        self._spent = self._spent * fading + elapsed
        self._at, self._when = reached, now

    def seconds_to(self, end: float) -> float | None:
        """Return the wall seconds to an end at this speed; None where it is not known yet."""
        return max(end - self._at, 0.0) * self._spent / self._done if self._done > 0.0 else None

    def share(self, reached: float, end: float) -> float:
        """Return which part of the way from where it starts to an end is behind it."""
        return (min(max(reached, self._begin), end) - self._begin) / (end - self._begin)


class Progress:
    """Says on one rank how far something has come, as often as it does any good.

    Parameters
    ----------
    what : str
        What goes on, in a word or two.
    begin, end : float
        Where it starts, None: where it is at the first look; and where it will be done.
    rank : int
        Only 0 says it.
    stream : file, optional
        Default: stderr as it is at the time.
    clock : callable
        Returns wall seconds.
    """

    def __init__(
        self,
        what: str,
        begin: float | None,
        end: float,
        rank: int = 0,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._end, self._clock, self._stream = what, end, clock, stream
        self._said = clock()
        self._silent = rank != 0 or not LOG.isEnabledFor(logging.INFO)
        self._bar: tqdm | None = None
        self._note = ""
        self._speed = None if begin is None else self._started(begin)

    def _started(self, begin: float) -> Speed:
        """Return the Speed from where it starts, and show a bar where one can be."""
        if not self._silent and self._end > begin:
            self._bar = bar_on(self._stream or sys.stderr, self._what)
        return Speed(begin, self._clock)

    @property
    def seconds_left(self) -> float | None:
        """Wall seconds to the end at the present speed; None where it is not known."""
        return None if self._speed is None else self._speed.seconds_to(self._end)

    def look(self, reached: float, note: str | None = None) -> None:
        """Note how far it has come, and say so where it is time to.

        Parameters
        ----------
        reached : float
        note : str, optional
            What there is to say besides; stays until there is another.
        """
        if self._speed is None:
            self._speed = self._started(reached)
        self._speed.look(reached)
        self._note = self._note if note is None else note
        if self._silent:
            return
        if self._bar is not None:
            self._bar.unit = self._text(reached)
            self._bar.update(self._speed.share(reached, self._end) - self._bar.n)
        elif self._clock() - self._said >= LINE_SECONDS:
            self._said = self._clock()
            LOG.info("%s %s", self._what, self._text(reached))

    def _text(self, reached: float) -> str:
        left = self.seconds_left
        parts = [f"{reached:.6g} of {self._end:.6g}", self._note, "" if left is None else f"{duration(left)} left"]
        return "  ".join(part for part in parts if part)

    def close(self) -> None:
        """Remove the bar; nothing more is said."""
        if self._bar is not None:
            self._bar.close()
        self._bar, self._silent = None, True


def bar_on(stream: TextIO, what: str) -> tqdm | None:
    """Return a bar on a terminal, None where the stream is none."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    from tqdm import tqdm

    width = {"dynamic_ncols": True} if knows_its_width(stream) else {"ncols": COLUMNS, "nrows": 2}
    return tqdm(total=1.0, desc=what, file=stream, bar_format=BAR, leave=False, mininterval=0.2, unit="", **width)


def knows_its_width(stream: TextIO) -> bool:
    """Return whether a terminal says how wide it is; some that programs make say 0 columns, where no bar shows."""
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (AttributeError, OSError, ValueError):
        return False
