"""Make what an event will do ahead of time, in a slot: the engine's own kernels carry it out in a small sector.

The small sector, w, has the same options, tables and constants as the one that the loop works on, and two molecules for
each slot. The event's molecules are copied there, and it is carried out as if nothing else were there. That is right
if nothing else touches them at the same instant, which the loop looks for before it takes anything.

The loop may change the molecules while they are copied: it makes their serial numbers negative before, and gives them
new ones after (`segment_bits.begin_writing`, `write_serial`). So a copy is whole if the serial number is the same
before and behind it.
"""

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.jit.threads import fence_acquire, fence_release, load_acquire, store_release
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.sector.ahead.taking import tag_of
from hpcchain.sector.events.carry_on import end_segment
from hpcchain.sector.events.meet import meet
from hpcchain.sector.events.together import MET


@outlined
def foresee(s, w, slot, i, partner, ticks, remainder, depth):
    """Carry out an event in a slot of the small sector w.

    Parameters
    ----------
    s, w : Sector
    slot : int
    i, partner : int
        Bead, of two that of the lower id, and other bead, wall or SEGMENT_END.
    ticks, remainder, depth : float, float, int
        Key of the event.

    Returns
    -------
    bool
        Whether the slot has it; not where its molecules are being changed, or it is not in their segments' time.
    """
    store_release(w.ahead, L.AHEAD_TAGS + slot, 0, L.NO_TAG)
    fence_release()
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
    if partner == L.SEGMENT_END:
        end_segment(w, r, ticks, remainder)
    else:
        a = w.mol[r, L.MOL_FIRST] + i - s.mol[m, L.MOL_FIRST]
        b = np.int64(partner)
        if partner >= 0:
            b = w.mol[r if other == m else r + 1, L.MOL_FIRST] + partner - s.mol[other, L.MOL_FIRST]
        status, _ = meet(w, a, b, False, False, ticks, remainder, depth)
        if status != MET:
            return False
    _write_down(w, slot)
    w.slots[slot, L.SLOT_BEAD], w.slots[slot, L.SLOT_PARTNER] = i, partner
    w.slots[slot, L.SLOT_TICKS], w.slots[slot, L.SLOT_REM], w.slots[slot, L.SLOT_DEPTH] = ticks, remainder, depth
    w.slots[slot, L.SLOT_SERIAL], w.slots[slot, L.SLOT_OTHER_SERIAL] = serial, other_serial
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
    n, first, at = s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_FIRST], w.mol[r, L.MOL_FIRST]
    order = s.mol[m, L.MOL_ORDER]
    w.mol[r, L.MOL_CLASS], w.mol[r, L.MOL_ORDER] = s.mol[m, L.MOL_CLASS], order
    for c in range(L.AXES):
        w.mol[r, L.MOL_IMAGE + c] = s.mol[m, L.MOL_IMAGE + c]
    for b in range(n):
        i, k = first + b, at + b
        for c in range(L.START_COLUMNS):
            w.starts[k, c] = s.starts[i, c]
        for c in range(L.BOUNDS_COLUMNS):
            w.bounds[k, c] = s.bounds[i, c]
        w.segment[k, L.START_MARKS] = s.segment[i, L.START_MARKS]
        w.bead_id[k] = s.bead_id[i]
        if len(s.radius) > 1:
            w.radius[k] = s.radius[i]
    begin, target = W.UNIT * s.mol[m, L.MOL_SERIES], W.UNIT * w.mol[r, L.MOL_SERIES]
    for k in range(min(n * W.curve(order), len(s.series) - begin)):
        w.series[target + k] = s.series[begin + k]
    w.running_length[r] = s.running_length[m]
    if s.stepper is not None:
        w.series_error[r] = s.series_error[m]
        w.step_energy[r] = s.step_energy[m]
    w.timing[r, L.LENGTH] = s.timing[m, L.LENGTH]


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
