"""Which parts of the box a rank's molecules may come to, on a coarse grid of cells."""

import numpy as np

from hpcchain.kernel import kernel

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
def mark(grid, cells, origin, inverse, periodic, position, radius):
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
    """
    for i in range(len(position)):
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                for z in range(z0, z1 + 1):
                    grid[((x % cells[0]) * cells[1] + y % cells[1]) * cells[2] + z % cells[2]] = 1


@kernel
def reaches(grid, cells, origin, inverse, periodic, position, radius, group, hit):
    """Set hit[group[i]] where the box about position[i] reaches a set cell; arguments as for `mark`."""
    for i in range(len(position)):
        if hit[group[i]] != 0:
            continue
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        found = np.uint8(0)
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                for z in range(z0, z1 + 1):
                    found |= grid[((x % cells[0]) * cells[1] + y % cells[1]) * cells[2] + z % cells[2]]
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
