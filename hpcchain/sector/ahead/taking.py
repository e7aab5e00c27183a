"""Take over what an event does from a slot in which a second thread has carried it out already.

The slots are a small sector (`ahead.look`), of which two molecules belong to each. What an event does follows from
the segments of its molecules alone. So it is taken if it was made of these segments, by their serial numbers, for this
time and depth; else the event is carried out here. Results do not depend on which.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.jit.struct import another
from hpcchain.jit.threads import fence_acquire, fence_full, store_release
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import begin_writing, copy_segment, write_serial
from hpcchain.sector.search.list_place import note_top_speed
from hpcchain.sector.speculation.rollback import save_segment


@inlined
def tag_of(i, m, partner):
    """Return what a slot's event is found by: its first bead or, of the end of molecule m's segment, a code."""
    return -2 - m if partner == L.SEGMENT_END else i


@inlined
def _is_of(w, slot, i, partner, ticks, remainder, depth, serial, other_serial):
    """Whether a slot has what an event does with the segments of these serial numbers."""
    return (
        (w.slots[slot, L.SLOT_BEAD] == i)
        & (w.slots[slot, L.SLOT_PARTNER] == partner)
        & (w.slots[slot, L.SLOT_TICKS] == ticks)
        & (w.slots[slot, L.SLOT_REM] == remainder)
        & (w.slots[slot, L.SLOT_DEPTH] == depth)
        & (w.slots[slot, L.SLOT_SERIAL] == serial)
        & (w.slots[slot, L.SLOT_OTHER_SERIAL] == other_serial)
    )


@kernel
def slot_of(w, likely, tag, i, partner, ticks, remainder, depth, serial, other_serial):
    """Return the slot that has an event, -1 if none does, looked for from a likely one on.

    Of the slots that have the event's tag others may be out of date.
    """
    for step in range(L.SLOTS):
        k = (likely + step) % L.SLOTS
        if w.ahead[L.AHEAD_TAGS + k] == tag:
            fence_acquire()
            if _is_of(w, k, i, partner, ticks, remainder, depth, serial, other_serial):
                return np.int64(k)
    return np.int64(-1)


@outlined
def take(s, i, partner):
    """Carry out the event at hand as a slot has it, if one does.

    Parameters
    ----------
    s : Sector
    i, partner : int
        Bead, of two that of the lower id, and other bead, wall or SEGMENT_END.

    Returns
    -------
    int
        How many molecules have new segments: the first rows of `member`; 0 where no slot has the event.
    """
    w = another(s, s.ahead[L.AHEAD_SECTOR])
    fence_full()  # either the queue shows the second thread this event, or the tag is not there any more
    m = s.segment[i, L.MOLECULE]
    other = s.segment[partner, L.MOLECULE] if partner >= 0 else m
    serial, other_serial = s.timing[m, L.SERIAL], s.timing[other, L.SERIAL]
    likely, tag, depth = s.ahead[L.AHEAD_LIKELY], tag_of(i, m, partner), s.scalars[L.SCALAR_DEPTH]
    slot = slot_of(w, likely, tag, i, partner, s.par[L.NOW], s.par[L.NOW_REM], depth, serial, other_serial)
    if slot < 0:
        s.ahead[L.AHEAD_MISSED] += 1
        return np.int64(0)
    s.ahead[L.AHEAD_TAKEN] += 1
    s.ahead[L.AHEAD_LIKELY] = (slot + 1) % L.SLOTS
    members = np.int64(1 if other == m else 2)
    s.scalars[L.SCALAR_SERIAL] += members
    last = s.scalars[L.SCALAR_SERIAL]
    _take_molecule(s, w, 2 * slot, m, last + 1 - members)
    s.member[0, L.MEMBER_ROW] = m
    if members == 2:
        _take_molecule(s, w, 2 * slot + 1, other, last)
        s.member[1, L.MEMBER_ROW] = other
    _take_counts(s, w, slot, m)
    w.ahead[L.AHEAD_TAGS + slot] = L.NO_TAG
    store_release(w.slots, slot, L.SLOT_KEY, -np.inf)
    return members


@kernel
def _take_molecule(s, w, r, m, serial):
    """Give molecule m the segment that is in row r of the slots."""
    save_segment(s, m)
    begin_writing(s, m)
    copy_segment(w, r, s, m)
    n, first, at = s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_FIRST], w.mol[r, L.MOL_FIRST]
    begin, source = s.mol[m, L.MOL_SERIES], w.mol[r, L.MOL_SERIES]
    if n == w.mol[1, L.MOL_FIRST]:  # their blocks of the one `series` are as long: nothing is copied
        s.mol[m, L.MOL_SERIES], w.mol[r, L.MOL_SERIES] = source, begin
    else:
        for k in range(n * W.curve(w.mol[r, L.MOL_ORDER])):
            s.series[W.UNIT * begin + k] = s.series[W.UNIT * source + k]
    fastest = 0.0
    for b in range(n):
        for c in range(4):
            s.swept[first + b, c] = w.swept[at + b, c]
        fastest = max(fastest, w.bounds[at + b, L.SPEED])
    write_serial(s, m, serial)
    note_top_speed(s, m, fastest)


@kernel
def _take_counts(s, w, slot, m):
    """Count and log what an event does, as its slot has it; in a window sums are those of its log in the end."""
    for k in range(L.COUNTS):
        counted = np.int64(w.slots[slot, L.SLOT_COUNTS + k])
        if k == L.N_MOST_ITERATIONS or k == L.N_MOST_NODE_ITERATIONS:
            s.count[k] = max(s.count[k], counted)
        else:
            s.count[k] += counted
    for k in range(L.SUMS if s.scalars[L.SCALAR_WINDOWED] == 0 else 0):
        s.scalars[L.SCALAR_SUMS + k] += np.int64(w.slots[slot, L.SLOT_SUMS + k])
    if len(s.log) > 0 and w.slots[slot, L.SLOT_LOGGED] != 0.0:
        row = s.count[L.N_LOGGED]
        for c in range(L.LOG_COLUMNS):
            s.log[row, c] = w.log[slot, c]
        s.log[row, L.LOG_MOLECULE] = m
        s.count[L.N_LOGGED] += 1
