"""Cell lists and neighbour lists: which beads a bead may interact with until the next lists are made.

A bead's neighbours stand in ascending order of their global numbers, as local beads do. Sums over a list so have one
order on any number of ranks. What a list has beyond the range of forces adds exact zeros: neither how wide lists are
nor when they were made changes a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel

if TYPE_CHECKING:
    from hpcchain.model.system import Box

NEAREST = 6755399441055744.0
"""1.5 * 2^52: added and taken away it rounds to the nearest whole number, in vectors of any width."""


class Images(NamedTuple):
    """Lengths of a box and their inverses, (3,) float64 each, 0 along axes that are not periodic [length]."""

    size: np.ndarray
    inverse: np.ndarray

    def nearest(self, apart: np.ndarray) -> np.ndarray:
        """Return vectors (..., 3) between nearest images of what they are between."""
        return apart - self.size * np.rint(apart * self.inverse)


def images_of(box: Box) -> Images:
    """Return the Images of a box."""
    return Images(box.period, np.where(box.periodic, 1.0 / box.size, 0.0))


@inlined
def nearest(d, size, inverse):
    """Return a difference of two coordinates along an axis, of nearest images; see `Images`."""
    return d - size * ((d * inverse + NEAREST) - NEAREST)


@inlined
def apart(position, i, j, images):
    """Return the separation of the nearest images of two beads, from j to i, and its square: four floats."""
    size, inverse = images.size, images.inverse
    dx = nearest(position[i, 0] - position[j, 0], size[0], inverse[0])
    dy = nearest(position[i, 1] - position[j, 1], size[1], inverse[1])
    dz = nearest(position[i, 2] - position[j, 2], size[2], inverse[2])
    return dx, dy, dz, dx * dx + dy * dy + dz * dz


@inlined
def along_bond(position, i, j):
    """Return the separation of two beads of a molecule, from j to i, and its square: four floats."""
    dx, dy, dz = position[i, 0] - position[j, 0], position[i, 1] - position[j, 1], position[i, 2] - position[j, 2]
    return dx, dy, dz, dx * dx + dy * dy + dz * dz


@inlined
def add_to(force, r, x, y, z):
    """Add a force (x, y, z) to that on own bead r."""
    force[r, 0] += x
    force[r, 1] += y
    force[r, 2] += z


class Cells(NamedTuple):
    """Local beads by the cells that they are in.

    Attributes
    ----------
    first, sequence : (c + 1,), (n,) int64 arrays
        Where the beads of each cell begin, and the beads.
    counts, periodic : (3,) int64, bool arrays
        How many cells there are along each axis.
    """

    first: np.ndarray
    sequence: np.ndarray
    counts: np.ndarray
    periodic: np.ndarray


class ListWork(NamedTuple):
    """Workspace to fill lists of n local beads.

    Attributes
    ----------
    one : (n,) int64 array
        Beads that are near.
    x, y, z, square : (n,) float64 arrays
        Their places, and their squared distances from a bead.
    hits : (n + 1,) int64 array
        Those that are within the list radius of it.
    found : (3, 3) int64 array
        The cells along each axis.
    """

    one: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    square: np.ndarray
    hits: np.ndarray
    found: np.ndarray


def list_work(n: int) -> ListWork:
    """Return the ListWork of n beads."""
    one, hits = (np.empty(size, dtype=np.int64) for size in (n, n + 1))
    x, y, z, square = (np.empty(n) for _ in range(4))
    return ListWork(one, x, y, z, square, hits, np.empty((3, 3), dtype=np.int64))


@kernel
def axis_cells(cell, cells, periodic, found):
    """Write the cells along one axis next to a cell, itself among them, each once; return how many there are."""
    count = 0
    for shift in range(-1, min(2, cells - 1) if periodic else 2):
        other = cell + shift
        if periodic:
            other = other % cells
        elif other < 0 or other >= cells:
            continue
        found[count] = other
        count += 1
    return count


@kernel
def gather_near(code, position, cells, work):
    """Collect the beads of the cell of this number and of those next to it, and their places; return how many.

    See `fill_lists`.
    """
    one, found, first, counts, periodic = work.one, work.found, cells.first, cells.counts, cells.periodic
    nx = axis_cells(code // (counts[1] * counts[2]), counts[0], periodic[0], found[0])
    ny = axis_cells(code // counts[2] % counts[1], counts[1], periodic[1], found[1])
    nz = axis_cells(code % counts[2], counts[2], periodic[2], found[2])
    count = 0
    for a in range(nx):
        for b in range(ny):
            for c in range(nz):
                other = (found[0, a] * counts[1] + found[1, b]) * counts[2] + found[2, c]
                for k in range(first[other], first[other + 1]):
                    one[count] = cells.sequence[k]
                    count += 1
    for k in range(count):
        work.x[k], work.y[k], work.z[k] = position[one[k], 0], position[one[k], 1], position[one[k], 2]
    return count


@kernel
def squares_from(x, y, z, n, xi, yi, zi, images, square):
    """Write the squared distances of the nearest images of n beads from a place (xi, yi, zi) [length^2]."""
    lx, ly, lz = images.size[0], images.size[1], images.size[2]
    ix, iy, iz = images.inverse[0], images.inverse[1], images.inverse[2]
    for k in range(n):
        dx, dy, dz = nearest(xi - x[k], lx, ix), nearest(yi - y[k], ly, iy), nearest(zi - z[k], lz, iz)
        square[k] = dx * dx + dy * dy + dz * dz


@kernel
def fill_list(i, r, n, radius2, left, pairs, work):
    """Fill the list of own bead i, in row r, with those of n beads that are near; see `fill_lists`."""
    neighbour, one, square, hits = pairs.neighbour, work.one, work.square, work.hits
    most, capacity, listed = 0, neighbour.shape[1], 0
    for k in range(n):
        hits[most] = one[k]
        most += square[k] < radius2
    for h in range(most):
        j = hits[h]
        skip = j == i
        for e in range(left.first[r], left.first[r + 1]):
            skip = skip or left.partner[e] == j
        if not skip:
            if listed < capacity:
                neighbour[r, listed] = j
            listed += 1
    pairs.lengths[r] = listed
    return listed


@kernel
def fill_lists(position, row, cells, images, radius2, left, pairs, work):
    """Fill the neighbour lists of own beads; return 0, or what capacity a list needs at least.

    Own beads of one cell have the same beads in their cell and those next to it, which are collected once.

    Parameters
    ----------
    position, row : (n, 3) float64, (n,) int64 arrays
        Of local beads in ascending order of their global numbers [length]; rows among own ones, -1 for ghosts.
    cells : Cells
    images : Images
    radius2 : float
        Squared distance within which beads are listed [length^2].
    left : Bonds
        Whose partners are left out (`forces`).
    pairs : Pairs
        Is given the neighbours, not in order, and how many there are (`forces`).
    work : ListWork
    """
    most, first, sequence = 0, cells.first, cells.sequence
    for code in range(len(first) - 1):
        owned = False
        for k in range(first[code], first[code + 1]):
            owned = owned or row[sequence[k]] >= 0
        if not owned:
            continue
        n = gather_near(code, position, cells, work)
        for k in range(first[code], first[code + 1]):
            i = sequence[k]
            if row[i] < 0:
                continue
            xi, yi, zi = position[i, 0], position[i, 1], position[i, 2]
            squares_from(work.x, work.y, work.z, n, xi, yi, zi, images, work.square)
            most = max(most, fill_list(i, row[i], n, radius2, left, pairs, work))
    return most if most > pairs.neighbour.shape[1] else 0


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


def shape_for(box: Box, list_radius: float, beads: int) -> np.ndarray:
    """Return how many cells (3,) int64 a box has along each axis, of edges no shorter than `list_radius` [length]."""
    most = np.maximum(np.floor(box.size / (list_radius * (1.0 + 1e-9))), 1.0)
    while np.prod(most) > max(64.0, 2.0 * beads):
        most = np.maximum(np.floor(most / 1.26), 1.0)
    return most.astype(np.int64)
