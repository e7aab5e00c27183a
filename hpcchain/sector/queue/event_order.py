"""The order of all that happens: by time, then depth, then the lower and the higher id of what meets.

An event's depth is one more than that of the events that its segments began with at the very same time. A segment has
the key of the event that it began with.
"""

from typing import NamedTuple

import numpy as np

from hpcchain.contact.draws import next_redraw
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier, since_start, time_at
from hpcchain.layout.segment_bits import event_depth, partner_of, start_depth

MOST_REOPENED = 4


class Key(NamedTuple):
    """What events are ordered by.

    Attributes
    ----------
    ticks, remainder : float
        Time.
    depth : int
    lower, higher : int
        Ids of what meets: of two beads, or of one bead and a code.
    """

    ticks: float
    remainder: float
    depth: int
    lower: int
    higher: int


@inlined
def segment_end(s, m):
    """Return ticks and remainder of when molecule m's segment ends."""
    return time_at(s, s.mol[m, L.MOL_FIRST], s.timing[m, L.LENGTH])


@inlined
def in_queue(s, ticks, remainder):
    """Return a time as the queue has it: since BASE, as one number [time]."""
    return (ticks - s.par[L.BASE]) * s.par[L.TICK] + remainder


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


@inlined
def next_key_of(s, m):
    """Return the Key of molecule m's earliest event, as it is in the queue: `holder` says whose that is; inf: none."""
    holder = np.int64(s.holder[m])
    if holder >= 0:
        ticks, remainder = s.event_time[holder, L.EVENT_TICKS], s.event_time[holder, L.EVENT_REM]
        lower, higher = ids_of(s, holder, partner_of(s.next_event, holder))
        return Key(ticks, remainder, event_depth(s.next_event, holder), lower, higher)
    first, none, end = s.mol[m, L.MOL_FIRST], np.int64(0), np.int64(L.SEGMENT_END)
    if holder == L.BY_HISTORY:
        begin = next_of_history(s, m)
        if begin < 0:
            return Key(np.inf, np.inf, none, none, end)
        ticks, remainder = s.owner_history[begin + L.ENTRY_TICKS], s.owner_history[begin + L.ENTRY_REM]
        lower, higher = s.owner_history[begin + L.ENTRY_LOWER], s.owner_history[begin + L.ENTRY_HIGHER]
        depth = np.int64(s.owner_history[begin + L.ENTRY_DEPTH])
        return Key(ticks, remainder, depth, np.int64(lower), np.int64(higher))
    if s.extended is not None and holder == L.BY_THERMOSTAT:
        ticks, remainder = next_redraw(s, m)
        depth = depth_of(s, first, first, ticks, remainder)
        return Key(ticks, remainder, depth, s.bead_id[first], np.int64(L.REDRAW))
    if waits(s, m):
        return Key(np.inf, np.inf, none, s.bead_id[first], end)
    ticks, remainder = segment_end(s, m)
    return Key(ticks, remainder, none, s.bead_id[first], end)


@inlined
def key_at_hand(s):
    """Return the Key of the event at hand."""
    lower, higher = s.scalars[L.SCALAR_LOWER], s.scalars[L.SCALAR_HIGHER]
    return Key(s.par[L.NOW], s.par[L.NOW_REM], s.scalars[L.SCALAR_DEPTH], lower, higher)


@inlined
def key_of(s, r):
    """Return the Key of the event that the segment in bead row r began with, in windows."""
    row = s.window_molecule[s.segment[r, L.MOLECULE]]
    ticks, remainder = s.starts[r, L.START_TICKS], s.starts[r, L.START_REM]
    lower, higher = np.int64(row[L.WINDOW_LOWER]), np.int64(row[L.WINDOW_HIGHER])
    return Key(ticks, remainder, start_depth(s.segment, r), lower, higher)


@kernel
def is_current(s, i, r, newer, key):
    """Whether bead i's contact with a closed segment comes before what closed it, or is part of it.

    What had closed it when bead i's segment began is over. What touches within SIMULTANEOUS of a contact may have to be
    resolved together with it: that contact is then done once more, now with the other bead there, at most MOST_REOPENED
    times.

    Parameters
    ----------
    i, r, newer : int
        The bead's row, the closed segment's, and that of the one that followed it.
    key : Key
        The contact's.
    """
    closed = key_of(s, newer)
    if closed <= key_of(s, i):
        return False
    if key <= closed:
        return True
    since = since_start(s, newer, key.ticks, key.remainder)
    return (
        closed.higher > L.SEGMENT_END  # a contact
        and since < s.par[L.SIMULTANEOUS]
        and s.window_molecule[s.segment[r, L.MOLECULE], L.WINDOW_REOPENED] < MOST_REOPENED
    )


@inlined
def comes_first(s, t, q, depth, i, partner, best):
    """Whether bead i's event with a partner comes before the best Candidate so far, which is bead i's, too.

    Ids are read only where times are equal: of most candidates they are not in the cache.
    """
    first = earlier(t, q, best.ticks, best.remainder)
    if t == best.ticks and q == best.remainder:
        lower, higher = ids_of(s, i, partner)
        other_lower, other_higher = ids_of(s, i, best.partner)
        first = (depth, lower, higher) < (best.depth, other_lower, other_higher)
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
