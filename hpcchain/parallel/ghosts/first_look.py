"""Cells that molecules may come to since now: what is told of them, and who may reach them.

All molecules are looked at for all neighbours' cells at once, and each bead first by blocks of BLOCK cells along each
edge: one that reaches no more than SPAN cells from its own reaches none but of its own block and those beside it.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.parallel.ghosts.reach import WORD, bead_reaches

SPAN = BLOCK = 4
BESIDE, WITH = 1, 2  # blocks beside one that has a cell, and those that have one
CHOICES = 7  # of blocks around one along an axis: three, and four where the axis wraps


def no_blocks(length: np.ndarray) -> np.ndarray:
    """Return no blocks of an extent with these (3,) numbers of cells along its edges: a uint8 array of three axes."""
    return np.zeros(tuple(-(-int(n) // BLOCK) for n in length), dtype=np.uint8)


def wrapping(length: np.ndarray, cells: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """Return along which axes an extent's last cells are near its first ones, (3,) bool.

    Parameters
    ----------
    length, cells : (3,) int64 arrays
        Cells of the extent and of the whole box.
    periodic : (3,) bool array
    """
    return periodic & (cells - length <= SPAN)


@kernel
def set_cells(extent, indices):
    """Set cells of an extent, given by their indices in it; see `take_cells`."""
    _, length, wraps, bits, blocks = extent
    for p in range(len(indices)):
        row = indices[p] // length[2]
        _set(bits, blocks, length, wraps, row // length[1], row % length[1], indices[p] % length[2])


@kernel
def take_cells(indices, told, fresh, cells, here):
    """Set cells that a neighbour tells of, by their indices in what is common with it.

    Parameters
    ----------
    indices : (n,) int64 array
    told, fresh : tuple
        Of what is common, an extent: its first cells and lengths, (3,) int64 arrays, along which axes it wraps
        (`wrapping`), its bits (`reach.Extent`), its blocks: WITH those that have a cell, BESIDE those beside them. Of
        all that the neighbour has told, and of this.
    cells : (3,) int64 array
        Of the whole box, along each axis.
    here : tuple
        The same of this rank's extent, for those of the cells that are in it.
    """
    low, length, wraps, bits, blocks = told
    _, _, _, since, blocks_since = fresh
    own_low, own_length, own_wraps, own_bits, own_blocks = here
    for p in range(len(indices)):
        z = indices[p] % length[2]
        row = indices[p] // length[2]
        x, y = row // length[1], row % length[1]
        _set(bits, blocks, length, wraps, x, y, z)
        _set(since, blocks_since, length, wraps, x, y, z)
        x = (x + low[0] - own_low[0]) % cells[0]
        y = (y + low[1] - own_low[1]) % cells[1]
        z = (z + low[2] - own_low[2]) % cells[2]
        if x < own_length[0] and y < own_length[1] and z < own_length[2]:
            _set(own_bits, own_blocks, own_length, own_wraps, x, y, z)


@kernel
def find_blocks(extent):
    """Note which blocks of an extent have a cell that is set, and which are beside one; see `take_cells`."""
    _, length, wraps, bits, blocks = extent
    words = (length[2] + WORD - 1) // WORD
    for x in range(length[0]):
        for y in range(length[1]):
            for k in range(words):
                left, z = np.int64(bits[(x * length[1] + y) * words + k]), k * WORD // BLOCK
                while left != 0:
                    if left % (1 << BLOCK) != 0 and blocks[x // BLOCK, y // BLOCK, z] != WITH:
                        _set_block(blocks, wraps, x // BLOCK, y // BLOCK, z)
                    left >>= BLOCK
                    z += 1


@inlined
def _set(bits, blocks, length, wraps, x, y, z):
    word = (x * length[1] + y) * ((length[2] + WORD - 1) // WORD) + z // WORD
    bits[word] = np.uint32(np.int64(bits[word]) | (np.int64(1) << (z % WORD)))
    if blocks[x // BLOCK, y // BLOCK, z // BLOCK] != WITH:
        _set_block(blocks, wraps, x // BLOCK, y // BLOCK, z // BLOCK)


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
def coming_to(extent, lattice, balls, hit):
    """Set hit[k] where molecule k may come to a set cell of an extent.

    Parameters
    ----------
    extent : tuple
        See `take_cells`.
    lattice, balls : tuple
        See `reach.mark_cells`.
    hit : (k,) uint8 array
    """
    for k in range(len(hit)):
        if _reaches(extent, lattice, balls, k):
            hit[k] = 1


@kernel
def _reaches(extent, lattice, balls, k):
    """Whether molecule k may come to a set cell of an extent: of its beads those are looked at that are near one."""
    low, length, _, bits, blocks = extent
    position, radius, first, count, skin = balls
    for i in range(first[k], first[k] + count[k]):
        far = radius[i] + skin[k]
        if _may_reach(low, length, blocks, lattice, position, far, i) and bead_reaches(
            bits, low, length, lattice, position, far, i
        ):
            return True
    return False


@inlined
def _may_reach(low, length, blocks, lattice, position, far, i):
    """Whether bead i is in or beside a block that has a cell, or may reach further than those tell."""
    cells, origin, inverse, periodic = lattice
    x = layer_of(cells, origin, inverse, periodic, position, low, i, 0)
    y = layer_of(cells, origin, inverse, periodic, position, low, i, 1)
    z = layer_of(cells, origin, inverse, periodic, position, low, i, 2)
    if far * max(inverse[0], inverse[1], inverse[2]) > SPAN:
        near = True
    elif x >= length[0] or y >= length[1] or z >= length[2]:
        near = (
            _beyond(x, length[0], cells[0]) <= SPAN
            and _beyond(y, length[1], cells[1]) <= SPAN
            and _beyond(z, length[2], cells[2]) <= SPAN
        )
    else:
        near = blocks[x // BLOCK, y // BLOCK, z // BLOCK] != 0
    return near


@inlined
def layer_of(cells, origin, inverse, periodic, position, low, i, c):
    """Return how many cells beyond an extent's first one a bead's is, along an axis, going around the box."""
    n = cells[c]
    at = np.int64(np.floor((position[i, c] - origin[c]) * inverse[c]))
    if not periodic[c]:
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
    told, fresh : tuple
        See `take_cells`.
    lattice, balls : tuple
        See `reach.mark_cells`; all molecules, by row.
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
