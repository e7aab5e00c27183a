"""Room for series in a sector without windows: as much as the orders of the series at hand ask for.

A molecule of n beads whose series have order k has a block of n curve(k) floats (`workspace.curve`). When its next
series have another order it lets its block go and takes another: one of that length that was let go of, else the rest
of `series`, else a part of a longer one. Blocks of one length that are free form a chain: `free_series` has the first
by the number of cache lines, and the first float of each tells the next.

When the rest of `series` may not do for one more event, `loop.advance` returns, and all blocks are moved together in
another array (`Core.pack_series`). In windows, where closed segments and ghosts have no series as yet, and where
packing would save nothing, each molecule has room for the highest order: `free_series` has no entries then.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import series_order, set_series

LINE = 8  # floats
PADDING = LINE  # behind all blocks: points are read four floats at a time


@inlined
def reserve(s, m, order):
    """Give molecule m a block of `series` for series of that order, in place of the one that it has."""
    if len(s.free_series) > 0:
        _reserve(s, m, order)


@kernel
def _reserve(s, m, order):
    beads = s.mol[m, L.MOL_BEADS]
    needed = beads * (W.curve(order) // LINE)
    begin = s.mol[m, L.MOL_SERIES]
    if begin >= 0:
        had = beads * (W.curve(s.mol[m, L.MOL_ORDER]) // LINE)
        if had == needed:
            return
        _let_go(s, begin, had)
    s.mol[m, L.MOL_SERIES] = _take(s, needed, beads)


@inlined
def _let_go(s, begin, lines):
    """Put a block on the chain of free ones of its length."""
    s.series[begin] = s.free_series[lines]
    s.free_series[lines] = begin


@kernel
def _take(s, lines, beads):
    """Return where a block of so many cache lines begins, for a molecule of so many beads."""
    if s.free_series[lines] >= 0:
        return _first_free(s, lines)
    end = s.scalars[L.SCALAR_SERIES_END]
    spared = event_floats(len(s.free_series))
    if end + LINE * lines + spared > len(s.series) - PADDING:
        for longer in range(lines + beads, len(s.free_series), beads):
            if s.free_series[longer] >= 0:
                begin = _first_free(s, longer)
                _let_go(s, begin + LINE * lines, longer - lines)
                return begin
        s.scalars[L.SCALAR_OUT_OF_ROWS] = 1
    s.scalars[L.SCALAR_SERIES_END] = end + LINE * lines
    return end


@inlined
def _first_free(s, lines):
    """Take the first block off the chain of free ones of a length."""
    begin = s.free_series[lines]
    s.free_series[lines] = np.int64(s.series[begin])
    return begin


@inlined
def event_floats(entries):
    """Return how many floats one event's molecules may take at most, from the number of `free_series`'s entries."""
    return L.MOST_MEMBERS * LINE * (entries - 1)


@kernel
def series_floats(s):
    """Return how many floats the present series take."""
    total = np.int64(0)
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
            total += s.mol[m, L.MOL_BEADS] * W.curve(s.mol[m, L.MOL_ORDER])
    return total


@kernel
def move_series(s, series, at, highest):
    """Copy all series to another array, one after the other.

    Parameters
    ----------
    s : Sector
    series : float64 array
        Long enough.
    at : int
        Where in it the first one begins.
    highest : bool
        Whether each is to have room for the highest order.
    """
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
            continue
        size = W.curve(s.mol[m, L.MOL_ORDER])
        first = s.mol[m, L.MOL_FIRST]
        beads = s.mol[m, L.MOL_BEADS]
        begin = s.mol[m, L.MOL_SERIES]
        for k in range(beads * size):
            series[at + k] = s.series[begin + k]
        for b in range(beads):
            set_series(s.segment, first + b, at + b * size, series_order(s.segment, first + b))
        s.mol[m, L.MOL_SERIES] = at
        at += beads * (W.CURVE if highest else size)
    s.scalars[L.SCALAR_SERIES_END] = at
    s.scalars[L.SCALAR_OUT_OF_ROWS] = 0
