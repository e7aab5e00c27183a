"""Idle beads: ghosts' beads that can touch no owned one while all molecules stay in their rooms.

They move with their molecules but are in no cell and on no list, and nobody searches them: of the ghosts' beads most
are so, since a ghost is a whole molecule of which a bead or two come near. Who owns the ghost sees to its rooms for
those who hold it; for its idle beads each rank sees to rooms of its own.
"""

from hpcchain.contact.pair import curve
from hpcchain.kernel import kernel
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.layout import (
    GHOST,
    IDLE,
    IN_FAR,
    IN_NOW,
    MOL_BEADS,
    MOL_FIRST,
    MOL_IDLE,
    NO_EVENT,
    NOW,
    TICK,
)
from hpcchain.sector.lists import relist
from hpcchain.sector.renew import complete_one, search_range, settle
from hpcchain.sector.swept import sweep
from hpcchain.sector.window import move_home

INFINITE = float("inf")


@kernel
def lay(s, beads):
    """Let beads that are on no list be idle."""
    for k in range(len(beads)):
        i = beads[k]
        s.row[i, 3] = IDLE
        s.when[i, 0] = INFINITE
        s.when[i, 1] = INFINITE
        s.what[i, 0] = NO_EVENT
        s.mol[s.seg[i, 2], MOL_IDLE] += 1


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
    s.par[NOW] = ticks
    s.par[NOW + 1] = rest
    for k in range(len(beads)):
        s.row[beads[k], 3] = GHOST
        s.mol[s.seg[beads[k], 2], MOL_IDLE] -= 1
    for k in range(len(beads)):
        i = beads[k]
        m = s.seg[i, 2]
        complete_one(s, m)
        sweep(s, m)
        dt = time_span(ticks, rest, s.line[i, 6], s.line[i, 7], s.par[TICK])
        x, y, z, u, v, w = curve(s.line, s.seg, s.series, i, dt)
        status = relist(s, i, x, y, z, dt)
        if status:
            return status
    for k in range(len(beads)):
        search_range(s, beads[k], 1)
        settle(s, s.seg[beads[k], 2], base)
    return 0


@kernel
def settle_down(s, rows, ticks, rest, home):
    """Give the ghosts in these molecule rows new rooms, about places near where they are at a time.

    These are on straight flight, which takes no series: how far the beads may be from there counts as way done.
    """
    for k in range(len(rows)):
        m = rows[k]
        off = 0.0
        for i in range(s.mol[m, MOL_FIRST], s.mol[m, MOL_FIRST] + s.mol[m, MOL_BEADS]):
            dt = time_span(ticks, rest, s.line[i, 6], s.line[i, 7], s.par[TICK])
            for c in range(3):
                home[i, c] = s.line[i, c] + s.line[i, 3 + c] * dt
            off = max(off, 0.5 * s.span[i, 0] * dt * dt)
        move_home(s, m, ticks, rest)
        s.inside[m, IN_FAR] = off + s.pace[m, 4]
        s.inside[m, IN_NOW] = s.inside[m, IN_FAR]
