"""Long chains in parts: each part is a molecule row of its own, whose segments begin and end by themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.workspace import tiles
from hpcchain.model.composition import Composition, in_blocks, running_sum
from hpcchain.model.molecules.long_chains import divided, divides_any, sizes_of_parts
from hpcchain.sector.setup.molecule_classes import MoleculeClasses

if TYPE_CHECKING:
    from hpcchain.model.system import System


def chain_parts_of(system: System) -> ChainParts | None:
    """Return the ChainParts of a system that has any long chain to be divided, else None."""
    return ChainParts(system) if divides_any(system.topology, system.physics) else None


class ChainParts:
    """Which molecules of a system are divided, and into which parts.

    Parameters
    ----------
    system : System

    Attributes
    ----------
    system : System
        The same with a molecule for each part.
    longest : int
        Beads of the longest molecule.
    """

    def __init__(self, system: System) -> None:
        self.whole = system.topology
        prototypes = self.whole.prototypes
        self.sizes = sizes_of_parts(prototypes, system.physics)
        self.longest = max(int(np.sum(sizes)) for sizes in self.sizes)
        self.parts = np.array([len(sizes) for sizes in self.sizes])  # of each class
        self.first_class = running_sum(self.parts)
        of_run = np.diff(self.whole.first_molecule)
        self.first_part = running_sum(self.parts[self.whole.class_of(np.arange(self.whole.molecules))])
        in_parts = self.parts[self.whole.run] > 1
        run, count = [], []
        for one, copies, cut in zip(self.whole.run, of_run, in_parts, strict=True):
            classes = np.arange(*self.first_class[one : one + 2])
            run.append(np.tile(classes, copies) if cut else classes)
            count.append(np.ones(len(classes) * copies, dtype=np.int64) if cut else np.array([copies]))
        run, count = np.concatenate(run), np.concatenate(count)
        parts = divided(prototypes, self.sizes)
        beads, bonds = (count * np.diff(first)[run] for first in (parts.first_bead, parts.first_bond))
        topology = Composition(parts, run, running_sum(count), running_sum(beads), running_sum(bonds))
        self.system = replace(system, topology=topology)

    def classes(self) -> MoleculeClasses:
        """Return the classes of the parts, whose tables know of the bonds that join them."""
        classes = MoleculeClasses(self.system, self)
        whole, inertia = self.whole.prototypes, self.whole.prototypes.inertia
        for c, sizes in enumerate(self.sizes):
            bead, bond = int(whole.first_bead[c]), int(whole.first_bond[c])
            for k, n in enumerate(np.cumsum(sizes)[:-1]):
                row = classes.rows[self.first_class[c] + k]
                last = row[L.MOL_TABLE] + (row[L.MOL_TILES] - 1) * W.TABLE
                classes.table[last + W.LANES] = 1.0 / inertia[bead + n]
                classes.table[last + W.TABLE_MASK + W.LANES - 1] = 1.0
                classes.table[last + W.TABLE_LEN2 + W.LANES - 1] = whole.bond_length[bond + n - 1] ** 2
        needed = (tiles(self.longest) + 2) * W.TILE
        classes.rows[:, L.MOL_WORKSPACE] = np.maximum(classes.rows[:, L.MOL_WORKSPACE], needed)
        return classes

    def most_parts(self) -> int:
        """Return how many parts get new segments in one event at most: all those of the MOST_MEMBERS longest chains."""
        cut = self.parts > 1
        chains = np.repeat(self.parts[cut], np.minimum(self.whole.copies[cut], L.MOST_MEMBERS))
        return int(np.sort(chains)[-L.MOST_MEMBERS :].sum())

    def sizes_of_parts(self) -> np.ndarray:
        """Return the numbers of beads that parts of divided chains have."""
        return np.unique(np.concatenate([sizes for sizes in self.sizes if len(sizes) > 1]))

    def sequence(self, molecules: np.ndarray) -> np.ndarray:
        """Return the parts of these molecules of the whole system, in that order, with those of each in a row."""
        return in_blocks(self.first_part[molecules], np.diff(self.first_part)[molecules])

    def grouped(self, parts: np.ndarray, first_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return an order of parts, given in order and all of each molecule, in which those of each stand together.

        `first_of` takes the places of the first parts, and returns them in the order of molecules that is wanted.
        """
        leads = np.flatnonzero(self.leads(parts) == np.arange(len(parts)))
        count = np.diff(np.append(leads, len(parts)))
        sequence = first_of(leads)
        return in_blocks(sequence, count[np.searchsorted(leads, sequence)])

    def molecules_of(self, parts: np.ndarray) -> np.ndarray:
        """Return the molecules of the whole system to which these parts belong."""
        return np.searchsorted(self.first_part, parts, side="right") - 1

    def leads(self, parts: np.ndarray) -> np.ndarray:
        """Return, for each of some parts in order, all of each molecule, the place of its molecule's first part."""
        molecules = self.molecules_of(parts)
        return np.searchsorted(parts, self.first_part[molecules])

    def whole_of(self, parts: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return a mask of parts in any order: those whose molecule has a part in the mask `which`."""
        molecules = self.molecules_of(parts)
        return np.isin(molecules, molecules[which])

    def arrays(self, sequence: np.ndarray) -> dict:
        """Return `chain_part` and `centre`, without the places of centres as yet, for parts in this order."""
        chain = self.molecules_of(sequence)
        place = sequence - self.first_part[chain]
        count = np.diff(self.first_part)[chain]
        chain_part = np.full((len(sequence), 3), -1, dtype=np.int32)
        cut = count > 1
        chain_part[cut, L.PART_CHAIN] = np.cumsum(place[cut] == 0) - 1
        chain_part[:, L.PART_PLACE], chain_part[:, L.PART_REST] = place, count - 1 - place
        chains = chain[cut & (place == 0)]
        centre = np.zeros((len(chains), L.CENTRE_MASS + 1))
        whole = self.whole.prototypes
        mass = np.add.reduceat(whole.mass, whole.first_bead[:-1])
        centre[:, L.CENTRE_MASS] = mass[self.whole.class_of(chains)]
        return {"chain_part": chain_part, "centre": centre}
