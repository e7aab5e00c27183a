"""The order of all that happens: by time, then depth, then the lower and the higher id of what meets.

An event's depth is one more than that of the events that its segments began with at the very same time. A segment has
the key of the event that it began with.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier
from hpcchain.layout.segment_bits import start_depth

MOST_REOPENED = 4


@inlined
def row_before(s, m):
    """Return the row of the closed segment before that in molecule row m, -1 if there is none."""
    return s.window_molecule[m, L.WINDOW_PREVIOUS] if s.scalars[L.SCALAR_WINDOWED] != 0 else np.int64(-1)


@kernel
def begins_later(s, r, ticks, remainder, depth, lower, higher):
    """Whether the segment in bead row r begins with an event after that of this key."""
    if s.starts[r, L.START_TICKS] != ticks or s.starts[r, L.START_REM] != remainder:
        return earlier(ticks, remainder, s.starts[r, L.START_TICKS], s.starts[r, L.START_REM])
    if start_depth(s.segment, r) != depth:
        return start_depth(s.segment, r) > depth
    h = s.segment[r, L.MOLECULE]
    if s.window_molecule[h, L.WINDOW_LOWER] != lower:
        return s.window_molecule[h, L.WINDOW_LOWER] > lower
    return s.window_molecule[h, L.WINDOW_HIGHER] > higher


@kernel
def begins_after(s, r, i):
    """Whether the segment in row r begins after that in row i."""
    m = s.segment[i, L.MOLECULE]
    depth = start_depth(s.segment, i)
    return begins_later(
        s,
        r,
        s.starts[i, L.START_TICKS],
        s.starts[i, L.START_REM],
        depth,
        s.window_molecule[m, L.WINDOW_LOWER],
        s.window_molecule[m, L.WINDOW_HIGHER],
    )


@kernel
def is_current(s, i, r, newer, ticks, remainder, depth, a, b):
    """Whether bead i's contact with a closed segment comes before what closed it, or is part of it.

    What had closed it when bead i's segment began is over. What touches within SIMULTANEOUS of a contact may have to be
    resolved together with it: that contact is then done once more, now with the other bead there, at most MOST_REOPENED
    times.

    Parameters
    ----------
    i, r, newer : int
        The bead's row, the closed segment's, and that of the one that followed it.
    ticks, remainder, depth : float, float, int
        The contact's time and depth.
    a, b : int
        Its beads' global ids.
    """
    if not begins_after(s, newer, i):
        return False
    if precedes(s, newer, ticks, remainder, depth, a, b):
        return True
    since = (ticks - s.starts[newer, L.START_TICKS]) * s.par[L.TICK] + (remainder - s.starts[newer, L.START_REM])
    contact = s.window_molecule[s.segment[newer, L.MOLECULE], L.WINDOW_HIGHER] > L.SEGMENT_END
    return (
        contact
        and since < s.par[L.SIMULTANEOUS]
        and s.window_molecule[s.segment[r, L.MOLECULE], L.WINDOW_REOPENED] < MOST_REOPENED
    )


@kernel
def precedes(s, newer, ticks, remainder, depth, a, b):
    """Whether a contact comes before the event that began the segment in row `newer`, or is it; see `is_current`."""
    h = s.segment[newer, L.MOLECULE]
    since = (ticks - s.starts[newer, L.START_TICKS]) * s.par[L.TICK] + (remainder - s.starts[newer, L.START_REM])
    if since != 0.0:
        return since < 0.0
    if depth != start_depth(s.segment, newer):
        return depth < start_depth(s.segment, newer)
    lower = min(a, b)
    return lower < s.window_molecule[h, L.WINDOW_LOWER] or (
        lower == s.window_molecule[h, L.WINDOW_LOWER] and max(a, b) <= s.window_molecule[h, L.WINDOW_HIGHER]
    )


@inlined
def comes_first(t, q, depth, gid, other, best_ticks, best_remainder, best_depth, best, next_event):
    """Whether a contact comes before the best candidate so far."""
    first = t < best_ticks or (t == best_ticks and q < best_remainder)
    if t == best_ticks and q == best_remainder and best >= 0:
        first = depth < best_depth or (depth == best_depth and _pair_before(gid, other, next_event[best, L.BEAD_ID]))
    return first


@inlined
def depth_of(starts, segment, i, j, t, r):
    """Depth of an event: one more than that of a parent segment that starts at the same time."""
    depth = 0
    if starts[i, L.START_TICKS] == t and starts[i, L.START_REM] == r:
        depth = start_depth(segment, i) + 1
    if starts[j, L.START_TICKS] == t and starts[j, L.START_REM] == r:
        depth = max(depth, start_depth(segment, j) + 1)
    return depth


@inlined
def _pair_before(gid, new, old):
    """Whether the pair (gid, new) orders before (gid, old) by lower, then higher id."""
    lower_new = min(gid, new)
    lower_old = min(gid, old)
    return lower_new < lower_old or (lower_new == lower_old and max(gid, new) < max(gid, old))


@inlined
def wall_before(gid, code, best, next_event):
    """Whether bead gid's contact with a wall orders before its contact with `best`, a bead or another wall."""
    lower = min(gid, next_event[best, L.BEAD_ID]) if best >= 0 else gid
    higher = max(gid, next_event[best, L.BEAD_ID]) if best >= 0 else best
    return gid < lower or (gid == lower and code < higher)
