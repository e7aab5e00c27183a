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

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.sector.search.broad_phase import HALF_TURN, TURN, farther, fraction
from hpcchain.sector.search.broad_phase_simd import near_rows
from hpcchain.sector.search.earliest_event import joined
from hpcchain.sector.search.prefetch import ask

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
    cx = np.int64(fx * s.cells[L.GRID_X]) % s.cells[L.CELLS_X]
    cy = np.int64(fy * s.cells[L.GRID_Y]) % s.cells[L.CELLS_Y]
    cell = (cx * s.cells[L.CELLS_Y] + cy) * s.cells[L.CELLS_Z] + np.int64(fz * s.cells[L.GRID_Z]) % s.cells[L.CELLS_Z]
    capacity = s.cells[L.CELL_CAPACITY]
    old = np.int64(s.place[i, L.CELL])
    s.place[i, L.FRACTION_X] = np.int64(fx * TURN) - HALF_TURN
    s.place[i, L.FRACTION_Y] = np.int64(fy * TURN) - HALF_TURN
    s.place[i, L.FRACTION_Z] = np.int64(fz * TURN) - HALF_TURN
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    if windowed and old >= 0:
        _append(s.stale_cells, s.scalars, L.SCALAR_STALE, old)
    if old != cell or windowed:
        if old >= 0 and not windowed:
            last = old * capacity + s.fill[old] - 1
            at = np.int64(s.where[i])
            if at != last:
                for k in range(4):
                    s.room[at, k] = s.room[last, k]
                s.where[s.room[at, L.OCCUPANT]] = at
            s.fill[old] -= 1
            s.place[i, L.CELL] = -1
        if s.fill[cell] == capacity:
            return CELL_FULL
        s.where[i] = cell * capacity + s.fill[cell]
        s.fill[cell] += 1
        s.place[i, L.CELL] = cell
    at = np.int64(s.where[i])
    s.room[at, L.FRACTION_X] = s.place[i, L.FRACTION_X]
    s.room[at, L.FRACTION_Y] = s.place[i, L.FRACTION_Y]
    s.room[at, L.FRACTION_Z] = s.place[i, L.FRACTION_Z]
    s.room[at, L.OCCUPANT] = i
    return 0


@inlined
def _append(table, scalars, count, value):
    """Add to a list of the window; one that has overflowed has length -1 and stands for everything."""
    at = scalars[count]
    if at == len(table):
        scalars[count] = -1
    elif at >= 0:
        table[at] = value
        scalars[count] += 1


@inlined
def _ask_for_cells(s, i):
    """Have the cells about bead i's centre brought to the cache."""
    capacity = s.cells[L.CELL_CAPACITY]
    ny = s.cells[L.CELLS_Y]
    nz = s.cells[L.CELLS_Z]
    own = np.int64(s.place[i, L.CELL])
    last = s.cells[L.CELLS_X] * ny * nz - 1
    for ax in range(-1, 2):
        for ay in range(-1, 2):
            cell = own + (ax * ny + ay) * nz
            for az in range(-1, 2):
                ask(s.room, min(max(cell + az, 0), last) * capacity)


@kernel
def near_beads(s, reach, i):
    """Write to `found` the beads whose centres are within `reach` of bead i's (and i itself); return how many."""
    capacity = s.cells[L.CELL_CAPACITY]
    nx = s.cells[L.CELLS_X]
    ny = s.cells[L.CELLS_Y]
    nz = s.cells[L.CELLS_Z]
    own = np.int64(s.place[i, L.CELL])
    cz = own % nz
    cy = (own // nz) % ny
    cx = own // (nz * ny)
    px = np.int64(s.place[i, L.FRACTION_X])
    py = np.int64(s.place[i, L.FRACTION_Y])
    pz = np.int64(s.place[i, L.FRACTION_Z])
    sx = s.par[L.PERIOD] / TURN
    sy = s.par[L.PERIOD + L.Y] / TURN
    sz = s.par[L.PERIOD + L.Z] / TURN
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
                        s.found[count] = s.room[start + k, L.OCCUPANT]
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
    """Whether two beads of one molecule never collide: excluded ones, or any without self-contact.

    In a box shorter than twice a bond, or twice as many as are excluded, a bead's image may collide; then the search
    tells the images apart.
    """
    return s.par[L.SMALL_BOX] == 0.0 and joined(s, i, j)


@inlined
def far_apart(s, i, j):
    """Whether two beads' centres are too far apart to be listed, radii considered."""
    dx = np.int32(np.int64(s.place[i, L.FRACTION_X]) - s.place[j, L.FRACTION_X]) * (s.par[L.PERIOD] / TURN)
    dy = np.int32(np.int64(s.place[i, L.FRACTION_Y]) - s.place[j, L.FRACTION_Y]) * (s.par[L.PERIOD + L.Y] / TURN)
    dz = np.int32(np.int64(s.place[i, L.FRACTION_Z]) - s.place[j, L.FRACTION_Z]) * (s.par[L.PERIOD + L.Z] / TURN)
    sigma = s.bounds[i, L.RADIUS] + s.bounds[j, L.RADIUS] if s.par[L.UNEQUAL] != 0.0 else s.par[L.WIDEST]
    far = sigma + 2.0 * s.par[L.SHELL] * (1.0 + ROUNDING) + ROUNDING * s.par[L.WIDEST] + farther(s.par, s.extended)
    return dx * dx + dy * dy + dz * dz >= far * far


@kernel
def reach_of(s, i):
    """Return how far from bead i's centre the largest bead's centre may be to be listed [length]."""
    return (
        s.bounds[i, L.RADIUS]
        + 0.5 * s.par[L.WIDEST]
        + 2.0 * s.par[L.SHELL] * (1.0 + ROUNDING)
        + ROUNDING * s.par[L.WIDEST]
        + farther(s.par, s.extended)
    )


@outlined
def rebuild_list(s, i, x, y, z, t):
    """Make bead i's list about (x, y, z), its place a time t after its segment's start.

    Only beads that enter or leave the list are touched; in a window none leaves. Returns 0, FULL or CELL_FULL when
    there is no room; lists are then incomplete and must be built anew.
    """
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    s.centre[i, L.X] = x
    s.centre[i, L.Y] = y
    s.centre[i, L.Z] = z
    s.centre[i, L.CENTRE_TIME] = t
    if place_centre(s, i, x, y, z):
        return CELL_FULL
    _ask_for_cells(s, i)
    first = np.int64(s.row[i, L.LIST_FIRST])
    old = np.int64(s.row[i, L.LIST_LENGTH])
    for e in range(first, first + old):
        s.mark[s.neighbour[e]] = 1
    count = near_beads(s, reach_of(s, i), i)
    if count < 0:
        return _unmark(s, first, old, np.int64(0), CELL_FULL)
    several = s.par[L.UNEQUAL] != 0.0 and not windowed
    kept = 0
    for e in range(count):
        j = s.found[e]
        if j == i or s.mark[j] > 1 or (several and far_apart(s, i, j)):
            continue
        if s.mark[j] == 0:
            if excluded(s, i, j):
                continue
            if s.row[j, L.LIST_LENGTH] == s.row[j, L.LIST_CAPACITY]:
                return _unmark(s, first, old, kept, FULL)
            s.neighbour[np.int64(s.row[j, L.LIST_FIRST]) + s.row[j, L.LIST_LENGTH]] = i
            s.row[j, L.LIST_LENGTH] += 1
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
    if kept > s.row[i, L.LIST_CAPACITY]:
        return FULL
    for e in range(kept):
        s.neighbour[first + e] = s.found[e]
    s.row[i, L.LIST_LENGTH] = kept
    if windowed:
        _note_owned(s, i)
    return 0


@inlined
def _note_owned(s, i):
    """Note for bead i, and those on its list, where an owned molecule's bead is on the list (`near_owned`)."""
    first = np.int64(s.row[i, L.LIST_FIRST])
    if s.row[i, L.OWNERSHIP] == L.OWNED:
        for e in range(first, first + s.row[i, L.LIST_LENGTH]):
            s.near_owned[s.neighbour[e]] = 1
    else:
        found = 0
        for e in range(first, first + s.row[i, L.LIST_LENGTH]):
            found |= s.row[s.neighbour[e], L.OWNERSHIP] == L.OWNED
        s.near_owned[i] = found


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
    start = np.int64(s.row[j, L.LIST_FIRST])
    last = start + s.row[j, L.LIST_LENGTH] - 1
    for g in range(start, last + 1):
        if s.neighbour[g] == i:
            s.neighbour[g] = s.neighbour[last]
            s.row[j, L.LIST_LENGTH] -= 1
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
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    s.near_owned[:] = 0
    s.fill[:] = 0
    s.scalars[L.SCALAR_STALE] = 0
    s.scalars[L.SCALAR_APART] = 0
    for i in range(len(s.centre)):
        s.place[i, L.CELL] = -1
        if s.row[i, L.OWNERSHIP] >= L.VACANT:
            continue
        if place_centre(s, i, s.centre[i, L.X], s.centre[i, L.Y], s.centre[i, L.Z]):
            return CELL_FULL
    for i in range(len(s.centre)):
        if s.row[i, L.OWNERSHIP] >= L.VACANT:
            s.row[i, L.LIST_LENGTH] = 0
            continue
        count = near_beads(s, reach_of(s, i), i)
        if count < 0:
            return CELL_FULL
        kept = 0
        first = np.int64(s.row[i, L.LIST_FIRST])
        for e in range(count):
            j = s.found[e]
            if j == i or far_apart(s, i, j) or excluded(s, i, j):
                continue
            if kept < s.row[i, L.LIST_CAPACITY]:
                s.neighbour[first + kept] = j
            kept += 1
        s.row[i, L.LIST_LENGTH] = kept
        if kept > s.row[i, L.LIST_CAPACITY]:
            status = FULL
        elif windowed:
            _note_owned(s, i)
    return status


@kernel
def clean_lists(s):
    """At a window's end, take beads' former centres out of the cells, and beads near those alone out of the lists."""
    for k in range(s.scalars[L.SCALAR_STALE] if s.scalars[L.SCALAR_STALE] >= 0 else len(s.fill)):
        if k + SOON < s.scalars[L.SCALAR_STALE]:
            ask(s.room, s.stale_cells[k + SOON] * s.cells[L.CELL_CAPACITY])
            ask(s.fill, s.stale_cells[k + SOON])
        _compact(s, s.stale_cells[k] if s.scalars[L.SCALAR_STALE] >= 0 else k)
    for k in range(s.scalars[L.SCALAR_APART]):
        if k + SOON < s.scalars[L.SCALAR_APART]:
            ask(s.place, s.apart[k + SOON, L.FIRST_BEAD])
            ask(s.place, s.apart[k + SOON, L.SECOND_BEAD])
        i, j = s.apart[k]
        if far_apart(s, i, j) and drop(s, j, i):
            drop(s, i, j)
    if s.scalars[L.SCALAR_APART] < 0:  # more than were noted
        for i in range(s.scalars[L.SCALAR_BEADS]):
            _drop_far(s, i)
    s.scalars[L.SCALAR_STALE] = 0
    s.scalars[L.SCALAR_APART] = 0


@inlined
def _drop_far(s, i):
    """Part bead i from those on its list that are far apart from it."""
    e = np.int64(s.row[i, L.LIST_FIRST])
    while e < np.int64(s.row[i, L.LIST_FIRST]) + s.row[i, L.LIST_LENGTH]:
        j = s.neighbour[e]
        if far_apart(s, i, j):
            drop(s, j, i)
            drop(s, i, j)
        else:
            e += 1


@inlined
def _note_apart(s, i, j):
    """Note that two listed beads' centres are now far apart, for `clean_lists`; overflow as in `_append`."""
    at = s.scalars[L.SCALAR_APART]
    if at == len(s.apart):
        s.scalars[L.SCALAR_APART] = -1
    elif at >= 0:
        s.apart[at, L.FIRST_BEAD] = i
        s.apart[at, L.SECOND_BEAD] = j
        s.scalars[L.SCALAR_APART] += 1


@inlined
def _compact(s, cell):
    """Keep those entries of a cell that are their beads' present ones."""
    start = cell * s.cells[L.CELL_CAPACITY]
    kept = start
    for e in range(start, start + s.fill[cell]):
        i = s.room[e, L.OCCUPANT]
        if s.where[i] == e:
            for c in range(4):
                s.room[kept, c] = s.room[e, c]
            s.where[i] = kept
            kept += 1
    s.fill[cell] = kept - start
