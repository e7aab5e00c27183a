"""Which parts of the box a rank's molecules may come to: cells of a grid, kept for the part of it where they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.model.system import PERIODIC

if TYPE_CHECKING:
    from hpcchain.model.system import Box

FINEST = 0.5
WORD = 32  # cells whose bits are kept together
MOST_ALONG = 2**17  # cells along an axis, so that a cell's number is exact as a float64


class Lattice(NamedTuple):
    """Where the cells of the whole box are.

    Attributes
    ----------
    cells : (3,) int64 array
        How many there are along each axis.
    origin, inverse : (3,) float64 arrays
        Lower corner [length] and cells per length.
    periodic : (3,) bool array
        Axes along which cells wrap; along others what lies outside counts as being in the outermost cells.
    """

    cells: np.ndarray
    origin: np.ndarray
    inverse: np.ndarray
    periodic: np.ndarray


class Balls(NamedTuple):
    """Where some molecules may come to: a bead to what the box of half width radius + skin about it reaches.

    Attributes
    ----------
    position : (N, 3), radius : (N,) float64 arrays
        Of beads, also of other molecules [length].
    first, size : (k,) int64 arrays
        The molecules' first beads, and how many beads they have.
    skin : (k,) float64 array
        How far they may go [length].
    """

    position: np.ndarray
    radius: np.ndarray
    first: np.ndarray
    size: np.ndarray
    skin: np.ndarray

    def some(self, which: np.ndarray) -> Balls:
        """Return those of some of the molecules, by their places among them or a mask."""
        return self._replace(first=self.first[which], size=self.size[which], skin=self.skin[which])


class Cells:
    """The grid of the whole box, of which nobody keeps all cells.

    Parameters
    ----------
    box : Box
    width : float
        Least width of a cell [length].

    Attributes
    ----------
    counts : (3,) int64 array
        Cells along each axis.
    lattice : Lattice
    """

    def __init__(self, box: Box, width: float) -> None:
        self.counts = np.clip(np.floor(box.size / width), 1, MOST_ALONG).astype(np.int64)
        self.lattice = Lattice(self.counts, box.origin, self.counts / box.size, box.boundary == PERIODIC)

    def extent(self, position: np.ndarray, radius: np.ndarray, margin: int) -> Extent:
        """Return the Extent of the cells that boxes of half width radius[i] about position[i] reach, and of more.

        Parameters
        ----------
        position : (n, 3), radius : (n,) float64 arrays
            [length]
        margin : int
            Cells to add on all sides.
        """
        layers = np.zeros((3, int(self.counts.max())), dtype=np.uint8)
        spread(layers, self.lattice, position, radius)
        axes = zip(layers, self.counts, self.lattice.periodic, strict=True)
        spans = [shortest(np.flatnonzero(layer), int(count), bool(wraps), margin) for layer, count, wraps in axes]
        low, length = zip(*spans, strict=True)
        return Extent(np.array(low, dtype=np.int64), np.array(length, dtype=np.int64))

    def common(self, one: Extent, other: Extent) -> Extent:
        """Return an Extent with all cells that two have in common; the same, whichever of the two is on this rank.

        Where they meet on both sides of the box it is the first's whole length along that axis.
        """
        low, length = one.low.copy(), one.length.copy()
        for c, count in enumerate(self.counts):
            lag = int((other.low[c] - one.low[c]) % count)  # the other begins so far into the first
            head = max(int(other.length[c]) - (int(count) - lag), 0)  # what it has of the first's beginning
            if lag < one.length[c] and head == 0:
                low[c], length[c] = (one.low[c] + lag) % count, min(one.length[c] - lag, other.length[c])
            elif lag >= one.length[c]:
                length[c] = min(head, one.length[c])
        return Extent(low, length) if length.min() > 0 else Extent(low, np.zeros(3, dtype=np.int64))

    def shared(self, extent: Extent, other: Extent, bits: np.ndarray) -> np.ndarray:
        """Return the bits of an extent's cells as those of another extent, 0 where that has more."""
        there = other.nothing()
        if extent.size:
            add_bits(bits, extent.low, extent.length, there, other.low, other.length, self.counts)
        return there

    def within(self, extent: Extent, cells: np.ndarray) -> np.ndarray:
        """Return the indices that cells, by number in the whole box, have in an extent; those outside are left out."""
        indices = np.empty(len(cells), dtype=np.int64)
        return indices[: indices_within(cells, self.counts, extent.low, extent.length, indices)]


@dataclass
class Extent:
    """A box of cells, which may go through the boundary: along each axis the first cell and how many.

    Sets of its cells are kept as bits, rows along the third axis, WORD of them in an unsigned integer.
    """

    low: np.ndarray
    length: np.ndarray

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(int(n) for n in self.length)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the bits: cells along two axes, and the unsigned integers that a row along the third takes."""
        return int(self.length[0]), int(self.length[1]), -(-int(self.length[2]) // WORD)

    def nothing(self) -> np.ndarray:
        """Return the bits of no cells, (n,) uint32."""
        return np.zeros(math.prod(self.shape), dtype=np.uint32)


def shortest(layers: np.ndarray, count: int, wraps: bool, margin: int) -> tuple[int, int]:
    """Return (first, number) of the shortest run of layers that has all of these, and a margin on both sides.

    Parameters
    ----------
    layers : (n,) int64 array
        Sorted.
    count : int
        Layers along the axis.
    wraps : bool
        Whether the first follows the last.
    margin : int
    """
    if not len(layers):
        return 0, 0
    if not wraps:
        low, high = max(int(layers[0]) - margin, 0), min(int(layers[-1]) + margin, count - 1)
        return low, high - low + 1
    gaps = np.diff(np.append(layers, layers[0] + count))
    at = int(np.argmax(gaps))
    length = count - int(gaps[at]) + 1 + 2 * margin
    if length >= count:
        return 0, count
    return int(layers[(at + 1) % len(layers)] - margin) % count, length


@kernel
def add_bits(bits, low, length, other, other_low, other_length, cells):
    """Set, in another extent, the cells of an extent that are in both; see `mark_cells`."""
    words, other_words = (length[2] + WORD - 1) // WORD, (other_length[2] + WORD - 1) // WORD
    ahead = (other_low[2] - low[2]) % cells[2]
    for kx in range(other_length[0]):
        x = (kx + other_low[0] - low[0]) % cells[0]
        for ky in range(other_length[1] if x < length[0] else 0):
            y = (ky + other_low[1] - low[1]) % cells[1]
            line, other_line = (x * length[1] + y) * words, (kx * other_length[1] + ky) * other_words
            if y < length[1] and ahead == 0:
                _add_words(bits, line, other, other_line, other_words, min(length[2], other_length[2]))
            elif y < length[1]:
                for kz in range(other_length[2]):
                    z = (kz + ahead) % cells[2]
                    if z < length[2] and (bits[line + z // WORD] >> np.uint32(z % WORD)) & np.uint32(1) != 0:
                        other[other_line + kz // WORD] |= np.uint32(1) << np.uint32(kz % WORD)


@inlined
def _add_words(bits, line, other, other_line, other_words, number):
    """Set those of a row's first cells that are set in another row."""
    for k in range(min(other_words, (number + WORD - 1) // WORD)):
        run = np.int64(bits[line + k])
        if number - k * WORD < WORD:
            run &= (np.int64(1) << (number - k * WORD)) - 1
        other[other_line + k] = np.uint32(np.int64(other[other_line + k]) | run)


@kernel
def indices_within(numbers, cells, low, length, indices):
    """Write the indices in an extent of cells given by their numbers in the whole box; return how many are in it."""
    count = 0
    for k in range(len(numbers)):
        row = numbers[k] // cells[2]
        x = (row // cells[1] - low[0]) % cells[0]
        y = (row % cells[1] - low[1]) % cells[1]
        z = (numbers[k] % cells[2] - low[2]) % cells[2]
        if x < length[0] and y < length[1] and z < length[2]:
            indices[count] = (x * length[1] + y) * length[2] + z
            count += 1
    return count


@kernel
def spread(layers, lattice, position, radius):
    """Set the layers of cells (3, most) uint8, along each axis, that boxes reach; see `mark_cells`."""
    for i in range(len(position)):
        for c in range(3):
            first, last = _range(lattice, position, radius[i], i, c)
            for x in range(first, last + 1):
                layers[c, x % lattice.cells[c]] = 1


@kernel
def mark_cells(bits, low, length, lattice, balls, fresh):
    """Set the cells of an extent that molecules may come to.

    Parameters
    ----------
    bits : (n,) uint32 array
        The extent's cells.
    low, length : (3,) int64 arrays
        The extent.
    lattice : Lattice
    balls : Balls
    fresh : (n,) int64 array
        Receives the numbers, in the whole box, of cells that were not set before, as many as fit.

    Returns
    -------
    int
        How many were not set before; -1 if a cell lies outside the extent.
    """
    cells, position = lattice.cells, balls.position
    new = 0
    words = (length[2] + WORD - 1) // WORD
    for k in range(len(balls.first)):
        for i in range(balls.first[k], balls.first[k] + balls.size[k]):
            far = balls.radius[i] + balls.skin[k]
            x0, x1 = _range(lattice, position, far, i, 0)
            y0, y1 = _range(lattice, position, far, i, 1)
            z0, z1 = _range(lattice, position, far, i, 2)
            start = (z0 - low[2]) % cells[2]
            ahead = min(z1 - z0 + 1, cells[2] - start)
            again = z1 - z0 + 1 - ahead  # cells beyond the boundary, from where the box begins once more
            if start + ahead > length[2] or again > length[2]:
                return -1
            wanting = _of_one_word(start, ahead, again)
            dx = (x0 - low[0]) % cells[0]  # a division each here, none for each row of cells
            from_y = (y0 - low[1]) % cells[1]
            for _ in range(x0, x1 + 1):
                dy = from_y
                for _ in range(y0, y1 + 1):
                    if dx >= length[0] or dy >= length[1]:
                        return -1
                    row = dx * length[1] + dy
                    if wanting == 0 or wanting & ~np.int64(bits[row * words + start // WORD]) != 0:  # most are set
                        new = _set_run(bits, row * words, start, ahead, low, length, cells, row, fresh, new)
                        new = _set_run(bits, row * words, np.int64(0), again, low, length, cells, row, fresh, new)
                    dy = dy + 1 if dy + 1 < cells[1] else np.int64(0)
                dx = dx + 1 if dx + 1 < cells[0] else np.int64(0)
    return new


@inlined
def _of_one_word(start, ahead, again):
    """Return the bits of a run of cells in the word where it begins, 0 where it is not all in one."""
    if again > 0 or ahead <= 0 or start % WORD + ahead > WORD:
        return np.int64(0)
    return ((np.int64(1) << ahead) - 1) << (start % WORD)


@inlined
def _set_run(bits, line, start, number, low, length, cells, row, fresh, new):
    at = start
    left = number
    while left > 0:
        bit = at % WORD
        some = min(left, WORD - bit)
        run = ((np.int64(1) << some) - 1) << bit
        before = np.int64(bits[line + at // WORD])
        if run & ~before != 0:
            bits[line + at // WORD] = np.uint32(before | run)
            for b in range(bit, bit + some):
                if (before >> b) & 1 == 0:
                    if new < len(fresh):
                        x = (row // length[1] + low[0]) % cells[0]
                        y = (row % length[1] + low[1]) % cells[1]
                        fresh[new] = (x * cells[1] + y) * cells[2] + (at - bit + b + low[2]) % cells[2]
                    new += 1
        at += some
        left -= some
    return new


@inlined
def _any_in_run(bits, line, start, number):
    found = np.int64(0)
    at = start
    left = number
    while left > 0:
        bit = at % WORD
        some = min(left, WORD - bit)
        found |= np.int64(bits[line + at // WORD]) & (((np.int64(1) << some) - 1) << bit)
        at += some
        left -= some
    return found


@kernel
def reaches(bits, low, length, lattice, balls, hit):
    """Set hit[k] where molecule k may come to a set cell of an extent; see `mark_cells`."""
    for k in range(len(hit)):
        if hit[k] == 0 and reaches_one(bits, low, length, lattice, balls, k):
            hit[k] = 1


@inlined
def reaches_one(bits, low, length, lattice, balls, k):
    """Whether molecule k may come to a set cell of an extent; see `mark_cells`."""
    found = False
    for i in range(balls.first[k], balls.first[k] + balls.size[k]):
        if bead_reaches(bits, low, length, lattice, balls.position, balls.radius[i] + balls.skin[k], i):
            found = True
            break
    return found


@kernel
def bead_reaches(bits, low, length, lattice, position, far, i):
    """Whether the box of half width `far` about bead i reaches a set cell of an extent; see `mark_cells`."""
    cells = lattice.cells
    words = (length[2] + WORD - 1) // WORD
    x0, x1 = _range(lattice, position, far, i, 0)
    if not _meets(x0, x1, low[0], length[0], cells[0]):
        return False
    y0, y1 = _range(lattice, position, far, i, 1)
    if not _meets(y0, y1, low[1], length[1], cells[1]):
        return False
    z0, z1 = _range(lattice, position, far, i, 2)
    start = (z0 - low[2]) % cells[2]
    ahead = min(z1 - z0 + 1, cells[2] - start)
    again = min(z1 - z0 + 1 - ahead, length[2])
    ahead = min(ahead, length[2] - start)
    of_word = _of_one_word(start, ahead, again)
    found = np.int64(0)
    dx = (x0 - low[0]) % cells[0]
    from_y = (y0 - low[1]) % cells[1]
    for _ in range(x0, x1 + 1):
        dy = from_y
        for _ in range(y0, y1 + 1 if dx < length[0] else y0):
            line = (dx * length[1] + dy) * words
            if dy < length[1] and of_word != 0:
                found |= np.int64(bits[line + start // WORD]) & of_word
            elif dy < length[1]:
                found |= _any_in_run(bits, line, start, ahead)
                found |= _any_in_run(bits, line, np.int64(0), again)
            dy = dy + 1 if dy + 1 < cells[1] else np.int64(0)
        if found != 0:
            return True
        dx = dx + 1 if dx + 1 < cells[0] else np.int64(0)
    return False


@kernel
def _meets(first, last, low, length, n):
    """Whether the cells first ... last and low ... low + length - 1 of n that wrap have one in common."""
    if length == 0:
        return False
    lag = (first - low) % n
    return lag < length or lag + last - first >= n


@kernel
def _range(lattice, position, radius, i, c):
    """Return the first and last cell that a box reaches along an axis, at most a whole turn."""
    n = lattice.cells[c]
    low = np.int64(np.floor((position[i, c] - radius - lattice.origin[c]) * lattice.inverse[c]))
    high = np.int64(np.floor((position[i, c] + radius - lattice.origin[c]) * lattice.inverse[c]))
    if lattice.periodic[c]:
        return low, min(high, low + n - 1)
    return min(max(low, 0), n - 1), min(max(high, 0), n - 1)
