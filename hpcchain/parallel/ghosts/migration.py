"""How molecules get to the ranks whose sectors they are in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.ghosts.molecules import MoleculeSet, merged, taken, unpack
from hpcchain.parallel.sectors import Bisection, Grid, brought_in, even_share

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System
    from hpcchain.parallel.agreement import Ranks
    from hpcchain.sector.setup.chain_parts import ChainParts

SIDESTEP = 0.2  # how far a sector's side may move at once, as a part of the edge that it divides


class Migration:
    """The sectors, and the way of molecules into them.

    Parameters
    ----------
    box : Box
    composition : Composition
    comm : Ranks
    sectors : sequence of 3 int or None
        Ranks along each axis; by the molecules' places without it.
    own : MoleculeSet
        This rank's molecules at first, which need not be in its sector.
    chain_parts : ChainParts or None
        Which of the molecules are parts of long chains, where some are: a chain's go with the first.
    """

    def __init__(
        self,
        box: Box,
        composition: Composition,
        comm: Ranks,
        sectors: tuple | list | None,
        own: MoleculeSet,
        chain_parts: ChainParts | None = None,
    ) -> None:
        self.box, self.composition, self.comm, self.chain_parts = box, composition, comm, chain_parts
        self.sectors: Bisection | Grid = (
            Bisection(box, self.points(own), self._sizes(own), comm.size, comm)
            if sectors is None
            else Grid(box, sectors)
        )

    def points(self, own: MoleculeSet) -> np.ndarray:
        """Return the points of owned molecules that decide which sector one is in: centres of mass, (n, 3) float64."""
        group = np.repeat(np.arange(len(own.molecule_ids)), self.composition.size_of(own.molecule_ids))
        beads = self.composition.beads_of(own.molecule_ids)
        mass = self.composition.prototypes.mass[self.composition.prototype_of(beads)]
        centre = np.column_stack([np.bincount(group, mass * own.position_now[:, c]) for c in range(3)])
        points = brought_in(self.box, centre / np.bincount(group, mass)[:, None])
        return points if self.chain_parts is None else points[self.chain_parts.leads(own.molecule_ids)]

    def settled(self, own: MoleculeSet) -> MoleculeSet:
        """Hand molecules over to the ranks whose sectors they are in; return this rank's; collective."""
        return handed_over(self.composition, self.comm, own, self.sectors.owner(self.points(own)))

    def balance(self, own: MoleculeSet, cost: float) -> None:
        """Move sectors a little so that all ranks' molecules cost the same; collective.

        `cost`: of this rank's molecules lately, in any unit; what one of them costs goes by its beads.
        """
        beads = self._sizes(own)
        weights = beads * (cost / beads.sum()) if len(beads) else beads
        self.sectors = self.sectors.moved(self.points(own), weights, SIDESTEP, self.comm)  # type: ignore[union-attr]

    def _sizes(self, own: MoleculeSet) -> np.ndarray:
        """Return how many beads owned molecules have, as float64."""
        return self.composition.size_of(own.molecule_ids).astype(float)


def handed_over(composition: Composition, comm: Ranks, own: MoleculeSet, owner: np.ndarray) -> MoleculeSet:
    """Hand molecules over to ranks, (k,) `owner`; return those that this one gets; collective."""
    leaving = {int(rank): owner == rank for rank in np.unique(owner) if rank != comm.rank}
    received = comm.exchange_unknown({rank: own.packed(composition, those).ravel() for rank, those in leaving.items()})
    staying = own.only(composition, owner == comm.rank)
    coming = [unpack(composition, received[rank], own.state) for rank in sorted(received)]
    return merged(composition, [staying, *coming])


def share_of(system: System, composition: Composition, comm: Ranks) -> MoleculeSet:
    """Return this rank's molecules of a system: its part, or an even part of what every rank has the whole of."""
    molecule_ids, state = system.held, system.state
    if molecule_ids is None:
        molecule_ids = even_share(composition.molecules, comm)
        state = taken(state, composition.beads_of(molecule_ids))
    return MoleculeSet(molecule_ids, state, state.position.copy())


def in_parts(system: System, chain_parts: ChainParts, comm: Ranks) -> System:
    """Return the System whose molecules are the parts of those of another, with those that this rank has."""
    own = share_of(system, chain_parts.whole, comm)
    return replace(chain_parts.system, state=own.state, held=chain_parts.sequence(own.molecule_ids))
