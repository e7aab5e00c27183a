"""The order of all that happens: by time, then depth, then the lower and the higher id of what meets.

An event's depth is one more than that of the events that its segments began with at the very same time. A segment has
the key of the event that it began with.
"""

import numpy as np

from hpcchain.contact.draws import next_redraw
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import after, earlier, since_start
from hpcchain.layout.segment_bits import event_depth, partner_of, start_depth

MOST_REOPENED = 4


@inlined
def segment_end(s, m):
    """Return ticks and remainder of when molecule m's segment ends."""
    i = s.mol[m, L.MOL_FIRST]
    return after(s.starts[i, L.START_TICKS], s.starts[i, L.START_REM], s.timing[m, L.LENGTH], s.par[L.TICK])


@inlined
def waits(s, m):
    """Whether molecule m's segment has no end here: its owner sends what follows it."""
    return s.mol[m, L.MOL_OWNERSHIP] == L.GHOST or s.mol[m, L.MOL_OWNERSHIP] == L.VACANT


@inlined
def ids_of(s, i, partner):
    """Return the lower and the higher id of bead i's event with a partner: of two beads, or its own and a code."""
    if partner < 0:
        return s.bead_id[i], np.int64(partner)
    return min(s.bead_id[i], s.bead_id[partner]), max(s.bead_id[i], s.bead_id[partner])


@inlined
def next_of_history(s, m):
    """Return where in `owner_history` the segment begins that ghost m has next, -1 if its owner has sent none."""
    if s.window_molecule[m, L.WINDOW_NUMBER] < s.window_molecule[m, L.WINDOW_HISTORY]:
        return s.owner_history_at[m, s.window_molecule[m, L.WINDOW_NUMBER] + 1]
    return np.int64(-1)


@kernel
def next_time_of(s, m):
    """Return ticks and remainder of molecule m's earliest event, as it is in the queue: `holder` says whose that is."""
    holder = np.int64(s.holder[m])
    if holder >= 0:
        return s.event_time[holder, L.EVENT_TICKS], s.event_time[holder, L.EVENT_REM]
    if holder == L.BY_HISTORY:
        begin = next_of_history(s, m)
        if begin < 0:
            return np.inf, np.inf
        return s.owner_history[begin + L.ENTRY_TICKS], s.owner_history[begin + L.ENTRY_REM]
    if s.extended is not None and holder == L.BY_THERMOSTAT:
        return next_redraw(s, m)
    if waits(s, m):
        return np.inf, np.inf
    return segment_end(s, m)


@kernel
def next_event_of(s, m):
    """Return depth, lower and higher id of molecule m's earliest event, that of `next_time_of`."""
    holder = np.int64(s.holder[m])
    if holder >= 0:
        lower, higher = ids_of(s, holder, partner_of(s.next_event, holder))
        return event_depth(s.next_event, holder), lower, higher
    if holder == L.BY_HISTORY:
        begin = next_of_history(s, m)
        if begin < 0:
            return np.int64(0), np.int64(0), np.int64(L.SEGMENT_END)
        return (
            np.int64(s.owner_history[begin + L.ENTRY_DEPTH]),
            np.int64(s.owner_history[begin + L.ENTRY_LOWER]),
            np.int64(s.owner_history[begin + L.ENTRY_HIGHER]),
        )
    first = s.mol[m, L.MOL_FIRST]
    depth = np.int64(0)
    higher = np.int64(L.SEGMENT_END)
    if s.extended is not None and holder == L.BY_THERMOSTAT:
        ticks, remainder = next_redraw(s, m)
        if ticks == s.starts[first, L.START_TICKS] and remainder == s.starts[first, L.START_REM]:
            depth = start_depth(s.segment, first) + 1
        higher = np.int64(L.REDRAW)
    return depth, s.bead_id[first], higher


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


@inlined
def begins_after_event(s, r):
    """Whether the segment in bead row r begins with an event after that at hand."""
    depth, lower, higher = s.scalars[L.SCALAR_DEPTH], s.scalars[L.SCALAR_LOWER], s.scalars[L.SCALAR_HIGHER]
    return begins_later(s, r, s.par[L.NOW], s.par[L.NOW_REM], depth, lower, higher)


@kernel
def begins_after(s, r, i):
    """Whether the segment in row r begins after that in row i."""
    ticks, remainder, depth = s.starts[i, L.START_TICKS], s.starts[i, L.START_REM], start_depth(s.segment, i)
    row = s.window_molecule[s.segment[i, L.MOLECULE]]
    return begins_later(s, r, ticks, remainder, depth, row[L.WINDOW_LOWER], row[L.WINDOW_HIGHER])


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
    since = since_start(s, newer, ticks, remainder)
    contact = s.window_molecule[s.segment[newer, L.MOLECULE], L.WINDOW_HIGHER] > L.SEGMENT_END
    return (
        contact
        and since < s.par[L.SIMULTANEOUS]
        and s.window_molecule[s.segment[r, L.MOLECULE], L.WINDOW_REOPENED] < MOST_REOPENED
    )


@kernel
def precedes(s, newer, ticks, remainder, depth, a, b):
    """Whether a contact comes before the event that began the segment in row `newer`, or is it; see `is_current`."""
    return begins_later(s, newer, ticks, remainder, depth, min(a, b), max(a, b) - 1)  # -1: or is it


@inlined
def comes_first(s, t, q, depth, i, j, best):
    """Whether a contact of beads in rows i and j comes before the best Candidate so far, which is bead i's.

    Ids are read only where times are equal: of most candidates they are not in the cache.
    """
    first = earlier(t, q, best.ticks, best.remainder)
    if t == best.ticks and q == best.remainder and best.partner >= 0:
        own, new, old = s.bead_id[i], s.bead_id[j], s.bead_id[best.partner]
        first = depth < best.depth or (depth == best.depth and _pair_before(own, new, old))
    return first


@inlined
def depth_of(s, i, j, t, r):
    """Depth of an event: one more than that of a parent segment that starts at the same time."""
    depth = 0
    if s.starts[i, L.START_TICKS] == t and s.starts[i, L.START_REM] == r:
        depth = start_depth(s.segment, i) + 1
    if s.starts[j, L.START_TICKS] == t and s.starts[j, L.START_REM] == r:
        depth = max(depth, start_depth(s.segment, j) + 1)
    return depth


@inlined
def _pair_before(gid, new, old):
    """Whether the pair (gid, new) orders before (gid, old) by lower, then higher id."""
    lower_new = min(gid, new)
    lower_old = min(gid, old)
    return lower_new < lower_old or (lower_new == lower_old and max(gid, new) < max(gid, old))
