"""Cells that molecules may come to since now: what is told of them, who may reach them, and how far away others are.

All molecules are looked at for all neighbours' cells at once, and each bead first by blocks of BLOCK cells along each
edge: one that reaches no more than SPAN cells from its own reaches none but of its own block and those beside it.
Distances are counted in blocks from those with a cell.
"""

from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.parallel.ghosts.reach import WORD, Extent, Lattice, bead_reaches

SPAN = BLOCK = 4
BESIDE, WITH = 1, 2  # blocks beside one that has a cell, and those that have one
CHOICES = 7  # of blocks around one along an axis: three, and four where the axis wraps
FARTHEST = 9  # blocks that are counted at most
NEAR = 3  # the same where only what is near is asked for


class CellSet(NamedTuple):
    """Some cells of an extent.

    Attributes
    ----------
    low, length : (3,) int64 arrays
        The extent's first cells and how many it has along each axis.
    wraps : (3,) bool array
        Along which axes its last cells are near its first ones.
    bits : (n,) uint32 array
        The cells (`reach.Extent`).
    blocks : uint8 array of three axes
        WITH for blocks that have one of them, BESIDE for those beside such.
    """

    low: np.ndarray
    length: np.ndarray
    wraps: np.ndarray
    bits: np.ndarray
    blocks: np.ndarray


def no_cells(extent: Extent, lattice: Lattice) -> CellSet:
    """Return none of an extent's cells."""
    wraps = lattice.periodic & (lattice.cells - extent.length <= SPAN)
    blocks = np.zeros(tuple(-(-int(n) // BLOCK) for n in extent.length), dtype=np.uint8)
    return CellSet(extent.low, extent.length, wraps, extent.nothing(), blocks)


@kernel
def set_cells(some, indices):
    """Set cells, given by their indices in the extent, of a CellSet."""
    length = some.length
    for p in range(len(indices)):
        row = indices[p] // length[2]
        _set(some, row // length[1], row % length[1], indices[p] % length[2])


@kernel
def take_cells(indices, told, fresh, cells, here):
    """Set cells that a neighbour tells of, by their indices in what is common with it.

    Parameters
    ----------
    indices : (n,) int64 array
    told, fresh : CellSet
        Of what is common: all that the neighbour has told of, and these.
    cells : (3,) int64 array
        Of the whole box, along each axis.
    here : CellSet
        Those of the cells that are in this rank's extent.
    """
    length = told.length
    for p in range(len(indices)):
        z = indices[p] % length[2]
        row = indices[p] // length[2]
        x, y = row // length[1], row % length[1]
        _set(told, x, y, z)
        _set(fresh, x, y, z)
        x = (x + told.low[0] - here.low[0]) % cells[0]
        y = (y + told.low[1] - here.low[1]) % cells[1]
        z = (z + told.low[2] - here.low[2]) % cells[2]
        if x < here.length[0] and y < here.length[1] and z < here.length[2]:
            _set(here, x, y, z)


@kernel
def find_blocks(some):
    """Note which blocks have a cell of a CellSet's bits, and which are beside one."""
    length, bits, blocks = some.length, some.bits, some.blocks
    words = (length[2] + WORD - 1) // WORD
    for x in range(length[0]):
        for y in range(length[1]):
            for k in range(words):
                left, z = np.int64(bits[(x * length[1] + y) * words + k]), k * WORD // BLOCK
                while left != 0:
                    if left % (1 << BLOCK) != 0 and blocks[x // BLOCK, y // BLOCK, z] != WITH:
                        _set_block(blocks, some.wraps, x // BLOCK, y // BLOCK, z)
                    left >>= BLOCK
                    z += 1


@inlined
def _set(some, x, y, z):
    word = (x * some.length[1] + y) * ((some.length[2] + WORD - 1) // WORD) + z // WORD
    some.bits[word] = np.uint32(np.int64(some.bits[word]) | (np.int64(1) << (z % WORD)))
    if some.blocks[x // BLOCK, y // BLOCK, z // BLOCK] != WITH:
        _set_block(some.blocks, some.wraps, x // BLOCK, y // BLOCK, z // BLOCK)


@kernel
def _set_block(blocks, wraps, x, y, z):
    """Note that a block has a cell, and of those around it that they are beside one that has."""
    nx, ny, nz = blocks.shape
    for kx in range(CHOICES):
        ax = block_around(x, kx, nx, wraps[0])
        for ky in range(CHOICES if ax >= 0 else 0):
            ay = block_around(y, ky, ny, wraps[1])
            for kz in range(CHOICES if ay >= 0 else 0):
                az = block_around(z, kz, nz, wraps[2])
                if az >= 0 and blocks[ax, ay, az] == 0:
                    blocks[ax, ay, az] = BESIDE
    blocks[x, y, z] = WITH


@inlined
def block_around(x, k, n, wraps):
    """Return number k of the CHOICES of blocks around block x of n along an axis, -1 for none.

    Where the axis wraps, the last block may be cut: the first two and the last two are around each other.
    """
    at = x + k - 1
    if k > 2:
        at = k - 3 if k < 5 else n - 7 + k
        if not wraps or (x > 1 and x < n - 2):
            at = -1
    return at if at < n else -1


@kernel
def coming_to(some, lattice, balls, hit):
    """Set hit[k], uint8, where molecule k of Balls may come to a cell of a CellSet."""
    for k in range(len(hit)):
        if _reaches(some, lattice, balls, k):
            hit[k] = 1


@kernel
def _reaches(some, lattice, balls, k):
    """Whether molecule k may come to a cell of a CellSet: of its beads those are looked at that are near one."""
    for i in range(balls.first[k], balls.first[k] + balls.size[k]):
        far = balls.radius[i] + balls.skin[k]
        if _may_reach(some, lattice, balls.position, far, i) and bead_reaches(
            some.bits, some.low, some.length, lattice, balls.position, far, i
        ):
            return True
    return False


@inlined
def _may_reach(some, lattice, position, far, i):
    """Whether bead i is in or beside a block that has a cell, or may reach further than those tell."""
    length, cells, inverse = some.length, lattice.cells, lattice.inverse
    x = layer_of(lattice, position, some.low, i, 0)
    y = layer_of(lattice, position, some.low, i, 1)
    z = layer_of(lattice, position, some.low, i, 2)
    if far * max(inverse[0], inverse[1], inverse[2]) > SPAN:
        near = True
    elif x >= length[0] or y >= length[1] or z >= length[2]:
        near = (
            _beyond(x, length[0], cells[0]) <= SPAN
            and _beyond(y, length[1], cells[1]) <= SPAN
            and _beyond(z, length[2], cells[2]) <= SPAN
        )
    else:
        near = some.blocks[x // BLOCK, y // BLOCK, z // BLOCK] != 0
    return near


@inlined
def layer_of(lattice, position, low, i, c):
    """Return how many cells beyond an extent's first one a bead's is, along an axis, going around the box."""
    n = lattice.cells[c]
    at = np.int64(np.floor((position[i, c] - lattice.origin[c]) * lattice.inverse[c]))
    if not lattice.periodic[c]:
        at = min(max(at, 0), n - 1)
    at -= low[c]
    while at < 0:  # seldom more than once: cheaper than a division
        at += n
    while at >= n:
        at -= n
    return at


@inlined
def _beyond(x, length, n):
    """Return how many layers beyond an extent one is, on the nearer side."""
    return np.int64(0) if x < length else min(x - length + 1, n - x)


@kernel
def wanted_since(told, fresh, lattice, balls, moved, coming, lent, rows):
    """Write down which molecules a neighbour needs that it has not had; return how many.

    Parameters
    ----------
    told, fresh : CellSet
        See `take_cells`.
    lattice : Lattice
    balls : Balls
        Of all molecules, by row.
    moved, coming : (n,) int64 arrays
        Rows of molecules that have come nearer, and of those that may reach fresh cells.
    lent : (M,) uint8 array
        Which it has, by row.
    rows : (n,) int64 array
    """
    number = 0
    for k in range(len(moved)):
        if lent[moved[k]] == 0 and _reaches(told, lattice, balls, moved[k]):
            lent[moved[k]] = 1
            rows[number] = moved[k]
            number += 1
    for k in range(len(coming)):
        if lent[coming[k]] == 0 and _reaches(fresh, lattice, balls, coming[k]):
            lent[coming[k]] = 1
            rows[number] = coming[k]
            number += 1
    for k in range(number):
        lent[rows[k]] = 0
    return number


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
        Axes along which the last are beside the first (`CellSet`).
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
    """Return how many of an extent's layers lie between layer x and the nearer end that has other layers behind it."""
    # Where axes do not wrap, what lies outside the box counts as being in the outermost cells.
    behind = n if length == n or (low == 0 and not wraps) else x
    ahead = n if length == n or (low + length == n and not wraps) else length - 1 - x
    return min(behind, ahead)
