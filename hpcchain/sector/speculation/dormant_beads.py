"""Dormant beads: ghosts' beads that can touch no owned one while all molecules stay in their skins.

They move with their molecules but are in no cell, on no list, and in no search. Most beads of ghosts are dormant, since
a ghost is a whole molecule of which a bead or two come near. The owner of a ghost watches its skins for the ranks that
hold it. Dormant beads have further skins, which each rank watches itself.
"""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import set_event
from hpcchain.sector.search.broad_phase import sweep
from hpcchain.sector.segments.list_renewal import renew_list
from hpcchain.sector.segments.new_segment import schedule_molecule
from hpcchain.sector.segments.searches import search_one

INFINITE = float("inf")


@kernel
def deactivate(s, beads):
    """Let beads that are on no list be dormant."""
    for k in range(len(beads)):
        i = beads[k]
        s.lists[i, L.OWNERSHIP] = L.DORMANT
        s.event_time[i, L.EVENT_TICKS] = INFINITE
        s.event_time[i, L.EVENT_REM] = INFINITE
        set_event(s.next_event, i, np.int64(L.NO_EVENT), np.int64(0), np.int64(0), np.int64(0))
        s.window_molecule[s.segment[i, L.MOLECULE], L.WINDOW_DORMANT] += 1


@kernel
def activate(s, beads, ticks, remainder, base):
    """List and search dormant beads from a time between windows on; 0 or an error.

    Parameters
    ----------
    s : Sector
    beads : (n,) int64 array
    ticks, remainder : float
        The present time.
    base : float
        Ticks that queue keys are relative to.
    """
    s.par[L.NOW] = ticks
    s.par[L.NOW_REM] = remainder
    for k in range(len(beads)):
        s.lists[beads[k], L.OWNERSHIP] = L.GHOST
        s.window_molecule[s.segment[beads[k], L.MOLECULE], L.WINDOW_DORMANT] -= 1
    for k in range(len(beads)):
        i = beads[k]
        m = s.segment[i, L.MOLECULE]
        sweep(s, m)
        dt = since_start(s, i, ticks, remainder)
        status = renew_list(s, i, dt)
        if status:
            return status
    for k in range(len(beads)):
        search_one(s, beads[k])
        schedule_molecule(s, s.segment[beads[k], L.MOLECULE], base)
    return 0
