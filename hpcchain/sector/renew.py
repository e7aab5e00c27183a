"""Give a molecule a new segment from the state in the workspace, then lists, searches and its place in the queue."""

import math

import numpy as np

from hpcchain.contact.segment import series_order, set_order, set_start, start_depth, struck
from hpcchain.kernel import apart, inlined, kernel
from hpcchain.propagators.lanes import COEF, ROW, TILE
from hpcchain.propagators.molecule import (
    acceleration_bound,
    expand,
    expand_two,
    iterations,
    load_start,
    note_iterations,
    refresh,
    series_error,
    store,
)
from hpcchain.propagators.steppers import steps_figures, to_grid
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.layout import (
    AT_END,
    BALLISTIC,
    BOOK_BEADS,
    BOOK_SERIAL,
    BY_SCRIPT,
    CAP,
    COLLOCATION,
    FASTEST,
    FIRST_STEP,
    GHOST,
    IDLE,
    MOL_BEADS,
    MOL_FIRST,
    MOL_GHOST,
    MOL_GRAPH,
    MOL_IMAGE,
    MOL_MATCH,
    MOL_NUMBER,
    MOL_SCRIPT,
    MOL_SOLVER,
    MOL_TABLE,
    MOL_TILES,
    MOST_MEMBERS,
    NO_EVENT,
    ORIGIN,
    OWNED,
    ROD_STEPPER,
    SEGMENT_END,
    SIZE,
    STEP_AT,
    STEPPER,
    TICK,
    TOLERANCE_AT,
    UNMADE,
    VACANT,
)
from hpcchain.sector.lists import relist
from hpcchain.sector.prefetch import ask_for_listed, ask_for_next
from hpcchain.sector.queue import queue_update
from hpcchain.sector.record import ALONE
from hpcchain.sector.search import list_expiry, search_bead
from hpcchain.sector.swept import sweep

LONGEST = 2.0**20
REBASE = 0.25
SOON = 0.5


@kernel
def rebase(s, o, m):
    """Shift a molecule by whole box lengths when its first bead has left the box by a quarter of it.

    Shifting rounds the coordinates, so the bond vectors are made anew: a restart finds only the shifted ones.
    """
    moved = False
    for c in range(3):
        size = s.par[SIZE + c]
        if size == 0.0:
            continue
        away = (s.work[o + COEF + 8 * c] - s.par[ORIGIN + c]) / size
        if away < -REBASE or away >= 1.0 + REBASE:
            whole = math.floor(away)
            s.mol[m, MOL_IMAGE + c] += np.int64(whole)
            moved = True
            for b in range(s.mol[m, MOL_BEADS]):
                s.work[o + (b >> 3) * TILE + (b & 7) + COEF + 8 * c] -= whole * size
    if moved:
        refresh(s.work, o, s.mol, m, s.graph)


@apart
def new_segment(s, o, m, ticks, rest, serial, depth):
    """Write molecule m's new segment from the workspace at offset o, starting at (ticks, rest).

    `serial` is a number that no other segment has. Struck beads must be marked in `seg` by the caller beforehand. The
    length asked for follows the molecule's own running mean of realised lengths (NUMERICS 9), so it is a function of
    its history alone.
    """
    rebase(s, o, m)
    h = _asked_length(s, m, ticks, rest)
    tolerance = s.table[s.mol[m, MOL_TABLE] + TOLERANCE_AT]
    order, length = expand(s.work, o, s.mol, m, s.graph, h, tolerance, s.stepper)
    if s.mol[m, MOL_SOLVER] >= COLLOCATION:
        s.count[16] += length < h
        note_iterations(s.count, 17, iterations(s.work, o, s.mol, m, s.graph, s.stepper))
    _write_segment(s, o, m, ticks, rest, serial, depth, order, length)


@apart
def two_segments(s, o, m, p, k, ticks, rest, depth):
    """Write new segments of two linear chains, m from the workspace at o and k from that at p (`new_segment`)."""
    rebase(s, o, m)
    rebase(s, p, k)
    order, h, number, g = expand_two(
        s.work, o, s.mol, m, _asked_length(s, m, ticks, rest), s.table[s.mol[m, MOL_TABLE] + TOLERANCE_AT],
        p, k, _asked_length(s, k, ticks, rest), s.table[s.mol[k, MOL_TABLE] + TOLERANCE_AT],
    )  # fmt: skip
    s.book[BOOK_SERIAL] += 2
    serial = s.book[BOOK_SERIAL]
    _write_segment(s, o, m, ticks, rest, serial - 1, depth, order, h)
    _write_segment(s, p, k, ticks, rest, serial, depth, number, g)


@inlined
def _asked_length(s, m, ticks, rest):
    """Return how long molecule m's new segment is to be, if its series lasts [time]."""
    solver = s.mol[m, MOL_SOLVER]
    limits = s.mol[m, MOL_TABLE]
    if solver == BALLISTIC:
        return LONGEST * s.par[TICK]
    if solver == COLLOCATION:
        return s.table[limits + STEP_AT]
    if solver == STEPPER or solver == ROD_STEPPER:
        return to_grid(ticks, rest, s.par[TICK], s.table[limits + STEP_AT])
    h = s.pace[m, 0]
    if h <= 0.0:
        h = s.par[FIRST_STEP]
    return min(h, s.table[limits + STEP_AT])


@apart
def _write_segment(s, o, m, ticks, rest, serial, depth, order, h):
    """Copy a segment's series from the workspace at o, write down its start, bounds and end."""
    first = s.mol[m, MOL_FIRST]
    n = s.mol[m, MOL_BEADS]
    solver = s.mol[m, MOL_SOLVER]
    if solver != BALLISTIC:
        store(s.work, o, s.mol, m, s.series, order)
    s.pace[m, 4] = series_error(s.work, o, s.mol, m, s.graph, order, h, s.stepper)
    if solver == STEPPER:
        s.pace[m, 4], s.pace[m, 7] = steps_figures(s.work, o, s.mol[m, MOL_TILES], s.graph, s.mol[m, MOL_GRAPH])
    fastest = 0.0
    for b in range(n):
        p = o + (b >> 3) * TILE + (b & 7) + COEF
        i = first + b
        s.line[i, 0] = s.work[p]
        s.line[i, 1] = s.work[p + 8]
        s.line[i, 2] = s.work[p + 16]
        u = s.work[p + ROW]
        v = s.work[p + ROW + 8]
        w = s.work[p + ROW + 16]
        s.line[i, 3] = u
        s.line[i, 4] = v
        s.line[i, 5] = w
        s.line[i, 6] = ticks
        s.line[i, 7] = rest
        bend = acceleration_bound(s.work, o, b) if solver != BALLISTIC else 0.0
        speed = math.sqrt(u * u + v * v + w * w) + bend * h
        s.span[i, 0] = bend
        s.span[i, 1] = speed
        fastest = max(fastest, speed)
        s.seg[i, 0] = serial
        set_start(s.seg, i, depth, struck(s.seg, i))
        set_order(s.seg, i, order)
    s.pace[m, 5] = fastest
    if fastest > s.par[FASTEST]:
        s.par[FASTEST] = fastest
    if fastest * h > s.par[CAP]:
        h = s.par[CAP] / fastest
    for i in range(first, first + n):
        s.span[i, 3] = h
    end_ticks, end_rest = after(ticks, rest, h, s.par[TICK])
    s.pace[m, 1] = end_ticks
    s.pace[m, 2] = end_rest
    s.pace[m, 3] = h
    if first < s.book[BOOK_BEADS]:
        sweep(s, m)
    s.count[9] += order
    s.count[10] += 1
    s.count[13] += n


@kernel
def complete(s, h):
    """Make the series of the segment in molecule row h, which so far has only its start and bounds.

    The last room of the workspace is used, which no member of an event's group has.
    """
    o = np.int64(len(s.work) // (MOST_MEMBERS + 1) * MOST_MEMBERS)
    first = s.mol[h, MOL_FIRST]
    load_start(s.work, o, s.mol, h, s.table, s.graph, s.line, s.stepper)
    refresh(s.work, o, s.mol, h, s.graph)
    new_segment(s, o, h, s.line[first, 6], s.line[first, 7], s.seg[first, 0], start_depth(s.seg, first))


@inlined
def complete_one(s, h):
    """Make the series of the segment in molecule row h if it has none."""
    if series_order(s.seg, s.mol[h, MOL_FIRST]) == UNMADE:
        complete(s, h)


@kernel
def renew_lists(s, m):
    """Make new lists for those beads of a new segment that would soon leave their shell; 0 or an error.

    Segments last half as long as asked for (`learn_pace`): later than that a list is renewed when it comes to it.
    """
    first = s.mol[m, MOL_FIRST]
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        s.centre[i, 3] = -1.0
        if s.row[i, 3] == IDLE:
            continue
        if s.span[i, 0] != 0.0 and list_expiry(s, i) < SOON * s.span[i, 3]:
            s.count[4] += 1
            status = relist(s, i, s.line[i, 0], s.line[i, 1], s.line[i, 2], 0.0)
            if status:
                return status
    return 0


@kernel
def settle(s, m, base):
    """Put the earliest of a molecule's bead events and its segment's end into the queue.

    The end of a ghost that has followed its script so far is what the script has next; where it ends the ghost waits
    for its owner, and where an owned molecule takes part (ALONE in `message`) for what is done here. Of a contact and
    a script with one key the contact is first (`tie_less`): it moves both molecules.
    """
    start = s.mol[m, MOL_FIRST]
    sort = s.mol[m, MOL_GHOST]
    place = np.int64(-1)
    if sort != OWNED and s.mol[m, MOL_MATCH] == 1 and s.mol[m, MOL_NUMBER] < s.mol[m, MOL_SCRIPT]:
        place = s.script_at[m, s.mol[m, MOL_NUMBER] + 1]
    if place >= 0 and s.script[place + ALONE] != 0.0:
        ticks = s.script[place]
        rest = s.script[place + 1]
        depth = np.int64(s.script[place + 2])
        lower = np.int64(s.script[place + 3])
        higher = np.int64(s.script[place + 4])
        holder = BY_SCRIPT
    else:
        waits = sort == GHOST or sort == VACANT
        ticks = np.inf if waits else s.pace[m, 1]
        rest = np.inf if waits else s.pace[m, 2]
        depth = np.int64(0)
        lower = s.what[start, 3]
        higher = np.int64(SEGMENT_END)
        holder = AT_END
    for i in range(start, start + s.mol[m, MOL_BEADS]):
        if earlier(ticks, rest, s.when[i, 0], s.when[i, 1]):
            continue
        partner = s.what[i, 0]
        if partner == NO_EVENT:
            continue
        a = s.what[i, 3]
        b = s.what[partner, 3] if partner >= 0 else partner
        lo = min(a, b) if partner >= 0 else a
        hi = max(a, b) if partner >= 0 else b
        d = s.what[i, 2]
        if ticks == s.when[i, 0] and rest == s.when[i, 1]:
            same = holder != BY_SCRIPT and hi == higher
            if d > depth or (d == depth and (lo > lower or (lo == lower and (hi > higher or same)))):
                continue
        ticks = s.when[i, 0]
        rest = s.when[i, 1]
        depth = d
        lower = lo
        higher = hi
        holder = i
    s.first[m, 0] = ticks
    s.first[m, 1] = rest
    s.tag[m, 0] = depth
    s.tag[m, 1] = lower
    s.tag[m, 2] = higher
    s.tag[m, 3] = holder
    queue_update(s.key, s.winner, s.first, s.tag, m, (ticks - base) * s.par[TICK] + rest)


@kernel
def search_range(s, first, n):
    """Search every bead of a range for its earliest event."""
    for i in range(first, first + n):
        if s.row[i, 3] == IDLE:
            continue
        if i + 1 < first + n:
            ask_for_listed(s, i + 1)
        lacking = np.int64(0)
        while lacking >= 0:
            lacking = search_bead(s, i, s.stepper)
            if lacking >= 0:
                complete(s, lacking)
        ask_for_next(s)


@inlined
def search_molecule(s, m):
    """Search every bead of molecule m for its earliest event."""
    search_range(s, s.mol[m, MOL_FIRST], s.mol[m, MOL_BEADS])
