"""Whether a second thread is worth its processor: the loop is timed with it and without it, now and then."""

from __future__ import annotations

from collections import deque
from statistics import median

import numpy as np

STRETCH = 0.1  # seconds of the loop that are timed at once
FIRST = 5  # stretches before the first trial: a run that ends sooner need not load the second thread's kernels
WAIT = 40  # from one trial of the other way to the next
TRIALS = 5  # the last ones, whose median counts
LEAST_GAIN = 1.05  # below it a processor is worth more to others


class Worth:
    """Compares the two ways, and says which is to be taken.

    In every WAIT stretches one is a trial of the way that is not taken, and is compared with the stretch before it.
    The loop begins without help, and the first trials follow one another. The gain of a trial is the lesser of those
    of wall time and of the loop's processor time. Other programs make the first uncertain; the second does not see how
    long a thread is kept waiting.

    Attributes
    ----------
    helps : bool
        Whether the loop is to have help now.
    """

    def __init__(self) -> None:
        self.helps = self._best = False
        self._gains: deque[float] = deque(maxlen=TRIALS)
        self._spent, self._segments, self._stretches = np.zeros(2), 0, -FIRST
        self._before = np.zeros(2)

    def note(self, wall: float, processor: float, segments: int) -> None:
        """Note what a call of the loop took, in wall and in processor time [s], and how many segments it has begun."""
        self._spent, self._segments = self._spent + (wall, processor), self._segments + segments
        if self._spent[0] < STRETCH or self._segments == 0:
            return
        cost = self._spent / self._segments
        self._spent, self._segments = np.zeros(2), 0
        if self.helps == self._best:
            self._before, self._stretches = cost, self._stretches + 1
            if self._stretches > (WAIT if len(self._gains) == TRIALS else 0):
                self.helps = not self._best
            return
        with np.errstate(divide="ignore", invalid="ignore"):  # a clock may not have moved
            self._gains.append(float((self._before / cost if self.helps else cost / self._before).min()))
        self.helps = self._best = median(self._gains) > LEAST_GAIN
        self._stretches = 0
