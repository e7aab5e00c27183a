"""Search the beads of molecules that have new segments."""

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import tied_with
from hpcchain.sector.prefetch import prefetch_listed, prefetch_next, prefetch_series
from hpcchain.sector.search.earliest_event import (
    candidates,
    meet_candidates,
    search_alone,
    search_awaited,
    search_by_horizon,
)

AHEAD = 2  # beads, whose neighbours are prefetched


@kernel
def search_one(s, i):
    """Search bead i for its earliest event. Between its two steps the segments that it may meet come to the cache."""
    if s.extended is not None:
        if s.par[L.STEP_POTENTIALS] != 0.0:
            search_by_horizon(s, i)
            prefetch_next(s)
            return
    number = candidates(s, i, np.int64(0))
    prefetch_next(s)
    meet_candidates(s, i, np.int64(0), number)


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
    """Search the beads of `search_beads` that its first pass has left.

    What they may touch are the first entries of `found`, as many as that says: how long their segments last, and where
    their series begin, is written down with their molecules. Series are read from their ends on.
    """
    prefetch_series(s, found)
    for i in range(first, first + n):
        if tied_with(s.next_event, i) == L.AWAITED:
            search_awaited(s, i)
