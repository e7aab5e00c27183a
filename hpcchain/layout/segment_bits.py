"""What is kept of a bead's segment beside its start and bounds: four integers that share the rest of their cache lines.

The second has whether the event that began the segment struck the bead, that event's depth, and what was left of the
duration of the bead's last contact; the fourth where the bead's coefficients begin in `series` and the order of the
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
    return segment[i, L.START_MARKS] >> START_BITS


@inlined
def set_in_contact(segment, i, left):
    """Note what is left of the bead's last contact when the segment in row i begins."""
    segment[i, L.START_MARKS] = (segment[i, L.START_MARKS] & STARTS) | (left << START_BITS)


def packed_starts(depth: np.ndarray, was_struck: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return `segment`'s second column, (n,) int64, of (n,) arrays of depths, whether struck, what is left."""
    return (left.astype(np.int64) << START_BITS) | (2 * (depth.astype(np.int64) + 1) + was_struck.astype(np.int64))


def unpacked_starts(column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return depths (int32), whether struck (bool) and what is left (int32) of rows of `segment`'s second column."""
    depth = (column & STARTS) >> 1
    return (depth - 1).astype(np.int32), (column & 1).astype(bool), (column >> START_BITS).astype(np.int32)


@inlined
def series_begin(segment, i):
    """Return where in `series` the coefficients of the segment in row i begin."""
    return segment[i, L.SERIES] >> BITS


@inlined
def series_order(segment, i):
    """Return the order of the polynomial of the segment in row i."""
    return (segment[i, L.SERIES] & (ORDERS - 1)) - 1


@inlined
def set_order(segment, i, order):
    """Note the order of the polynomial of the segment in row i."""
    segment[i, L.SERIES] = (segment[i, L.SERIES] & -ORDERS) | (order + 1)


@inlined
def set_series(segment, i, begin, order):
    """Note where the coefficients of the segment in row i are, and the order of the polynomial."""
    segment[i, L.SERIES] = ORDERS * begin + (order + 1)
