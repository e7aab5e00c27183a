"""Which parts of the box a rank's molecules may come to: cells of a grid, kept for the part of it where they are."""

import math
from dataclasses import dataclass

import numpy as np

from hpcchain.kernel import kernel
from hpcchain.model.system import PERIODIC

FINEST = 0.5
MOST_ALONG = 2**17  # cells along an axis, so that a cell's number is exact as a float64


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
    place : tuple
        What kernels need to find a point's cell: counts, origin [length], cells per length, and along which axes cells
        wrap; along others what lies outside counts as being in the outermost cells.
    """

    def __init__(self, box, width):
        self.counts = np.clip(np.floor(box.size / width), 1, MOST_ALONG).astype(np.int64)
        self.place = (self.counts, box.origin, self.counts / box.size, box.boundary == PERIODIC)

    def extent(self, position, radius, margin):
        """Return the Extent of the cells that boxes of half width radius[i] about position[i] reach, and of more.

        Parameters
        ----------
        position : (n, 3), radius : (n,) float64 arrays
            [length]
        margin : int
            Cells to add on all sides.
        """
        layers = np.zeros((3, int(self.counts.max())), dtype=np.uint8)
        spread(layers, *self.place, position, radius)
        axes = zip(layers, self.counts, self.place[3], strict=True)
        spans = [shortest(np.flatnonzero(layer), int(count), bool(wraps), margin) for layer, count, wraps in axes]
        low, length = zip(*spans, strict=True)
        return Extent(np.array(low, dtype=np.int64), np.array(length, dtype=np.int64))

    def common(self, one, other):
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

    def flags(self, extent, other, flags):
        """Return the flags (uint8) of an extent's cells as those of another extent, 0 where that has more."""
        if extent.size == 0:
            return np.zeros(other.size, dtype=np.uint8)
        inside = [(low + np.arange(n) - start) % count for low, n, start, count in
                  zip(other.low, other.length, extent.low, self.counts, strict=True)]
        here = np.ix_(*(np.minimum(at, n - 1) for at, n in zip(inside, extent.length, strict=True)))
        x, y, z = (at < n for at, n in zip(inside, extent.length, strict=True))
        known = x[:, None, None] & y[:, None] & z
        return np.where(known, flags.reshape(extent.length)[here], 0).astype(np.uint8).ravel()

    def within(self, extent, cells):
        """Return the places that cells, by number in the whole box, have in an extent; those outside are left out."""
        xyz = np.stack(np.unravel_index(cells, tuple(self.counts)))
        at = (xyz - extent.low[:, None]) % self.counts[:, None]
        at = at[:, np.all(at < extent.length[:, None], axis=0)]
        return (at[0] * extent.length[1] + at[1]) * extent.length[2] + at[2]


@dataclass
class Extent:
    """A box of cells, which may go through the boundary: along each axis the first cell and how many."""

    low: np.ndarray
    length: np.ndarray

    @property
    def size(self):
        """Number of cells."""
        return math.prod(int(n) for n in self.length)


def shortest(layers, count, wraps, margin):
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
def spread(layers, cells, origin, inverse, periodic, position, radius):
    """Set the layers of cells (3, most) uint8, along each axis, that boxes reach; see `mark`."""
    for i in range(len(position)):
        for c in range(3):
            first, last = _range(cells, origin, inverse, periodic, position, radius, i, c)
            for x in range(first, last + 1):
                layers[c, x % cells[c]] = 1


@kernel
def mark(flags, low, length, cells, origin, inverse, periodic, position, radius, fresh):
    """Set the cells of an extent that boxes of half width radius[i] about position[i] reach.

    Parameters
    ----------
    flags : (nx ny nz,) uint8 array
        The extent's cells.
    low, length : (3,) int64 arrays
        The extent.
    cells : (3,) int64 array
    origin, inverse : (3,) float64 arrays
        Lower corner [length] and cells per length.
    periodic : (3,) bool array
        Axes along which cells wrap; along others what lies outside counts as being in the outermost cells.
    position : (n, 3), radius : (n,) float64 arrays
        [length]
    fresh : (k,) int64 array
        Receives the numbers, in the whole box, of cells that were not set before, as many as fit.

    Returns
    -------
    int
        How many were not set before; -1 if a cell lies outside the extent.
    """
    count = 0
    for i in range(len(position)):
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        start = (z0 - low[2]) % cells[2]  # one division here, none for each cell
        for x in range(x0, x1 + 1):
            dx = (x - low[0]) % cells[0]
            for y in range(y0, y1 + 1):
                dy = (y - low[1]) % cells[1]
                if dx >= length[0] or dy >= length[1]:
                    return -1
                line = (dx * length[1] + dy) * length[2]
                dz = start
                for z in range(z0, z1 + 1):
                    if dz >= length[2]:
                        return -1
                    if flags[line + dz] == 0:
                        flags[line + dz] = 1
                        if count < len(fresh):
                            fresh[count] = ((x % cells[0]) * cells[1] + y % cells[1]) * cells[2] + z % cells[2]
                        count += 1
                    dz = dz + 1 if dz + 1 < cells[2] else np.int64(0)
    return count


@kernel
def reaches(flags, low, length, cells, origin, inverse, periodic, position, radius, group, hit):
    """Set hit[group[i]] where the box about position[i] reaches a set cell of an extent; see `mark`."""
    for i in range(len(position)):
        if hit[group[i]] != 0:
            continue
        x0, x1 = _range(cells, origin, inverse, periodic, position, radius, i, 0)
        if not _meets(x0, x1, low[0], length[0], cells[0]):
            continue
        y0, y1 = _range(cells, origin, inverse, periodic, position, radius, i, 1)
        if not _meets(y0, y1, low[1], length[1], cells[1]):
            continue
        z0, z1 = _range(cells, origin, inverse, periodic, position, radius, i, 2)
        found = np.uint8(0)
        start = (z0 - low[2]) % cells[2]
        for x in range(x0, x1 + 1):
            dx = (x - low[0]) % cells[0]
            if dx >= length[0]:
                continue
            for y in range(y0, y1 + 1):
                dy = (y - low[1]) % cells[1]
                if dy >= length[1]:
                    continue
                line = (dx * length[1] + dy) * length[2]
                dz = start
                for _ in range(z0, z1 + 1):
                    if dz < length[2]:
                        found |= flags[line + dz]
                    dz = dz + 1 if dz + 1 < cells[2] else np.int64(0)
        if found != 0:
            hit[group[i]] = 1


@kernel
def _meets(first, last, low, length, n):
    """Whether the cells first ... last and low ... low + length - 1 of n that wrap have one in common."""
    if length == 0:
        return False
    lag = (first - low) % n
    return lag < length or lag + last - first >= n


@kernel
def _range(cells, origin, inverse, periodic, position, radius, i, c):
    """Return the first and last cell that a box reaches along an axis, at most a whole turn."""
    n = cells[c]
    low = np.int64(np.floor((position[i, c] - radius[i] - origin[c]) * inverse[c]))
    high = np.int64(np.floor((position[i, c] + radius[i] - origin[c]) * inverse[c]))
    if periodic[c]:
        return low, min(high, low + n - 1)
    return min(max(low, 0), n - 1), min(max(high, 0), n - 1)
