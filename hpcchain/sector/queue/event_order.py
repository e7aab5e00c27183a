"""The order of all that happens: by time, then depth, then the lower and the higher id of what meets.

An event's depth is one more than that of the events that its segments began with at the very same time. A segment has
the key of the event that it began with.
"""

from hpcchain.layout.segment_bits import start_depth
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier

MOST_REOPENED = 4


@kernel
def begins_later(s, r, ticks, rest, depth, lower, higher):
    """Whether the segment in bead row r begins with an event after that of this key."""
    if s.line[r, L.START_TICKS] != ticks or s.line[r, L.START_REM] != rest:
        return earlier(ticks, rest, s.line[r, L.START_TICKS], s.line[r, L.START_REM])
    if start_depth(s.seg, r) != depth:
        return start_depth(s.seg, r) > depth
    h = s.seg[r, L.MOLECULE]
    if s.mol[h, L.MOL_LOWER] != lower:
        return s.mol[h, L.MOL_LOWER] > lower
    return s.mol[h, L.MOL_HIGHER] > higher


@kernel
def begins_after(s, r, i):
    """Whether the segment in row r begins after that in row i."""
    m = s.seg[i, L.MOLECULE]
    depth = start_depth(s.seg, i)
    return begins_later(
        s, r, s.line[i, L.START_TICKS], s.line[i, L.START_REM], depth, s.mol[m, L.MOL_LOWER], s.mol[m, L.MOL_HIGHER]
    )


@kernel
def stands(s, i, r, newer, ticks, rest, depth, a, b):
    """Whether bead i's contact with a closed segment comes before what closed it, or is part of it.

    What had closed it when bead i's segment began is over. What touches within TIE_TIME of a contact may have to be
    resolved together with it: that contact is then done once more, now with the other bead there, at most MOST_REOPENED
    times.

    Parameters
    ----------
    i, r, newer : int
        The bead's row, the closed segment's, and that of the one that followed it.
    ticks, rest, depth : float, float, int
        The contact's time and depth.
    a, b : int
        Its beads' global ids.
    """
    if not begins_after(s, newer, i):
        return False
    if precedes(s, newer, ticks, rest, depth, a, b):
        return True
    apart = (ticks - s.line[newer, L.START_TICKS]) * s.par[L.TICK] + (rest - s.line[newer, L.START_REM])
    contact = s.mol[s.seg[newer, L.MOLECULE], L.MOL_HIGHER] != L.SEGMENT_END
    return contact and apart < s.par[L.TIE_TIME] and s.mol[s.seg[r, L.MOLECULE], L.MOL_REOPENED] < MOST_REOPENED


@kernel
def precedes(s, newer, ticks, rest, depth, a, b):
    """Whether a contact comes before the event that began the segment in row `newer`, or is it; see `stands`."""
    h = s.seg[newer, L.MOLECULE]
    apart = (ticks - s.line[newer, L.START_TICKS]) * s.par[L.TICK] + (rest - s.line[newer, L.START_REM])
    if apart != 0.0:
        return apart < 0.0
    if depth != start_depth(s.seg, newer):
        return depth < start_depth(s.seg, newer)
    lower = min(a, b)
    return lower < s.mol[h, L.MOL_LOWER] or (lower == s.mol[h, L.MOL_LOWER] and max(a, b) <= s.mol[h, L.MOL_HIGHER])


@inlined
def comes_first(t, q, depth, gid, other, best_ticks, best_rest, best_depth, best, what):
    """Whether a contact comes before the best candidate so far."""
    first = t < best_ticks or (t == best_ticks and q < best_rest)
    if t == best_ticks and q == best_rest and best >= 0:
        first = depth < best_depth or (depth == best_depth and _pair_before(gid, other, what[best, L.BEAD_ID]))
    return first


@inlined
def depth_of(line, seg, i, j, t, r):
    """Depth of an event: one more than that of a parent segment that starts at the same time."""
    depth = 0
    if line[i, L.START_TICKS] == t and line[i, L.START_REM] == r:
        depth = start_depth(seg, i) + 1
    if line[j, L.START_TICKS] == t and line[j, L.START_REM] == r:
        depth = max(depth, start_depth(seg, j) + 1)
    return depth


@inlined
def _pair_before(gid, new, old):
    """Whether the pair (gid, new) orders before (gid, old) by lower, then higher id."""
    lower_new = min(gid, new)
    lower_old = min(gid, old)
    return lower_new < lower_old or (lower_new == lower_old and max(gid, new) < max(gid, old))


@inlined
def wall_before(gid, code, best, what):
    """Whether bead gid's contact with a wall orders before its contact with `best`, a bead or another wall."""
    lower = min(gid, what[best, L.BEAD_ID]) if best >= 0 else gid
    higher = max(gid, what[best, L.BEAD_ID]) if best >= 0 else best
    return gid < lower or (gid == lower and code < higher)
