"""Bond angles, how long a chain keeps its direction, and distances between beads along it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import autocorrelations, square_distances
from hpcchain.analysis.figures.figure import AREA, LENGTH, Frame, OfMolecules
from hpcchain.analysis.tables import Curve, Value, numbers
from hpcchain.model.molecules.exclusion import BondWalker

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

BINS = 50
EDGES = np.linspace(-1.0, 1.0, BINS + 1)


class BondAngles(OfMolecules):
    """The distribution of the cosine between two bonds that share a bead, along the chain; 1 where it is straight."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.triples = triples(kind.size, kind.bonds)

    def add(self, frame: Frame) -> np.ndarray:
        """Return histogram counts and the sum of cosines of each group, per angle of a molecule."""
        whole = self.kind.positions(frame.position)
        one, middle, other = (whole[:, column] for column in self.triples.T)
        cosine = np.sum(unit(middle - one) * unit(other - middle), axis=2)
        bin_of = np.clip(np.searchsorted(EDGES, cosine, side="right") - 1, 0, BINS - 1)
        groups = len(self.groups)
        group = np.repeat(np.arange(groups), np.diff(self.kind.bounds) * cosine.shape[1])
        counts = np.bincount(group * BINS + bin_of.ravel(), minlength=groups * BINS).reshape(groups, BINS)
        return np.column_stack([counts, self.kind.grouped(cosine.sum(axis=1)[:, None])]) / cosine.shape[1]

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the mean cosine and the probability density of the cosine."""
        width = 2.0 / BINS
        density, doubt = sums.estimate(lambda x: x[:BINS] / width)
        return [
            *numbers(["bond_angle_cosine"], self.kind.name, sums.estimate(lambda x: x[BINS])),
            Curve("bond_angles", self.kind.name, "", "cosine", "", EDGES[:-1] + 0.5 * width, density, doubt),
        ]


class BondCorrelation(OfMolecules):
    """The cosine between bonds s apart along a chain, and its persistence length."""

    def add(self, frame: Frame) -> np.ndarray:
        """Return, of each molecule, mean cosines at s = 0, 1, ..., the mean bond length and Re^2."""
        whole = self.kind.positions(frame.position)
        bonds = np.diff(whole, axis=1)
        length = np.sqrt(np.sum(bonds * bonds, axis=2))
        span = whole[:, -1] - whole[:, 0]
        rows = [
            autocorrelations(bonds / length[:, :, None]),
            length.mean(axis=1)[:, None],
            np.sum(span**2, axis=1)[:, None],
        ]
        return self.kind.grouped(np.column_stack(rows))

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the correlation of bonds, the persistence length and the Kuhn length."""
        count, name = self.kind.size - 1, self.kind.name
        value, error = sums.estimate(lambda x: x[:count])
        lengths = sums.estimate(
            lambda x: np.array([x[count] * persistence(x[:count]), x[count + 1] / (count * x[count]), x[count]])
        )
        curve = Curve("bond_correlation", name, "", "bonds", "", np.arange(float(count)), value, error)
        return [*numbers(("persistence_length", "kuhn_length", "bond_length"), name, lengths, [LENGTH] * 3), curve]


class InternalDistances(OfMolecules):
    """The mean squared distance of beads s bonds apart along a chain, R^2(s)."""

    def add(self, frame: Frame) -> np.ndarray:
        """Return, of each molecule, the mean squares at s = 1, 2, ..."""
        return self.kind.grouped(square_distances(self.kind.positions(frame.position))[:, 1:])

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return R^2(s)."""
        value, error = sums.estimate(lambda x: x)
        s = np.arange(1.0, self.kind.size)
        return [Curve("internal_distances", self.kind.name, AREA, "bonds", "", s, value, error, ("log", "log"))]


def triples(beads: int, bonds: np.ndarray) -> np.ndarray:
    """Return (n, 3) beads i, j, k of which j is bonded to the other two, i before k."""
    walker = BondWalker(beads, bonds)
    found = [
        (one, middle, other)
        for middle in range(beads)
        for one, other in itertools.combinations(sorted(walker.partners(middle)), 2)
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) of length 1."""
    return vectors / np.sqrt(np.sum(vectors * vectors, axis=-1, keepdims=True))


def persistence(cosines: np.ndarray) -> float:
    """Return the decay length, in bonds, of the mean cosines between bonds s = 0, 1, ... apart.

    It is that of exp(-s / length), fitted to the logarithm of all cosines up to the last above 1/e, or to that of
    s = 1 alone where none is; infinite of rods, NaN where neighbouring bonds rather fold back.
    """
    below = np.flatnonzero(cosines < np.exp(-1.0))
    last = max(int(below[0]) - 1 if len(below) else len(cosines) - 1, 1)
    if len(cosines) < 2 or not np.all(cosines[1 : last + 1] > 0.0):
        return np.nan
    s, log = np.arange(1.0, last + 1), np.log(np.minimum(cosines[1 : last + 1], 1.0))
    slope = -float(np.sum(s * log) / np.sum(s * s))
    return 1.0 / slope if slope > 1e-12 else np.inf
