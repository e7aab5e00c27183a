"""Give a molecule a new segment from the state in the workspace, then lists, searches and its place in the queue."""

import math

import numpy as np

from hpcchain.kernel import inlined, kernel
from hpcchain.propagators.lanes import COEF, ROW, TILE
from hpcchain.propagators.molecule import acceleration_bound, expand, load_start, refresh, series_error, store
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.layout import (
    AT_END,
    BALLISTIC,
    BY_SCRIPT,
    CAP,
    COLLOCATION,
    FIRST_STEP,
    GHOST,
    MAX_STEP,
    MOL_BEADS,
    MOL_FIRST,
    MOL_GHOST,
    MOL_IMAGE,
    MOL_MATCH,
    MOL_NUMBER,
    MOL_SCRIPT,
    MOL_SOLVER,
    MOST_MEMBERS,
    NO_EVENT,
    ORIGIN,
    OWNED,
    RESOLVE,
    SEGMENT_END,
    SIZE,
    TICK,
    TOLERANCE,
    UNMADE,
    VACANT,
)
from hpcchain.sector.lists import relist
from hpcchain.sector.queue import queue_update
from hpcchain.sector.search import list_expiry, search_bead

LONGEST = 2.0**20
REBASE = 0.25


@kernel
def rebase(par, work, o, mol, m, graph):
    """Shift a molecule by whole box lengths when its first bead has left the box by a quarter of it.

    Shifting rounds the coordinates, so the bond vectors are made anew: a restart finds only the shifted ones.
    """
    moved = False
    for c in range(3):
        size = par[SIZE + c]
        if size == 0.0:
            continue
        away = (work[o + COEF + 8 * c] - par[ORIGIN + c]) / size
        if away < -REBASE or away >= 1.0 + REBASE:
            whole = math.floor(away)
            mol[m, MOL_IMAGE + c] += np.int64(whole)
            moved = True
            for b in range(mol[m, MOL_BEADS]):
                work[o + (b >> 3) * TILE + (b & 7) + COEF + 8 * c] -= whole * size
    if moved:
        refresh(work, o, mol, m, graph)


@kernel
def new_segment(
    par, line, span, seg, mol, pace, graph, series, count, work, o, m, ticks, rest, serial, depth
):
    """Write molecule m's new segment from the workspace at offset o, starting at (ticks, rest).

    `serial` is a number that no other segment has. Struck beads must be marked in `seg` by the caller beforehand. The
    length asked for follows the molecule's own running mean of realised lengths (NUMERICS 9), so it is a function of
    its history alone.
    """
    rebase(par, work, o, mol, m, graph)
    first = mol[m, MOL_FIRST]
    n = mol[m, MOL_BEADS]
    solver = mol[m, MOL_SOLVER]
    if solver == BALLISTIC:
        h = LONGEST * par[TICK]
    elif solver == COLLOCATION:
        h = par[MAX_STEP]
    else:
        h = pace[m, 0]
        if h <= 0.0:
            h = par[FIRST_STEP]
        h = min(h, par[MAX_STEP])
    order, h = expand(work, o, mol, m, graph, h, par[TOLERANCE])
    if solver != BALLISTIC:
        store(work, o, mol, m, series, order)
    pace[m, 4] = series_error(work, o, n, order, h) if solver == COLLOCATION else 0.0
    fastest = 0.0
    for b in range(n):
        p = o + (b >> 3) * TILE + (b & 7) + COEF
        i = first + b
        line[i, 0] = work[p]
        line[i, 1] = work[p + 8]
        line[i, 2] = work[p + 16]
        u = work[p + ROW]
        v = work[p + ROW + 8]
        w = work[p + ROW + 16]
        line[i, 3] = u
        line[i, 4] = v
        line[i, 5] = w
        line[i, 6] = ticks
        line[i, 7] = rest
        bend = acceleration_bound(work, o, b) if solver != BALLISTIC else 0.0
        speed = math.sqrt(u * u + v * v + w * w) + bend * h
        span[i, 0] = bend
        span[i, 1] = speed
        fastest = max(fastest, speed)
        seg[i, 0] = serial
        seg[i, 1] = depth
        seg[i, 5] = order
    if fastest * h > par[CAP]:
        h = par[CAP] / fastest
    for i in range(first, first + n):
        span[i, 3] = h
    end_ticks, end_rest = after(ticks, rest, h, par[TICK])
    pace[m, 1] = end_ticks
    pace[m, 2] = end_rest
    pace[m, 3] = h
    count[9] += order
    count[10] += 1
    count[13] += n


@kernel
def complete(par, line, span, seg, series, count, make, h):
    """Make the series of the segment in molecule row h, which so far has only its start and bounds.

    `make` is (mol, table, graph, work, pace) of the sector; the last room of the workspace is used, which no member of
    an event's group has.
    """
    mol, table, graph, work, pace = make
    o = np.int64(len(work) // (MOST_MEMBERS + 1) * MOST_MEMBERS)
    first = mol[h, MOL_FIRST]
    load_start(work, o, mol, h, table, graph, line)
    refresh(work, o, mol, h, graph)
    new_segment(
        par, line, span, seg, mol, pace, graph, series, count, work, o, h, line[first, 6], line[first, 7],
        seg[first, 0], seg[first, 1],
    )  # fmt: skip


@inlined
def complete_one(s, h):
    """Make the series of the segment in molecule row h if it has none."""
    if s.seg[s.mol[h, MOL_FIRST], 5] == UNMADE:
        make = (s.mol, s.table, s.graph, s.work, s.pace)
        complete(s.par, s.line, s.span, s.seg, s.series, s.count, make, h)


@kernel
def renew_lists(s, m):
    """Make new lists for those beads of a new segment that would leave their shell during it; 0 or an error."""
    first = s.mol[m, MOL_FIRST]
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        s.centre[i, 3] = -1.0
        if s.span[i, 0] != 0.0 and list_expiry(s.par, s.line, s.span, s.centre, i) < s.span[i, 3]:
            s.count[4] += 1
            status = relist_at(s, i, s.line[i, 0], s.line[i, 1], s.line[i, 2], 0.0)
            if status:
                return status
    return 0


@kernel
def relist_at(s, i, x, y, z, t):
    """Make bead i's list anew about (x, y, z); see `relist`."""
    return relist(
        s.par, s.span, s.seg, s.centre, s.row, s.neighbour, s.cells, s.place, s.room, s.fill, s.where, s.mark,
        s.found, s.mol, s.bonded, s.bond_row, i, x, y, z, t, s.renewed, s.stale, s.book,
    )  # fmt: skip


@kernel
def settle(par, seg, when, what, mol, pace, first_event, tag, key, winner, script, script_at, m, base):
    """Put the earliest of a molecule's bead events and its segment's end into the queue.

    The end of a ghost that has followed its script so far is what the script has next; where it ends the ghost waits
    for its owner. Of a contact and a script with
    one key the contact is first (`tie_less`): it moves both molecules.
    """
    start = mol[m, MOL_FIRST]
    sort = mol[m, MOL_GHOST]
    if sort != OWNED and mol[m, MOL_MATCH] == 1 and mol[m, MOL_NUMBER] < mol[m, MOL_SCRIPT]:
        place = script_at[m, mol[m, MOL_NUMBER] + 1]
        ticks = script[place]
        rest = script[place + 1]
        depth = np.int64(script[place + 2])
        lower = np.int64(script[place + 3])
        higher = np.int64(script[place + 4])
        holder = BY_SCRIPT
    else:
        waits = sort == GHOST or sort == VACANT
        ticks = np.inf if waits else pace[m, 1]
        rest = np.inf if waits else pace[m, 2]
        depth = np.int64(0)
        lower = what[start, 3]
        higher = np.int64(SEGMENT_END)
        holder = AT_END
    for i in range(start, start + mol[m, MOL_BEADS]):
        if earlier(ticks, rest, when[i, 0], when[i, 1]):
            continue
        partner = what[i, 0]
        if partner == NO_EVENT:
            continue
        a = what[i, 3]
        b = what[partner, 3] if partner >= 0 else partner
        lo = min(a, b) if partner >= 0 else a
        hi = max(a, b) if partner >= 0 else b
        d = what[i, 2]
        if ticks == when[i, 0] and rest == when[i, 1]:
            same = holder != BY_SCRIPT and hi == higher
            if d > depth or (d == depth and (lo > lower or (lo == lower and (hi > higher or same)))):
                continue
        ticks = when[i, 0]
        rest = when[i, 1]
        depth = d
        lower = lo
        higher = hi
        holder = i
    first_event[m, 0] = ticks
    first_event[m, 1] = rest
    tag[m, 0] = depth
    tag[m, 1] = lower
    tag[m, 2] = higher
    tag[m, 3] = holder
    queue_update(key, winner, first_event, tag, m, (ticks - base) * par[TICK] + rest)


@kernel
def search_range(par, line, span, seg, when, what, centre, row, neighbour, series, count, bonded, bond_row, make,
                 first, n):  # fmt: skip
    """Search every bead of a range; `make` is (mol, table, graph, work, pace) of the sector."""
    mol = make[0]
    for i in range(first, first + n):
        lacking = np.int64(0)
        while lacking >= 0:
            if par[RESOLVE] != 0.0:
                lacking = search_bead(
                    par, line, span, seg, when, what, centre, row, neighbour, series, count, mol, bonded, bond_row, i,
                    make,
                )  # fmt: skip
            else:
                lacking = search_bead(
                    par, line, span, seg, when, what, centre, row, neighbour, series, count, mol, bonded, bond_row, i,
                    None,
                )  # fmt: skip
            if lacking >= 0:
                complete(par, line, span, seg, series, count, make, lacking)
