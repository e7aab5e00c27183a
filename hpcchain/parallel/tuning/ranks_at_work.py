"""How many ranks are worth having molecules: by a model, before anything is measured.

The model counts what a rank does in a window, in microseconds. Contacts of its own molecules take longer where more
memory is in use. The number of ghosts follows from the sector's edges. A window costs something however little is in
it. Its constants are of one kind of machine (docs/performance/cost_model.md). What decides is where the sum stops
falling with the number of ranks, which differs little between machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box

CONTACTS = 0.2  # per molecule in a window
CACHE, MORE_MEMORY = 60000.0, 0.35  # beads from which on a contact takes longer, and the power by which it does
FIXED = 900.0  # what a window of several ranks costs a rank besides [microseconds]
AGREEMENT = 20.0  # what it costs for each doubling of their number [microseconds]
PER_GHOST, PER_OWNED = 0.42, 0.02  # for each molecule, over what a contact of its own takes
PER_SINGLE = 0.37  # the same, besides, for an owned single bead; assumed to fall with the square of beads
GHOST_DISTANCE = 1.8  # how far from a sector ghosts are, besides the molecules' own extent [contact distances]
LEAST_BEADS = 1000  # of a rank: with half of these it holds more ghosts than beads of its own
# Of runs whose long chains move in stretches: contacts of a chain in a window, what one costs it, what a ghost costs
# over what its owner spends on it, and how far from its sector a chain gets, by the root of its beads.
LONG_CONTACTS, PER_STRETCH, PER_LONG_GHOST, LONG = 1.0, 17.0, 1.8, 1.2
GAIN = 0.05  # least part of the time that twice as many ranks have to save


# How wide a sector has to be for ranks to pay, by how far from it a chain gets.
SEVERAL = 4.0


def paying_width(beads: int, diameter: float) -> float:
    """Return how wide sectors are at least where more ranks pay, of chains that move in stretches [length]."""
    return SEVERAL * LONG * math.sqrt(beads) * diameter


def ghost_extent(beads: float, stretched: bool = False) -> float:
    """Return how far from a sector ghosts are, of molecules of so many beads [contact distances]."""
    return GHOST_DISTANCE + (LONG if stretched else 0.5) * math.sqrt(beads)


@dataclass(frozen=True)
class Work:
    """What the model knows of a system.

    Attributes
    ----------
    beads, molecules : int
    extent : float
        How far from a sector ghosts are [length].
    edges : tuple of 3 float
        Of the part of the box that molecules take [length].
    stretched : bool
        Whether long chains move in stretches.
    """

    beads: int
    molecules: int
    extent: float
    edges: tuple[float, float, float]
    stretched: bool = False

    @classmethod
    def of(cls, composition: Composition, box: Box, divided: Sequence[bool] = ()) -> Work:
        """Return the Work of a system of these molecules.

        Parameters
        ----------
        composition : Composition
        box : Box
        divided : sequence of bool
            Whether long chains of each class move in stretches. Where these have more than half of the beads, they are
            what counts; else they are taken for whole molecules.
        """
        size, molecules = composition.beads / composition.molecules, composition.molecules
        beads = np.diff(composition.prototypes.first_bead)[np.asarray(divided, dtype=bool)] if any(divided) else ()
        copies = composition.copies[np.asarray(divided, dtype=bool)] if any(divided) else ()
        stretched = 2 * int(np.dot(beads, copies)) > composition.beads
        if stretched:
            size, molecules = float(np.max(beads)), int(np.sum(copies))
        extent = ghost_extent(size, stretched)
        x, y, z = map(float, box.size)
        diameter = float(composition.prototypes.diameter.max())
        return cls(composition.beads, molecules, diameter * extent, (x, y, z), stretched)

    def microseconds(self, ranks: int) -> float:
        """Return what a window costs a rank of so many."""
        size = self.beads / self.molecules
        contact = PER_STRETCH if self.stretched else 2.0 + 8.0 * (1.0 - 1.0 / size) + 0.25 * size
        own = self.molecules / ranks
        ghosts = own * self._ghosts(ranks)
        crowd = (1.0 + (self.beads / ranks + size * ghosts) / CACHE) ** MORE_MEMORY
        work = (LONG_CONTACTS if self.stretched else CONTACTS) * own * contact * crowd
        if ranks == 1:
            return work
        windows = FIXED + AGREEMENT * math.log2(ranks)
        if self.stretched:
            return work * (1.0 + PER_LONG_GHOST * ghosts / own) + windows
        return work + windows + contact * crowd * (PER_GHOST * ghosts + (PER_OWNED + PER_SINGLE / size**2) * own)

    def _ghosts(self, ranks: int) -> float:
        """Return ghosts per own molecule, of a sector that is cut off along the longest edges."""
        edges, left = list(self.edges), ranks
        while left > 1:
            longest = edges.index(max(edges))
            edges[longest] *= (left // 2) / left
            left //= 2
        return math.prod(min(e + 2.0 * self.extent, box) / e for e, box in zip(edges, self.edges, strict=True)) - 1.0

    def best(self, ranks: int) -> int:
        """Return the number of ranks, of at most so many, up to which each doubling saves something."""
        most, found, number = min(ranks, self.molecules, max(self.beads // LEAST_BEADS, 1)), 1, 1
        while number < most:
            number = min(2 * number, most)
            least = (1.0 - GAIN) ** math.log2(number / found)
            found = number if self.microseconds(number) < least * self.microseconds(found) else found
        return found
