"""Neighbour lists per bead, each about its own centre, kept symmetric; cells hold the centres.

Beads i and j are listed when their centres are nearer than their contact distance plus twice the shell's half
width. A list is valid while its bead stays within the half width of its centre, so two listed beads cannot meet
unseen. Lists leave no trace in the trajectory: renewing one changes no segment and no contact time.

In a window a bead may be set back to an earlier time, when its list had another centre. So until the window ends old
centres stay in the cells, beads listed about any of them stay listed (`clean_lists` tidies up), and two beads can meet
at no time that either can be set back to without being listed.

Centres are kept as 32-bit fractions of the box: differences wrap by themselves to the nearest image. On axes
without periodic images the wrap may list a pair that is far apart, never miss one.
"""

import numpy as np

from hpcchain.kernel import apart, inlined, kernel
from hpcchain.sector.fours import near_rows
from hpcchain.sector.layout import (
    BOOK_APART,
    BOOK_BEADS,
    BOOK_STALE,
    BOOK_WINDOWED,
    OWNED,
    PERIOD,
    SHELL,
    SMALL_BOX,
    UNEQUAL,
    VACANT,
    WIDEST,
)
from hpcchain.sector.prefetch import ask
from hpcchain.sector.search import joined
from hpcchain.sector.swept import HALF_TURN, TURN, fraction

FULL, CELL_FULL = 1, 2
ROUNDING = 1e-8
SOON = 8  # entries ahead for which memory is asked


@kernel
def place_centre(s, i, x, y, z):
    """Put bead i's centre into its cell; returns 0 or CELL_FULL. In a window its old entry stays.

    `place` (N, 4) int32 holds the centre's fractions and cell, `room` the cells' entries (x, y, z, bead) of
    `where.shape[0]`-independent fixed capacity, `fill` their numbers, `where` each bead's entry.
    """
    fx = fraction(s.par, 0, x)
    fy = fraction(s.par, 1, y)
    fz = fraction(s.par, 2, z)
    cx = np.int64(fx * s.cells[4]) % s.cells[0]
    cy = np.int64(fy * s.cells[5]) % s.cells[1]
    cell = (cx * s.cells[1] + cy) * s.cells[2] + np.int64(fz * s.cells[6]) % s.cells[2]
    capacity = s.cells[3]
    old = np.int64(s.place[i, 3])
    s.place[i, 0] = np.int64(fx * TURN) - HALF_TURN
    s.place[i, 1] = np.int64(fy * TURN) - HALF_TURN
    s.place[i, 2] = np.int64(fz * TURN) - HALF_TURN
    windowed = s.book[BOOK_WINDOWED] != 0
    if windowed and old >= 0:
        _append(s.stale, s.book, BOOK_STALE, old)
    if old != cell or windowed:
        if old >= 0 and not windowed:
            last = old * capacity + s.fill[old] - 1
            at = np.int64(s.where[i])
            if at != last:
                for k in range(4):
                    s.room[at, k] = s.room[last, k]
                s.where[s.room[at, 3]] = at
            s.fill[old] -= 1
            s.place[i, 3] = -1
        if s.fill[cell] == capacity:
            return CELL_FULL
        s.where[i] = cell * capacity + s.fill[cell]
        s.fill[cell] += 1
        s.place[i, 3] = cell
    at = np.int64(s.where[i])
    s.room[at, 0] = s.place[i, 0]
    s.room[at, 1] = s.place[i, 1]
    s.room[at, 2] = s.place[i, 2]
    s.room[at, 3] = i
    return 0


@inlined
def _append(table, book, count, value):
    """Add to a list of the window; one that has overflowed has length -1 and stands for everything."""
    at = book[count]
    if at == len(table):
        book[count] = -1
    elif at >= 0:
        table[at] = value
        book[count] += 1


@inlined
def _ask_for_cells(s, i):
    """Have the cells about bead i's centre brought to the cache."""
    capacity = s.cells[3]
    ny = s.cells[1]
    nz = s.cells[2]
    home = np.int64(s.place[i, 3])
    last = s.cells[0] * ny * nz - 1
    for ax in range(-1, 2):
        for ay in range(-1, 2):
            cell = home + (ax * ny + ay) * nz
            for az in range(-1, 2):
                ask(s.room, min(max(cell + az, 0), last) * capacity)


@kernel
def near_beads(s, reach, i):
    """Write to `found` the beads whose centres are within `reach` of bead i's (and i itself); return how many."""
    capacity = s.cells[3]
    nx = s.cells[0]
    ny = s.cells[1]
    nz = s.cells[2]
    home = np.int64(s.place[i, 3])
    cz = home % nz
    cy = (home // nz) % ny
    cx = home // (nz * ny)
    px = np.int64(s.place[i, 0])
    py = np.int64(s.place[i, 1])
    pz = np.int64(s.place[i, 2])
    sx = s.par[PERIOD] / TURN
    sy = s.par[PERIOD + 1] / TURN
    sz = s.par[PERIOD + 2] / TURN
    limit = reach * reach
    count = 0
    for ax in range(-1 if nx > 2 else 0, min(nx, 2)):
        bx = cx + ax
        bx = bx + nx if bx < 0 else (bx - nx if bx >= nx else bx)
        for ay in range(-1 if ny > 2 else 0, min(ny, 2)):
            by = cy + ay
            by = by + ny if by < 0 else (by - ny if by >= ny else by)
            for az in range(-1 if nz > 2 else 0, min(nz, 2)):
                bz = cz + az
                bz = bz + nz if bz < 0 else (bz - nz if bz >= nz else bz)
                cell = (bx * ny + by) * nz + bz
                start = cell * capacity
                left = np.int64(s.fill[cell])
                while True:
                    bits = near_rows(s.room, start, left, px, py, pz, sx, sy, sz, limit)
                    for k in range(4):
                        s.found[count] = s.room[start + k, 3]
                        count += (bits >> k) & 1
                    left -= 4
                    start += 4
                    if left <= 0:
                        break
                if count + capacity > len(s.found):
                    return -1
    return count


@kernel
def excluded(s, i, j):
    """Whether two beads of one molecule never collide: bonded ones, or any without self-contact.

    In a box shorter than twice a bond a bonded bead's image may collide; then the search tells the images apart.
    """
    return s.par[SMALL_BOX] == 0.0 and joined(s, i, j)


@inlined
def far_apart(s, i, j):
    """Whether two beads' centres are too far apart to be listed, radii considered."""
    dx = np.int32(np.int64(s.place[i, 0]) - s.place[j, 0]) * (s.par[PERIOD] / TURN)
    dy = np.int32(np.int64(s.place[i, 1]) - s.place[j, 1]) * (s.par[PERIOD + 1] / TURN)
    dz = np.int32(np.int64(s.place[i, 2]) - s.place[j, 2]) * (s.par[PERIOD + 2] / TURN)
    sigma = s.span[i, 2] + s.span[j, 2] if s.par[UNEQUAL] != 0.0 else s.par[WIDEST]
    far = sigma + 2.0 * s.par[SHELL] * (1.0 + ROUNDING) + ROUNDING * s.par[WIDEST]
    return dx * dx + dy * dy + dz * dz >= far * far


@kernel
def reach_of(s, i):
    """Return how far from bead i's centre the largest bead's centre may be to be listed [length]."""
    return s.span[i, 2] + 0.5 * s.par[WIDEST] + 2.0 * s.par[SHELL] * (1.0 + ROUNDING) + ROUNDING * s.par[WIDEST]


@apart
def relist(s, i, x, y, z, t):
    """Make bead i's list about (x, y, z), its place a time t after its segment's start.

    Only beads that enter or leave the list are touched; in a window none leaves. Returns 0, FULL or CELL_FULL when
    there is no room; lists are then incomplete and must be built anew.
    """
    windowed = s.book[BOOK_WINDOWED] != 0
    s.centre[i, 0] = x
    s.centre[i, 1] = y
    s.centre[i, 2] = z
    s.centre[i, 3] = t
    if place_centre(s, i, x, y, z):
        return CELL_FULL
    _ask_for_cells(s, i)
    first = np.int64(s.row[i, 0])
    old = np.int64(s.row[i, 1])
    for e in range(first, first + old):
        s.mark[s.neighbour[e]] = 1
    count = near_beads(s, reach_of(s, i), i)
    if count < 0:
        return _unmark(s, first, old, np.int64(0), CELL_FULL)
    several = s.par[UNEQUAL] != 0.0 and not windowed
    kept = 0
    for e in range(count):
        j = s.found[e]
        if j == i or s.mark[j] > 1 or (several and far_apart(s, i, j)):
            continue
        if s.mark[j] == 0:
            if excluded(s, i, j):
                continue
            if s.row[j, 1] == s.row[j, 2]:
                return _unmark(s, first, old, kept, FULL)
            s.neighbour[np.int64(s.row[j, 0]) + s.row[j, 1]] = i
            s.row[j, 1] += 1
            if windowed and far_apart(s, i, j):  # found by a centre that it had before, or of unequal beads
                _note_apart(s, i, j)
        s.mark[j] = 2
        s.found[kept] = j
        kept += 1
    for e in range(first, first + old):
        j = s.neighbour[e]
        if s.mark[j] == 1:
            if windowed:
                _note_apart(s, i, j)
                s.found[kept] = j
                kept += 1
            else:
                drop(s, j, i)
        s.mark[j] = 0
    for e in range(kept):
        s.mark[s.found[e]] = 0
    if kept > s.row[i, 2]:
        return FULL
    for e in range(kept):
        s.neighbour[first + e] = s.found[e]
    s.row[i, 1] = kept
    if windowed:
        _note_owned(s, i)
    return 0


@inlined
def _note_owned(s, i):
    """Note for bead i, and those on its list, where an owned molecule's bead is on the list (`beside`)."""
    first = np.int64(s.row[i, 0])
    if s.row[i, 3] == OWNED:
        for e in range(first, first + s.row[i, 1]):
            s.beside[s.neighbour[e]] = 1
    else:
        found = 0
        for e in range(first, first + s.row[i, 1]):
            found |= s.row[s.neighbour[e], 3] == OWNED
        s.beside[i] = found


@kernel
def _unmark(s, first, old, kept, status):
    for e in range(first, first + old):
        s.mark[s.neighbour[e]] = 0
    for e in range(kept):
        s.mark[s.found[e]] = 0
    return status


@inlined
def drop(s, j, i):
    """Take bead i out of bead j's list; return whether it was there."""
    start = np.int64(s.row[j, 0])
    last = start + s.row[j, 1] - 1
    for g in range(start, last + 1):
        if s.neighbour[g] == i:
            s.neighbour[g] = s.neighbour[last]
            s.row[j, 1] -= 1
            return True
    return False


@kernel
def build_lists(s):
    """Make all lists anew about the present centres.

    Returns
    -------
    int
        0; CELL_FULL: cells need more room; FULL: lists do, and row[:, 1] holds the lengths that they would have.
    """
    status = 0
    windowed = s.book[BOOK_WINDOWED] != 0
    s.beside[:] = 0
    s.fill[:] = 0
    s.book[BOOK_STALE] = 0
    s.book[BOOK_APART] = 0
    for i in range(len(s.centre)):
        s.place[i, 3] = -1
        if s.row[i, 3] >= VACANT:
            continue
        if place_centre(s, i, s.centre[i, 0], s.centre[i, 1], s.centre[i, 2]):
            return CELL_FULL
    for i in range(len(s.centre)):
        if s.row[i, 3] >= VACANT:
            s.row[i, 1] = 0
            continue
        count = near_beads(s, reach_of(s, i), i)
        if count < 0:
            return CELL_FULL
        kept = 0
        first = np.int64(s.row[i, 0])
        for e in range(count):
            j = s.found[e]
            if j == i or far_apart(s, i, j) or excluded(s, i, j):
                continue
            if kept < s.row[i, 2]:
                s.neighbour[first + kept] = j
            kept += 1
        s.row[i, 1] = kept
        if kept > s.row[i, 2]:
            status = FULL
        elif windowed:
            _note_owned(s, i)
    return status


@kernel
def clean_lists(s):
    """At a window's end, take beads' former centres out of the cells and who was only near those out of the lists."""
    for k in range(s.book[BOOK_STALE] if s.book[BOOK_STALE] >= 0 else len(s.fill)):
        if k + SOON < s.book[BOOK_STALE]:
            ask(s.room, s.stale[k + SOON] * s.cells[3])
            ask(s.fill, s.stale[k + SOON])
        _compact(s, s.stale[k] if s.book[BOOK_STALE] >= 0 else k)
    for k in range(s.book[BOOK_APART]):
        if k + SOON < s.book[BOOK_APART]:
            ask(s.place, s.apart[k + SOON, 0])
            ask(s.place, s.apart[k + SOON, 1])
        i, j = s.apart[k]
        if far_apart(s, i, j) and drop(s, j, i):
            drop(s, i, j)
    if s.book[BOOK_APART] < 0:  # more than were noted
        for i in range(s.book[BOOK_BEADS]):
            _drop_far(s, i)
    s.book[BOOK_STALE] = 0
    s.book[BOOK_APART] = 0


@inlined
def _drop_far(s, i):
    """Part bead i from those on its list that are far apart from it."""
    e = np.int64(s.row[i, 0])
    while e < np.int64(s.row[i, 0]) + s.row[i, 1]:
        j = s.neighbour[e]
        if far_apart(s, i, j):
            drop(s, j, i)
            drop(s, i, j)
        else:
            e += 1


@inlined
def _note_apart(s, i, j):
    """Note that two listed beads' centres are now far apart, for `clean_lists`; overflow as in `_append`."""
    at = s.book[BOOK_APART]
    if at == len(s.apart):
        s.book[BOOK_APART] = -1
    elif at >= 0:
        s.apart[at, 0] = i
        s.apart[at, 1] = j
        s.book[BOOK_APART] += 1


@inlined
def _compact(s, cell):
    """Keep those entries of a cell that are their beads' present ones."""
    start = cell * s.cells[3]
    kept = start
    for e in range(start, start + s.fill[cell]):
        i = s.room[e, 3]
        if s.where[i] == e:
            for c in range(4):
                s.room[kept, c] = s.room[e, c]
            s.where[i] = kept
            kept += 1
    s.fill[cell] = kept - start
