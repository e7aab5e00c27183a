"""The pair distribution function g(r) in periodic boxes: of all beads, of different molecules, of the same one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH, Frame
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

BINS = 200
REACH = 4.0
"""Greatest distance, in diameters of the largest bead, where half the box is not shorter."""
BEADS = 1_000_000
"""Beads times frames that are enough."""
FEWEST = 10
AT_ONCE = 1 << 14
"""Pairs whose distances are found at once: their tables stay in a cache."""
PAYS = 3
"""Cells pay where they leave out so many times as many pairs as they look at."""


def enough(beads: int) -> int:
    """Return how many frames are enough for figures of all pairs or wave vectors."""
    return max(FEWEST, BEADS // max(beads, 1))


class PairDistribution:
    """g(r), the number of pairs at a distance over that of an ideal gas of as many beads in the box."""

    def __init__(self, found: Trajectory, reach: float | None = None) -> None:
        self.groups, self.most = np.ones(1), enough(len(found.mass))
        self.box, self.molecule = np.asarray(found.edges, dtype=np.float64), found.molecule
        self.edges = np.linspace(0.0, reach or min(0.5 * self.box.min(), REACH * found.diameter.max()), BINS + 1)

    def add(self, frame: Frame) -> np.ndarray:
        """Return the number of all pairs in each bin, and of those in one molecule."""
        counts = np.zeros((2, BINS))
        for i, j, distance in close_pairs(frame.position, self.box, self.edges[-1]):
            same = self.molecule[i] == self.molecule[j]
            bin_of = np.minimum((distance * (BINS / self.edges[-1])).astype(np.int64), BINS - 1)
            counts[0] += np.bincount(bin_of, minlength=BINS)
            counts[1] += np.bincount(bin_of[same], minlength=BINS)
        return counts.reshape(1, -1)

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return g(r) of all pairs, and its parts between molecules and within them."""
        n = len(self.molecule)
        ideal = 0.5 * n * (n - 1) * 4.0 / 3.0 * np.pi * np.diff(self.edges**3) / np.prod(self.box)
        r = 0.5 * (self.edges[1:] + self.edges[:-1])
        every, within = slice(0, BINS), slice(BINS, None)
        parts = {
            "pair_distribution": lambda x: x[every] / ideal,
            "pair_distribution_inter": lambda x: (x[every] - x[within]) / ideal,
            "pair_distribution_intra": lambda x: x[within] / ideal,
        }
        return [Curve(name, "", "", "r", LENGTH, r, *sums.estimate(part)) for name, part in parts.items()]


def close_pairs(position: np.ndarray, box: np.ndarray, reach: float) -> Iterator[tuple]:
    """Yield (i, j, distance) arrays of the pairs of a periodic box that are nearer than `reach`, each pair once.

    In boxes of some reaches all pairs are looked at; in larger ones beads are sorted into cells half a reach wide.

    Parameters
    ----------
    position : (N, 3) float64 array
    box : (3,) float64 array
        Edges, at least twice the reach [length].
    reach : float
        [length]
    """
    number = np.minimum(np.maximum((2.0 * box / reach).astype(np.int64), 1), 256)
    depth = np.where(number >= 5, 2, 0)
    number = np.where(number >= 5, number, 1)
    cells = number.prod() >= PAYS * (2 * depth + 1).prod()
    yield from _by_cells(position, box, reach, number, depth) if cells else _of_all(position, box, reach)


def _of_all(position: np.ndarray, box: np.ndarray, reach: float) -> Iterator[tuple]:
    beads, along = len(position), np.ascontiguousarray((position / box).T)
    for low in range(0, beads, max(AT_ONCE // beads, 1)):
        high = min(low + max(AT_ONCE // beads, 1), beads)
        square = np.zeros((high - low, beads - low))
        for axis in range(3):
            away = along[axis, low:high, None] - along[axis, low:]
            away -= np.rint(away)
            away *= box[axis]
            away *= away
            square += away
        rows, columns = np.divmod(np.flatnonzero(square.ravel() < reach * reach), beads - low)
        once = columns > rows
        rows, columns = rows[once], columns[once]
        yield low + rows, low + columns, np.sqrt(square[rows, columns])


def _by_cells(
    position: np.ndarray, box: np.ndarray, reach: float, number: np.ndarray, depth: np.ndarray
) -> Iterator[tuple]:
    """Yield the pairs by `number` cells along each axis, of which `depth` on either side are looked at; 0: of one."""
    inside = np.mod(position / box, 1.0)
    layers = np.minimum((inside * number).astype(np.int64), number - 1)
    cell = number_of(layers, number)
    sequence = np.argsort(cell, kind="stable")
    count = np.bincount(cell, minlength=int(number.prod()))
    first = np.cumsum(count) - count
    layers, place = layers[sequence], (inside * box)[sequence]
    along = np.ascontiguousarray(place.T)
    for shift in np.ndindex(*(2 * depth + 1)):
        offset = np.array(shift) - depth
        if tuple(offset) < (0, 0, 0):
            continue
        to = layers + offset
        image = to // number
        other = number_of(to - image * number, number)
        begin, end = first[other], first[other] + count[other]
        if not offset.any():
            begin = np.arange(1, len(place) + 1)  # each pair of one cell once
        seen = np.ascontiguousarray((place - image * box).T)  # from the other cell
        for low, high, own, columns in _expanded(end - begin, begin):
            square = np.zeros(len(columns))
            for axis in range(3):
                away = np.repeat(seen[axis, low:high], own) - along[axis].take(columns)
                if not depth[axis]:
                    away -= box[axis] * np.rint(away / box[axis])
                square += away * away
            near = np.flatnonzero(square < reach * reach)
            rows = np.repeat(np.arange(low, high), own)[near]
            yield sequence[rows], sequence[columns[near]], np.sqrt(square[near])


def number_of(layers: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return the number of the cell in layers (..., 3) along three axes that have so many each."""
    return (layers[..., 0] * number[1] + layers[..., 1]) * number[2] + layers[..., 2]


def _expanded(count: np.ndarray, first: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield (low, high, counts, first[row] ... first[row] + count[row] - 1) of rows low:high, some at a time."""
    total = np.concatenate([[0], np.cumsum(count)])
    low = 0
    while low < len(count):
        high = max(int(np.searchsorted(total, total[low] + AT_ONCE, side="right")) - 1, low + 1)
        own = count[low:high]
        columns = np.arange(total[high] - total[low]) + np.repeat(first[low:high] - (total[low:high] - total[low]), own)
        yield low, high, own, columns
        low = high
