"""Molecules of equal shape taken together, so that NumPy works on all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import Topology


@dataclass(frozen=True)
class Group:
    """Molecules with the same number of beads, the same bonds, masses and bond lengths.

    Attributes
    ----------
    molecules : (C,) int64 array
        Their ids.
    beads : (C, n) int64 array
        Global ids of their beads.
    bonds : (b, 2) int64 array
        Bonds of one molecule, beads counted from 0.
    length : (b,) float64 array
        Bond lengths [length].
    mass : (n,) float64 array
        Bead masses, infinite of those that are fixed [mass].
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
    def is_chain(self) -> bool:
        """Whether bond l joins beads l and l + 1, and nothing else."""
        n = len(self.mass)
        chain = np.arange(n - 1)[:, None] + np.arange(2)
        return len(self.bonds) == n - 1 and np.array_equal(self.bonds, chain)

    @property
    def has_cycles(self) -> bool:
        """Whether bonds close on themselves, so that some may follow from the others."""
        return len(self.bonds) >= len(self.mass)


def groups_of(topology: Topology) -> list[Group]:
    """Return one Group per kind of molecule, in the order of kinds; bonds that potentials hold are left out.

    Parameters
    ----------
    topology : Topology
        All molecules; those of one kind are equal.
    """
    groups = []
    for kind in range(len(topology.names)):
        molecules = np.flatnonzero(topology.kind == kind)
        if len(molecules) == 0:
            continue
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
                mass=topology.inertia[bead],
                rod=bool(topology.rod[one]),
                exclude=int(topology.exclude[one]),
                site=topology.site[bead] if topology.body[one] else topology.site[:0],
            )
        )
    return groups
