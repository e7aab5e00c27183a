"""The segments of a window: closed ones are kept, so that what was done on a wrong guess can be rolled back.

A closed segment is kept in rows behind those of the present ones (`arrays`), like a molecule that moves no more:
everything that reads a bead's segment by its row can read it too. Its series is not kept but made again when something
comes near (`make_series`), which is seldom; that of a part of a long chain cannot be made again, and is kept. The rows
of one molecule's closed segments form a chain, WINDOW_PREVIOUS, from its present segment back to the one that was open
when the window began.

A rollback sets a molecule back to a closed segment. Every event that this undoes is undone for all molecules that
took part in it, and so on; contacts of undone events are struck from the log.

A segment of a part of a long chain begins with the present motion of the parts adjacent to it. So it is true only while
these are: where one of them drops a segment, or is given one that begins before it, it is dropped, too.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import (
    begin_writing,
    copy_segment,
    is_chain_part,
    last_row,
    row_before,
    series_order,
    set_order,
    write_serial,
)
from hpcchain.sector.prefetch import prefetch_row
from hpcchain.sector.queue.event_order import Key, key_at_hand, key_of
from hpcchain.sector.search.broad_phase import sweep


@inlined
def save_segment(s, m):
    """Keep molecule m's present segment as a closed one, in a window; the caller writes the next one over it."""
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        note_altered(s, m)
        _save_segment(s, m)


@inlined
def note_altered(s, m):
    """Note that molecule m is no more as it was when the window began: only such are looked at when it ends."""
    if s.window_molecule[m, L.WINDOW_ALTERED] == 0:
        s.window_molecule[m, L.WINDOW_ALTERED] = 1
        s.altered[s.scalars[L.SCALAR_ALTERED]] = m
        s.scalars[L.SCALAR_ALTERED] += 1


@kernel
def _save_segment(s, m):
    window_molecule = s.window_molecule
    h = _take_row(s, m)
    _copy_segment(s, m, h)
    window_molecule[h, L.WINDOW_PREVIOUS] = row_before(s, m)
    s.top_speed[h] = top_speed_since(s, h)
    prefetch_row(s, s.free_rows[window_molecule[m, L.WINDOW_CLASS], L.SPARE_HEAD])
    window_molecule[m, L.WINDOW_PREVIOUS] = h
    window_molecule[m, L.WINDOW_NUMBER] += 1
    window_molecule[m, L.WINDOW_EVENT] = 0
    window_molecule[m, L.WINDOW_LOWER] = s.bead_id[s.mol[m, L.MOL_FIRST]]
    window_molecule[m, L.WINDOW_HIGHER] = L.SEGMENT_END
    window_molecule[m, L.WINDOW_REOPENED] = 0
    window_molecule[m, L.WINDOW_CHANGED] = 1
    if s.stretched is not None:
        s.centre_change[m, L.CHANGE_SORT] = L.UNCHANGED


@inlined
def top_speed_since(s, m):
    """Return a bound of the speed that the fastest bead of molecule row m has had since the window began."""
    h = row_before(s, m)
    if h >= 0 and s.top_speed[h] > s.top_speed[m]:  # false where the present one is no number
        return s.top_speed[h]
    return s.top_speed[m]


@inlined
def _take_row(s, m):
    """Return a free row for a closed segment of molecule m."""
    free = s.free_rows[s.window_molecule[m, L.WINDOW_CLASS]]
    h = free[L.SPARE_HEAD]
    free[L.SPARE_HEAD] = row_before(s, h)
    free[L.SPARE_ROWS] -= 1
    if free[L.SPARE_ROWS] < free[L.SPARE_LEAST]:
        s.scalars[L.SCALAR_OUT_OF_ROWS] = 1
    return h


@kernel
def _release_row(s, h):
    free = s.free_rows[s.window_molecule[h, L.WINDOW_CLASS]]
    s.window_molecule[h, L.WINDOW_PREVIOUS] = free[L.SPARE_HEAD]
    free[L.SPARE_HEAD] = h
    free[L.SPARE_ROWS] += 1


@inlined
def _copy_segment(s, a, b):
    """Copy all that belongs to the segment of molecule row a, but its link in the chain, to row b."""
    order = L.UNMADE if s.mol[a, L.MOL_SOLVER] != L.BALLISTIC else series_order(s.segment, s.mol[a, L.MOL_FIRST])
    copy_segment(s, a, s, b)
    for c in range(L.WINDOW_NUMBER, L.WINDOW_OF_SEGMENT):  # not its link in the chain
        s.window_molecule[b, c] = s.window_molecule[a, c]
    s.top_speed[b] = s.top_speed[a]
    i, j = s.mol[a, L.MOL_FIRST], s.mol[b, L.MOL_FIRST]
    if s.stretched is not None:
        for c in range(s.chain_part.shape[1]):
            s.chain_part[b, c] = s.chain_part[a, c]
        s.centre_change[b, L.CHANGE_SORT] = L.UNCHANGED  # the row may have been another molecule's before
        if is_chain_part(s, a):
            order = series_order(s.segment, i)
            _hand_over_part(s, a, b)
    for k in range(s.mol[a, L.MOL_BEADS]):
        set_order(s.segment, j + k, order)
    _copy_extra(s, i, j, s.mol[a, L.MOL_BEADS])
    write_serial(s, b, s.timing[a, L.SERIAL])


@inlined
def _hand_over_part(s, a, b):
    """Let row b have what a part of a long chain has besides in row a: its series, which cannot be made again."""
    # The rows change their blocks of series, which are of one size: nothing is copied.
    for c in range(L.CHANGE_COLUMNS):
        s.centre_change[b, c] = s.centre_change[a, c]
    s.mol[a, L.MOL_SERIES], s.mol[b, L.MOL_SERIES] = s.mol[b, L.MOL_SERIES], s.mol[a, L.MOL_SERIES]


@kernel
def _copy_extra(s, i, j, n):
    """Copy what n beads from row i on have besides (`extra`) to rows from j on, in runs that have it."""
    if s.extended is not None:
        for k in range(n):
            for c in range(s.extra.shape[1]):
                s.extra[j + k, c] = s.extra[i + k, c]


@kernel
def restore_segment(s, m):
    """Drop molecule m's present segment and open the one before it again."""
    h = row_before(s, m)
    s.rolled_back_to[m, L.OPENED_TICKS] = s.starts[s.mol[m, L.MOL_FIRST], L.START_TICKS]
    s.rolled_back_to[m, L.OPENED_REM] = s.starts[s.mol[m, L.MOL_FIRST], L.START_REM]
    begin_writing(s, m)
    _copy_segment(s, h, m)
    sweep(s, m)
    s.window_molecule[m, L.WINDOW_PREVIOUS] = row_before(s, h)
    _release_row(s, h)
    s.window_molecule[m, L.WINDOW_SENT] = min(
        s.window_molecule[m, L.WINDOW_SENT], s.window_molecule[m, L.WINDOW_NUMBER]
    )
    s.window_molecule[m, L.WINDOW_CHANGED] = 1
    s.count[L.N_RESTORED] += 1 if s.mol[m, L.MOL_OWNERSHIP] == L.OWNED else 0


@kernel
def request_rollback(s, m, number):
    """Request that molecule m be set back to its segment of that number in the window."""
    if s.window_molecule[m, L.WINDOW_TARGET] < 0:
        s.rolled_back[s.scalars[L.SCALAR_ROLLED_BACK]] = m
        s.scalars[L.SCALAR_ROLLED_BACK] += 1
        s.window_molecule[m, L.WINDOW_TARGET] = number
        s.rolled_back_to[m, L.OPENED_TICKS] = s.par[L.NOW]
        s.rolled_back_to[m, L.OPENED_REM] = s.par[L.NOW_REM]
    else:
        s.window_molecule[m, L.WINDOW_TARGET] = min(s.window_molecule[m, L.WINDOW_TARGET], number)


@kernel
def _request(s, m, key):
    """Request that row m be set back to before all segments that begin after an event; return whether it has any."""
    h, kept = m, np.int64(s.window_molecule[m, L.WINDOW_NUMBER])
    while kept > 0 and key_of(s, s.mol[h, L.MOL_FIRST]) > key:
        kept -= 1
        h = row_before(s, h)
    if kept == s.window_molecule[m, L.WINDOW_NUMBER]:
        return False
    request_rollback(s, m, kept)
    return True


@kernel
def request_ahead(s, low, high, key):
    """Request that parts in rows `low` to `high`, and adjacent ones, go back that have gone beyond an event's key.

    What began with the event itself stays: rows of one stretch are replayed one after another. Returns whether any has.
    """
    found = False
    for m in range(max(low - 1, low - s.chain_part[low, L.PART_PLACE]), min(high + 1, last_row(s, high)) + 1):
        found = _request(s, m, key) or found
    return found


@kernel
def ready(s, low, high):
    """Whether the event at hand may move a stretch: in windows, parts that have gone beyond it are to go back first.

    `low` and `high` are as of `request_ahead`.
    """
    return s.scalars[L.SCALAR_WINDOWED] == 0 or not request_ahead(s, low, high, key_at_hand(s))


@kernel
def request_adjacent(s, m, dropped):
    """Request that parts adjacent to row m go back to before what they began after its present segment.

    If that is to be dropped (1, else 0), what began with the same event goes, too: rows of a stretch have one key.
    """
    key = key_of(s, s.mol[m, L.MOL_FIRST])
    request_ahead(s, m, m, Key(key.ticks, key.remainder, key.depth, key.lower, key.higher - dropped))


@kernel
def roll_back(s):
    """Roll back all molecules that were requested (`request_rollback`), and those they met since, until none is left.

    They stand in `rolled_back` afterwards, to be listed and searched again.
    """
    more = True
    while more:
        more = False
        k = 0
        while k < s.scalars[L.SCALAR_ROLLED_BACK]:
            m = s.rolled_back[k]
            k += 1
            while s.window_molecule[m, L.WINDOW_NUMBER] > s.window_molecule[m, L.WINDOW_TARGET]:
                more = True
                window_event = np.int64(s.window_molecule[m, L.WINDOW_EVENT])
                if s.stretched is not None:
                    if is_chain_part(s, m):
                        request_adjacent(s, m, 1)
                restore_segment(s, m)
                if window_event > 0:
                    _cancel_event(s, window_event)


@kernel
def _cancel_event(s, window_event):
    """Strike an event's contacts from the log, and request that all its molecules be set back to before it."""
    row = s.window_event[window_event]
    for e in range(row[L.EVENT_LOG], row[L.EVENT_LOG] + row[L.EVENT_LOGS]):
        s.log[e, L.LOG_STATUS] = L.CANCELLED
    for k in range(row[L.EVENT_SIZE]):
        m = row[L.EVENT_MEMBERS + k]
        number = number_of_event(s, m, window_event)
        if number > 0:
            request_rollback(s, m, number - 1)


@kernel
def number_of_event(s, m, window_event):
    """Return the number of molecule m's segment that an event began, 0 if it has none."""
    h = m
    while h >= 0 and s.window_molecule[h, L.WINDOW_NUMBER] > 0:
        if s.window_molecule[h, L.WINDOW_EVENT] == window_event:
            return np.int64(s.window_molecule[h, L.WINDOW_NUMBER])
        h = row_before(s, h)
    return 0


@kernel
def closed_with_serial(s, m, serial):
    """Return the molecule row of m's closed segment with that serial number, and its successor's.

    Returns (-1, -1) when it is not in the window.
    """
    after = m
    h = row_before(s, m)
    while h >= 0:
        if s.timing[h, L.SERIAL] == serial:
            return h, after
        after = h
        h = row_before(s, h)
    return -1, -1


@kernel
def discard_history(s, m):
    """End the window for molecule m: its present segment is the next window's first."""
    h = row_before(s, m)
    while h >= 0:
        before = row_before(s, h)
        _release_row(s, h)
        h = before
    s.window_molecule[m, L.WINDOW_PREVIOUS] = -1
    s.window_molecule[m, L.WINDOW_NUMBER] = 0
    s.window_molecule[m, L.WINDOW_EVENT] = 0
    s.window_molecule[m, L.WINDOW_SENT] = 0
    s.window_molecule[m, L.WINDOW_CHANGED] = 0
