"""Long chains in parts: each part is a molecule row of its own, whose segments begin and end by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.model.composition import PER_BEAD, PER_BOND, PER_MOLECULE, Composition, composition_of, running_sum
from hpcchain.model.system import Topology
from hpcchain.sector.setup.molecule_classes import MoleculeClasses, has_fixed, solver_of

if TYPE_CHECKING:
    from hpcchain.model.system import System

LONG, PART = 100, 16  # beads from which on a chain is long, and of a part; the last one has 8 to 23


def part_sizes(beads: int) -> np.ndarray:
    """Return how many beads each part of a long chain has."""
    parts = (beads + PART // 2) // PART
    return np.array([PART] * (parts - 1) + [beads - PART * (parts - 1)])


class Blocks:
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
        self.whole = composition_of(system.topology)
        prototypes = self.whole.prototypes
        self.sizes = [
            part_sizes(n) if _is_long(prototypes, c, system) else np.array([n])
            for c, n in enumerate(np.diff(prototypes.first_bead).tolist())
        ]
        self.longest = max(int(np.sum(sizes)) for sizes in self.sizes)
        self.parts = np.array([len(sizes) for sizes in self.sizes])  # of each class
        self.first_class = running_sum(self.parts)
        of_run = np.diff(self.whole.first_molecule)
        self.first_part = running_sum(self.parts[self.whole.class_of(np.arange(self.whole.molecules))])
        divided = self.parts[self.whole.run] > 1
        run, count = [], []
        for one, copies, cut in zip(self.whole.run, of_run, divided, strict=True):
            classes = np.arange(*self.first_class[one : one + 2])
            run.append(np.tile(classes, copies) if cut else classes)
            count.append(np.ones(len(classes) * copies, dtype=np.int64) if cut else np.array([copies]))
        run, count = np.concatenate(run), np.concatenate(count)
        parts = _divided(prototypes, self.sizes)
        beads, bonds = (count * np.diff(first)[run] for first in (parts.first_bead, parts.first_bond))
        topology = Composition(parts, run, running_sum(count), running_sum(beads), running_sum(bonds))
        self.system = replace(system, topology=topology)

    def classes(self) -> MoleculeClasses:
        """Return the classes of the parts, whose tables know of the bonds that join them."""
        classes = MoleculeClasses(self.system, self)
        whole = self.whole.prototypes
        for c, sizes in enumerate(self.sizes):
            bead, bond = int(whole.first_bead[c]), int(whole.first_bond[c])
            for k, n in enumerate(np.cumsum(sizes)[:-1]):
                row = classes.rows[self.first_class[c] + k]
                last = row[L.MOL_TABLE] + (row[L.MOL_TILES] - 1) * W.TABLE
                classes.table[last + W.LANES] = 1.0 / whole.inertia[bead + n]
                classes.table[last + W.TABLE_MASK + W.LANES - 1] = 1.0
                classes.table[last + W.TABLE_LEN2 + W.LANES - 1] = whole.bond_length[bond + n - 1] ** 2
        needed = 2 * (self.longest // W.LANES + 3) * W.TILE // L.MOST_MEMBERS
        classes.rows[:, L.MOL_WORKSPACE] = np.maximum(classes.rows[:, L.MOL_WORKSPACE], -(-needed // W.TILE) * W.TILE)
        return classes

    def sequence(self, molecules: np.ndarray) -> np.ndarray:
        """Return the parts of these molecules of the whole system, in that order."""
        begin, count = self.first_part[molecules], np.diff(self.first_part)[molecules]
        return np.arange(int(count.sum())) + np.repeat(begin - (np.cumsum(count) - count), count)

    def arrays(self, sequence: np.ndarray) -> dict:
        """Return `block` and `centre`, without the places of centres as yet, for parts in this order."""
        chain = np.searchsorted(self.first_part, sequence, side="right") - 1
        place = sequence - self.first_part[chain]
        count = np.diff(self.first_part)[chain]
        row = np.arange(len(sequence))
        block = np.full((len(sequence), 4), -1, dtype=np.int32)
        cut = count > 1
        block[:, L.BLOCK_BEFORE] = np.where(cut & (place > 0), row - 1, -1)
        block[:, L.BLOCK_BEHIND] = np.where(cut & (place < count - 1), row + 1, -1)
        block[cut, L.BLOCK_CHAIN] = np.cumsum(place[cut] == 0) - 1
        block[:, L.BLOCK_PLACE] = place
        chains = chain[cut & (place == 0)]
        centre = np.zeros((len(chains), L.CENTRE_MASS + 1))
        whole = self.whole.prototypes
        mass = np.add.reduceat(whole.mass, whole.first_bead[:-1])
        centre[:, L.CENTRE_MASS] = mass[self.whole.class_of(chains)]
        return {"block": block, "centre": centre}


def _is_long(prototypes: Topology, c: int, system: System) -> bool:
    """Whether molecules of class c are chains that are divided."""
    n = int(prototypes.first_bead[c + 1] - prototypes.first_bead[c])
    if n < LONG or not prototypes.self_contact[c] or has_fixed(prototypes, c) or prototypes.exclude[c] > 1:
        return False
    return solver_of(prototypes, c, system.physics.of(prototypes.kind[c])) == L.CHAIN


def _divided(whole: Topology, sizes: list) -> Topology:
    """Return the Topology of the parts of each class, one after another; bonds between them are in neither."""
    beads = np.concatenate(sizes)
    classes = np.repeat(np.arange(len(sizes)), [len(each) for each in sizes])
    first_bead = running_sum(beads)
    part = np.repeat(np.arange(len(beads)), beads)
    inner = part[whole.bonds[:, 0]] == part[whole.bonds[:, 1]] if len(whole.bonds) else np.zeros(0, dtype=bool)
    bonds = whole.bonds[inner]
    counts = np.bincount(part[bonds[:, 0]], minlength=len(beads)) if len(bonds) else np.zeros(len(beads), dtype=int)
    return Topology(
        names=whole.names,
        kind=whole.kind[classes],
        first_bead=first_bead,
        first_bond=running_sum(counts),
        bonds=bonds,
        type_names=whole.type_names,
        **{name: getattr(whole, name) for name in PER_BEAD},
        **{name: getattr(whole, name)[inner] for name in PER_BOND},
        **{name: getattr(whole, name)[classes] for name in PER_MOLECULE},
    )
