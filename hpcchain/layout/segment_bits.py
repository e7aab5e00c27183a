"""START_MARKS of a bead's segment, several numbers in one.

They are whether the event that began the segment struck the bead, that event's depth, the order of the polynomial, and
what was left of the duration of the bead's last contact.
"""

import numpy as np

from hpcchain.jit.decorators import inlined
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
    """Return what was left of the bead's last contact when the segment in row i began (`contact.tc_model`)."""
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
