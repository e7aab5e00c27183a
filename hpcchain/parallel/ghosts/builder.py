"""From molecules' states to a rank's ghosted sector, and back, again and again as molecules move.

What lists and tables have grown to in one sector the next one begins with, and counts go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import complete
from hpcchain.parallel.ghosts.molecules import WIDTH, MoleculeSet, unpack
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.setup.drift import place_in_frame, velocity_in_frame
from hpcchain.sector.setup.shell import list_capacity, low_density

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.sector.core import Options
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


@dataclass(frozen=True)
class Earlier:
    """What a sector had whose place another takes.

    Attributes
    ----------
    ids, capacity : (n,) int64 arrays
        Global ids of its beads, and the capacities of their neighbour lists.
    closed : (sizes,) int64 array
        Its rows for closed segments, by size of molecule.
    """

    ids: np.ndarray
    capacity: np.ndarray
    closed: np.ndarray


class SectorBuilder:
    """Builds ghosted sectors, and takes owned molecules from them.

    Parameters
    ----------
    system, classes :
        See `GhostManager`.
    beyond : float
        See `GhostNeeds`.
    options : Options
        Of the first sector.

    Attributes
    ----------
    options : Options
        Of the next sector.
    capacity : (n,) int64 array
        Of the neighbour lists that a molecule of each class begins with.
    """

    def __init__(self, system: System, classes: MoleculeClasses, beyond: float, options: Options) -> None:
        self.classes, self.composition, self.options = classes, classes.composition, options
        self.system = replace(system, topology=self.composition, state=None, held=None)
        self.capacity = list_capacity(self.composition.prototypes, options.shell, beyond, low_density(system))
        self.earlier: Earlier | None = None
        self.past_restored = 0
        self.past_counts = np.zeros(len(L.COUNTERS), dtype=np.int64)

    def complete(self, own: MoleculeSet) -> MoleculeSet:
        """Return molecules with as many columns of `State.extra` as all ranks have from now on."""
        extra, parts = complete(own.state.extra, self.system.physics, self.options.inside), own.state.parts
        if self.classes.chain_parts is not None:
            parts = with_columns(parts)
        self.part_columns, self.width = parts.shape[1], WIDTH + extra.shape[1] + parts.shape[1]
        return replace(own, state=replace(own.state, extra=extra, parts=parts))

    def store(self, rows: np.ndarray) -> MoleculeSet:
        """Return the MoleculeSet of received bead rows."""
        return unpack(self.composition, rows.reshape(-1, self.width), self.part_columns)

    def build(self, held: MoleculeSet, ownership: np.ndarray) -> GhostedSector:
        """Return the sector of molecules; `ownership`: see `GhostedSector`."""
        capacity = np.concatenate([self._capacities(self.composition.beads_of(held.molecule_ids)), self.capacity])
        closed = None if self.earlier is None else self.earlier.closed
        system = replace(self.system, state=held.state, held=held.molecule_ids)
        ghosted = GhostedSector(self.classes, system, ownership, capacity, self.options, closed)
        self.earlier = None
        self.past_counts[L.SUMMED] -= ghosted.counts[L.SUMMED]
        return ghosted

    def _capacities(self, ids: np.ndarray) -> np.ndarray:
        """Return list capacities of beads: what they had here before, if that was more than what they begin with."""
        capacity = self.capacity[self.composition.prototype_of(ids)]
        if self.earlier is not None and len(ids):
            at = np.minimum(np.searchsorted(ids, self.earlier.ids), len(ids) - 1)
            stays = ids[at] == self.earlier.ids
            capacity[at[stays]] = np.maximum(capacity[at[stays]], self.earlier.capacity[stays])
        return capacity

    def own(self, ghosted: GhostedSector, now: tuple) -> MoleculeSet:
        """Return the owned molecules of a sector, at a time."""
        rows = ghosted.owned[np.argsort(ghosted.molecule_ids[ghosted.owned])]
        beads = ghosted.beads_of(rows)
        position_now = np.empty((len(ghosted.ids), 3))
        position_now[ghosted.owned_beads] = ghosted.frame(*now)[0]
        return MoleculeSet(ghosted.molecule_ids[rows], ghosted.state(beads), self.in_frame(position_now[beads], now))

    def let_go(self, ghosted: GhostedSector) -> None:
        """Keep what the next sector begins with, so that this one may be dropped, and there is memory for that."""
        self.past_counts = self.counts(ghosted)
        self.past_restored += ghosted.window.restored
        beads = ghosted.beads_of(np.flatnonzero(ghosted.ownership != L.VACANT))
        self.earlier = Earlier(
            ghosted.ids[beads], ghosted.core.capacity[ghosted.core.state_row[beads]], ghosted.window.capacity.closed
        )

    def more_capacity(self) -> None:
        """Make lists longer from the next sector on, and cells and tables of beads inside."""
        self.capacity = longer(self.capacity)
        if self.earlier is not None:
            self.earlier = replace(self.earlier, capacity=longer(self.earlier.capacity))
        inside, factor = self.options.inside, self.options.cell_capacity_factor
        self.options = replace(self.options, inside=inside + inside // 2, cell_capacity_factor=2.0 * factor)

    def counts(self, ghosted: GhostedSector) -> np.ndarray:
        """Return the kernels' counts so far, (len(COUNTERS),) int64, but for what building took."""
        return np.where(L.SUMMED, self.past_counts + ghosted.counts, np.maximum(self.past_counts, ghosted.counts))

    def sizes(self, ghosted: GhostedSector) -> dict:
        """Return counts for reports: segments made and rolled back here so far, beads owned and ghosts' beads."""
        return {
            "segments": int(self.counts(ghosted)[L.C["segments"]]),
            "restored": self.past_restored + ghosted.window.restored,
            "owned": len(ghosted.owned_beads),
            "ghosts": ghosted.ghosts,
        }

    def in_frame(self, position: np.ndarray, now: tuple) -> np.ndarray:
        """Return places at a time in the frame that moves with the system, where a common speed is none."""
        return place_in_frame(self.system, self.options.drift, position, now)

    def velocity_of(self, molecules: MoleculeSet) -> np.ndarray:
        """Return the velocities of molecules' beads in the frame that moves with the system."""
        return velocity_in_frame(self.system, self.options.drift, molecules.state.velocity)


def longer(capacity: np.ndarray) -> np.ndarray:
    """Return capacities of lists that have been too short."""
    return capacity + capacity // 2 + 8
