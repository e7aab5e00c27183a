"""The kinds of molecules of a trajectory, each divided into groups whose sums are kept apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.statistics import split
from hpcchain.model.molecules.exclusion import BondWalker

if TYPE_CHECKING:
    from hpcchain.io.output.trajectory import Trajectory

ENOUGH = 5.0
"""Correlation times that a run should last, so that its errors can be relied on."""


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
    walker = BondWalker(beads, bonds)
    one = furthest(walker, 0)
    other = furthest(walker, one)
    return min(one, other), max(one, other)


def furthest(walker: BondWalker, start: int) -> int:
    """Return the bead that is most bonds away from a first one, the lowest of these."""
    away = {start: 0}
    for bead, parent, _ in walker.walk(start)[1:]:
        away[bead] = away[parent] + 1
    return min(away, key=lambda bead: (-away[bead], bead))


@dataclass(frozen=True)
class Kind:
    """Molecules that are alike.

    Attributes
    ----------
    name : str
    beads : (m, b) integer array
        Global ids.
    mass : (b,) float64 array
        Of the beads of one molecule [mass].
    bonds : (k, 2) integer array
        Of one molecule, beads counted from 0, lower first.
    bounds : (G + 1,) int64 array
        Molecules of group g are bounds[g]:bounds[g + 1].
    """

    name: str
    beads: np.ndarray
    mass: np.ndarray
    bonds: np.ndarray
    bounds: np.ndarray

    @property
    def size(self) -> int:
        """Beads of one molecule."""
        return self.beads.shape[1]

    @property
    def linear(self) -> bool:
        """Whether it is a chain or a rod: bonds join each bead to the next and no others."""
        return len(self.bonds) == self.size - 1 and bool(np.all(np.diff(self.bonds, axis=1) == 1))

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


def alike(tables: list[np.ndarray]) -> list[np.ndarray]:
    """Return arrays of the numbers of molecules whose rows are equal in every table, those of the lowest rows first.

    Parameters
    ----------
    tables : list of (m, k) arrays
        A row a molecule; the first decides the order.
    """
    found = [np.arange(len(tables[0]))]
    for table in tables:
        found = [own[some] for own in found for some in equal_rows(table[own])]
    return found


def equal_rows(table: np.ndarray) -> list[np.ndarray]:
    """Return arrays of the numbers of equal rows, those of the lowest ones first."""
    if len(table) == 0 or np.all(table == table[0]):
        return [np.arange(len(table))]
    which = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
    return [np.flatnonzero(which == k) for k in range(int(which.max()) + 1)]


def owned(bonds: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bonds (B, 2) by molecule, in their order, and which molecule each is of."""
    owner = np.searchsorted(first, bonds[:, 0], side="right") - 1
    if np.all(owner[1:] >= owner[:-1]):
        return bonds, owner
    sequence = np.argsort(owner, kind="stable")
    return bonds[sequence], owner[sequence]


def named(names: list[str]) -> list[str]:
    """Return names of which no two are equal: later ones of a name get a number, as in A, A-2, A-3."""
    found: list[str] = []
    given, taken, last = set(names), set[str](), dict[str, int]()
    for name in names:
        number = last.get(name, 0) + 1
        own = name if number == 1 else f"{name}-{number}"
        while number > 1 and (own in given or own in taken):
            number += 1
            own = f"{name}-{number}"
        last[name] = number
        taken.add(own)
        found.append(own)
    return found


def by_size(kind: Kind, diameter: np.ndarray, most: int) -> list[Kind]:
    """Return at most so many kinds that molecules of one kind, with beads of these diameters (N,), are divided into.

    Each has one mean diameter of a molecule's beads, or, where there are more of these, an equal share of molecules.
    """
    size = diameter[kind.beads].mean(axis=1)
    values = np.unique(size)
    if most < 2 or len(values) < 2:
        return [kind]
    low = values if len(values) <= most else np.unique(np.quantile(size, np.arange(most) / most))
    number = np.searchsorted(low, size, side="right") - 1
    found = []
    for k in range(len(low)):
        own = np.flatnonzero(number == k)
        ends = dict.fromkeys(f"{end:.4g}" for end in (size[own].min(), size[own].max()))
        name = f"{kind.name}[{'-'.join(ends)}]"
        found.append(replace(kind, name=name, beads=kind.beads[own], bounds=split(len(own))))
    return found


def kinds_in(found: Trajectory, sizes: int = 1) -> list[Kind]:
    """Return the kinds of molecules of a trajectory, in the order of the species of their beads: equal ones are one.

    Molecules are of one kind where species, bonds and masses of their beads are the same, whatever their diameters;
    with more than one of `sizes` each is divided into at most so many by these.
    """
    first = np.flatnonzero(np.diff(found.molecule, prepend=-1))
    size = np.diff(np.append(first, len(found.molecule)))
    every, owner = owned(found.bonds, first)
    count = np.bincount(owner, minlength=len(first))
    begin = np.cumsum(count) - count
    kinds = []
    for like in alike([np.column_stack([found.species[first], size, count])]):
        beads = first[like][:, None] + np.arange(size[like[0]])
        bonds = every[begin[like][:, None] + np.arange(count[like[0]])] - first[like][:, None, None]
        tables = [found.species[beads], bonds.reshape(len(like), -1), found.mass[beads]]
        for own in alike(tables):
            one = beads[own[0]]
            kinds.append(
                Kind(
                    name=found.names[found.species[one[0]]],
                    beads=beads[own],
                    mass=found.mass[one],
                    bonds=bonds[own[0]],
                    bounds=split(len(own)),
                )
            )
    kinds = [replace(kind, name=name) for kind, name in zip(kinds, named([k.name for k in kinds]), strict=True)]
    return [one for kind in kinds for one in by_size(kind, found.diameter, sizes)]
