"""The kinds of molecules of a trajectory, each divided into groups whose sums are kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.statistics import split
from hpcchain.observe.averages import is_linear
from hpcchain.observe.molecules import far_ends

if TYPE_CHECKING:
    from hpcchain.io.output.trajectory import Trajectory


@dataclass(frozen=True)
class Kind:
    """Molecules that are alike.

    Attributes
    ----------
    name : str
    beads : (m, b) integer array
        Global ids.
    mass, diameter : (b,) float64 arrays
        Of one molecule [mass], [length].
    bonds : (k, 2) integer array
        Of one molecule, beads counted from 0, lower first.
    bounds : (G + 1,) int64 array
        Molecules of group g are bounds[g]:bounds[g + 1].
    """

    name: str
    beads: np.ndarray
    mass: np.ndarray
    diameter: np.ndarray
    bonds: np.ndarray
    bounds: np.ndarray

    @property
    def size(self) -> int:
        """Beads of one molecule."""
        return self.beads.shape[1]

    @property
    def linear(self) -> bool:
        """Whether it is a chain or a rod: bonds join each bead to the next and no others."""
        return bool(is_linear(self.bonds, np.array([0, self.size]))[0])

    @property
    def ends(self) -> tuple[int, int]:
        """Two beads far apart along the bonds (`far_ends`)."""
        return (0, self.size - 1) if self.linear else far_ends(self.size, self.bonds)

    @property
    def molecules(self) -> np.ndarray:
        """(G,) Molecules in each group."""
        return np.diff(self.bounds).astype(np.float64)

    def positions(self, table: np.ndarray) -> np.ndarray:
        """Return (m, b, d) of a table of all beads, (N, d)."""
        return table[self.beads]

    def centres(self, whole: np.ndarray) -> np.ndarray:
        """Return centres of mass (..., d) of positions or velocities (..., b, d)."""
        return np.einsum("...bd,b->...d", whole, self.mass / self.mass.sum())

    def grouped(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over each group's molecules, (G, K), of values (m, K)."""
        return np.add.reduceat(values, self.bounds[:-1], axis=0)


def alike(species: np.ndarray, first: np.ndarray, size: np.ndarray) -> list:
    """Return arrays of molecules of equal rows of species, those of the lowest ones first.

    Parameters
    ----------
    species : (N,) integer array
    first, size : (m,) integer arrays
        Of the molecules: first beads and numbers of beads.
    """
    found = []
    for number, beads in np.unique(np.column_stack([species[first], size]), axis=0).tolist():
        own = np.flatnonzero((species[first] == number) & (size == beads))
        table = species[first[own][:, None] + np.arange(beads)]
        if np.all(table == table[0]):
            found.append(own)
            continue
        which = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
        found += [own[which == k] for k in range(int(which.max()) + 1)]
    return found


def kinds_in(found: Trajectory) -> list[Kind]:
    """Return the kinds of molecules of a trajectory, in the order of the species of their beads: equal ones are one."""
    first = np.flatnonzero(np.diff(found.molecule, prepend=-1))
    size = np.diff(np.append(first, len(found.molecule)))
    kinds = []
    for own in alike(found.species, first, size):
        species = found.species[first[own[0]]]
        low, high = int(first[own[0]]), int(first[own[0]] + size[own[0]])
        bonds = found.bonds[(found.bonds[:, 0] >= low) & (found.bonds[:, 0] < high)] - low
        kinds.append(
            Kind(
                name=found.names[species],
                beads=first[own][:, None] + np.arange(high - low),
                mass=found.mass[low:high],
                diameter=found.diameter[low:high],
                bonds=bonds,
                bounds=split(len(own)),
            )
        )
    return kinds
