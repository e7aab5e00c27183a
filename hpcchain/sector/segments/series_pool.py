"""Space for series in a sector without windows: as much as the orders of the series at hand need.

A molecule of n beads whose series have order k needs a block of n curve(k) floats (`workspace.curve`), in units of
four. When its next series need another number of units it lets its block go and takes another: one that was let go of
(`free_blocks`: `free_series` by the number of units) and is as long, or fits at most LONGER orders more, else
the rest of `series`, else a part of a longer one. How long its block is is in `series_units`. Which orders are
needed most changes from time to time: what is taken whole, if too long, can be let go of whole, while of one that
is cut a part too short for anybody is left over.

When the rest of `series` may not do for one more event, `loop.advance` returns, and all blocks are moved together, in
another array if that leaves too little space (`Core.pack_series`). In windows, where closed segments and ghosts have no
series as yet, and where packing would save nothing, each molecule has space for the highest order: `free_series` has no
entries then.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.id_table import first_free, let_go, part_of_longer

LONGER = 3
PADDING = W.UNIT  # behind all blocks: points are read four floats at a time


@inlined
def units_for(beads, order):
    """Return how many units a molecule of so many beads has with series of that order."""
    return (beads * W.curve(order) + W.UNIT - 1) // W.UNIT


@inlined
def reserve(s, m, order):
    """Give molecule m a block of `series` for series of that order, in place of the one that it has."""
    if len(s.free_series) > 0:
        _reserve(s, m, order)


@kernel
def _reserve(s, m, order):
    beads = s.mol[m, L.MOL_BEADS]
    needed = units_for(beads, order)
    begin = s.mol[m, L.MOL_SERIES]
    if begin >= 0:
        had = np.int64(s.series_units[m])
        if had == needed:
            return
        let_go(s.series, s.free_series, W.UNIT * begin, had)
    length = needed
    for higher in range(order, min(order + LONGER, W.KMAX) + 1):
        units = units_for(beads, higher)
        if s.free_series[units] >= 0:
            length = units
            break
    s.series_units[m] = length
    s.mol[m, L.MOL_SERIES] = _take(s, length) // W.UNIT


@kernel
def _take(s, units):
    """Return where a block of so many units begins."""
    if s.free_series[units] >= 0:
        return first_free(s.series, s.free_series, units)
    end = s.scalars[L.SCALAR_SERIES_END]
    if end + W.UNIT * units + event_floats(len(s.free_series)) > len(s.series) - PADDING:
        begin = part_of_longer(s.series, s.free_series, W.UNIT, units)
        if begin >= 0:
            return begin
        s.scalars[L.SCALAR_OUT_OF_ROWS] = 1
    s.scalars[L.SCALAR_SERIES_END] = end + W.UNIT * units
    return end


@inlined
def event_floats(entries):
    """Return how many floats one event's molecules may take at most, from the number of `free_series`'s entries."""
    return L.MOST_MEMBERS * W.UNIT * (entries - 1)


@kernel
def series_floats(s):
    """Return how many floats the present series take."""
    total = np.int64(0)
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
            total += W.UNIT * units_for(s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_ORDER])
    return total


@kernel
def close_gaps(s, sequence, at):
    """Move all series together within their array, from index `at` on, in the order of where they are: `sequence`."""
    for k in range(len(sequence)):
        m = sequence[k]
        begin = W.UNIT * s.mol[m, L.MOL_SERIES]
        units = units_for(s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_ORDER])
        s.series_units[m] = units
        size = W.UNIT * units
        if begin != at:
            for x in range(size):
                s.series[at + x] = s.series[begin + x]
            s.mol[m, L.MOL_SERIES] = at // W.UNIT
        at += size
    s.scalars[L.SCALAR_SERIES_END] = at
    s.scalars[L.SCALAR_OUT_OF_ROWS] = 0


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
        Whether each is to have space for the highest order.
    """
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
            continue
        size = W.curve(s.mol[m, L.MOL_ORDER])
        beads = s.mol[m, L.MOL_BEADS]
        begin = W.UNIT * s.mol[m, L.MOL_SERIES]
        for k in range(beads * size):
            series[at + k] = s.series[begin + k]
        s.mol[m, L.MOL_SERIES] = at // W.UNIT
        s.series_units[m] = units_for(beads, s.mol[m, L.MOL_ORDER])
        at += beads * W.CURVE if highest else W.UNIT * s.series_units[m]
    s.scalars[L.SCALAR_SERIES_END] = at
    s.scalars[L.SCALAR_OUT_OF_ROWS] = 0
