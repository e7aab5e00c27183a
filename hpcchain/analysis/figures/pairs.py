"""The pair distribution function g(r) in periodic boxes: of all beads, of different molecules, of the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH, Figure, Frame
from hpcchain.analysis.figures.over_beads import add_pairs
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
MOST_CELLS = 256
"""Along an axis."""
PAYS = 3
"""Cells pay where they leave out so many times as many pairs as they look at."""


def enough(beads: int) -> int:
    """Return how many frames are enough for figures of all pairs or wave vectors."""
    return max(FEWEST, BEADS // max(beads, 1))


class PairDistribution(Figure):
    """g(r), the number of pairs at a distance over that of an ideal gas of as many beads in the box."""

    def __init__(self, found: Trajectory) -> None:
        self.most = enough(len(found.mass))
        self.box, self.molecule = np.asarray(found.edges, dtype=np.float64), found.molecule
        self.edges = np.linspace(0.0, min(0.5 * self.box.min(), REACH * found.diameter.max()), BINS + 1)

    def add(self, frame: Frame) -> np.ndarray:
        """Return the number of all pairs in each bin, and of those in one molecule."""
        return pair_counts(frame.position, self.box, self.molecule, self.edges[-1], BINS).reshape(1, -1)

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return g(r) of all pairs, and where there are molecules its parts between them and within them."""
        n = len(self.molecule)
        ideal = 0.5 * n * (n - 1) * 4.0 / 3.0 * np.pi * np.diff(self.edges**3) / np.prod(self.box)
        r = 0.5 * (self.edges[1:] + self.edges[:-1])
        every, within = slice(0, BINS), slice(BINS, None)
        parts = {"pair_distribution": lambda x: x[every] / ideal}
        if len(np.unique(self.molecule)) < n:
            parts["pair_distribution_inter"] = lambda x: (x[every] - x[within]) / ideal
            parts["pair_distribution_intra"] = lambda x: x[within] / ideal
        return [Curve(name, "", "", "r", LENGTH, r, *sums.estimate(part)) for name, part in parts.items()]


def pair_counts(position: np.ndarray, box: np.ndarray, molecule: np.ndarray, reach: float, bins: int) -> np.ndarray:
    """Return how many pairs of a periodic box are at which distance, (2, bins): of all, and of one molecule.

    In boxes of some reaches all pairs are looked at; in larger ones beads are sorted into cells half a reach wide.

    Parameters
    ----------
    position : (N, 3) float64 array
    box : (3,) float64 array
        Edges, at least twice the reach [length].
    molecule : (N,) integer array
    reach : float
        [length]
    bins : int
    """
    cells = np.minimum(np.maximum((2.0 * box / reach).astype(np.int64), 1), MOST_CELLS)
    depth = np.where(cells >= 5, 2, 0)
    cells = np.where(cells >= 5, cells, 1)
    if cells.prod() < PAYS * (2 * depth + 1).prod():
        cells, depth = np.ones(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    box, place = np.array(box), position / box
    layers = np.minimum((np.mod(place, 1.0) * cells).astype(np.int64), cells - 1)
    cell = (layers[:, 0] * cells[1] + layers[:, 1]) * cells[2] + layers[:, 2]
    sequence = np.argsort(cell, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=int(cells.prod())))])
    counts, squares = np.zeros((2, bins)), np.empty(len(place))
    along = np.ascontiguousarray(place[sequence].T)
    own = molecule[sequence].astype(np.int64)  # of one type: the kernel is compiled once
    add_pairs(along, box, own, cells, depth, first, float(reach), squares, counts)
    return counts
