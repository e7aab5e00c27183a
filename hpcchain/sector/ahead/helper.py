"""The second thread: the small sector that it works in, its beginning and end around each call of the loop.

And whether it is worth its processor: the loop is timed with it and without it, now and then.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median
from threading import Thread
from time import perf_counter, thread_time
from typing import Any, Literal

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.memory import blank, side_by_side
from hpcchain.sector.ahead.look import FIRST, stay_ahead
from hpcchain.sector.setup.allocate import timing_arrays

STRETCH = 0.1  # seconds of the loop that are timed at once
BEFORE_TRIALS = 5  # stretches before the first one: a run that ends sooner need not load the second thread's kernels
WAIT = 40  # from one trial of the other way to the next
TRIALS = 5  # the last ones, whose median counts
LEAST_GAIN = 1.05  # below it a processor is worth more to others


class Worth:
    """Compares the two ways, and says which is to be taken.

    In every WAIT stretches one is a trial of the way that is not taken, and is compared with the stretch before it.
    The loop begins without help, and the first trials follow one another. The gain of a trial is the lesser of those
    of wall time and of the loop's processor time. Other programs make the first uncertain; the second does not see how
    long a thread is kept waiting.

    Parameters
    ----------
    always : bool
        Help is worth it without trials.

    Attributes
    ----------
    helps : bool
        Whether the loop is to have help now.
    """

    def __init__(self, always: bool = False) -> None:
        self.always = self.helps = self._best = always
        self._gains: deque[float] = deque(maxlen=TRIALS)
        self._spent, self._segments, self._stretches = np.zeros(2), 0, -BEFORE_TRIALS
        self._before = np.zeros(2)

    def note(self, wall: float, processor: float, segments: int) -> None:
        """Note what a call of the loop took, in wall and in processor time [s], and how many segments it has begun."""
        self._spent, self._segments = self._spent + (wall, processor), self._segments + segments
        if self.always or self._spent[0] < STRETCH or self._segments == 0:
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


MOST_BEADS = 1024
"""Of a molecule that fits into slots; the outcomes of larger ones are not made ahead of time."""
MOLECULES = 2 * L.SLOTS
SCRATCH = (
    "work impulse_response member contacts tied normals growths impulses matrix virial_tensor count found"
).split()


class Helper:
    """Makes outcomes of events to come while the loop runs.

    Parameters
    ----------
    worth : Worth
        Says when it is to help.

    Attributes
    ----------
    small : Sector or None
        The small sector, of two molecules for each slot.
    """

    def __init__(self, worth: Worth) -> None:
        self.worth = worth
        self.small: Any = None
        self._own: dict = {}
        self._helped: Any = None
        self._thread: Thread | None = None

    @contextmanager
    def helping(self, s: Any) -> Iterator[None]:
        """Help the loop over a sector meanwhile, where that pays."""
        begin, processor, segments = perf_counter(), thread_time(), int(s.count[L.N_SEGMENTS])
        if self.worth.helps and self._fits(s):
            s.ahead[L.AHEAD_SECTOR] = self.small.address
            try:
                with self.working(s, self.small):
                    yield
            finally:
                s.ahead[L.AHEAD_SECTOR] = 0
        else:
            yield
        spent = perf_counter() - begin, thread_time() - processor
        self.worth.note(*spent, int(s.count[L.N_SEGMENTS]) - segments)

    @contextmanager
    def working(self, s: Any, small: Any) -> Iterator[None]:
        """Have the second thread at work meanwhile. Nothing waits for it, since it may have to wait for a processor."""
        small.ahead[L.AHEAD_STOP] = 0
        if not self._at_work():
            self._thread = Thread(target=_help, args=(s, small), daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            small.ahead[L.AHEAD_STOP] = 1

    def _at_work(self) -> bool:
        """Whether the second thread is there: between two calls of the loop it rests, and soon ends."""
        return self._thread is not None and self._thread.is_alive()

    def _fits(self, s: Any) -> bool:
        """Have the small sector be that of a sector, whose arrays may have been replaced; return whether it is."""
        if s is not self._helped:
            if self._at_work():  # with the former arrays
                return False
            new = self._helped is None
            self._own = own_arrays(s) if new else self._own
            self.small, self._helped = s._replace(**self._own), s
            self.small.par[:] = s.par  # not at each call: it has the time of the outcome that is being made
            self.small.ahead[L.AHEAD_TAGS :] = L.NO_TAG  # the series of the last outcomes may be in the former arrays
            self.small.slots[:, L.SLOT_KEY] = -np.inf
            if new:
                self.small.ahead[L.AHEAD_STOP] = 1
                stay_ahead(s, self.small)  # compiled before a thread runs it
        return True


def _help(s: Any, small: Any) -> None:
    """Stay ahead of the loop where nothing else wants a processor; systems without such threads have `Worth` alone."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    stay_ahead(s, small)


def own_arrays(s: Any) -> dict:
    """Return what a small sector has for itself, by name; the rest is that of the sector that it belongs to."""
    beads = most_beads(s)
    rows = MOLECULES * beads
    arrays = blank(mol_own=MOLECULES, ahead=L.AHEAD_WORDS, bead_id=rows, swept=rows, log=L.SLOTS, slots=L.SLOTS)
    arrays |= (
        side_by_side(rows, "starts", "bounds", "segment")
        | side_by_side(rows, "lists")
        | side_by_side(FIRST, "key", "winner")
    )
    arrays["segment"][:, L.MOLECULE] = np.repeat(np.arange(MOLECULES), beads)
    mol_own, scalars = arrays["mol_own"], s.scalars.copy()
    mol_own[:, L.MOL_FIRST] = beads * np.arange(MOLECULES)
    mol_own[:, L.MOL_SERIES] = (s.ahead[L.AHEAD_SERIES] + W.series_floats(beads) * np.arange(MOLECULES)) // W.UNIT
    scalars[L.SCALAR_WINDOWED], scalars[L.SCALAR_BEADS], scalars[L.SCALAR_MOLECULES] = 0, rows, MOLECULES
    return {
        "scalars": scalars,
        "par": s.par.copy(),
        "radius": s.radius if len(s.radius) == 1 else np.zeros(rows),
        **arrays,
        **timing_arrays(np.zeros(MOLECULES), s.stepper),
        **blank(**{name: len(getattr(s, name)) for name in SCRATCH}),
    }


def most_beads(s: Any) -> int:
    """Return how many beads the largest molecule of a sector has that fits into slots."""
    solver, size = s.mol[:, L.MOL_SOLVER], s.mol[:, L.MOL_BEADS]
    return int(size[(solver != L.BALLISTIC) & (size <= MOST_BEADS)].max(initial=1))


def series_capacity(s: Any) -> int:
    """Return how many floats of `series` are for slots."""
    return MOLECULES * int(W.series_floats(most_beads(s)))


def worth_of(threads: int | Literal["auto"]) -> Worth | None:
    """Return when a second thread is to help by `run.threads`, None where there is one thread."""
    return None if threads == 1 else Worth(always=threads != "auto")


def can_help(s: Any) -> bool:
    """Whether outcomes of a sector's events can be made ahead: of smooth hard beads, some in whole molecules."""
    return s.extended is None and s.stretched is None and bool((s.mol[:, L.MOL_SOLVER] != L.BALLISTIC).any())
