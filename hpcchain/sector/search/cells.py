"""Cells hold the origins of neighbour lists: a cache line of four in each, and further lines for the fuller ones.

A line's entries come first, what is left of it has the occupant -1. Only the last line of a cell may have space left,
and lines from the pool are never empty. Entry k of a line has number PER_LINE line + k. A line is four rows of
`cell_entries`, one for each of its columns, so that the four entries are looked at together.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.jit.simd import above, add, as_bits, at_most, both, mul, splat_four, ways_from
from hpcchain.layout import arrays as L
from hpcchain.sector.search.list_place import HALF_TURN, TURN, cell_along, list_fraction

FULL, CELL_FULL = 1, 2
PER_LINE = L.CELL_LINE
MARGIN, PLACES = 1e-6, 2.0**-30  # of the list radius, and of the box, by which cells are too near to be left out


@kernel
def clear_cells(s):
    """Empty all cells; what lines they do not have are a chain of free ones."""
    for e in range(len(s.cell_entries)):
        set_occupant(s, e, -1)
    cells = s.cells[L.CELL_COUNT]
    lines = len(s.next_line)
    for line in range(lines):
        s.next_line[line] = line + 1 if cells <= line < lines - 1 else -1
    s.scalars[L.SCALAR_FREE_LINE] = cells if cells < lines else -1


@inlined
def _row(at, column):
    """Return the row of `cell_entries` that has a column of entry `at`."""
    return (at & ~(PER_LINE - 1)) + column


@inlined
def occupant(s, at):
    """Return the bead of an entry, -1 for none."""
    return s.cell_entries[_row(at, L.OCCUPANT), at & (PER_LINE - 1)]


@inlined
def set_occupant(s, at, bead):
    """Give an entry a bead, or none."""
    s.cell_entries[_row(at, L.OCCUPANT), at & (PER_LINE - 1)] = bead


@inlined
def _used(s, line):
    """Return how many entries a line has."""
    count = 0
    while count < PER_LINE and occupant(s, PER_LINE * line + count) >= 0:
        count += 1
    return count


@inlined
def _enter(s, cell):
    """Return the index of a further entry of a cell, -1 if there is no line for it."""
    line = np.int64(cell)
    while s.next_line[line] >= 0:
        line = np.int64(s.next_line[line])
    used = _used(s, line)
    if used < PER_LINE:
        return PER_LINE * line + used
    free = s.scalars[L.SCALAR_FREE_LINE]
    if free < 0:
        return np.int64(-1)
    s.scalars[L.SCALAR_FREE_LINE] = s.next_line[free]
    s.next_line[free] = -1
    s.next_line[line] = free
    return PER_LINE * free


@inlined
def _copy_entry(s, source, to):
    """Move a bead's entry to another index."""
    for c in range(4):
        s.cell_entries[_row(to, c), to & (PER_LINE - 1)] = s.cell_entries[_row(source, c), source & (PER_LINE - 1)]
    s.where[occupant(s, to)] = to


@inlined
def _leave(s, cell, at):
    """Take the entry at an index out of its cell, whose last one comes there."""
    before = np.int64(-1)
    line = np.int64(cell)
    while s.next_line[line] >= 0:
        before = line
        line = np.int64(s.next_line[line])
    last = PER_LINE * line + _used(s, line) - 1
    if at != last:
        _copy_entry(s, last, at)
    set_occupant(s, last, -1)
    if last == PER_LINE * line and before >= 0:
        s.next_line[before] = -1
        _free(s, line)


@inlined
def _free(s, line):
    """Put an empty line into the chain of free ones."""
    s.next_line[line] = s.scalars[L.SCALAR_FREE_LINE]
    s.scalars[L.SCALAR_FREE_LINE] = line


@kernel
def place_list_origin(s, i, x, y, z, t):
    """Put bead i's list origin, its place a time t after its segment's start, into its cell; return 0 or CELL_FULL.

    In a window its old entry stays.
    """
    fx = list_fraction(s, i, 0, x, t)
    fy = list_fraction(s, i, 1, y, t)
    fz = list_fraction(s, i, 2, z, t)
    cell = cell_along(s, 0, fx) * s.cells[L.CELLS_Y] + cell_along(s, 1, fy)
    cell = cell * s.cells[L.CELLS_Z] + cell_along(s, 2, fz)
    old = np.int64(s.origin_fractions[i, L.CELL])
    s.origin_fractions[i, L.FRACTION_X] = np.int64(fx * TURN) - HALF_TURN
    s.origin_fractions[i, L.FRACTION_Y] = np.int64(fy * TURN) - HALF_TURN
    s.origin_fractions[i, L.FRACTION_Z] = np.int64(fz * TURN) - HALF_TURN
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    if windowed and old >= 0:
        append(s.stale_cells, s.scalars, L.SCALAR_STALE, old)
    if old != cell or windowed:
        if old >= 0 and not windowed:
            _leave(s, old, np.int64(s.where[i]))
            s.origin_fractions[i, L.CELL] = -1
        at = _enter(s, cell)
        if at < 0:
            return CELL_FULL
        s.where[i] = at
        s.origin_fractions[i, L.CELL] = cell
    at = np.int64(s.where[i])
    for c in range(3):
        s.cell_entries[_row(at, c), at & (PER_LINE - 1)] = s.origin_fractions[i, c]
    set_occupant(s, at, i)
    return 0


@inlined
def forget_list_origin(s, i):
    """Have bead i's next list made of all that is near, in a window: that which it has does not hold them."""
    old = np.int64(s.origin_fractions[i, L.CELL])
    if old >= 0:
        append(s.stale_cells, s.scalars, L.SCALAR_STALE, old)
        s.origin_fractions[i, L.CELL] = -1


@inlined
def append(table, scalars, count, value):
    """Add to a list of the window; one that has overflowed has length -1 and stands for everything."""
    at = scalars[count]
    if at == len(table):
        scalars[count] = -1
    elif at >= 0:
        table[at] = value
        scalars[count] += 1


@kernel
def compact(s, cell):
    """Keep those entries of a cell that are their beads' present ones."""
    to = np.int64(cell)
    kept = 0
    line = to
    while line >= 0:
        following = np.int64(s.next_line[line])
        for at in range(PER_LINE * line, PER_LINE * line + _used(s, line)):
            if s.where[occupant(s, at)] == at:
                if kept == PER_LINE:
                    to = np.int64(s.next_line[to])
                    kept = 0
                _copy_entry(s, at, PER_LINE * to + kept)
                kept += 1
        line = following
    for at in range(PER_LINE * to + kept, PER_LINE * (to + 1)):
        set_occupant(s, at, -1)
    line = np.int64(s.next_line[to])
    s.next_line[to] = -1
    while line >= 0:
        following = np.int64(s.next_line[line])
        for at in range(PER_LINE * line, PER_LINE * (line + 1)):
            set_occupant(s, at, -1)
        _free(s, line)
        line = following


@inlined
def adjacent(c, shift, number):
    """Return the cell a step (-1, 0, 1) from cell c of an axis, round the end."""
    c += shift
    return c + number if c < 0 else (c - number if c >= number else c)


@inlined
def _cell_of(s, i):
    """Return the cell that bead i is in: its number along each axis."""
    own = np.int64(s.origin_fractions[i, L.CELL])
    ny, nz = s.cells[L.CELLS_Y], s.cells[L.CELLS_Z]
    return own // (nz * ny), (own // nz) % ny, own % nz


@inlined
def origin_of(s, i):
    """Return bead i's list origin in fractions of the box."""
    at = s.origin_fractions
    return np.int64(at[i, L.FRACTION_X]), np.int64(at[i, L.FRACTION_Y]), np.int64(at[i, L.FRACTION_Z])


@inlined
def fraction_lengths(s):
    """Return the length of the least fraction along each axis [length]."""
    return s.par[L.PERIOD] / TURN, s.par[L.PERIOD + L.Y] / TURN, s.par[L.PERIOD + L.Z] / TURN


@inlined
def way_between(s, i, place):
    """Return the shortest way from a place in fractions of the box to bead i's list origin [length]."""
    px, py, pz = origin_of(s, i)
    sx, sy, sz = fraction_lengths(s)
    return np.int32(px - place[0]) * sx, np.int32(py - place[1]) * sy, np.int32(pz - place[2]) * sz


@inlined
def _squares(s, line, place):
    """Return the squared distances of a line's four entries from a place in fractions of the box; as `way_between`."""
    sx, sy, sz = fraction_lengths(s)
    x = mul(splat_four(sx), ways_from(s.cell_entries, PER_LINE * line + L.FRACTION_X, place[0]))
    y = mul(splat_four(sy), ways_from(s.cell_entries, PER_LINE * line + L.FRACTION_Y, place[1]))
    z = mul(splat_four(sz), ways_from(s.cell_entries, PER_LINE * line + L.FRACTION_Z, place[2]))
    return add(add(mul(x, x), mul(y, y)), mul(z, z))


@inlined
def near_cell(s, cell, i, former, list_radius, at):
    """Write the other beads of a cell whose origins are within `list_radius` of bead i's to `found`, from `at` on.

    If a `former` place is given, those are left out that were as near to that. Returns where they end, -1 where `found`
    cannot take them.
    """
    place, limit = origin_of(s, i), splat_four(list_radius * list_radius)
    line = np.int64(cell)
    while line >= 0 and at >= 0:
        met = above(limit, _squares(s, line, place))
        if former is not None:
            met = both(at_most(limit, _squares(s, line, former)), met)
        at = _write_near(s, i, line, as_bits(met), at)
        line = _next_line(s, line)
    return at


@inlined
def _write_near(s, i, line, bits, at):
    """Write the beads but i of a line's entries whose bits are set to `found`, from `at` on; return the end, or -1."""
    if at + PER_LINE > len(s.found):
        return np.int64(-1)
    for k in range(PER_LINE):
        j = s.cell_entries[PER_LINE * line + L.OCCUPANT, k]
        s.found[at] = j
        at += (bits >> k) & (j >= 0) & (j != i)
    return at


@inlined
def _next_line(s, line):
    """Return the line of a cell behind another, -1 if there is none."""
    if occupant(s, PER_LINE * line + PER_LINE - 1) < 0:
        return np.int64(-1)
    return np.int64(s.next_line[line])


@kernel
def near_beads(s, list_radius, i):
    """Write to `found` the other beads whose list origins are within `list_radius` of bead i's; return how many, or -1.

    It is -1 where `found` cannot take them.
    """
    nx, ny, nz = s.cells[L.CELLS_X], s.cells[L.CELLS_Y], s.cells[L.CELLS_Z]
    cx, cy, cz = _cell_of(s, i)
    count = np.int64(0)
    for ax in range(-1 if nx > 2 else 0, min(nx, 2)):
        bx = adjacent(cx, ax, nx)
        for ay in range(-1 if ny > 2 else 0, min(ny, 2)):
            by = adjacent(cy, ay, ny)
            for az in range(-1 if nz > 2 else 0, min(nz, 2)):
                if count >= 0:
                    cell = (bx * ny + by) * nz + adjacent(cz, az, nz)
                    count = near_cell(s, cell, i, None, list_radius, count)
    return count


@inlined
def _measure_slabs(s, axis, u, moved, list_radius):
    """Write down how near the three layers of cells about a coordinate come to it, and how far ahead they are.

    The coordinate is given as its place `u` in the period, `moved` is the way from the list origin before, along this
    axis. Rows of `slabs`: the square of the distance; the greatest product with that way of a way from the coordinate
    to a place in the layer within `list_radius`.
    """
    grid = s.cells[L.GRID_X + axis]
    u = u * grid
    u -= np.floor(u)
    width = s.par[L.PERIOD + axis] / grid
    for layer in range(3):
        low = max((layer - 1 - u) * width, -list_radius)
        high = min((layer - u) * width, list_radius)
        off = max(max(low, -high), 0.0)
        s.slabs[3 * axis + layer, L.SLAB_SQUARE] = off * off
        s.slabs[3 * axis + layer, L.SLAB_AHEAD] = max(low * moved, high * moved)


@kernel
def cells_ahead(s, i, x, y, z, t, former, list_radius):
    """Write to `found` the cells that may hold list origins within `list_radius` of bead i's and not of its former one.

    Such an origin p is beyond the middle between the former one q and the present one c: with r = p - c and d = c - q,
    |r + d| >= |r|, so r . d >= - d . d / 2. There must be three cells along each axis.

    Parameters
    ----------
    s : Sector
    i : int
        Bead; its `origin_fractions` is that of the present list origin.
    x, y, z : float
        The present list origin [length].
    t : float
        How long after its segment's start the bead is there [time].
    former : (int, int, int)
        The former one, in fractions as in `origin_fractions`.
    list_radius : float
        [length]

    Returns
    -------
    int
        How many; -1 if the bead has moved too far to say, and all cells about it must be looked at.
    """
    dx, dy, dz = way_between(s, i, former)
    half = 0.5 * min(min(s.par[L.PERIOD], s.par[L.PERIOD + L.Y]), s.par[L.PERIOD + L.Z])
    slack = MARGIN * list_radius + PLACES * max(max(s.par[L.PERIOD], s.par[L.PERIOD + L.Y]), s.par[L.PERIOD + L.Z])
    list_radius += slack
    if max(max(abs(dx), abs(dy)), abs(dz)) + list_radius >= half:
        return -1
    fx, fy, fz = list_fraction(s, i, 0, x, t), list_fraction(s, i, 1, y, t), list_fraction(s, i, 2, z, t)
    _measure_slabs(s, 0, fx, dx, list_radius)
    _measure_slabs(s, 1, fy, dy, list_radius)
    _measure_slabs(s, 2, fz, dz, list_radius)
    limit = list_radius * list_radius
    behind = -0.5 * (dx * dx + dy * dy + dz * dz) - slack * (abs(dx) + abs(dy) + abs(dz))
    nx, ny, nz = s.cells[L.CELLS_X], s.cells[L.CELLS_Y], s.cells[L.CELLS_Z]
    cx, cy, cz = cell_along(s, 0, fx), cell_along(s, 1, fy), cell_along(s, 2, fz)
    count = 0
    for ax in range(3):
        bx = adjacent(cx, ax - 1, nx)
        for ay in range(3, 6):
            by = adjacent(cy, ay - 4, ny)
            square = s.slabs[ax, L.SLAB_SQUARE] + s.slabs[ay, L.SLAB_SQUARE]
            ahead = s.slabs[ax, L.SLAB_AHEAD] + s.slabs[ay, L.SLAB_AHEAD]
            for az in range(6, 9):
                s.found[count] = (bx * ny + by) * nz + adjacent(cz, az - 7, nz)
                near = square + s.slabs[az, L.SLAB_SQUARE] < limit
                count += near & (ahead + s.slabs[az, L.SLAB_AHEAD] > behind)
    return count
