"""Which parts of the box a rank's molecules may come to, on a coarse grid of cells."""

import numpy as np

from hpcchain.kernel import inlined, kernel

FINEST = 0.5
MOST_CELLS = 2**20


def grid_of(box, contact):
    """Return (3,) int64 cells per axis for boxes of this size: as fine as FINEST contact distances, within MOST_CELLS.

    Parameters
    ----------
    box : Box
    contact : float
        Largest contact distance [length].
    """
    width = max(FINEST * contact, (box.volume / MOST_CELLS) ** (1.0 / 3.0))
    return np.clip(np.floor(box.size / width), 1, 1024).astype(np.int64)


@kernel
def mark(grid, cells, origin, inverse, periodic, position, radius, fresh):
    """Set the cells of `grid` (flat uint8) that boxes of half width radius[i] about position[i] reach.

    Parameters
    ----------
    grid : (nx ny nz,) uint8 array
    cells : (3,) int64 array
    origin, inverse : (3,) float64 arrays
        Lower corner [length] and cells per length.
    periodic : (3,) bool array
        Axes along which cells wrap; along others what lies outside counts as being in the outermost cells.
    position : (n, 3), radius : (n,) float64 arrays
        [length]
    fresh : (k,) int64 array
        Receives the cells that were not set before, as many as fit.

    Returns
    -------
    int
        How many were not set before.
    """
    count = 0
    for i in range(len(position)):
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                line = ((x % cells[0]) * cells[1] + y % cells[1]) * cells[2]
                for z in range(z0, z1 + 1):
                    cell = line + z % cells[2]
                    if grid[cell] == 0:
                        grid[cell] = 1
                        if count < len(fresh):
                            fresh[count] = cell
                        count += 1
    return count


@kernel
def project(grid, cells, sums):
    """Count, along each axis, the layers below each that hold set cells: sums (3, longest + 1) int64."""
    sums[:, :] = 0
    for x in range(cells[0]):
        for y in range(cells[1]):
            line = (x * cells[1] + y) * cells[2]
            for z in range(cells[2]):
                if grid[line + z] != 0:
                    sums[0, x + 1] = 1
                    sums[1, y + 1] = 1
                    sums[2, z + 1] = 1
    for c in range(3):
        for k in range(cells[c]):
            sums[c, k + 1] += sums[c, k]


@inlined
def _layers(sums, cells, c, low, high):
    """Return how many layers from low to high (which may wrap) hold set cells."""
    n = cells[c]
    first = low % n
    last = first + high - low
    if last < n:
        return sums[c, last + 1] - sums[c, first]
    return sums[c, n] - sums[c, first] + sums[c, last - n + 1]


@kernel
def reaches(grid, cells, origin, inverse, periodic, position, radius, group, sums, hit):
    """Set hit[group[i]] where the box about position[i] reaches a set cell; `sums` is from `project`, see `mark`."""
    for i in range(len(position)):
        if hit[group[i]] != 0:
            continue
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        if _layers(sums, cells, 0, x0, x1) == 0:
            continue
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        if _layers(sums, cells, 1, y0, y1) == 0:
            continue
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        if _layers(sums, cells, 2, z0, z1) == 0:
            continue
        found = np.uint8(0)
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                line = ((x % cells[0]) * cells[1] + y % cells[1]) * cells[2]
                for z in range(z0, z1 + 1):
                    found |= grid[line + z % cells[2]]
        if found != 0:
            hit[group[i]] = 1


@kernel
def _range(cells, origin, inverse, periodic, position, radius, i, c):
    """Return the first and last cell that a box reaches along an axis, at most a whole turn."""
    n = cells[c]
    low = np.int64(np.floor((position[i, c] - radius[i] - origin[c]) * inverse[c]))
    high = np.int64(np.floor((position[i, c] + radius[i] - origin[c]) * inverse[c]))
    if periodic[c]:
        return low, min(high, low + n - 1)
    return min(max(low, 0), n - 1), min(max(high, 0), n - 1)
