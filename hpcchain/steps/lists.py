"""Cell lists and neighbour lists: whom a bead may interact with until the next lists are made.

A bead's neighbours stand in ascending order of their global numbers, since local beads do, and lists are filled by
going through all beads in order. Sums over a list so have one order on any number of ranks. What a list has beyond the
reach of forces adds exact zeros: neither how wide lists are nor when they were made changes a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.jit.decorators import kernel

if TYPE_CHECKING:
    from hpcchain.model.system import Box

NEAREST = 6755399441055744.0
"""1.5 * 2^52: added and taken away it rounds to the nearest whole number, in vectors of any width."""


@kernel
def count_cells(code, first):
    """Fill first[c + 1] with how many beads, of cells `code`, are in cells 0 ... c; `first` begins as zeros."""
    for k in range(len(code)):
        first[code[k] + 1] += 1
    for c in range(len(first) - 1):
        first[c + 1] += first[c]


@kernel
def sort_by_cell(code, first, filled, order):
    """Fill `order` with the numbers of beads, cell by cell, in order within each; `filled` begins as zeros."""
    for k in range(len(code)):
        c = code[k]
        order[first[c] + filled[c]] = k
        filled[c] += 1


@kernel
def axis_cells(cell, cells, periodic, found):
    """Write the cells along one axis next to a cell, itself among them, each once; return how many there are."""
    count = 0
    for step in range(-1, 2):
        other = cell + step
        if periodic:
            other = other % cells
        elif other < 0 or other >= cells:
            continue
        known = False
        for k in range(count):
            known = known or found[k] == other
        if not known:
            found[count] = other
            count += 1
    return count


@kernel
def separation2(position, i, j, size, inverse):
    """Return the squared distance of the nearest images of two beads [length^2]."""
    total = 0.0
    for c in range(3):
        d = position[i, c] - position[j, c]
        d -= size[c] * ((d * inverse[c] + NEAREST) - NEAREST)
        total += d * d
    return total


@kernel
def fill_lists(position, cell, own, first, order, cells, periodic, size, inverse, near, lists):
    """Fill the neighbour lists of own beads; return 0, or what room a list needs at least.

    Parameters
    ----------
    position : (n, 3) float64 array
        Of local beads in ascending order of their global numbers [length].
    cell : (n, 3) int64 array
        Cells of local beads.
    own : (m,) int64 array
        Which local beads are own.
    first, order : (c + 1,), (m,) int64 arrays
        Own beads by cell: numbers in `own`.
    cells, periodic : (3,) int64, bool arrays
        How many cells there are along each axis.
    size, inverse : (3,) float64 arrays
        Box lengths and their inverse, 0 along axes that are not periodic [length], [1 / length].
    near : (float, (m + 1,) int64 array, (b,) int64 array)
        Squared distance [length^2]; beads that are left out, of each own bead: where they begin, and local numbers.
    lists : ((m, k) uint32 array, (m,) int64 array, (3, 3) int64 array)
        Neighbours, how many there are, and room for cells.
    """
    reach2, left_first, left = near
    neighbour, count, found = lists
    room = neighbour.shape[1]
    for r in range(len(count)):
        count[r] = 0
    for i in range(len(position)):
        nx = axis_cells(cell[i, 0], cells[0], periodic[0], found[0])
        ny = axis_cells(cell[i, 1], cells[1], periodic[1], found[1])
        nz = axis_cells(cell[i, 2], cells[2], periodic[2], found[2])
        for a in range(nx):
            for b in range(ny):
                for c in range(nz):
                    code = (found[0, a] * cells[1] + found[1, b]) * cells[2] + found[2, c]
                    for k in range(first[code], first[code + 1]):
                        r = order[k]
                        j = own[r]
                        if j == i or separation2(position, i, j, size, inverse) >= reach2:
                            continue
                        skip = False
                        for e in range(left_first[r], left_first[r + 1]):
                            skip = skip or left[e] == i
                        if skip:
                            continue
                        if count[r] < room:
                            neighbour[r, count[r]] = i
                        count[r] += 1
    most = 0
    for r in range(len(count)):
        most = max(most, count[r])
    return most if most > room else 0


@kernel
def farthest(position, own, reference):
    """Return the greatest squared distance of own beads from where they were listed; NaN stays [length^2]."""
    most = 0.0
    for r in range(len(own)):
        d2 = 0.0
        for c in range(3):
            d = position[own[r], c] - reference[r, c]
            d2 += d * d
        if d2 > most or d2 != d2:
            most = d2
    return most


def codes(cell: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the numbers (n,) int64 of cells (n, 3)."""
    return (cell[:, 0] * cells[1] + cell[:, 1]) * cells[2] + cell[:, 2]


def cells_of(box: Box, position: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the cells (n, 3) int64 of positions (n, 3); beads outside of a box that is not periodic are in its last.

    Parameters
    ----------
    box : Box
    position : (n, 3) float64 array
        [length].
    cells : (3,) int64 array
        How many there are along each axis.
    """
    part = (position - box.origin) / box.size
    part = np.where(box.boundary == 0, part - np.floor(part), np.clip(part, 0.0, 1.0))
    return np.minimum((part * cells).astype(np.int64), cells - 1)


def shape_for(box: Box, reach: float, beads: int) -> np.ndarray:
    """Return how many cells (3,) int64 a box has along each axis, of edges no shorter than `reach` [length]."""
    if reach <= 0.0:
        return np.ones(3, dtype=np.int64)
    most = np.maximum(np.floor(box.size / (reach * (1.0 + 1e-9))), 1.0)
    while np.prod(most) > max(64.0, 2.0 * beads):
        most = np.maximum(np.floor(most / 1.26), 1.0)
    return most.astype(np.int64)
