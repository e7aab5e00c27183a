"""The sector loop: take the earliest event, carry it out, and search again for whom it changed."""

import numpy as np
from numba import njit

from hpcchain.contact.pair import curve
from hpcchain.propagators.molecule import load, load_start, prepare, refresh
from hpcchain.sector.clockmath import earlier
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.collide import collide, learn_pace
from hpcchain.sector.layout import (
    MOL_BEADS,
    MOL_FIRST,
    MOST_TIES,
    RELIST,
    TICK,
)
from hpcchain.sector.lists import build_lists, relist
from hpcchain.sector.queue import queue_build
from hpcchain.sector.renew import new_segment, renew_lists, search_range, settle
from hpcchain.sector.search import search_bead

REACHED, PAUSED, LIST_FULL, LOG_FULL, STUCK, NOT_A_NUMBER = range(6)
MOST_DEPTH = 100000


@njit(cache=True)
def start(s):
    """Make first segments of all molecules from their start states in `line`.

    A segment is a function of its start state, so a restart makes the very segments that were interrupted.
    """
    par, mol = s.par, s.mol
    for m in range(len(mol)):
        first = mol[m, MOL_FIRST]
        ticks = s.line[first, 6]
        rest = s.line[first, 7]
        depth = s.seg[first, 1]
        load_start(s.work, 0, mol, m, s.table, s.graph, s.line)
        refresh(s.work, 0, mol, m, s.graph)
        new_segment(
            par, s.line, s.span, s.seg, mol, s.pace, s.graph, s.series, s.count, s.work, 0, m, ticks, rest,
            depth,
        )  # fmt: skip


@njit(cache=True)
def enlist(s):
    """Build all neighbour lists about the segments' starts; 0 or LIST_FULL (see `build_lists`)."""
    for i in range(len(s.line)):
        for c in range(3):
            s.centre[i, c] = s.line[i, c]
        s.centre[i, 3] = 0.0
    return build_lists(
        s.par, s.line, s.span, s.seg, s.centre, s.row, s.chain, s.neighbour, s.cells, s.head, s.mol, s.bonded,
        s.bond_row,
    )  # fmt: skip


@njit(cache=True)
def search_all(s, base):
    """Search every bead and build the queue."""
    for m in range(len(s.mol)):
        _search_molecule(s, m)
        _settle(s, m, base)
    queue_build(s.key, s.winner, s.first, s.tag, len(s.mol), base, s.par[TICK])


@njit(cache=True)
def _search_molecule(s, m):
    search_range(
        s.par, s.line, s.span, s.seg, s.when, s.what, s.centre, s.row, s.neighbour, s.series, s.count,
        s.mol[m, MOL_FIRST], s.mol[m, MOL_BEADS],
    )  # fmt: skip


@njit(cache=True)
def _settle(s, m, base):
    settle(s.par, s.seg, s.when, s.what, s.mol, s.pace, s.first, s.tag, s.key, s.winner, m, base)


@njit(cache=True)
def _lists(s, m):
    return renew_lists(
        s.par, s.line, s.span, s.seg, s.centre, s.row, s.chain, s.neighbour, s.cells, s.head, s.mol, s.bonded,
        s.bond_row, s.count, s.mol[m, MOL_FIRST], s.mol[m, MOL_BEADS],
    )  # fmt: skip


@njit(cache=True)
def _search_one(s, i):
    search_bead(
        s.par, s.line, s.span, s.seg, s.when, s.what, s.centre, s.row, s.neighbour, s.series, s.count, i
    )


@njit(cache=True)
def _end_segment(s, m, ticks, rest):
    """Start the next segment of a molecule that nothing has hit."""
    first = s.mol[m, MOL_FIRST]
    load(s.work, 0, s.mol, m, s.table, s.graph, s.series, s.line, s.pace[m, 3])
    prepare(s.work, 0, s.mol, m, s.graph)
    learn_pace(s.pace, m, s.pace[m, 3])
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        s.seg[i, 2] = 0
    new_segment(
        s.par, s.line, s.span, s.seg, s.mol, s.pace, s.graph, s.series, s.count, s.work, 0, m, ticks,
        rest, 0,
    )  # fmt: skip


@njit(cache=True)
def _renew_list(s, i, ticks, rest):
    """Make a bead's list anew where it is now; no segment changes."""
    dt = time_span(ticks, rest, s.line[i, 6], s.line[i, 7], s.par[TICK])
    x, y, z, u, v, w = curve(s.line, s.seg, s.series, i, dt)
    s.count[4] += 1
    return relist(
        s.par, s.line, s.span, s.seg, s.centre, s.row, s.chain, s.neighbour, s.cells, s.head, s.mol, s.bonded,
        s.bond_row, i, x, y, z, dt,
    )  # fmt: skip


@njit(cache=True)
def advance(s, until_ticks, until_rest, base, most, log_rows):
    """Run events in order until a time, at most `most` of them.

    1. Take the least key of the queue; stop when it is beyond the given time.
    2. A list that expires is renewed, an event whose partner has moved on is searched again: no trace is left.
    3. The end of a segment starts the next one of that molecule; a contact that of both.
    4. New segments are listed and searched, and the molecules' places in the queue renewed.

    Parameters
    ----------
    s : Sector
    until_ticks, until_rest : float
        The time up to which (inclusive) events are carried out.
    base : float
        Ticks that queue keys are relative to.
    most : int
        Events after which to return, so that Python can look at signals.
    log_rows : int
        Capacity of the contact log, 0 for no log.

    Returns
    -------
    int
        REACHED, PAUSED (more to do), LIST_FULL (lists must be rebuilt with more room), LOG_FULL (log must be
        drained), STUCK (too many events at one instant), NOT_A_NUMBER.
    """
    contacts = np.empty((MOST_TIES, 4), dtype=np.int64)
    beads = np.empty((MOST_TIES, 2), dtype=np.int64)
    normals = np.empty((MOST_TIES, 3))
    growths = np.empty(MOST_TIES)
    matrix = np.empty((MOST_TIES, MOST_TIES))
    sizes = np.empty(MOST_TIES)
    for _ in range(most):
        m = s.winner[1]
        if m < 0:
            return REACHED
        ticks = s.first[m, 0]
        rest = s.first[m, 1]
        if not ticks < np.inf:
            return REACHED if ticks == np.inf else NOT_A_NUMBER
        if earlier(until_ticks, until_rest, ticks, rest):
            return REACHED
        holder = s.tag[m, 3]
        if holder < 0:
            s.count[2] += 1
            _end_segment(s, m, ticks, rest)
            if _lists(s, m):
                return LIST_FULL
            _search_molecule(s, m)
            _settle(s, m, base)
            continue
        partner = s.what[holder, 0]
        if partner == RELIST:
            if _renew_list(s, holder, ticks, rest):
                return LIST_FULL
            _search_one(s, holder)
            _settle(s, m, base)
            continue
        if partner >= 0 and s.seg[partner, 0] != s.what[holder, 1]:
            s.count[3] += 1
            _search_one(s, holder)
            _settle(s, m, base)
            continue
        if log_rows > 0 and s.count[12] + MOST_TIES > log_rows:
            return LOG_FULL
        if s.what[holder, 2] > MOST_DEPTH:
            s.count[11] = holder
            return STUCK
        other = collide(
            s.par, s.line, s.span, s.seg, s.when, s.what, s.row, s.neighbour, s.mol, s.pace, s.table, s.graph, s.series,
            s.work, s.kicks, s.bonded, s.bond_row, s.count, s.log, s.total, log_rows, holder, partner, ticks, rest,
            s.what[holder, 2], contacts, beads, normals, growths, matrix, sizes,
        )  # fmt: skip
        if _lists(s, m):
            return LIST_FULL
        if other >= 0 and other != m and _lists(s, other):
            return LIST_FULL
        _search_molecule(s, m)
        _settle(s, m, base)
        if other >= 0 and other != m:
            _search_molecule(s, other)
            _settle(s, other, base)
    return PAUSED


@njit(cache=True)
def frame(s, ticks, rest, position, velocity, image):
    """Write all beads' positions, velocities and image counts at one time, in local order."""
    for i in range(len(s.line)):
        m = s.seg[i, 3]
        dt = time_span(ticks, rest, s.line[i, 6], s.line[i, 7], s.par[TICK])
        x, y, z, u, v, w = curve(s.line, s.seg, s.series, i, dt)
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = u
        velocity[i, 1] = v
        velocity[i, 2] = w
        for c in range(3):
            image[i, c] = s.mol[m, 10 + c]
