"""Molecules of equal shape taken together, so that NumPy works on all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.bodies import EPS, body_length

if TYPE_CHECKING:
    from hpcchain.model.system import Topology


@dataclass(frozen=True)
class Group:
    """Molecules with the same number of beads and the same bonds, mostly also the same masses and bond lengths.

    Attributes
    ----------
    molecules : (C,) int64 array
        Their ids.
    beads : (C, n) int64 array
        Global ids of their beads.
    bonds : (b, 2) int64 array
        Bonds of one molecule, beads counted from 0.
    length : (b,) float64 array
        Bond lengths; (C, b) or (1, b) in Groups of `bonded_groups` [length].
    mass : (n,) float64 array
        Bead masses, infinite of those that are fixed; likewise (C, n) or (1, n) [mass].
    rod : bool
        Whether they are rods of more than two beads.
    site : (n, 3) float64 array
        Of rigid bodies: where beads are about the centre of mass, along the body's axes [length]; no rows of others.
    exclude : int
        Beads up to so many bonds apart never collide with each other.
    """

    molecules: np.ndarray
    beads: np.ndarray
    bonds: np.ndarray
    length: np.ndarray
    mass: np.ndarray
    rod: bool = False
    exclude: int = 1
    site: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def is_body(self) -> bool:
        """Whether they are rigid bodies."""
        return len(self.site) > 0

    @property
    def is_stiff(self) -> bool:
        """Whether they are rods or bodies, whose shape is more than that of their bonds."""
        return self.rod or self.is_body

    @property
    def extent(self) -> float:
        """A rod's length, or twice the distance of a body's farthest bead from its centre of mass [length]."""
        return float(self.length.sum()) if self.rod else body_length(self.site)

    @property
    def is_chain(self) -> bool:
        """Whether bond l joins beads l and l + 1, and nothing else."""
        n = self.mass.shape[-1]
        chain = np.arange(n - 1)[:, None] + np.arange(2)
        return len(self.bonds) == n - 1 and np.array_equal(self.bonds, chain)

    @property
    def has_cycles(self) -> bool:
        """Whether bonds close on themselves, so that some may follow from the others."""
        return len(self.bonds) >= self.mass.shape[-1]

    def last_bits(self, position: np.ndarray) -> np.ndarray:
        """Return (C,) what cannot be asked of rods or bodies whose coordinates (C, n, 3) are rounded [length]."""
        return (4.0 if self.rod else 8.0) * EPS * (np.abs(position).max(axis=(1, 2)) + self.extent)

    def rows(self, which: np.ndarray) -> Group:
        """Return the Group for what is done with some of the molecules alone: with their lengths and masses."""
        if self.length.ndim == 1 or len(self.length) == 1:
            return self
        return replace(self, length=self.length[which], mass=self.mass[which])


def groups_of(topology: Topology, which: np.ndarray | None = None) -> list[Group]:
    """Return one Group per kind of molecule, in the order of kinds; bonds that potentials hold are left out.

    Parameters
    ----------
    topology : Topology
        All molecules; those of one kind are equal.
    which : (M,) bool array, optional
        Of which molecules, of a kind all or none; default: of all.
    """
    groups, inertia = [], topology.inertia
    looked_at = np.arange(topology.molecules) if which is None else np.flatnonzero(which)
    for molecules in parted(looked_at, topology.kind[looked_at]):
        one = molecules[0]
        bead, bond = (slice(first[one], first[one + 1]) for first in (topology.first_bead, topology.first_bond))
        if topology.flexible[one]:
            bond = slice(0, 0)  # nothing holds bonds to their lengths
        start = topology.first_bead[molecules]
        groups.append(
            Group(
                molecules=molecules,
                beads=start[:, None] + np.arange(bead.stop - bead.start),
                bonds=topology.bonds[bond] - topology.first_bead[one],
                length=topology.bond_length[bond],
                mass=inertia[bead],
                rod=bool(topology.rod[one]),
                exclude=int(topology.exclude[one]),
                site=topology.site[bead] if topology.body[one] else topology.site[:0],
            )
        )
    return groups


def bonded_groups(topology: Topology) -> list[Group]:
    """Return Groups of the molecules whose bonds keep their lengths, of each once; chains of one size are one Group.

    What is done with all bonds then does not take a step for each of many kinds.
    """
    bonded, chains = (np.diff(topology.first_bond) > 0) & ~topology.flexible, are_chains(topology)
    inertia, size, found = topology.inertia, np.diff(topology.first_bead), []
    alike = np.flatnonzero(bonded & chains)
    for molecules in parted(alike, size[alike]):
        kinds = topology.kind[molecules]
        own = molecules if np.any(kinds != kinds[0]) else molecules[:1]
        bead = np.arange(size[molecules[0]])
        bonds = bead[:-1, None] + np.arange(2)
        length = topology.bond_length[topology.first_bond[own, None] + bead[:-1]]
        beads = topology.first_bead[molecules, None] + bead
        found.append(Group(molecules, beads, bonds, length, inertia[beads[: len(own)]]))
    return found + groups_of(topology, bonded & ~chains)


def are_chains(topology: Topology) -> np.ndarray:
    """Return which molecules (M,) bool have no bonds but those of each bead and the next; rods and bodies are none."""
    bonds = np.diff(topology.first_bond)
    first = np.repeat(topology.first_bead[:-1] - topology.first_bond[:-1], bonds) + np.arange(len(topology.bonds))
    other = np.any(topology.bonds != first[:, None] + np.arange(2), axis=1)
    others = np.bincount(np.repeat(np.arange(topology.molecules), bonds)[other], minlength=topology.molecules)
    return (others == 0) & (bonds == np.diff(topology.first_bead) - 1) & ~topology.rod & ~topology.body


def parted(items: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Return the items of each label, by ascending labels; equally labelled ones stay in their order."""
    sequence = np.argsort(labels, kind="stable")
    return np.split(items[sequence], np.flatnonzero(np.diff(labels[sequence])) + 1) if len(items) else []
