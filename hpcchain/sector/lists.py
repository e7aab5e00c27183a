"""Neighbour lists per bead, each about its own centre, kept symmetric; cells hold the centres.

Beads i and j are listed when their centres are nearer than their contact distance plus twice the shell's half
width. A list is valid while its bead stays within the half width of its centre, so two listed beads cannot meet
unseen. Lists leave no trace in the trajectory: renewing one changes no segment and no contact time.
"""

import numpy as np
from numba import njit

from hpcchain.sector.layout import CELL, EXTENT, GROWTH, INVERSE, MOL_SELF, ORIGIN, SHELL, SIZE

FULL = 1


@njit(cache=True)
def cell_index(par, cells, x, y, z):
    """Return the cell of a point; coordinates are taken modulo the box on every axis."""
    c = 0
    for k in range(3):
        p = x if k == 0 else (y if k == 1 else z)
        n = cells[k]
        a = np.int64(np.floor((p - par[ORIGIN + k]) * par[CELL + k])) % n
        c = c * n + a
    return c


@njit(cache=True)
def cell_move(chain, head, row, i, cell):
    """Put bead i into a cell, out of the one it was in."""
    old = row[i, 3]
    if old == cell:
        return
    if old >= 0:
        after = chain[i, 0]
        before = chain[i, 1]
        if before >= 0:
            chain[before, 0] = after
        else:
            head[old] = after
        if after >= 0:
            chain[after, 1] = before
    top = head[cell]
    chain[i, 0] = top
    chain[i, 1] = -1
    if top >= 0:
        chain[top, 1] = i
    head[cell] = i
    row[i, 3] = cell


@njit(cache=True)
def drop_from_lists(row, neighbour, i):
    """Take bead i out of all its neighbours' lists and empty its own."""
    first = row[i, 0]
    for e in range(first, first + row[i, 1]):
        j = neighbour[e]
        start = row[j, 0]
        last = start + row[j, 1] - 1
        for g in range(start, last + 1):
            if neighbour[g] == i:
                neighbour[g] = neighbour[last]
                break
        row[j, 1] -= 1
    row[i, 1] = 0


@njit(cache=True)
def excluded(par, line, seg, mol, bonded, bond_row, i, j):
    """Whether two beads of one molecule never collide: bonded ones, or any without self-contact."""
    m = seg[i, 3]
    if m != seg[j, 3]:
        return False
    if mol[m, MOL_SELF] == 0:
        return True
    for e in range(bond_row[i], bond_row[i + 1]):
        if bonded[e] == j:
            return nearest_is_direct(par, line, i, j)
    return False


@njit(cache=True)
def nearest_is_direct(par, line, i, j):
    """Whether the nearest image of a bonded bead is the bonded one itself, with room to spare while they move.

    In a box much longer than the bond it always is; else the pair is listed and told apart at each search.
    """
    for k in range(3):
        if par[INVERSE + k] * abs(line[i, k] - line[j, k]) > 0.25:
            return False
    return True


@njit(cache=True)
def relist(par, line, span, seg, centre, row, chain, neighbour, cells, head, mol, bonded, bond_row, i, x, y, z, t):
    """Make bead i's list about (x, y, z), its place a time t after its segment's start.

    Returns 0, or FULL when a list has no room left; lists are then incomplete and must be built anew.
    """
    drop_from_lists(row, neighbour, i)
    centre[i, 0] = x
    centre[i, 1] = y
    centre[i, 2] = z
    centre[i, 3] = t
    cell_move(chain, head, row, i, cell_index(par, cells, x, y, z))
    nx, ny, nz = cells[0], cells[1], cells[2]
    home = row[i, 3]
    cz = home % nz
    cy = (home // nz) % ny
    cx = home // (nz * ny)
    wx = 1 if nx > 2 else nx - 1
    wy = 1 if ny > 2 else ny - 1
    wz = 1 if nz > 2 else nz - 1
    lx = -1 if nx > 2 else 0
    ly = -1 if ny > 2 else 0
    lz = -1 if nz > 2 else 0
    first = row[i, 0]
    room = row[i, 2]
    size = 0
    reach = span[i, 2] + 2.0 * par[SHELL]
    for ax in range(lx, wx + 1):
        bx = ((cx + ax) % nx) * ny
        for ay in range(ly, wy + 1):
            by = (bx + (cy + ay) % ny) * nz
            for az in range(lz, wz + 1):
                j = head[by + (cz + az) % nz]
                while j >= 0:
                    dx = x - centre[j, 0]
                    dy = y - centre[j, 1]
                    dz = z - centre[j, 2]
                    dx -= par[SIZE] * np.rint(dx * par[INVERSE])
                    dy -= par[SIZE + 1] * np.rint(dy * par[INVERSE + 1])
                    dz -= par[SIZE + 2] * np.rint(dz * par[INVERSE + 2])
                    far = reach + span[j, 2]
                    if dx * dx + dy * dy + dz * dz < far * far and j != i:
                        if not excluded(par, line, seg, mol, bonded, bond_row, i, j):
                            if size >= room or row[j, 1] >= row[j, 2]:
                                row[i, 1] = size
                                return FULL
                            neighbour[first + size] = j
                            size += 1
                            neighbour[row[j, 0] + row[j, 1]] = i
                            row[j, 1] += 1
                    j = chain[j, 0]
    row[i, 1] = size
    return 0


@njit(cache=True)
def build_lists(par, line, span, seg, centre, row, chain, neighbour, cells, head, mol, bonded, bond_row):
    """Make all lists anew about the present centres; returns 0 or FULL, then with every needed length in row[:, 1].

    The centres must be set; list lengths that would not fit are counted so that the caller can make room at once.
    """
    n = len(line)
    status = 0
    need = np.zeros(n, dtype=np.int64)
    for i in range(n):
        row[i, 1] = 0
        cell_move(chain, head, row, i, cell_index(par, cells, centre[i, 0], centre[i, 1], centre[i, 2]))
    for i in range(n):
        kept = 0
        home = row[i, 3]
        cz = home % cells[2]
        cy = (home // cells[2]) % cells[1]
        cx = home // (cells[2] * cells[1])
        for ax in range(-1 if cells[0] > 2 else 0, min(cells[0], 2)):
            for ay in range(-1 if cells[1] > 2 else 0, min(cells[1], 2)):
                for az in range(-1 if cells[2] > 2 else 0, min(cells[2], 2)):
                    bx = (cx + ax) % cells[0]
                    by = (cy + ay) % cells[1]
                    bz = (cz + az) % cells[2]
                    j = head[(bx * cells[1] + by) * cells[2] + bz]
                    while j >= 0:
                        if j != i and listed(par, centre, span, i, j):
                            if not excluded(par, line, seg, mol, bonded, bond_row, i, j):
                                if kept < row[i, 2]:
                                    neighbour[row[i, 0] + kept] = j
                                kept += 1
                        j = chain[j, 0]
        need[i] = kept
        row[i, 1] = kept
        if kept > row[i, 2]:
            status = FULL
    return status


@njit(cache=True)
def listed(par, centre, span, i, j):
    """Whether two beads' centres are near enough for the pair to be listed."""
    dx = centre[i, 0] - centre[j, 0]
    dy = centre[i, 1] - centre[j, 1]
    dz = centre[i, 2] - centre[j, 2]
    dx -= par[SIZE] * np.rint(dx * par[INVERSE])
    dy -= par[SIZE + 1] * np.rint(dy * par[INVERSE + 1])
    dz -= par[SIZE + 2] * np.rint(dz * par[INVERSE + 2])
    far = span[i, 2] + span[j, 2] + 2.0 * par[SHELL]
    return dx * dx + dy * dy + dz * dz < far * far
