"""How far something has come, for whoever waits: a bar on a terminal, elsewhere a line now and then."""

import logging
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from hpcchain.observe.runlog import duration

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

    def __init__(self, begin: float, clock: Callable = time.monotonic) -> None:
        self._clock = clock
        self._at, self._when = begin, clock()
        self._done = self._spent = 0.0

    def look(self, reached: Any) -> None:
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

    def seconds_to(self, end: Any) -> Any:
        """Return the wall seconds to an end at this speed; None where it is not known yet."""
        return max(end - self._at, 0.0) * self._spent / self._done if self._done > 0.0 else None


class Progress:
    """Tells on one rank how far something has come, as often as it does any good.

    Parameters
    ----------
    what : str
        What goes on, in a word or two.
    begin, end : float
        Where it starts, None: where it is at the first look; and where it will be done.
    rank : int
        Only 0 tells.
    stream : file, optional
        Default: stderr as it is at the time.
    clock : callable
        Returns wall seconds.
    """

    def __init__(
        self, what: str, begin: float, end: Any, rank: int = 0, stream: Any = None, clock: Callable = time.monotonic
    ) -> None:
        self._what, self._begin, self._end, self._clock, self._stream = what, begin, end, clock, stream
        self._told = clock()
        self._silent = rank != 0 or not LOG.isEnabledFor(logging.INFO)
        self._speed: Any = None
        self._bar: Any = None
        self._note = ""
        if begin is not None:
            self._start(begin)

    def _start(self, begin: float) -> None:
        self._begin, self._speed = begin, Speed(begin, self._clock)
        if not self._silent and self._end > begin:
            self._bar = bar_on(self._stream or sys.stderr, self._what)

    @property
    def seconds_left(self) -> Any:
        """Wall seconds to the end at the present speed; None where it is not known."""
        return None if self._speed is None else self._speed.seconds_to(self._end)

    def look(self, reached: Any, note: Any = None) -> None:
        """Note how far it has come, and tell where it is time to.

        Parameters
        ----------
        reached : float
        note : str, optional
            What there is to say besides; stays until there is another.
        """
        if self._speed is None:
            self._start(reached)
        self._speed.look(reached)
        self._note = self._note if note is None else note
        if self._silent:
            return
        if self._bar is not None:
            self._draw(reached)
        elif self._clock() - self._told >= LINE_SECONDS:
            self._told = self._clock()
            LOG.info("%s %s", self._what, self._text(reached))

    def _draw(self, reached: Any) -> None:
        share = (min(max(reached, self._begin), self._end) - self._begin) / (self._end - self._begin)
        self._bar.unit = self._text(reached)
        self._bar.update(share - self._bar.n)

    def _text(self, reached: Any) -> Any:
        left = self.seconds_left
        parts = [f"{reached:.6g} of {self._end:.6g}", self._note, "" if left is None else f"{duration(left)} left"]
        return "  ".join(part for part in parts if part)

    def close(self) -> None:
        """Remove the bar; nothing more is told."""
        if self._bar is not None:
            self._bar.close()
        self._bar, self._silent = None, True


def bar_on(stream: Any, what: str) -> Any:
    """Return a bar on a terminal, None where the stream is none."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    from tqdm import tqdm

    width: dict[str, Any] = {"dynamic_ncols": True} if knows_its_width(stream) else {"ncols": COLUMNS, "nrows": 2}
    return tqdm(total=1.0, desc=what, file=stream, bar_format=BAR, leave=False, mininterval=0.2, unit="", **width)


def knows_its_width(stream: Any) -> bool:
    """Return whether a terminal says how wide it is; some that programs make say 0 columns, where no bar shows."""
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (AttributeError, OSError, ValueError):
        return False
