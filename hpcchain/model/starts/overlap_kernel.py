"""Beads nearer than contact, cell by cell: what `overlap.near_pairs` and a look at their distances find, for many."""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel


@inlined
def _number(shape, x, y, z):
    return (x * shape[1] + y) * shape[2] + z


@kernel
def close_pairs(lattice, sorted_beads, position, diameter, nearer, begin, pairs):
    """Write down pairs of beads whose nearest images are nearer than contact, from one bead of the sorted ones on.

    Parameters
    ----------
    lattice : tuple
        Cells along each axis, (3,) int64, and the box's edges [length], (3,) float64, 0 along axes that do not wrap. A
        cell is at least as wide as the largest diameter.
    sorted_beads : tuple
        Each bead's cell, (N, 3) int64; where each cell's beads begin among the sorted ones, and the end of the last,
        (cells + 1,) int64; and the beads by their cells, (N,) int64.
    position : (N, 3), diameter : (N,) float64 arrays
        Unwrapped; [length].
    nearer : float
        Factor of the contact distance.
    begin : int
        Number in `sequence` of the bead that is looked at first.
    pairs : (n, 2) int64 array
        Receives lower and higher bead; the look at a bead begins only where all others near it fit.

    Returns
    -------
    begin, count : int
        Number of the bead to go on with, and of the pairs.
    """
    shape = lattice[0]
    cell, first, sequence = sorted_beads
    count = 0
    at = begin
    while at < len(sequence):
        i = sequence[at]
        x0, x1 = _around(cell[i, 0], shape[0], lattice[1][0])
        y0, y1 = _around(cell[i, 1], shape[1], lattice[1][1])
        z0, z1 = _around(cell[i, 2], shape[2], lattice[1][2])
        before = count
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                for z in range(z0, z1 + 1):
                    k = _number(shape, x % shape[0], y % shape[1], z % shape[2])
                    for e in range(first[k], first[k + 1]):
                        j = sequence[e]
                        if j > i and _is_close(position, diameter, lattice[1], i, j, nearer):
                            if count == len(pairs):
                                return at, before
                            pairs[count, 0], pairs[count, 1] = i, j
                            count += 1
        at += 1
    return at, count


@inlined
def _around(x, n, edge):
    """Return the first and the last of the cells around one along an axis, each once."""
    low, high = x - 1, x + 1
    if edge == 0.0 or n < 3:
        low, high = max(low, 0), min(high, n - 1)
    return low, high


@inlined
def _is_close(position, diameter, edges, i, j, nearer):
    square = 0.0
    for c in range(3):
        d = position[j, c] - position[i, c]
        if edges[c] > 0.0:
            d -= np.rint(d / edges[c]) * edges[c]
        square += d * d
    return math.sqrt(square) < 0.5 * (diameter[i] + diameter[j]) * nearer
