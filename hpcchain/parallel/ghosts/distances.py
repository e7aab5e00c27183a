"""How far beads are from cells of an extent, at least: by blocks of cells, counted in blocks from those with a cell."""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.parallel.ghosts.first_look import BLOCK, CHOICES, SPAN, WITH, block_around, layer_of

FARTHEST = 9  # blocks that are counted at most
NEAR = 3  # the same where only what is near is asked for


def no_distances(blocks: np.ndarray, farthest: int = FARTHEST) -> np.ndarray:
    """Return how far the blocks of an extent without cells are from any: a uint8 array like them."""
    return np.full_like(blocks, farthest)


@kernel
def bring_nearer(blocks, wraps, distance, queue, farthest):
    """Take into account blocks that have a cell since now.

    The search goes breadth first from all of them at once, so that it comes to each block once.

    Parameters
    ----------
    blocks : uint8 array of three axes
        WITH for those that have a cell.
    wraps : (3,) bool array
        Axes along which the last are beside the first (`first_look.CellSet`).
    distance : uint8 array of three axes
        In blocks.
    queue : (n,) int64 array
        Scratch, with room for all blocks.
    farthest : int
        Blocks that are counted at most.
    """
    nx, ny, nz = blocks.shape
    last = 0
    for x in range(nx):
        for y in range(ny):
            for z in range(nz):
                if blocks[x, y, z] == WITH and distance[x, y, z] > 0:
                    distance[x, y, z] = 0
                    queue[last] = (x * ny + y) * nz + z
                    last += 1
    first = 0
    while first < last:
        z, row = queue[first] % nz, queue[first] // nz
        x, y = row // ny, row % ny
        first += 1
        last = _bring_those_around(wraps, distance, queue, last, x, y, z, farthest)


@inlined
def _bring_those_around(wraps, distance, queue, last, x, y, z, farthest):
    nx, ny, nz = distance.shape
    step = distance[x, y, z] + 1
    for kx in range(CHOICES if step < farthest else 0):
        ax = block_around(x, kx, nx, wraps[0])
        for ky in range(CHOICES if ax >= 0 else 0):
            ay = block_around(y, ky, ny, wraps[1])
            for kz in range(CHOICES if ay >= 0 else 0):
                az = block_around(z, kz, nz, wraps[2])
                if az >= 0 and distance[ax, ay, az] > step:
                    distance[ax, ay, az] = step
                    queue[last] = (ax * ny + ay) * nz + az
                    last += 1
    return last


@kernel
def rooms(low, length, distance, lattice, balls, room):
    """Write how much wider molecules' skins could be, at least, without reaching a cell, or out of the extent.

    Parameters
    ----------
    low, length : (3,) int64 arrays
        The extent.
    distance : uint8 array of three axes
        Of its blocks, in blocks (`bring_nearer`).
    lattice : Lattice
    balls : Balls
    room : (k,) float64 array
        Of each molecule [length]; less than 0 where that is not known.
    """
    inverse = lattice.inverse
    width = 1.0 / max(inverse[0], inverse[1], inverse[2])
    for k in range(len(room)):
        least = np.inf
        for i in range(balls.first[k], balls.first[k] + balls.size[k]):
            free = _free_cells(low, length, distance, lattice, balls.position, i) * width
            least = min(least, free - (balls.radius[i] + balls.skin[k]))
            if least < 0.0:
                break
        room[k] = least


@inlined
def _free_cells(low, length, distance, lattice, position, i):
    """Return within how many cells of a bead's own, on all sides, none is set and the extent does not end; at least."""
    cells, periodic = lattice.cells, lattice.periodic
    x = layer_of(lattice, position, low, i, 0)
    y = layer_of(lattice, position, low, i, 1)
    z = layer_of(lattice, position, low, i, 2)
    free = np.int64(0)
    if x < length[0] and y < length[1] and z < length[2]:
        free = SPAN * (np.int64(distance[x // BLOCK, y // BLOCK, z // BLOCK]) - 1)
        free = min(free, _to_the_end(x, low[0], length[0], cells[0], periodic[0]))
        free = min(free, _to_the_end(y, low[1], length[1], cells[1], periodic[1]))
        free = min(free, _to_the_end(z, low[2], length[2], cells[2], periodic[2]))
    return free


@inlined
def _to_the_end(x, low, length, n, wraps):
    """Return how many of an extent's layers lie between layer x and the nearer end that has other layers behind it.

    Where axes do not wrap, what lies outside the box counts as being in the outermost cells.
    """
    behind = n if length == n or (low == 0 and not wraps) else x
    ahead = n if length == n or (low + length == n and not wraps) else length - 1 - x
    return min(behind, ahead)
