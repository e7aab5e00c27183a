"""Idle beads: ghosts' beads that can touch no owned one while all molecules stay in their rooms.

They move with their molecules but are in no cell and on no list, and nobody searches them: of the ghosts' beads most
are so, since a ghost is a whole molecule of which a bead or two come near. Who owns the ghost sees to its rooms for
those who hold it; for its idle beads each rank sees to rooms of its own.
"""

from hpcchain.contact.pair import curve
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import span as time_span
from hpcchain.sector.search.neighbour_lists import relist
from hpcchain.sector.segments.new_segment import complete_one, search_range, settle
from hpcchain.sector.search.broad_phase import sweep
from hpcchain.sector.speculation.window import move_home

INFINITE = float("inf")


@kernel
def lay(s, beads):
    """Let beads that are on no list be idle."""
    for k in range(len(beads)):
        i = beads[k]
        s.row[i, L.OWNERSHIP] = L.IDLE
        s.when[i, L.EVENT_TICKS] = INFINITE
        s.when[i, L.EVENT_REM] = INFINITE
        s.what[i, L.PARTNER] = L.NO_EVENT
        s.mol[s.seg[i, L.MOLECULE], L.MOL_IDLE] += 1


@kernel
def wake(s, beads, ticks, rest, base):
    """List and search idle beads from a time between windows on; 0 or an error.

    Parameters
    ----------
    s : Sector
    beads : (n,) int64 array
    ticks, rest : float
        The present time.
    base : float
        Ticks that queue keys are relative to.
    """
    s.par[L.NOW] = ticks
    s.par[L.NOW_REM] = rest
    for k in range(len(beads)):
        s.row[beads[k], L.OWNERSHIP] = L.GHOST
        s.mol[s.seg[beads[k], L.MOLECULE], L.MOL_IDLE] -= 1
    for k in range(len(beads)):
        i = beads[k]
        m = s.seg[i, L.MOLECULE]
        complete_one(s, m)
        sweep(s, m)
        dt = time_span(ticks, rest, s.line[i, L.START_TICKS], s.line[i, L.START_REM], s.par[L.TICK])
        x, y, z, u, v, w = curve(s.line, s.seg, s.series, i, dt)
        status = relist(s, i, x, y, z, dt)
        if status:
            return status
    for k in range(len(beads)):
        search_range(s, beads[k], 1)
        settle(s, s.seg[beads[k], L.MOLECULE], base)
    return 0


@kernel
def settle_down(s, rows, ticks, rest, home):
    """Give the ghosts in these molecule rows new rooms, about places near where they are at a time.

    These are on straight flight, which takes no series: how far the beads may be from there counts as way done.
    """
    for k in range(len(rows)):
        m = rows[k]
        off = 0.0
        for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
            dt = time_span(ticks, rest, s.line[i, L.START_TICKS], s.line[i, L.START_REM], s.par[L.TICK])
            for c in range(3):
                home[i, c] = s.line[i, c] + s.line[i, L.VX + c] * dt
            off = max(off, 0.5 * s.span[i, L.ACCELERATION] * dt * dt)
        move_home(s, m, ticks, rest)
        s.inside[m, L.IN_FAR] = off + s.pace[m, L.SERIES_ERROR]
        s.inside[m, L.IN_NOW] = s.inside[m, L.IN_FAR]
