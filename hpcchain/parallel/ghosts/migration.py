"""How molecules get to the ranks whose sectors they are in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.ghosts.molecules import MoleculeSet, merged, taken
from hpcchain.parallel.sectors import even_part, reference_points, sectors_for

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.sector.setup.blocks import Blocks

SIDESTEP = 0.2  # how far a sector's side may move at once, as a part of the edge that it divides


class Migration:
    """The sectors, and the way of molecules into them.

    Parameters
    ----------
    box : Box
    composition : Composition
    comm : Exchange
    sectors : sequence of 3 int or None
        Ranks along each axis; by the molecules' places without it.
    own : MoleculeSet
        This rank's molecules at first, which need not be in its sector.
    blocks : Blocks or None
        Which of the molecules are parts of long chains, where some are: a chain's go with the first.
    """

    def __init__(
        self,
        box: Box,
        composition: Composition,
        comm: Exchange,
        sectors: tuple | list | None,
        own: MoleculeSet,
        blocks: Blocks | None = None,
    ) -> None:
        self.box, self.composition, self.comm, self.blocks = box, composition, comm, blocks
        self.sectors = sectors_for(box, sectors, self.points(own), self._sizes(own), comm)

    def points(self, own: MoleculeSet) -> np.ndarray:
        """Return the reference points of owned molecules, (n, 3) float64: they decide which sector one is in."""
        beads = self.composition.beads_of(own.molecule_ids)
        points = reference_points(
            self.box,
            Loose(self.composition, own.molecule_ids, beads),
            own.position_now,
            np.arange(len(own.molecule_ids)),
        )
        return points if self.blocks is None else points[self.blocks.leads(own.molecule_ids)]

    def settled(self, own: MoleculeSet, store: Callable[[np.ndarray], MoleculeSet]) -> MoleculeSet:
        """Hand molecules over to the ranks whose sectors they are in; return this rank's; collective.

        Parameters
        ----------
        own : MoleculeSet
        store : callable
            Makes a MoleculeSet of received bead rows.
        """
        owner, mine = self.sectors.owner(self.points(own)), self.comm.rank
        leaving = {int(rank): owner == rank for rank in np.unique(owner) if rank != mine}
        received = self.comm.exchange_unknown({r: own.packed(self.composition, m).ravel() for r, m in leaving.items()})
        staying = own.only(self.composition, owner == mine)
        return merged(self.composition, [staying, *(store(received[rank]) for rank in sorted(received))])

    def balance(self, own: MoleculeSet, cost: float) -> None:
        """Move sectors a little so that all ranks' molecules cost the same; collective.

        Parameters
        ----------
        own : MoleculeSet
        cost : float
            Of this rank's molecules lately, in any unit; what one of them costs goes by its beads.
        """
        beads = self._sizes(own)
        weights = beads * (cost / beads.sum()) if len(beads) else beads
        self.sectors = self.sectors.moved(self.points(own), weights, SIDESTEP, self.comm)  # type: ignore[union-attr]

    def _sizes(self, own: MoleculeSet) -> np.ndarray:
        """Return how many beads owned molecules have, as float64."""
        return self.composition.size_of(own.molecule_ids).astype(float)


class Loose:
    """The beads and masses of some molecules alone, as `reference_points` takes them of a topology."""

    def __init__(self, composition: Composition, molecules: np.ndarray, beads: np.ndarray) -> None:
        self.first_bead = np.concatenate([[0], np.cumsum(composition.size_of(molecules))]).astype(np.int64)
        self.mass = composition.prototypes.mass[composition.prototype_of(beads)]


def part_of(system: System, composition: Composition, comm: Exchange) -> MoleculeSet:
    """Return this rank's molecules of a system: its part, or an even part of what every rank has the whole of."""
    molecule_ids, state = system.held, system.state
    if molecule_ids is None:
        molecule_ids = even_part(composition.molecules, comm)
        state = taken(state, composition.beads_of(molecule_ids))
    return MoleculeSet(molecule_ids, state, state.position.copy())


def in_parts(system: System, blocks: Blocks, comm: Exchange) -> System:
    """Return the System whose molecules are the parts of those of another, with those that this rank has."""
    if system.held is None:
        held = even_part(blocks.whole.molecules, comm)
        state = taken(system.state, blocks.whole.beads_of(held))
    else:
        held, state = system.held, system.state
    return replace(blocks.system, state=state, held=blocks.sequence(held))
