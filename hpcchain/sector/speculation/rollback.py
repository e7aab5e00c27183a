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
from hpcchain.jit.shared_rows import OWN_COLUMNS
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_chain_part, series_order, set_order, start_depth
from hpcchain.sector.queue.event_order import begins_later
from hpcchain.sector.search.broad_phase import sweep


@inlined
def save_segment(s, m):
    """Keep molecule m's present segment as a closed one, in a window; the caller writes the next one over it."""
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        note_altered(s.window_molecule, s.altered, s.scalars, m)
        _save_segment(s, m)
        copy_extra(s, m, s.window_molecule[m, L.WINDOW_PREVIOUS], s.extended)


@inlined
def note_altered(window_molecule, altered, scalars, m):
    """Note that molecule m is no more as it was when the window began: only such are looked at when it ends."""
    if window_molecule[m, L.WINDOW_ALTERED] == 0:
        window_molecule[m, L.WINDOW_ALTERED] = 1
        altered[scalars[L.SCALAR_ALTERED]] = m
        scalars[L.SCALAR_ALTERED] += 1


@kernel
def _save_segment(s, m):
    window_molecule = s.window_molecule
    h = _take_row(window_molecule, s.free_rows, s.scalars, window_molecule[m, L.WINDOW_CLASS])
    _copy_segment(s, m, h)
    window_molecule[h, L.WINDOW_PREVIOUS] = window_molecule[m, L.WINDOW_PREVIOUS]
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
def _take_row(window_molecule, free_rows, scalars, size_class):
    h = free_rows[size_class, L.SPARE_HEAD]
    free_rows[size_class, L.SPARE_HEAD] = window_molecule[h, L.WINDOW_PREVIOUS]
    free_rows[size_class, L.SPARE_ROWS] -= 1
    if free_rows[size_class, L.SPARE_ROWS] < free_rows[size_class, L.SPARE_LEAST]:
        scalars[L.SCALAR_OUT_OF_ROWS] = 1
    return h


@kernel
def _release_row(s, h):
    size_class = s.window_molecule[h, L.WINDOW_CLASS]
    s.window_molecule[h, L.WINDOW_PREVIOUS] = s.free_rows[size_class, L.SPARE_HEAD]
    s.free_rows[size_class, L.SPARE_HEAD] = h
    s.free_rows[size_class, L.SPARE_ROWS] += 1


@inlined
def _copy_segment(s, a, b):
    """Copy all that belongs to the segment of molecule row a, but its link in the chain, to row b."""
    first = s.mol[b, L.MOL_FIRST]
    series = s.mol[b, L.MOL_SERIES]
    for c in range(OWN_COLUMNS):
        s.mol[b, c] = s.mol[a, c]
    for c in range(L.WINDOW_NUMBER, L.WINDOW_OF_SEGMENT):  # not its link in the chain
        s.window_molecule[b, c] = s.window_molecule[a, c]
    s.mol[b, L.MOL_FIRST] = first
    s.mol[b, L.MOL_SERIES] = series
    for c in range(L.TIMING_COLUMNS):
        s.timing[b, c] = s.timing[a, c]
    s.top_speed[b] = s.top_speed[a]
    s.running_length[b] = s.running_length[a]
    if s.stepper is not None:
        s.series_error[b] = s.series_error[a]
    i = s.mol[a, L.MOL_FIRST]
    j = first
    order = L.UNMADE if s.mol[a, L.MOL_SOLVER] != L.BALLISTIC else series_order(s.segment, i)
    if s.stretched is not None:
        for c in range(s.chain_part.shape[1]):
            s.chain_part[b, c] = s.chain_part[a, c]
        s.centre_change[b, L.CHANGE_SORT] = L.UNCHANGED  # the row may have been another molecule's before
        if is_chain_part(s, a):
            order = series_order(s.segment, i)
            _hand_over_part(s, a, b)
    for _ in range(s.mol[a, L.MOL_BEADS]):
        _copy_bead(s.starts, s.bounds, s.segment, i, j)
        set_order(s.segment, j, order)
        if len(s.radius) > 1:
            s.radius[j] = s.radius[i]
        i += 1
        j += 1


@inlined
def _hand_over_part(s, a, b):
    """Let row b have what a part of a long chain has besides in row a: its series, which cannot be made again."""
    # The rows change their blocks of series, which are of one size: nothing is copied.
    for c in range(L.CHANGE_COLUMNS):
        s.centre_change[b, c] = s.centre_change[a, c]
    free = s.mol[b, L.MOL_SERIES]
    s.mol[b, L.MOL_SERIES] = s.mol[a, L.MOL_SERIES]
    s.mol[a, L.MOL_SERIES] = free


@inlined
def _copy_bead(starts, bounds, segment, i, j):
    """Copy what is kept of a bead's segment from row i to row j: all is read first, so that several go at once."""
    x, y, z, u = starts[i, L.X], starts[i, L.Y], starts[i, L.Z], starts[i, L.VX]
    v, w, ticks, remainder = starts[i, L.VY], starts[i, L.VZ], starts[i, L.START_TICKS], starts[i, L.START_REM]
    a, b, marks = bounds[i, L.ACCELERATION], bounds[i, L.SPEED], segment[i, L.START_MARKS]
    starts[j, L.X], starts[j, L.Y], starts[j, L.Z], starts[j, L.VX] = x, y, z, u
    starts[j, L.VY], starts[j, L.VZ], starts[j, L.START_TICKS], starts[j, L.START_REM] = v, w, ticks, remainder
    bounds[j, L.ACCELERATION], bounds[j, L.SPEED], segment[j, L.START_MARKS] = a, b, marks


@kernel
def copy_extra(s, a, b, extended):
    """Copy what the beads of the segment in molecule row a have besides (`extra`) to row b, in runs that have it."""
    if extended is not None:
        i = s.mol[a, L.MOL_FIRST]
        j = s.mol[b, L.MOL_FIRST]
        for k in range(s.mol[a, L.MOL_BEADS]):
            for c in range(s.extra.shape[1]):
                s.extra[j + k, c] = s.extra[i + k, c]


@kernel
def restore_segment(s, m):
    """Drop molecule m's present segment and open the one before it again."""
    h = s.window_molecule[m, L.WINDOW_PREVIOUS]
    s.rolled_back_to[m, L.OPENED_TICKS] = s.starts[s.mol[m, L.MOL_FIRST], L.START_TICKS]
    s.rolled_back_to[m, L.OPENED_REM] = s.starts[s.mol[m, L.MOL_FIRST], L.START_REM]
    _copy_segment(s, h, m)
    copy_extra(s, h, m, s.extended)
    sweep(s, m)
    s.window_molecule[m, L.WINDOW_PREVIOUS] = s.window_molecule[h, L.WINDOW_PREVIOUS]
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
def _request(s, m, ticks, remainder, depth, lower, higher):
    """Request that row m be set back to before all segments that begin after an event; return whether it has any."""
    h, kept = m, s.window_molecule[m, L.WINDOW_NUMBER]
    while kept > 0 and begins_later(s, s.mol[h, L.MOL_FIRST], ticks, remainder, depth, lower, higher):
        kept -= 1
        h = s.window_molecule[h, L.WINDOW_PREVIOUS]
    if kept == s.window_molecule[m, L.WINDOW_NUMBER]:
        return False
    request_rollback(s, m, kept)
    return True


@kernel
def request_adjacent(s, m):
    """Request that parts adjacent to row m go back to before what they began since its present segment, or with it.

    That segment is dropped, so what began with the same event goes, too: the rows of a stretch have one key.
    """
    first = s.mol[m, L.MOL_FIRST]
    ticks, remainder = s.starts[first, L.START_TICKS], s.starts[first, L.START_REM]
    depth, lower = start_depth(s.segment, first), s.window_molecule[m, L.WINDOW_LOWER]
    higher = s.window_molecule[m, L.WINDOW_HIGHER] - 1  # so that the same event is after it
    for column in range(L.PART_BEFORE, L.PART_BEHIND + 1):
        row = np.int64(s.chain_part[m, column])
        if row >= 0:
            _request(s, row, ticks, remainder, depth, lower, higher)


@kernel
def request_ahead(s, low, high, ticks, remainder, depth, lower, higher):
    """Request that parts of a stretch, and adjacent to it, go back that have gone beyond an event.

    What began with the event itself stays: rows of one stretch are replayed one after another.

    Parameters
    ----------
    s : Sector
    low, high : int
        Rows of the first and last part.
    ticks, remainder, depth, lower, higher :
        Key of the event.

    Returns
    -------
    bool
        Whether any has.
    """
    m, last = np.int64(s.chain_part[low, L.PART_BEFORE]), np.int64(s.chain_part[high, L.PART_BEHIND])
    m, last = low if m < 0 else m, high if last < 0 else last
    found = _request(s, m, ticks, remainder, depth, lower, higher)
    while m != last:
        m = np.int64(s.chain_part[m, L.PART_BEHIND])
        found = _request(s, m, ticks, remainder, depth, lower, higher) or found
    return found


@kernel
def ready(s, low, high, ticks, remainder, depth, lower, higher):
    """Whether an event may move a stretch: in windows, rollbacks of parts that have gone beyond it are requested first.

    Parameters are those of `request_ahead`.
    """
    if s.scalars[L.SCALAR_WINDOWED] == 0:
        return True
    return not request_ahead(s, low, high, ticks, remainder, depth, lower, higher)


@kernel
def request_back_adjacent(s, m):
    """Request that parts adjacent to row m go back to before what they began after its new segment."""
    i = s.mol[m, L.MOL_FIRST]
    lower, higher = s.window_molecule[m, L.WINDOW_LOWER], s.window_molecule[m, L.WINDOW_HIGHER]
    ticks, remainder = s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]
    request_ahead(s, m, m, ticks, remainder, start_depth(s.segment, i), lower, higher)


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
                window_event = s.window_molecule[m, L.WINDOW_EVENT]
                if s.stretched is not None:
                    if is_chain_part(s, m):
                        request_adjacent(s, m)
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
            return s.window_molecule[h, L.WINDOW_NUMBER]
        h = s.window_molecule[h, L.WINDOW_PREVIOUS]
    return 0


@kernel
def closed_with_serial(window_molecule, timing, m, serial):
    """Return the molecule row of m's closed segment with that serial number, and its successor's.

    Returns (-1, -1) when it is not in the window.
    """
    after = m
    h = window_molecule[m, L.WINDOW_PREVIOUS]
    while h >= 0:
        if timing[h, L.SERIAL] == serial:
            return h, after
        after = h
        h = window_molecule[h, L.WINDOW_PREVIOUS]
    return -1, -1


@kernel
def discard_history(s, m):
    """End the window for molecule m: its present segment is the next window's first."""
    h = s.window_molecule[m, L.WINDOW_PREVIOUS]
    while h >= 0:
        before = s.window_molecule[h, L.WINDOW_PREVIOUS]
        _release_row(s, h)
        h = before
    s.window_molecule[m, L.WINDOW_PREVIOUS] = -1
    s.window_molecule[m, L.WINDOW_NUMBER] = 0
    s.window_molecule[m, L.WINDOW_EVENT] = 0
    s.window_molecule[m, L.WINDOW_SENT] = 0
    s.window_molecule[m, L.WINDOW_CHANGED] = 0
