"""From molecules' states to a rank's ghosted sector, and back, again and again as molecules move.

What lists and tables have grown to in one sector the next one begins with, and counts go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import complete
from hpcchain.parallel.ghosts.molecules import WIDTH, MoleculeSet, unpack
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.setup.drift import place_in_frame, velocity_in_frame

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.sector.core import Options
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


class SectorBuilder:
    """Builds ghosted sectors, and takes owned molecules from them.

    Parameters
    ----------
    system, classes :
        See `GhostManager`.
    options : Options
        Of the first sector.

    Attributes
    ----------
    options : Options
        Of the next sector.
    """

    def __init__(self, system: System, classes: MoleculeClasses, options: Options) -> None:
        self.classes, self.composition, self.options = classes, classes.composition, options
        self.system = replace(system, topology=self.composition, state=None, held=None)
        self._closed: np.ndarray | None = None  # rows for closed segments that the last sector had
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
        system = replace(self.system, state=held.state, held=held.molecule_ids)
        ghosted = GhostedSector(self.classes, system, ownership, self.options, self._closed)
        self.past_counts[L.SUMMED] -= ghosted.counts[L.SUMMED]
        return ghosted

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
        self._closed = ghosted.window.capacity.closed
        self.options = replace(self.options, space=ghosted.core.space)

    def more_space(self) -> None:
        """Give lists and cells more space from the next sector on, and tables of beads inside."""
        inside = self.options.inside
        self.options = replace(self.options, inside=inside + inside // 2, space=2.0 * self.options.space)

    def counts(self, ghosted: GhostedSector) -> np.ndarray:
        """Return the kernels' counts so far, (len(COUNTERS),) int64, but for what building took."""
        return np.where(L.SUMMED, self.past_counts + ghosted.counts, np.maximum(self.past_counts, ghosted.counts))

    def sizes(self, ghosted: GhostedSector) -> dict:
        """Return counts for reports: segments made and rolled back here so far, beads owned and ghosts' beads."""
        counts = self.counts(ghosted)
        return {
            "segments": int(counts[L.N_SEGMENTS]),
            "restored": int(counts[L.N_RESTORED]),
            "owned": len(ghosted.owned_beads),
            "ghosts": ghosted.ghosts,
        }

    def in_frame(self, position: np.ndarray, now: tuple) -> np.ndarray:
        """Return places at a time in the frame that moves with the system, where a common speed is none."""
        return place_in_frame(self.system, self.options.drift, position, now)

    def velocity_of(self, molecules: MoleculeSet) -> np.ndarray:
        """Return the velocities of molecules' beads in the frame that moves with the system."""
        return velocity_in_frame(self.system, self.options.drift, molecules.state.velocity)
