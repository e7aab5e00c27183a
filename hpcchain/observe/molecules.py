"""Means over molecules and time with errors, frame by frame, in memory of a few numbers per molecule.

Molecules are independent samples, the frames of a run shorter than their relaxation are not: the spread of values over
time alone would say that a few chains, seen for long, are known well.
"""

import numpy as np

from hpcchain.observe.averages import end_to_end_squared, gyration_squared, is_linear, mean_and_error
from hpcchain.observe.correlation import Correlator

ENOUGH = 5.0
"""Correlation times that a run should last, so that its errors can be relied on."""


class MoleculeMean:
    """The mean of a quantity over n molecules and over time, and its standard error.

    Parameters
    ----------
    molecules : int
    """

    def __init__(self, molecules: int) -> None:
        self._sum = np.zeros(molecules)
        self._over_time = []

    def add(self, values: np.ndarray) -> None:
        """Take the (n,) values of the next frame."""
        self._sum += values
        self._over_time.append(float(np.mean(values)))

    def mean_and_error(self) -> tuple[float, float]:
        """Return the mean and the greater of two standard errors, NaN where there is none.

        One is the error over molecules, of each one's own mean over time; it needs two molecules. The other is that of
        the frames' means, by block averages (`averages.mean_and_error`); it needs two frames.
        """
        mean, over_time = mean_and_error(self._over_time)
        errors = [error for error in (over_time, self._over_molecules()) if np.isfinite(error)]
        return mean, max(errors, default=np.nan)

    def _over_molecules(self) -> float:
        frames, molecules = len(self._over_time), len(self._sum)
        if frames == 0 or molecules < 2:
            return np.nan
        return float(np.std(self._sum / frames, ddof=1) / np.sqrt(molecules))


class Sizes:
    """End-to-end distance, radius of gyration and relaxation of the molecules of one kind.

    Parameters
    ----------
    beads : (m, b) integer array
        Global ids of the beads of each molecule.
    mass : (b,) float64 array
        Of one molecule [mass].
    bonds : (k, 2) integer array
        Of one molecule, beads counted from 0, lower first.

    Attributes
    ----------
    shape : (int, int)
        Number of molecules, and beads of one.
    linear : bool
        Whether the first and the last bead are the ends of a chain.
    ends, gyration : MoleculeMean
        Squares [length^2].
    """

    def __init__(self, beads: np.ndarray, mass: np.ndarray, bonds: np.ndarray) -> None:
        self._beads, self.shape = beads, beads.shape
        self._first = np.arange(len(beads) + 1) * beads.shape[1]
        self._mass = np.tile(mass, len(beads))
        self.linear = bool(is_linear(bonds, self._first[:2])[0])
        self.ends, self.gyration = MoleculeMean(len(beads)), MoleculeMean(len(beads))
        self._far = far_ends(beads.shape[1], bonds)
        self._correlator = Correlator() if beads.shape[1] > 1 else None

    def add(self, position: np.ndarray) -> None:
        """Take the next frame: the (N, 3) positions of all beads, each molecule whole [length]."""
        own = position[self._beads.ravel()]
        self.ends.add(end_to_end_squared(own, self._first))
        self.gyration.add(gyration_squared(own, self._mass, self._first))
        if self._correlator is not None:
            low, high = self._far
            self._correlator.add(own[high :: self.shape[1]] - own[low :: self.shape[1]])

    def correlation_time(self) -> float:
        """Return the integrated correlation time, in frames, of the vector between the beads of `far_ends`; or NaN."""
        return self._correlator.time() if self._correlator is not None else np.nan


def kinds_of(species: np.ndarray, molecule: np.ndarray, mass: np.ndarray, bonds: np.ndarray) -> list:
    """Return (species of the first bead, Sizes) of every kind of molecule, in the order of species.

    Parameters
    ----------
    species, molecule : (N,) integer arrays
        Of each bead; the beads of a molecule stand together, and molecules of one kind are alike.
    mass : (N,) float64 array
        [mass].
    bonds : (B, 2) integer array
        Global bead ids, lower first.
    """
    first = np.flatnonzero(np.diff(molecule, prepend=-1))
    size = np.diff(np.append(first, len(molecule)))
    found = []
    for kind in np.unique(species[first]):
        own = np.flatnonzero(species[first] == kind)
        low, high = int(first[own[0]]), int(first[own[0]] + size[own[0]])
        inside = bonds[(bonds[:, 0] >= low) & (bonds[:, 0] < high)] - low
        beads = first[own][:, None] + np.arange(high - low)
        found.append((int(kind), Sizes(beads, mass[low:high], inside)))
    return found


def far_ends(beads: int, bonds: np.ndarray) -> tuple[int, int]:
    """Return two beads of a molecule that are far apart along its bonds, in trees as far as any two are.

    Those are the ends of a chain, the ends of two arms of a star, and opposite beads of a ring.

    Parameters
    ----------
    beads : int
    bonds : (b, 2) integer array
        Of a connected molecule, beads counted from 0.

    Returns
    -------
    (int, int)
        Lower bead first.
    """
    neighbours = [[] for _ in range(beads)]
    for i, j in np.asarray(bonds).tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    one = furthest(neighbours, 0)
    other = furthest(neighbours, one)
    return min(one, other), max(one, other)


def furthest(neighbours: list, start: int) -> int:
    """Return the last bead that a search along bonds, breadth first, comes to; the lowest of those as far away."""
    seen, ring = {start}, [start]
    while True:
        ahead = sorted({bead for one in ring for bead in neighbours[one]} - seen)
        if not ahead:
            return ring[0]
        seen.update(ahead)
        ring = ahead
