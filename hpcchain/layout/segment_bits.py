"""What is kept of a bead's segment beside its line and span: four integers that share the rest of their cache lines.

The second has whether the event that began the segment struck the bead, that event's depth, and what was left of the
duration of the bead's last contact; the fourth the place of the bead's coefficients in `series` and the order of the
polynomial.
"""

import numpy as np

from hpcchain.jit.decorators import inlined
from hpcchain.layout import arrays as L

BITS = 6
ORDERS = 1 << BITS  # more than any order, from UNMADE (-1) on
START_BITS = 32
STARTS = (1 << START_BITS) - 1  # struck, and depth + 1 in the bits above it


@inlined
def start_depth(seg, i):
    """Return the depth of the event that began the segment in row i."""
    return ((seg[i, L.START_MARKS] & STARTS) >> 1) - 1


@inlined
def struck(seg, i):
    """Return 1 if the bead was struck in the event that began the segment in row i, else 0."""
    return seg[i, L.START_MARKS] & 1


@inlined
def same_start(seg, i, j):
    """Whether the segments in two rows, which began at one time, did so with one event that struck both or neither."""
    return (seg[i, L.START_MARKS] ^ seg[j, L.START_MARKS]) & STARTS == 0


@inlined
def set_start(seg, i, depth, was_struck):
    """Note with what an event began the segment in row i."""
    seg[i, L.START_MARKS] = (seg[i, L.START_MARKS] & -1 - STARTS) | (2 * (depth + 1) + was_struck)


@inlined
def set_struck(seg, i, was_struck):
    """Note whether the bead was struck in the event that began the segment in row i."""
    seg[i, L.START_MARKS] = (seg[i, L.START_MARKS] & -2) | was_struck


@inlined
def in_contact(seg, i):
    """Return what was left of the bead's last contact when the segment in row i began (`contact.tc_model`)."""
    return seg[i, L.START_MARKS] >> START_BITS


@inlined
def set_in_contact(seg, i, left):
    """Note what is left of the bead's last contact when the segment in row i begins."""
    seg[i, L.START_MARKS] = (seg[i, L.START_MARKS] & STARTS) | (left << START_BITS)


def packed_starts(depth, was_struck, left):
    """Return (n,) int64 what `seg` has in its second column, of (n,) arrays of depths, whether struck, what is left."""
    return (left.astype(np.int64) << START_BITS) | (2 * (depth.astype(np.int64) + 1) + was_struck.astype(np.int64))


def unpacked_starts(column):
    """Return depths (int32), whether struck (bool) and what is left (int32), of rows of the second column of `seg`."""
    depth = (column & STARTS) >> 1
    return (depth - 1).astype(np.int32), (column & 1).astype(bool), (column >> START_BITS).astype(np.int32)


@inlined
def series_place(seg, i):
    """Return the place in `series` of the coefficients of the segment in row i."""
    return seg[i, L.SERIES] >> BITS


@inlined
def series_order(seg, i):
    """Return the order of the polynomial of the segment in row i."""
    return (seg[i, L.SERIES] & (ORDERS - 1)) - 1


@inlined
def set_order(seg, i, order):
    """Note the order of the polynomial of the segment in row i."""
    seg[i, L.SERIES] = (seg[i, L.SERIES] & -ORDERS) | (order + 1)
