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

from hpcchain.kernel import inlined, kernel
from hpcchain.sector.layout import (
    BOOK_BEADS,
    BOOK_RENEWED,
    BOOK_STALE,
    BOOK_WINDOWED,
    INVERSE_PERIOD,
    ORIGIN,
    PERIOD,
    SHELL,
    SMALL_BOX,
    UNEQUAL,
    VACANT,
    WIDEST,
)
from hpcchain.sector.search import joined

FULL, CELL_FULL = 1, 2
TURN = 4294967296.0
HALF_TURN = 2147483648
ROUNDING = 1e-8


@inlined
def fraction(par, k, x):
    """Return the place of a coordinate in its period, in [0, 1)."""
    u = (x - par[ORIGIN + k]) * par[INVERSE_PERIOD + k]
    u -= np.floor(u)
    return u if u < 1.0 else 0.0


@kernel
def place_centre(par, cells, place, room, fill, where, i, x, y, z, stale, book):
    """Put bead i's centre into its cell; returns 0 or CELL_FULL. In a window its old entry stays.

    `place` (N, 4) int32 holds the centre's fractions and cell, `room` the cells' entries (x, y, z, bead) of
    `where.shape[0]`-independent fixed capacity, `fill` their numbers, `where` each bead's entry.
    """
    fx = fraction(par, 0, x)
    fy = fraction(par, 1, y)
    fz = fraction(par, 2, z)
    cell = (np.int64(fx * cells[0]) * cells[1] + np.int64(fy * cells[1])) * cells[2] + np.int64(fz * cells[2])
    capacity = cells[3]
    old = np.int64(place[i, 3])
    place[i, 0] = np.int64(fx * TURN) - HALF_TURN
    place[i, 1] = np.int64(fy * TURN) - HALF_TURN
    place[i, 2] = np.int64(fz * TURN) - HALF_TURN
    windowed = book[BOOK_WINDOWED] != 0
    if windowed and old >= 0:
        _append(stale, book, BOOK_STALE, old)
    if old != cell or windowed:
        if old >= 0 and not windowed:
            last = old * capacity + fill[old] - 1
            at = np.int64(where[i])
            if at != last:
                for k in range(4):
                    room[at, k] = room[last, k]
                where[room[at, 3]] = at
            fill[old] -= 1
            place[i, 3] = -1
        if fill[cell] == capacity:
            return CELL_FULL
        where[i] = cell * capacity + fill[cell]
        fill[cell] += 1
        place[i, 3] = cell
    at = np.int64(where[i])
    room[at, 0] = place[i, 0]
    room[at, 1] = place[i, 1]
    room[at, 2] = place[i, 2]
    room[at, 3] = i
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


@kernel
def near_beads(par, cells, place, room, fill, reach, i, found):
    """Write to `found` the beads whose centres are within `reach` of bead i's (and i itself); return how many."""
    capacity = cells[3]
    nx = cells[0]
    ny = cells[1]
    nz = cells[2]
    home = np.int64(place[i, 3])
    cz = home % nz
    cy = (home // nz) % ny
    cx = home // (nz * ny)
    px = np.int64(place[i, 0])
    py = np.int64(place[i, 1])
    pz = np.int64(place[i, 2])
    sx = par[PERIOD] / TURN
    sy = par[PERIOD + 1] / TURN
    sz = par[PERIOD + 2] / TURN
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
                for e in range(start, start + fill[cell]):
                    dx = sx * np.int32(px - room[e, 0])
                    dy = sy * np.int32(py - room[e, 1])
                    dz = sz * np.int32(pz - room[e, 2])
                    found[count] = room[e, 3]
                    count += 1 if dx * dx + dy * dy + dz * dz < limit else 0
                if count + capacity > len(found):
                    return -1
    return count


@kernel
def excluded(par, seg, mol, bonded, bond_row, i, j):
    """Whether two beads of one molecule never collide: bonded ones, or any without self-contact.

    In a box shorter than twice a bond a bonded bead's image may collide; then the search tells the images apart.
    """
    return par[SMALL_BOX] == 0.0 and joined(seg, mol, bonded, bond_row, i, j)


@inlined
def far_apart(par, place, span, i, j):
    """Whether two beads' centres are too far apart to be listed, radii considered."""
    dx = np.int32(np.int64(place[i, 0]) - place[j, 0]) * (par[PERIOD] / TURN)
    dy = np.int32(np.int64(place[i, 1]) - place[j, 1]) * (par[PERIOD + 1] / TURN)
    dz = np.int32(np.int64(place[i, 2]) - place[j, 2]) * (par[PERIOD + 2] / TURN)
    far = span[i, 2] + span[j, 2] + 2.0 * par[SHELL] * (1.0 + ROUNDING) + ROUNDING * par[WIDEST]
    return dx * dx + dy * dy + dz * dz >= far * far


@kernel
def reach_of(par, span, i):
    """Return how far from bead i's centre the largest bead's centre may be to be listed [length]."""
    return span[i, 2] + 0.5 * par[WIDEST] + 2.0 * par[SHELL] * (1.0 + ROUNDING) + ROUNDING * par[WIDEST]


@kernel
def relist(
    par, span, seg, centre, row, neighbour, cells, place, room, fill, where, mark, found, mol, bonded, bond_row, i, x,
    y, z, t, renewed, stale, book,
):  # fmt: skip
    """Make bead i's list about (x, y, z), its place a time t after its segment's start.

    Only beads that enter or leave the list are touched; in a window none leaves. Returns 0, FULL or CELL_FULL when
    there is no room; lists are then incomplete and must be built anew.
    """
    windowed = book[BOOK_WINDOWED] != 0
    if windowed:
        _append(renewed, book, BOOK_RENEWED, i)
    centre[i, 0] = x
    centre[i, 1] = y
    centre[i, 2] = z
    centre[i, 3] = t
    if place_centre(par, cells, place, room, fill, where, i, x, y, z, stale, book):
        return CELL_FULL
    count = near_beads(par, cells, place, room, fill, reach_of(par, span, i), i, found)
    if count < 0:
        return CELL_FULL
    first = np.int64(row[i, 0])
    old = np.int64(row[i, 1])
    for e in range(first, first + old):
        mark[neighbour[e]] = 1
    several = par[UNEQUAL] != 0.0 and not windowed
    kept = 0
    for e in range(count):
        j = found[e]
        if j == i or mark[j] > 1 or (several and far_apart(par, place, span, i, j)):
            continue
        if mark[j] == 0:
            if excluded(par, seg, mol, bonded, bond_row, i, j):
                continue
            if row[j, 1] == row[j, 2]:
                return _unmark(mark, neighbour, first, old, found, kept)
            neighbour[np.int64(row[j, 0]) + row[j, 1]] = i
            row[j, 1] += 1
        mark[j] = 2
        found[kept] = j
        kept += 1
    for e in range(first, first + old):
        j = neighbour[e]
        if mark[j] == 1:
            if windowed:
                found[kept] = j
                kept += 1
            else:
                drop(row, neighbour, j, i)
        mark[j] = 0
    for e in range(kept):
        mark[found[e]] = 0
    if kept > row[i, 2]:
        return FULL
    for e in range(kept):
        neighbour[first + e] = found[e]
    row[i, 1] = kept
    return 0


@kernel
def _unmark(mark, neighbour, first, old, found, kept):
    for e in range(first, first + old):
        mark[neighbour[e]] = 0
    for e in range(kept):
        mark[found[e]] = 0
    return FULL


@inlined
def drop(row, neighbour, j, i):
    """Take bead i out of bead j's list."""
    start = np.int64(row[j, 0])
    last = start + row[j, 1] - 1
    for g in range(start, last + 1):
        if neighbour[g] == i:
            neighbour[g] = neighbour[last]
            break
    row[j, 1] -= 1


@kernel
def build_lists(
    par, span, seg, centre, row, neighbour, cells, place, room, fill, where, found, mol, bonded, bond_row, stale, book
):
    """Make all lists anew about the present centres.

    Returns
    -------
    int
        0; CELL_FULL: cells need more room; FULL: lists do, and row[:, 1] holds the lengths that they would have.
    """
    status = 0
    fill[:] = 0
    book[BOOK_STALE] = 0
    book[BOOK_RENEWED] = 0
    for i in range(len(centre)):
        place[i, 3] = -1
        if row[i, 3] == VACANT:
            continue
        if place_centre(par, cells, place, room, fill, where, i, centre[i, 0], centre[i, 1], centre[i, 2], stale, book):
            return CELL_FULL
    for i in range(len(centre)):
        if row[i, 3] == VACANT:
            row[i, 1] = 0
            continue
        count = near_beads(par, cells, place, room, fill, reach_of(par, span, i), i, found)
        if count < 0:
            return CELL_FULL
        kept = 0
        first = np.int64(row[i, 0])
        for e in range(count):
            j = found[e]
            if j == i or far_apart(par, place, span, i, j) or excluded(par, seg, mol, bonded, bond_row, i, j):
                continue
            if kept < row[i, 2]:
                neighbour[first + kept] = j
            kept += 1
        row[i, 1] = kept
        if kept > row[i, 2]:
            status = FULL
    return status


@kernel
def clean_lists(s):
    """At a window's end, take beads' former centres out of the cells and who was only near those out of the lists."""
    for k in range(s.book[BOOK_STALE] if s.book[BOOK_STALE] >= 0 else len(s.fill)):
        _compact(s, s.stale[k] if s.book[BOOK_STALE] >= 0 else k)
    for k in range(s.book[BOOK_RENEWED] if s.book[BOOK_RENEWED] >= 0 else s.book[BOOK_BEADS]):
        i = s.renewed[k] if s.book[BOOK_RENEWED] >= 0 else k
        e = np.int64(s.row[i, 0])
        while e < np.int64(s.row[i, 0]) + s.row[i, 1]:
            j = s.neighbour[e]
            if far_apart(s.par, s.place, s.span, i, j):
                drop(s.row, s.neighbour, j, i)
                drop(s.row, s.neighbour, i, j)
            else:
                e += 1
    s.book[BOOK_STALE] = 0
    s.book[BOOK_RENEWED] = 0


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
