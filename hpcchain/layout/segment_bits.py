"""What is kept of segments and of beads' earliest events in few numbers, and what the beads of a molecule share.

START_MARKS of a bead's segment holds several numbers.

They are whether the event that began the segment struck the bead, that event's depth, the order of the polynomial, and
what was left of the duration of the bead's last contact.
"""

import numpy as np

from hpcchain.jit.decorators import inlined
from hpcchain.jit.shared_rows import OWN_COLUMNS
from hpcchain.jit.threads import fence_release, store_release
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

START_BITS, ORDER_BITS = 24, 8
STARTS = (1 << START_BITS) - 1  # struck, and depth + 1 in the bits above it
ORDERS = (1 << ORDER_BITS) - 1 << START_BITS  # order + 1: that of UNMADE (-1) is 0
LEFT_AT = START_BITS + ORDER_BITS
REST = (1 << LEFT_AT) - 1


@inlined
def start_depth(segment, i):
    """Return the depth of the event that began the segment in row i."""
    return ((segment[i, L.START_MARKS] & STARTS) >> 1) - 1


@inlined
def struck(segment, i):
    """Return 1 if the bead was struck in the event that began the segment in row i, else 0."""
    return segment[i, L.START_MARKS] & 1


@inlined
def same_start(segment, i, j):
    """Whether the segments in two rows, which began at one time, did so with one event that struck both or neither."""
    return (segment[i, L.START_MARKS] ^ segment[j, L.START_MARKS]) & STARTS == 0


@inlined
def set_start(segment, i, depth, was_struck):
    """Note with what an event began the segment in row i."""
    segment[i, L.START_MARKS] = (segment[i, L.START_MARKS] & -1 - STARTS) | (2 * (depth + 1) + was_struck)


@inlined
def set_struck(segment, i, was_struck):
    """Note whether the bead was struck in the event that began the segment in row i."""
    segment[i, L.START_MARKS] = (segment[i, L.START_MARKS] & -2) | was_struck


@inlined
def in_contact(segment, i):
    """Return what was left of the bead's last contact when the segment in row i began (`contact.coefficients`)."""
    return segment[i, L.START_MARKS] >> LEFT_AT


@inlined
def set_in_contact(segment, i, left):
    """Note what is left of the bead's last contact when the segment in row i begins."""
    segment[i, L.START_MARKS] = (segment[i, L.START_MARKS] & REST) | (left << LEFT_AT)


def packed_starts(depth: np.ndarray, was_struck: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return START_MARKS, (n,) int64, of (n,) arrays of depths, whether struck, what is left; without series as yet."""
    return (left.astype(np.int64) << LEFT_AT) | (2 * (depth.astype(np.int64) + 1) + was_struck.astype(np.int64))


def unpacked_starts(column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return depths (int32), whether struck (bool) and what is left (int32) of rows' START_MARKS."""
    depth = (column & STARTS) >> 1
    return (depth - 1).astype(np.int32), (column & 1).astype(bool), (column >> LEFT_AT).astype(np.int32)


@inlined
def series_order(segment, i):
    """Return the order of the polynomial of the segment in row i."""
    return ((segment[i, L.START_MARKS] & ORDERS) >> START_BITS) - 1


@inlined
def set_order(segment, i, order):
    """Note the order of the polynomial of the segment in row i."""
    segment[i, L.START_MARKS] = (segment[i, L.START_MARKS] & -1 - ORDERS) | ((order + 1) << START_BITS)


@inlined
def series_begin(mol, segment, i):
    """Return where in `series` the coefficients of the segment in row i begin."""
    m = segment[i, L.MOLECULE]
    return W.UNIT * mol[m, L.MOL_SERIES] + (i - mol[m, L.MOL_FIRST]) * W.curve(series_order(segment, i))


@inlined
def radius_of(s, i):
    """Return the radius of bead i; `radius` has a single entry where all beads are equal [length]."""
    return s.radius[min(i, len(s.radius) - 1)]


@inlined
def radii_of(s, i, j):
    """Return the distance of beads i and j that touch [length]."""
    return radius_of(s, i) + radius_of(s, j)


@inlined
def length_of(s, i):
    """Return the length of the segment in bead row i [time]."""
    return s.timing[s.segment[i, L.MOLECULE], L.LENGTH]


@inlined
def serial_of(s, i):
    """Return the serial number of the segment in bead row i."""
    return np.int64(s.timing[s.segment[i, L.MOLECULE], L.SERIAL])


@inlined
def begin_writing(s, m):
    """Mark molecule m's segment as one that changes from now on, for another thread (`ahead.look`)."""
    s.timing[m, L.SERIAL] = -1.0
    fence_release()


@inlined
def write_serial(s, m, serial):
    """Give molecule m's segment, which is all there, its serial number."""
    store_release(s.timing, m, L.SERIAL, np.float64(serial))


@inlined
def copy_segment(s, a, w, b):
    """Copy the segment of molecule row a of a sector, but for its series, to row b of another, or of the same."""
    w.mol[b, L.MOL_CLASS] = s.mol[a, L.MOL_CLASS]
    for c in range(L.MOL_ORDER, OWN_COLUMNS):
        w.mol[b, c] = s.mol[a, c]
    w.running_length[b] = s.running_length[a]
    if s.stepper is not None:
        w.series_error[b] = s.series_error[a]
        w.step_energy[b] = s.step_energy[a]
    w.timing[b, L.LENGTH] = s.timing[a, L.LENGTH]
    first, at = s.mol[a, L.MOL_FIRST], w.mol[b, L.MOL_FIRST]
    for k in range(s.mol[a, L.MOL_BEADS]):
        _copy_bead(s, first + k, w, at + k)
        if len(s.radius) > 1:
            w.radius[at + k] = s.radius[first + k]


@inlined
def _copy_bead(s, i, w, j):
    """Copy what is kept of a bead's segment from row i to row j: all is read first, so that several go at once."""
    x, y, z, u = s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], s.starts[i, L.VX]
    v, h, ticks, remainder = s.starts[i, L.VY], s.starts[i, L.VZ], s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]
    a, b, marks = s.bounds[i, L.ACCELERATION], s.bounds[i, L.SPEED], s.segment[i, L.START_MARKS]
    w.starts[j, L.X], w.starts[j, L.Y], w.starts[j, L.Z], w.starts[j, L.VX] = x, y, z, u
    w.starts[j, L.VY], w.starts[j, L.VZ], w.starts[j, L.START_TICKS], w.starts[j, L.START_REM] = v, h, ticks, remainder
    w.bounds[j, L.ACCELERATION], w.bounds[j, L.SPEED], w.segment[j, L.START_MARKS] = a, b, marks


@inlined
def series_error_of(s, m):
    """Return how far the series of molecule m's segment may be from the motion at most [length]."""
    if s.stepper is not None:
        return s.series_error[m]
    return 0.0


@inlined
def row_before(s, m):
    """Return the row of the closed segment before that in molecule row m, -1 if there is none."""
    return np.int64(s.window_molecule[m, L.WINDOW_PREVIOUS]) if s.scalars[L.SCALAR_WINDOWED] != 0 else np.int64(-1)


@inlined
def is_chain_part(s, m):
    """Whether molecule row m is a part of a long chain (`chain_part`), in a sector where some are."""
    return s.chain_part[m, L.PART_CHAIN] >= 0


@inlined
def part_before(s, m):
    """Return the row of the part before that in row m of a long chain, -1 if there is none."""
    return m - 1 if s.chain_part[m, L.PART_PLACE] > 0 else np.int64(-1)


@inlined
def part_behind(s, m):
    """Return the row of the part behind that in row m of a long chain, -1 if there is none."""
    return m + 1 if s.chain_part[m, L.PART_REST] > 0 else np.int64(-1)


@inlined
def last_row(s, m):
    """Return the last row of the chain that row m is of, m itself where it is no part of a long one."""
    if s.stretched is not None:
        return m + np.int64(s.chain_part[m, L.PART_REST])
    return m


@inlined
def member_of(s, m):
    """Return the row that stands for molecule row m in an event: of a part of a long chain that of its first part."""
    if s.stretched is not None:
        return m - np.int64(s.chain_part[m, L.PART_PLACE])
    return m


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
