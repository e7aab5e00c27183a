"""Search the beads of molecules that have new segments, and make the series that this needs."""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import tied_with
from hpcchain.sector.prefetch import prefetch_listed, prefetch_next, prefetch_series
from hpcchain.sector.search.earliest_event import search_alone, search_awaited, search_bead
from hpcchain.sector.segments.new_segment import make_series

AHEAD = 2  # beads, whose neighbours are prefetched


@kernel
def search_one(s, i):
    """Search bead i for its earliest event."""
    _search(s, i)
    prefetch_next(s)


@inlined
def _search(s, i):
    """Search bead i for its earliest event, and make the series that this needs."""
    while True:  # with one call, whose code is inlined once
        lacking = search_bead(s, i)
        if lacking < 0:
            return
        make_series(s, lacking)


@kernel
def search_molecule(s, m):
    """Search every bead of molecule m for its earliest event."""
    search_beads(s, s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_BEADS])


@outlined
def search_beads(s, first, n):
    """Search n beads from `first` on, of one molecule or of parts of one, for their earliest events.

    Most beads of a molecule can touch nothing during its segment: a first pass finds them and is done with them. It
    also prefetches the segments of what the others may touch, which have come when the second pass reads them.
    """
    if s.stepper is not None or s.extended is not None or n == 1 or s.par[L.WALLS] != 0.0:
        for i in range(first, first + n):
            search_one(s, i)
        return
    found = np.int64(0)
    for i in range(first, first + min(AHEAD, n)):
        prefetch_listed(s, s.swept, i)
    for i in range(first, first + n):
        if i + AHEAD < first + n:
            prefetch_listed(s, s.swept, i + AHEAD)
        if found + s.lists[i, L.LIST_LENGTH] + 4 > len(s.found):
            _search_awaited(s, first, n, found)
            found = np.int64(0)
        found = search_alone(s, i, found)
    prefetch_next(s)
    _search_awaited(s, first, n, found)


@kernel
def _search_awaited(s, first, n, found):
    """Search the beads of `search_beads` that its first pass has left, and make the series that this needs.

    What they may touch are the first entries of `found`, as many as that says: how long their segments last, and where
    their series begin, is written down with their molecules. Series are read from their ends on.
    """
    prefetch_series(s, found)
    for i in range(first, first + n):
        if tied_with(s.next_event, i) == L.AWAITED:
            while True:
                lacking = search_awaited(s, i)
                if lacking < 0:
                    break
                make_series(s, lacking)
