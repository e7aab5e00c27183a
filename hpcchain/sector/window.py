"""The end of a window: what is final is counted and forgotten, or the whole window is taken back."""

import numpy as np

from hpcchain.kernel import inlined, kernel
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.history import forget, reopen
from hpcchain.sector.layout import (
    BOOK_BACKS,
    BOOK_EVENT,
    BOOK_LOW,
    BOOK_MOLECULES,
    BOOK_SCRIPT,
    BOOK_TOUCHED,
    INVERSE,
    MOL_BEADS,
    MOL_FIRST,
    MOL_GHOST,
    MOL_MATCH,
    MOL_NUMBER,
    MOL_PREVIOUS,
    MOL_REOPENED,
    MOL_SCRIPT,
    MOL_TARGET,
    OWNED,
    SIZE,
    TICK,
)

EARLY = 1.0 - 1e-9


@kernel
def finish_window(s):
    """Forget all closed segments, scripts and events: the present segments are the next window's first."""
    for m in range(s.book[BOOK_MOLECULES]):
        if s.mol[m, MOL_NUMBER] > 0:
            forget(s, m)
        s.mol[m, MOL_MATCH] = 1
        s.mol[m, MOL_SCRIPT] = 0
        s.mol[m, MOL_REOPENED] = 0
        s.mol[m, MOL_TARGET] = -1
    s.book[BOOK_EVENT] = 0
    s.book[BOOK_SCRIPT] = 0
    s.book[BOOK_TOUCHED] = 0
    s.book[BOOK_LOW] = 0
    s.book[BOOK_BACKS] = 0
    s.count[12] = 0


@kernel
def undo_window(s):
    """Set every molecule back to the segment that it had when the window began."""
    for m in range(s.book[BOOK_MOLECULES]):
        while s.mol[m, MOL_NUMBER] > 0:
            reopen(s, m)
    finish_window(s)


@kernel
def strayed(s, home, room, from_ticks, from_rest, until_ticks, until_rest, excess):
    """Find how far owned molecules' beads may leave their room between two times.

    Parameters
    ----------
    s : Sector
    home : (N, 3) float64 array
        Where each bead was when the ghosts were chosen [length].
    room : (M,) float64 array
        How far each molecule's beads may go from there [length].
    from_ticks, from_rest, until_ticks, until_rest : float
        The times; present segments count up to the later.
    excess : (M,) float64 array
        Receives how far beyond its room each molecule gets, not a number if a place is not; negative inside it, and
        -inf where that is known from before [length].
    """
    for m in range(s.book[BOOK_MOLECULES]):
        excess[m] = -np.inf
        if earlier(until_ticks, until_rest, s.inside[m, 0], s.inside[m, 1]) or s.mol[m, MOL_GHOST] != OWNED:
            continue
        far = 0.0
        safe = np.inf
        end_ticks = until_ticks
        end_rest = until_rest
        h = m
        while h >= 0:
            first = s.mol[h, MOL_FIRST]
            ticks = s.line[first, 6]
            rest = s.line[first, 7]
            lag = max(time_span(from_ticks, from_rest, ticks, rest, s.par[TICK]), 0.0)
            dt = time_span(end_ticks, end_rest, ticks, rest, s.par[TICK]) - lag
            if dt >= 0.0:
                for b in range(s.mol[m, MOL_BEADS]):
                    here = _distance(s, first + b, lag, home, s.mol[m, MOL_FIRST] + b) + s.pace[h, 4]
                    if h == m:
                        safe = min(safe, (room[m] - here) / s.span[first + b, 1])
                    here += s.span[first + b, 1] * dt
                    if not here <= far:  # so that what is not a number stays
                        far = here
                end_ticks = ticks
                end_rest = rest
            elif h == m:
                safe = 0.0
            h = s.mol[h, MOL_PREVIOUS]
        excess[m] = far - room[m]
        if excess[m] <= 0.0:  # its closed segments, too: they are no more asked about
            _keep_inside(s, m, safe, from_ticks, from_rest)


@inlined
def _keep_inside(s, m, safe, ticks, rest):
    """Note for how long after a time a molecule stays in its room if nothing begins another segment of it."""
    first = s.mol[m, MOL_FIRST]
    if earlier(ticks, rest, s.line[first, 6], s.line[first, 7]):
        ticks = s.line[first, 6]
        rest = s.line[first, 7]
    s.inside[m, 0], s.inside[m, 1] = after(ticks, rest, max(EARLY * safe, 0.0), s.par[TICK])


@kernel
def _distance(s, r, dt, home, i):
    """Return how far the bead in row r may at most be from its home a time dt after its segment's start."""
    total = 0.0
    for c in range(3):
        d = s.line[r, c] + s.line[r, 3 + c] * dt - home[i, c]
        d -= s.par[SIZE + c] * np.rint(d * s.par[INVERSE + c])
        total += d * d
    return np.sqrt(total) + 0.5 * s.span[r, 0] * dt * dt
