"""Which parts of the box a rank's molecules may come to: cells of a grid, kept for the part of it where they are."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel

if TYPE_CHECKING:
    from hpcchain.model.system import Box

FINEST = 0.5
WORD = 32  # cells whose marks are kept together
MOST_ALONG = 2**17  # cells along an axis: thin boxes may be very long


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


class Cells(NamedTuple):
    """The grid of the whole box, of which no rank keeps all cells.

    Attributes
    ----------
    counts : (3,) int64 array
        Cells along each axis.
    origin, inverse : (3,) float64 arrays
        Lower corner [length] and cells per length.
    periodic : (3,) bool array
        Axes along which cells wrap; along others what lies outside counts as being in the outermost cells.
    """

    counts: np.ndarray
    origin: np.ndarray
    inverse: np.ndarray
    periodic: np.ndarray

    @classmethod
    def of(cls, box: Box, width: float) -> Cells:
        """Return the cells of a box, at least so wide [length]."""
        counts = np.clip(np.floor(box.size / width), 1, MOST_ALONG).astype(np.int64)
        return cls(counts, box.origin, counts / box.size, box.periodic)

    def extent(self, position: np.ndarray, radius: np.ndarray, margin: int) -> Extent:
        """Return the Extent of cells that boxes of half width radius[i] about position[i] reach, and of a margin."""
        layers = np.zeros((3, int(self.counts.max())), dtype=np.uint8)
        spread(layers, self, position, radius)
        axes = zip(layers, self.counts, self.periodic, strict=True)
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

    def shared(self, extent: Extent, other: Extent, marks: np.ndarray) -> np.ndarray:
        """Return the marks of another extent's cells that are marked in this one; none where the other has more."""
        whole = other.low[2] == extent.low[2] and other.length[2] == extent.length[2]  # rows need not be taken apart
        there = other.nothing() if whole else np.zeros(tuple(other.length), dtype=np.uint8)
        here = marks if whole else extent.flags(marks)
        axes = zip(other.low, other.length, extent.low, extent.length, self.counts, strict=True)
        for x, y, z in itertools.product(*(runs(*axis) for axis in axes)):
            at, source = ((x[k], y[k]) if whole else (x[k], y[k], z[k]) for k in (0, 1))
            there[at] = here[source]
        return there if whole else other.marks(there)


class Extent(NamedTuple):
    """A box of cells, which may go through the boundary: along each axis the first cell and how many.

    Sets of its cells are kept as marks, a bit each: WORD of a row along the third axis in an unsigned integer.
    """

    low: np.ndarray
    length: np.ndarray

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(int(n) for n in self.length)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of marks: cells along two axes, and the unsigned integers that a row along the third takes."""
        return int(self.length[0]), int(self.length[1]), -(-int(self.length[2]) // WORD)

    def nothing(self) -> np.ndarray:
        """Return the marks of no cells, uint32 of three axes."""
        return np.zeros(self.shape, dtype=np.uint32)

    def flags(self, marks: np.ndarray) -> np.ndarray:
        """Return which cells are marked, (cells along each axis) uint8."""
        octets = marks.view(np.uint8).reshape(*marks.shape[:2], 4 * marks.shape[2])
        return np.unpackbits(octets, axis=2, bitorder="little", count=int(self.length[2]))

    def layers(self, marks: np.ndarray) -> np.ndarray:
        """Return the layers along each axis that have marked cells, (3, most) uint8."""
        found = np.zeros((3, int(self.length.max())), dtype=np.uint8)
        along_z = self.flags(np.bitwise_or.reduce(marks, axis=(0, 1), keepdims=True))
        for row, some in zip(found, (marks.any(axis=(1, 2)), marks.any(axis=(0, 2)), along_z[0, 0]), strict=True):
            row[: len(some)] = some
        return found

    def marks(self, flags: np.ndarray) -> np.ndarray:
        """Return the marks of the cells for which `flags` are 1."""
        nx, ny, words = self.shape
        padded = np.zeros((nx, ny, words * WORD), dtype=np.uint8)
        padded[:, :, : flags.shape[2]] = flags
        return np.packbits(padded, axis=2, bitorder="little").view(np.uint32).reshape(self.shape)


def shortest(layers: np.ndarray, count: int, wraps: bool, margin: int) -> tuple[int, int]:
    """Return (first, number) of the shortest run of layers that has all of these, and a margin on both sides.

    `layers`: sorted (n,) int64 array, of `count` along the axis, whose first follows the last if it `wraps`.
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


def runs(low: int, length: int, other_low: int, other_length: int, count: int) -> list:
    """Return pairs of slices: where layers of one extent are in it and in another, along an axis of `count` layers."""
    place = (low + np.arange(length) - other_low) % count
    shared = np.flatnonzero(place < other_length)
    parts = np.split(shared, np.flatnonzero(np.diff(place[shared] - shared)) + 1)
    return [(slice(p[0], p[-1] + 1), slice(place[p[0]], place[p[-1]] + 1)) for p in parts if len(p)]


@kernel
def spread(layers, cells, position, radius):
    """Set the layers of cells (3, most) uint8, along each axis, that boxes reach; see `mark_cells`."""
    for i in range(len(position)):
        for c in range(3):
            first, last = _range(cells, position, radius[i], i, c)
            for x in range(first, last + 1):
                layers[c, x % cells.counts[c]] = 1


@kernel
def mark_cells(marks, extent, cells, balls):
    """Add to an extent's `marks` the cells that molecules may come to; return whether all of these are in it."""
    inside = True
    for k in range(len(balls.first)):
        for i in range(balls.first[k], balls.first[k] + balls.size[k]):
            far = balls.radius[i] + balls.skin[k]
            _, all_in = _visit(marks, extent, cells, balls.position, far, i, True)
            inside = inside and all_in
    return inside


@kernel
def reaches(marks, layers, extent, cells, balls, hit):
    """Set hit[k] where molecule k may come to a marked cell of an extent, with `Extent.layers`; see `mark_cells`."""
    for k in range(len(hit)):
        for i in range(balls.first[k], balls.first[k] + balls.size[k]):
            far = balls.radius[i] + balls.skin[k]
            if hit[k] == 0 and _meets_layers(layers, extent, cells, balls.position, far, i):
                hit[k] = _visit(marks, extent, cells, balls.position, far, i, False)[0]


@kernel
def _meets_layers(layers, extent, cells, position, far, i):
    """Whether the box of half width `far` about bead i reaches a marked layer along every axis."""
    for c in range(3):
        number, start = _run(cells, position, far, extent.low, i, c)
        found = False
        for k in range(start, start + number):
            layer = k if k < cells.counts[c] else k - cells.counts[c]
            found |= layer < extent.length[c] and layers[c, layer] != 0
        if not found:
            return False
    return True


@kernel
def _visit(marks, extent, cells, position, far, i, puts):
    """Return whether the box of half width `far` about bead i reaches marked cells, and no cells beyond the extent."""
    # If it `puts`, all that it reaches are marked; else the first marked one, or that there is none, is enough to know.
    counts, length = cells.counts, extent.length
    across, from_x = _run(cells, position, far, extent.low, i, 0)
    along, from_y = _run(cells, position, far, extent.low, i, 1)
    up, z = _run(cells, position, far, extent.low, i, 2)
    found, inside = False, True
    while up > 0 and (puts or not found):  # a word's cells, the same of all rows
        some = min(min(up, WORD - z % WORD), (length[2] if z < length[2] else counts[2]) - z)
        bits = ((np.int64(1) << some) - 1) << (z % WORD)
        x = from_x
        for _ in range(across):
            y = from_y
            for _ in range(along):
                if x < length[0] and y < length[1] and z < length[2]:
                    found |= (np.int64(marks[x, y, z // WORD]) & bits) != 0
                    if puts:
                        marks[x, y, z // WORD] |= np.uint32(bits)
                else:
                    inside = False
                y = y + 1 if y + 1 < counts[1] else np.int64(0)  # cheaper than a division
            if found and not puts:
                break
            x = x + 1 if x + 1 < counts[0] else np.int64(0)
        up -= some
        z = z + some if z + some < counts[2] else np.int64(0)
    return found, inside


@inlined
def _run(cells, position, far, low, i, c):
    """Return how many layers a box reaches along an axis, and how far beyond an extent's first one they begin."""
    first, last = _range(cells, position, far, i, c)
    return last - first + 1, (first - low[c]) % cells.counts[c]


@kernel
def _range(cells, position, radius, i, c):
    """Return the first and last cell that a box reaches along an axis, at most a whole turn."""
    n = cells.counts[c]
    low = np.int64(np.floor((position[i, c] - radius - cells.origin[c]) * cells.inverse[c]))
    high = np.int64(np.floor((position[i, c] + radius - cells.origin[c]) * cells.inverse[c]))
    if cells.periodic[c]:
        return low, min(high, low + n - 1)
    return min(max(low, 0), n - 1), min(max(high, 0), n - 1)
