"""Sums over all beads, or all pairs of beads, of a frame, as kernels: pairs by distance, and amplitudes of waves."""

import math

import numpy as np

from hpcchain.jit.decorators import kernel


@kernel
def add_pairs(place, box, molecule, cells, depth, first, reach, squares, counts):
    """Add up pairs of a periodic box that are nearer than `reach`, by distance: each pair once.

    Parameters
    ----------
    place : (3, N) float64 array
        Positions over the box's edges, any image, in the order of cells.
    box : (3,) float64 array
        Edges, at least twice the reach [length].
    molecule : (N,) integer array
        Of each bead, in the same order.
    cells, depth : (3,) int64 arrays
        Cells along each axis, and how many on either side are looked at; at least 2 depth + 1 of them.
    first : (cells + 1,) int64 array
        Where each cell's beads begin, the last axis fastest, and the end of the last.
    reach : float
        [length]
    squares : (N,) float64 array
        Workspace.
    counts : (2, bins) float64 array
        Of all pairs, and of those of one molecule, in even bins up to the reach.
    """
    for x in range(cells[0]):
        for y in range(cells[1]):
            for z in range(cells[2]):
                own = (x * cells[1] + y) * cells[2] + z
                for dx in range(depth[0] + 1):
                    for dy in range(-depth[1] if dx > 0 else 0, depth[1] + 1):
                        for dz in range(-depth[2] if dx > 0 or dy > 0 else 0, depth[2] + 1):
                            other = ((x + dx) % cells[0] * cells[1] + (y + dy) % cells[1]) * cells[2]
                            other += (z + dz) % cells[2]
                            for i in range(first[own], first[own + 1]):
                                low = i + 1 if own == other else first[other]
                                _add_of_bead(place, box, molecule, i, low, first[other + 1], reach, squares, counts)


@kernel
def _add_of_bead(place, box, molecule, i, low, high, reach, squares, counts):
    for j in range(low, high):
        x = place[0, i] - place[0, j]
        y = place[1, i] - place[1, j]
        z = place[2, i] - place[2, j]
        x = (x - np.rint(x)) * box[0]
        y = (y - np.rint(y)) * box[1]
        z = (z - np.rint(z)) * box[2]
        squares[j - low] = x * x + y * y + z * z
    bins = counts.shape[1]
    for j in range(low, high):
        if squares[j - low] < reach * reach:
            at = min(int(math.sqrt(squares[j - low]) * (bins / reach)), bins - 1)
            counts[0, at] += 1.0
            if molecule[i] == molecule[j]:
                counts[1, at] += 1.0


@kernel
def add_amplitudes(row, x, y, z, found):
    """Add up exp(i k r) over beads, for wave vectors that are made of waves along the axes.

    Parameters
    ----------
    row : (n, 3) int64 array
        Of each wave vector, its waves along the axes.
    x, y, z : (k, N) complex128 arrays
        Waves along the axes: exp(i n phase) of each bead.
    found : (n,) complex128 array
    """
    for n in range(len(row)):
        u, v, w = row[n, 0], row[n, 1], row[n, 2]
        total = 0j
        for i in range(x.shape[1]):
            total += x[u, i] * y[v, i] * z[w, i]
        found[n] += total
