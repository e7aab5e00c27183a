"""The wall clock that a run may use: when it has to stop so that its last checkpoint is written in time."""

import logging
import os
import time
from collections.abc import Mapping

LOG = logging.getLogger("hpcchain.run")
VARIABLE = "SLURM_JOB_END_TIME"
LEAST_MARGIN = 5.0
"""Wall seconds kept free for what takes no time worth measuring: closing files, the launcher, the job script."""
SAFETY = 2.0
"""How much longer than any before it the last checkpoint, or the last look at the clock, may take."""


class WallLimit:
    """Watches how much wall time is left, and learns how much of it the end of a run needs.

    The end is fixed once, on the clock that never jumps; a system clock that is set during the run changes nothing.

    Parameters
    ----------
    seconds : float, optional
        What --wall-limit gives, counted from now [wall seconds].
    environment : mapping, optional
        Stands in for the process's variables: SLURM_JOB_END_TIME, seconds since 1970, ends the run, too.

    Attributes
    ----------
    longest_save, longest_look : float
        The longest checkpoint so far, and the longest time between two looks at the clock [wall seconds].
    """

    def __init__(self, seconds: float | None = None, environment: Mapping[str, str] | None = None) -> None:
        now = time.monotonic()
        ends = [] if seconds is None else [now + seconds]
        left = seconds_of_job(os.environ if environment is None else environment)
        if left is not None:
            ends.append(now + left)
        self._end = min(ends, default=None)
        self.longest_save = self.longest_look = 0.0
        self._looked = now

    @property
    def left(self) -> float:
        """Wall seconds to the limit; infinite without one."""
        return float("inf") if self._end is None else self._end - time.monotonic()

    @property
    def margin(self) -> float:
        """Wall seconds that are kept for the last window, the last checkpoint and the output files."""
        return LEAST_MARGIN + SAFETY * (self.longest_save + self.longest_look)

    def near(self) -> bool:
        """Return whether it is time to stop; called at every window."""
        if self._end is None:
            return False
        now = time.monotonic()
        self.longest_look = max(self.longest_look, now - self._looked)
        self._looked = now
        return now + self.margin >= self._end

    def saved(self, seconds: float) -> None:
        """Note how long a checkpoint took, or the reading of one; that time was not spent between two looks."""
        self.longest_save = max(self.longest_save, seconds)
        self.resume()

    def resume(self) -> None:
        """Count the time between looks from now on."""
        self._looked = time.monotonic()


def seconds_of_job(environment: Mapping[str, str]) -> float | None:
    """Return the wall seconds to the end of the Slurm job that this is, None when there is none or it is over."""
    text = environment.get(VARIABLE, "")
    if not text.isdigit() or int(text) == 0:
        return None
    left = int(text) - time.time()
    if left <= 0.0:
        LOG.warning("%s = %s is past; it is of another job, or the clocks differ: it is not heeded", VARIABLE, text)
        return None
    return left
