"""Find the events that come next and have no slot yet, and make what they will do: the second thread's work.

The engine's own kernels carry an event out in a small sector, w, which has the same options, tables and constants as
the one that the loop works on, and two molecules for each slot. The event's molecules are copied there, and it is
carried out as if nothing else were there. That is right if nothing else touches them at the same instant, which the
loop looks for before it takes anything.

The loop changes queue and molecules while they are read here. What of the queue is read wrong makes an outcome that is
never taken. Of molecules serial numbers are made negative before, and are new after (`segment_bits.begin_writing`,
`write_serial`): so a copy is whole if the serial number is the same before and behind it.
"""

import numpy as np

from hpcchain.jit.decorators import concurrent, inlined, kernel, outlined
from hpcchain.jit.threads import fence_acquire, fence_full, load_acquire, pause, store_release
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import copy_segment, event_depth, partner_of
from hpcchain.sector.ahead.taking import slot_of, tag_of
from hpcchain.sector.events.carry_on import end_segment
from hpcchain.sector.events.meet import meet
from hpcchain.sector.events.members import MET
from hpcchain.sector.queue.event_order import in_queue, segment_end
from hpcchain.sector.queue.tournament import BEFORE_LEAVES, COLUMN, ROW_BITS


@outlined
def foresee(s, w, slot, i, partner, ticks, remainder, depth):
    """Carry out an event in a slot of the small sector w.

    Parameters
    ----------
    s, w : Sector
    slot : int
        One that `_free_slot` gave.
    i, partner : int
        Bead, of two that of the lower id, and other bead, wall or SEGMENT_END.
    ticks, remainder, depth : float, float, int
        Key of the event.

    Returns
    -------
    bool
        Whether the slot has it; not where its molecules are being changed, or it is not in their segments' time.
    """
    m = s.segment[i, L.MOLECULE]
    other = s.segment[partner, L.MOLECULE] if partner >= 0 else m
    serial, other_serial = load_acquire(s.timing, m, L.SERIAL), load_acquire(s.timing, other, L.SERIAL)
    if serial < 0.0 or other_serial < 0.0:
        return False
    _copy(s, w, m, 2 * slot)
    if other != m:
        _copy(s, w, other, 2 * slot + 1)
    fence_acquire()
    if s.timing[m, L.SERIAL] != serial or s.timing[other, L.SERIAL] != other_serial:
        w.ahead[L.AHEAD_TORN] += 1
        return False
    r = 2 * slot
    if not _lasts(w, r, ticks, remainder) or (other != m and not _lasts(w, r + 1, ticks, remainder)):
        return False
    w.count[:] = 0
    w.scalars[L.SCALAR_SUMS : L.SCALAR_SUMS + L.SUMS] = 0
    w.count[L.N_LOGGED] = slot
    w.par[L.NOW], w.par[L.NOW_REM], w.scalars[L.SCALAR_DEPTH] = ticks, remainder, depth
    if partner == L.SEGMENT_END:
        end_segment(w, r)
    else:
        a = w.mol[r, L.MOL_FIRST] + i - s.mol[m, L.MOL_FIRST]
        b = np.int64(partner)
        if partner >= 0:
            b = w.mol[r if other == m else r + 1, L.MOL_FIRST] + partner - s.mol[other, L.MOL_FIRST]
        status, _ = meet(w, a, b, False, False)
        if status != MET:
            return False
    _write_down(w, slot)
    w.slots[slot, L.SLOT_BEAD], w.slots[slot, L.SLOT_PARTNER] = i, partner
    w.slots[slot, L.SLOT_TICKS], w.slots[slot, L.SLOT_REM], w.slots[slot, L.SLOT_DEPTH] = ticks, remainder, depth
    w.slots[slot, L.SLOT_SERIAL], w.slots[slot, L.SLOT_OTHER_SERIAL] = serial, other_serial
    w.slots[slot, L.SLOT_KEY] = in_queue(s, ticks, remainder)
    w.ahead[L.AHEAD_MADE] += 1
    store_release(w.ahead, L.AHEAD_TAGS + slot, 0, tag_of(i, m, partner))
    return True


@kernel
def _lasts(w, r, ticks, remainder):
    """Whether a time is within the segment in row r of the slots."""
    return 0.0 <= since_start(w, w.mol[r, L.MOL_FIRST], ticks, remainder) <= w.timing[r, L.LENGTH] + w.par[L.TICK]


@kernel
def _copy(s, w, m, r):
    """Copy molecule m's segment to row r of the slots, perhaps while it changes."""
    copy_segment(s, m, w, r)
    n, first, at = s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_FIRST], w.mol[r, L.MOL_FIRST]
    for b in range(n):
        w.bead_id[at + b] = s.bead_id[first + b]
    begin, target = W.UNIT * s.mol[m, L.MOL_SERIES], W.UNIT * w.mol[r, L.MOL_SERIES]
    for k in range(min(n * W.curve(w.mol[r, L.MOL_ORDER]), len(s.series) - begin)):
        w.series[target + k] = s.series[begin + k]


@kernel
def _write_down(w, slot):
    """Write what an event that has been carried out counts to its slot."""
    logged = w.count[L.N_LOGGED] - slot
    w.count[L.N_LOGGED] = 0
    w.slots[slot, L.SLOT_LOGGED] = logged
    for k in range(L.COUNTS):
        w.slots[slot, L.SLOT_COUNTS + k] = w.count[k]
    for k in range(L.SUMS):
        w.slots[slot, L.SLOT_SUMS + k] = w.scalars[L.SCALAR_SUMS + k]


FIRST = 8
"""Entries of the queue that are looked at."""
AT_ONCE = 3
"""Outcomes that are made before the queue is looked at again."""
PATIENCE = 50000
"""Pauses, some milliseconds, that the second thread rests for before it returns."""
WHICH, WHERE, MEMBER, OTHER = range(4)
"""Columns of the small sector's `winner`, of which a row is an entry: molecule, place, and the two that take part."""


@concurrent
def stay_ahead(s, w):
    """Make outcomes of events of s in the small sector w, but while AHEAD_STOP is set: what the second thread does.

    It returns when it has rested for some time, which between two calls of the loop it does not.
    """
    last, first, rested = -np.inf, np.int64(-1), np.int64(0)
    while rested < PATIENCE:
        if load_acquire(w.ahead, L.AHEAD_STOP, 0) != 0:
            rested += 1
            pause()
            continue
        rested = np.int64(0)
        key, m = load_acquire(s.key, L.TOP, L.ROOT), np.int64(s.winner[L.TOP, L.ROOT])
        if key == last and m == first:
            pause()
        elif _look(s, w, AT_ONCE) == 0:
            last, first = key, m


@kernel
def _look(s, w, most):
    """Make outcomes of the first events that lack one, but for the event at hand; return how many were made."""
    made = np.int64(0)
    for e in range(_first_entries(s, w)):
        w.winner[e, MEMBER] = w.winner[e, OTHER] = -1
        i, partner, ticks, remainder, depth = _event_of(s, np.int64(w.winner[e, WHICH]))
        if partner < -L.SIDES and partner != L.SEGMENT_END:
            continue
        if in_queue(s, ticks, remainder) != w.key[e, 0]:
            continue
        m = s.segment[i, L.MOLECULE]
        other = s.segment[partner, L.MOLECULE] if partner >= 0 else m
        free = not _changes_before(w, e, m, other)
        w.winner[e, MEMBER], w.winner[e, OTHER] = m, other
        over = w.key[e, 0] < s.key[L.TOP, L.ROOT] or w.winner[e, WHICH] == s.winner[L.TOP, L.ROOT]
        if over or not free or not _fits(s, w, m) or not _fits(s, w, other):
            continue
        serial, other_serial = s.timing[m, L.SERIAL], s.timing[other, L.SERIAL]
        tag = tag_of(i, m, partner)
        if slot_of(w, 0, tag, i, partner, ticks, remainder, depth, serial, other_serial) >= 0:
            continue
        slot = _free_slot(s, w)
        if slot < 0:
            break
        if foresee(s, w, slot, i, partner, ticks, remainder, depth):
            made += 1
            w.ahead[L.AHEAD_NEXT] = (slot + 1) % L.SLOTS
        if made == most:
            break
    return made


@inlined
def _fits(s, w, m):
    """Whether molecule m moves by series, and fits into a slot."""
    return s.mol[m, L.MOL_SOLVER] != L.BALLISTIC and s.mol[m, L.MOL_BEADS] <= w.mol[1, L.MOL_FIRST]


@kernel
def _changes_before(w, e, m, other):
    """Whether an event before entry e is one of molecule m or the other."""
    for k in range(e):
        for c in range(MEMBER, OTHER + 1):
            if w.winner[k, c] == m or w.winner[k, c] == other:
                return True
    return False


@kernel
def _free_slot(s, w):
    """Return a slot whose event is over and that the loop will not take, -1 if there is none; they are used in turn."""
    for step in range(L.SLOTS):
        k = (w.ahead[L.AHEAD_NEXT] + step) % L.SLOTS
        key = load_acquire(w.slots, k, L.SLOT_KEY)
        if key < s.key[L.TOP, L.ROOT]:
            w.ahead[L.AHEAD_TAGS + k] = L.NO_TAG
            fence_full()
            if key < s.key[L.TOP, L.ROOT]:  # else the loop has been set back, and may have seen the tag
                return k
    return -1


@kernel
def _event_of(s, m):
    """Return bead, partner, time and depth of molecule m's next event, the bead of the lower id first."""
    none = np.int64(L.NO_EVENT)
    holder = np.int64(s.holder[m])
    if holder == L.AT_END:
        ticks, remainder = segment_end(s, m)
        return s.mol[m, L.MOL_FIRST], np.int64(L.SEGMENT_END), ticks, remainder, np.int64(0)
    if holder < 0:
        return holder, none, 0.0, 0.0, np.int64(0)
    partner, depth = partner_of(s.next_event, holder), event_depth(s.next_event, holder)
    ticks, remainder = s.event_time[holder, L.EVENT_TICKS], s.event_time[holder, L.EVENT_REM]
    if partner < 0:
        return holder, partner, ticks, remainder, depth
    if partner >= s.scalars[L.SCALAR_BEADS] or depth < 0:
        return holder, none, 0.0, 0.0, depth
    if s.timing[s.segment[partner, L.MOLECULE], L.SERIAL] != s.next_event[holder, L.PARTNER_SERIAL]:
        return holder, none, 0.0, 0.0, depth
    if s.bead_id[partner] < s.bead_id[holder]:
        return partner, holder, ticks, remainder, depth
    return holder, partner, ticks, remainder, depth


@kernel
def _first_entries(s, w):
    """Write the first entries of the queue to the small sector's, in their order; return how many."""
    # The first of all is known; behind whoever is known come those that have lost to it, match by match.
    w.key[0, 0], w.winner[0, WHICH], w.winner[0, WHERE] = s.key[L.TOP, L.ROOT], s.winner[L.TOP, L.ROOT], L.ROOT
    known = np.int64(w.winner[0, WHICH] >= 0)
    e = 0
    while e < known:
        m = np.int64(w.winner[e, WHICH])
        row = np.int64(w.winner[e, WHERE]) - BEFORE_LEAVES
        while row < len(s.key):
            at = np.int64(-1)
            for c in range(COLUMN + 1):
                if s.winner[row, c] == m:
                    at = c
                elif s.key[row, c] < np.inf:
                    known = _insert(w, e, known, s.key[row, c], s.winner[row, c], (row << ROW_BITS) + c)
            if at < 0:  # it has lost its place meanwhile
                break
            row = (row << ROW_BITS) + at - BEFORE_LEAVES
        e += 1
    return known


@kernel
def _insert(w, e, known, key, m, place):
    """Put an entry where it belongs behind entry e of those that are known; return how many are then."""
    if known == FIRST:
        if not key < w.key[known - 1, 0]:
            return known
        at = known - 1
    else:
        at, known = known, known + 1
    while at > e + 1 and key < w.key[at - 1, 0]:
        w.key[at, 0] = w.key[at - 1, 0]
        w.winner[at, WHICH], w.winner[at, WHERE] = w.winner[at - 1, WHICH], w.winner[at - 1, WHERE]
        at -= 1
    w.key[at, 0], w.winner[at, WHICH], w.winner[at, WHERE] = key, m, place
    return known
