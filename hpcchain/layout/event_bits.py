"""What is kept of a bead's earliest event beside its time: two integers, in one row with the time.

The first is the serial number of the partner's segment. The second has the partner's row or code, the event's depth,
and whether another event is due with it.
"""

from hpcchain.jit.decorators import inlined
from hpcchain.layout import arrays as L

PARTNER_BITS = 32  # below them the depth, and below that TIED_BITS
LOWER = (1 << PARTNER_BITS) - 1
TIED_BITS = 2
TIES = (1 << TIED_BITS) - 1
LEAST_DEPTH = L.REOPENS


@inlined
def partner_of(next_event, i):
    """Return with what bead i's earliest event is: a bead's row, or a code below 0."""
    return next_event[i, L.EVENT_BITS] >> PARTNER_BITS


@inlined
def event_depth(next_event, i):
    """Return the depth of bead i's earliest event, or CANDIDATES while it is AWAITED."""
    return ((next_event[i, L.EVENT_BITS] & LOWER) >> TIED_BITS) + LEAST_DEPTH


@inlined
def tied_with(next_event, i):
    """Return whether another of bead i's events follows its earliest within SIMULTANEOUS (0, 1), or AWAITED."""
    return next_event[i, L.EVENT_BITS] & TIES


@inlined
def set_event(next_event, i, partner, serial, depth, tied):
    """Write down bead i's earliest event."""
    next_event[i, L.PARTNER_SERIAL] = serial
    next_event[i, L.EVENT_BITS] = (partner << PARTNER_BITS) | ((depth - LEAST_DEPTH) << TIED_BITS) | tied
