"""Which molecules a system is made of, in memory that does not grow with their number.

Molecules of one kind are alike and mostly stand one after another, so runs of them and one example of each kind say
all that a `Topology` does: which beads a molecule has, and each bead's mass, diameter and bonds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcchain.model.system import BEADS, BONDS, MOLECULES, TOPOLOGY, Topology

PER_BEAD, PER_BOND, PER_MOLECULE = (
    tuple(table.name for table in TOPOLOGY if table.about == about) for about in (BEADS, BONDS, MOLECULES)
)
"""Names of a Topology's tables."""


@dataclass(frozen=True)
class Composition:
    """Runs of equal molecules; R runs of C classes.

    Attributes
    ----------
    prototypes : Topology
        One molecule of each class, in the order of classes.
    run : (R,) int64 array
        Class of each run of molecules.
    first_molecule, first_bead, first_bond : (R + 1,) int64 arrays
        Where runs begin, and the end of the last.
    """

    prototypes: Topology
    run: np.ndarray
    first_molecule: np.ndarray
    first_bead: np.ndarray
    first_bond: np.ndarray

    @property
    def molecules(self) -> int:
        """Number of molecules M."""
        return int(self.first_molecule[-1])

    @property
    def beads(self) -> int:
        """Number of beads N."""
        return int(self.first_bead[-1])

    @property
    def copies(self) -> np.ndarray:
        """(C,) int64: how many molecules of each class there are."""
        return np.bincount(self.run, np.diff(self.first_molecule), self.prototypes.molecules).astype(np.int64)

    @property
    def firsts(self) -> np.ndarray:
        """(C,) int64: the first molecule of each class, which its example is made after."""
        return self.first_molecule[:-1][np.unique(self.run, return_index=True)[1]]

    def part(self, molecules: np.ndarray) -> Topology:
        """Return the Topology of these molecules alone, numbered anew."""
        return one_of_each(self.prototypes, self.class_of(molecules))

    def class_of(self, molecules: np.ndarray) -> np.ndarray:
        """Return the class (n,) int64 of molecules, numbers or an array of them."""
        return self.run[self._run_of(self.first_molecule, molecules)]

    def size_of(self, molecules: np.ndarray) -> np.ndarray:
        """Return how many beads molecules have."""
        return np.diff(self.prototypes.first_bead)[self.class_of(molecules)]

    def first_bead_of(self, molecules: np.ndarray | int) -> np.ndarray:
        """Return the global number of molecules' first beads."""
        at = self._run_of(self.first_molecule, molecules)
        return self.first_bead[at] + (molecules - self.first_molecule[at]) * self._sizes[at]

    def beads_of(self, molecules: np.ndarray) -> np.ndarray:
        """Return the global numbers of the beads of molecules (n,), one molecule after another."""
        return in_blocks(self.first_bead_of(molecules), self.size_of(molecules))

    def bead_range(self, molecules: np.ndarray) -> tuple[int, int]:
        """Return the first bead of molecules that follow one another, and the one behind their last; (0, 0) of none."""
        if len(molecules) == 0:
            return 0, 0
        last = molecules[-1]
        return int(self.first_bead_of(molecules[0])), int(self.first_bead_of(last) + self.size_of(last))

    def molecule_of(self, beads: np.ndarray | int) -> np.ndarray:
        """Return the molecules that beads (n,), or the one that a bead, belong to."""
        at = self._run_of(self.first_bead, beads)
        return self.first_molecule[at] + (beads - self.first_bead[at]) // self._sizes[at]

    def prototype_of(self, beads: np.ndarray) -> np.ndarray:
        """Return the rows of `prototypes` that say what beads (n,) are like."""
        return self._like("first_bead", beads)

    def diameters_of(self, beads: np.ndarray) -> np.ndarray:
        """Return the diameters of beads (n,) [length]."""
        return self.prototypes.diameter[self.prototype_of(beads)]

    def beginning_in(self, low: int, high: int) -> np.ndarray:
        """Return the molecules whose first beads are among beads low ... high - 1."""
        return np.arange(*(self._first_from(bead) for bead in (low, high)))

    def _first_from(self, bead: int) -> int:
        """Return the first molecule that begins at a bead or behind it."""
        if bead >= self.beads:
            return self.molecules
        molecule = int(self.molecule_of(bead))
        return molecule + int(self.first_bead_of(molecule) < bead)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return self.prototypes.names

    @property
    def type_names(self) -> tuple[str, ...]:
        """Names of the beads' types."""
        return self.prototypes.type_names

    def count(self, name: str) -> int:
        """Return how many rows the table of this name has in the Topology."""
        if name in PER_BEAD:
            return self.beads
        if name in (*PER_BOND, "bonds"):
            return int(self.first_bond[-1])
        return self.molecules + (name in ("first_bead", "first_bond"))

    def rows(self, name: str, low: int, high: int) -> np.ndarray:
        """Return rows low ... high - 1 of the table of this name in the Topology."""
        prototypes, rows = self.prototypes, np.arange(low, high)
        if name == "bonds":
            return self._bond_rows(rows)
        if name in (*PER_BEAD, *PER_BOND):
            return getattr(prototypes, name)[self._like("first_bead" if name in PER_BEAD else "first_bond", rows)]
        if name in ("first_bead", "first_bond"):
            at = np.minimum(self._run_of(self.first_molecule, rows), len(self.run) - 1)
            each = np.diff(getattr(prototypes, name))[self.run]
            return getattr(self, name)[at] + (rows - self.first_molecule[at]) * each[at]
        return getattr(prototypes, name)[self.class_of(rows)]

    def whole(self) -> Topology:
        """Return the Topology."""
        left_out = () if self.prototypes.body.any() else ("site",)  # a Topology's own zeros take no memory
        names = [table.name for table in TOPOLOGY if table.name not in left_out]
        found = {name: self.rows(name, 0, self.count(name)) for name in names}
        return Topology(self.names, type_names=self.type_names, **found)

    def _bond_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return bonds (n,) as pairs of beads."""
        prototypes = self.prototypes
        first = np.repeat(prototypes.first_bead[:-1], np.diff(prototypes.first_bond))
        found = (prototypes.bonds - first[:, None])[self._like("first_bond", rows)]
        at = self._run_of(self.first_bond, rows)
        each = np.diff(prototypes.first_bond)[self.run[at]]
        molecules = self.first_molecule[at] + (rows - self.first_bond[at]) // each
        return found + self.first_bead_of(molecules)[:, None]

    def _like(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return the rows of tables of `prototypes` like global rows (n,): of beads ("first_bead") or of bonds."""
        first, block = getattr(self, name), getattr(self.prototypes, name)
        at = self._run_of(first, rows)
        return block[self.run[at]] + (rows - first[at]) % np.diff(block)[self.run[at]]

    @property
    def _sizes(self) -> np.ndarray:
        return np.diff(self.prototypes.first_bead)[self.run]

    @staticmethod
    def _run_of(first: np.ndarray, items: np.ndarray | int) -> np.ndarray:
        return np.searchsorted(first, items, side="right") - 1


def running_sum(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the (n + 1,) int64 array of where blocks of the given sizes begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def in_blocks(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the int64 numbers of blocks, one block after another: count[k] of them from first[k] on."""
    return np.arange(int(count.sum())) + np.repeat(first - (np.cumsum(count) - count), count)


def centres_of(first: np.ndarray, mass: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the centre of mass of each bead's molecule, (n, 3), of molecules that begin in rows `first` (k + 1,).

    Parameters
    ----------
    mass, position : (n,), (n, 3) float64 arrays
        Of the beads, molecules whole and unwrapped [mass], [length].
    """
    molecule = np.repeat(np.arange(len(first) - 1), np.diff(first))
    centre = np.column_stack([np.bincount(molecule, mass * position[:, c]) for c in range(3)])
    return (centre / np.bincount(molecule, mass)[:, None])[molecule]


def one_of_each(topology: Topology, molecules: np.ndarray) -> Topology:
    """Return the Topology of these molecules alone, numbered anew."""
    firsts = (topology.first_bead, topology.first_bond)
    first_bead, first_bond = (running_sum(np.diff(first)[molecules]) for first in firsts)
    bead, bond = (in_blocks(first[molecules], np.diff(first)[molecules]) for first in firsts)
    moved = np.repeat(first_bead[:-1] - topology.first_bead[molecules], np.diff(first_bond))
    return Topology(
        names=topology.names,
        kind=topology.kind[molecules],
        first_bead=first_bead,
        first_bond=first_bond,
        bonds=topology.bonds[bond].reshape(-1, 2) + moved[:, None],
        type_names=topology.type_names,
        **{name: getattr(topology, name)[bead] for name in PER_BEAD},
        **{name: getattr(topology, name)[bond] for name in PER_BOND},
        **{name: getattr(topology, name)[molecules] for name in PER_MOLECULE},
    )
