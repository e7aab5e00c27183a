"""Which molecules ranks need as ghosts, and which they have.

What a rank needs follows from where molecules may come to (`surroundings`), and that from their skins, about reference
positions that they get now and then. Besides, it has what it has requested, or all there are (`everything`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.parallel.ghosts.ghost_cells import FINEST, Balls
from hpcchain.parallel.ghosts.skins import Skins
from hpcchain.parallel.ghosts.surroundings import Surroundings

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.parallel.ghosts.molecules import MoleculeSet
    from hpcchain.sector.ghosted import GhostedSector
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

CROWDED = 11.0  # windows with so many more ghosts than at first as there are beads here cost as much as a new choice
AHEAD = 12.0  # windows for which molecules get new reference positions beforehand
ROUNDING = 1e-6


class GhostNeeds:
    """Which of the owned molecules other ranks need, and have, as ghosts.

    Parameters
    ----------
    box, comm, classes, window :
        See `GhostManager`.
    beyond : float
        How much farther than contact beads act on one another [length].

    Attributes
    ----------
    balls : Balls
        Of all molecules here, by row; positions are those of reference, about which skins are. Skins are watched of
        owned ones, and of ghosts with distant beads; others are infinite.
    distant : (n,) int64 array
        Rows of ghosts' beads that can touch no owned one while all stay in their skins.
    lent, lent_at_all : dict of rank -> (rows,) uint8 array, (rows,) uint8 array
        Which owned molecules it has, and which any rank has.
    sources : list of int
        Ranks that own ghosts here, in ascending order.
    everything : bool
        Whether every rank has all molecules.
    """

    def __init__(self, box: Box, comm: Exchange, classes: MoleculeClasses, beyond: float, window: float) -> None:
        self.comm, self.beyond = comm, beyond
        self.composition, self.chain_parts = classes.composition, classes.chain_parts
        contact = float(self.composition.prototypes.diameter.max()) + beyond
        self.skins = Skins(self.composition, contact, window)
        self.around = Surroundings(box, FINEST * contact, comm)
        self.requested: set[tuple[int, int]] = set()  # molecule, rank
        self.everything = False
        self.balls: Balls = None

    def choose(self, own: MoleculeSet, velocity: np.ndarray, everything: bool) -> dict:
        """Return, by rank, a mask of the owned molecules that it needs as ghosts; collective.

        `velocity`: (n, 3) of their beads, in the frame that moves with the system [length / time].
        """
        self.everything = everything
        self.skins.look_at(velocity)
        skin = self.skins.of(own.molecule_ids, velocity)
        size = self.composition.size_of(own.molecule_ids)
        like = self.composition.prototype_of(self.composition.beads_of(own.molecule_ids))
        radius = 0.5 * (self.composition.prototypes.diameter[like] + self.beyond) * (1.0 + ROUNDING)
        balls = Balls(own.position_now, radius, np.cumsum(size) - size, size, skin)
        self.around.look_around(balls, {rank for _, rank in self.requested}, everything)
        return {rank: self._needed(rank, own.molecule_ids, balls) for rank in self.around.neighbours}

    def _needed(self, rank: int, molecule_ids: np.ndarray, balls: Balls) -> np.ndarray:
        """Return a mask of the owned molecules that may touch a neighbour's, or that it has requested."""
        if self.everything:
            return np.ones(len(molecule_ids), dtype=bool)
        needed = self.around.needed_by(rank, balls) | np.isin(molecule_ids, self.requested_by(rank))
        return needed if self.chain_parts is None else self.chain_parts.whole_of(molecule_ids, needed)

    def begin(self, ghosted: GhostedSector, balls: Balls, needed: dict, sources: list) -> None:
        """Take the sector that was built of what was chosen, and set beads aside in it.

        `balls` have the skins of ghosts, too, each of which may be any; `needed`: rank -> rows that it has as ghosts.
        """
        self.balls, self.sources = balls, sorted(sources)
        self.lent: dict[int, np.ndarray] = {}
        self.lent_at_all = np.zeros(len(ghosted.molecule_ids), dtype=np.uint8)
        self.lend(needed)
        self.skins.forget_others(ghosted.molecule_ids[ghosted.ownership != L.VACANT])
        self.ghosts_at_first, self.crowding = ghosted.ghosts, 0
        near, self.distant = self._parted(ghosted, ghosted.beads_of(np.flatnonzero(ghosted.ownership == L.GHOST)))
        ghosted.set_aside(self.distant)
        watched = ghosted.ownership == L.OWNED
        watched[ghosted.molecule_rows(self.distant)] = True
        balls.skin[~watched] = np.inf

    def _parted(self, ghosted: GhostedSector, beads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of ghosts' beads, by row, may touch owned ones while all stay in their skins, and the others."""
        skin = self.balls.skin[ghosted.molecule_rows(beads)]
        near = self.around.needed_here(self.balls._replace(first=beads, size=np.ones_like(beads), skin=skin))
        return beads[near], beads[~near]

    def lend(self, needed: dict) -> None:
        """Note that ranks have the molecules in these rows, by rank, as ghosts from now on."""
        for rank, rows in needed.items():
            if len(rows):
                self.lent.setdefault(rank, np.zeros_like(self.lent_at_all))[rows] = 1
                self.lent_at_all[rows] = 1

    def widen(self, molecule_ids: np.ndarray, violation: np.ndarray) -> None:
        """Give molecules, by row, that got out of their skin more of it from the next choice on."""
        out = np.flatnonzero(violation > 0.0)
        self.skins.give_more(molecule_ids[out], 1.5 * (self.balls.skin[out] + violation[out]))

    def renew(self, ghosted: GhostedSector, now: tuple, window: float) -> tuple[bool, dict]:
        """Give new reference positions to molecules that may leave their skins in windows so long; collective.

        Returns whether owned ones stay within the extent and further lists fit, and rank -> rows of owned molecules
        that it now needs, too.
        """
        leaving = ghosted.leaving(self.balls.skin, AHEAD * window)
        self._move_skins(ghosted, leaving, now)
        inside = self.around.mark(self.balls.some(leaving[ghosted.ownership[leaving] == L.OWNED]))
        near, self.distant = self._parted(ghosted, self.distant)
        inside = ghosted.attend(near, now) and inside
        self.around.exchange_marks()
        return inside, {rank: self.newly_needed(ghosted, rank) for rank in self.around.neighbours}

    def watch(self, ghosted: GhostedSector, rows: np.ndarray, now: tuple) -> bool:
        """Watch the skins of ghosts that have come, and list their beads that are near; return whether lists fit."""
        self._move_skins(ghosted, rows, now)
        near, distant = self._parted(ghosted, ghosted.beads_of(rows))
        self.distant = np.concatenate([self.distant, distant])
        self.balls.skin[np.setdiff1d(rows, ghosted.molecule_rows(distant))] = np.inf
        return ghosted.attend(near, now)

    def _move_skins(self, ghosted: GhostedSector, rows: np.ndarray, now: tuple) -> None:
        """Give molecules skins about where they are now."""
        speeds = ghosted.move_reference(rows, now, self.balls.position)
        self.balls.skin[rows] = self.skins.for_speeds(ghosted.molecule_ids[rows], speeds)

    def newly_needed(self, ghosted: GhostedSector, rank: int) -> np.ndarray:
        """Return the rows of owned molecules that a neighbour needs from now on and does not have."""
        lent = self.lent.get(rank, np.zeros_like(self.lent_at_all))
        rest = np.flatnonzero((ghosted.ownership == L.OWNED) & (lent == 0))  # as they lie in memory
        return rest[self._needed(rank, ghosted.molecule_ids[rest], self.balls.some(rest))]

    def request(self, wanted: list) -> None:
        """Have these molecules as full ghosts at the next choice; collective, every rank says what it wants."""
        for rank, molecule_ids in enumerate(self.comm.allgather([int(m) for m in wanted])):
            self.requested.update((m, rank) for m in molecule_ids)

    def requested_by(self, rank: int) -> list:
        """Return the molecules that a rank has requested."""
        return [molecule for molecule, by in self.requested if by == rank]

    def window_done(self, ghosted: GhostedSector) -> None:
        """Note that a window has ended: ghosts that have come since all were chosen have cost something in it."""
        self.crowding += max(ghosted.ghosts - self.ghosts_at_first, 0)

    def is_crowded(self, ghosted: GhostedSector) -> bool:
        """Return whether ghosts that have come since all were chosen have cost as much as a new choice."""
        return self.crowding > CROWDED * (len(ghosted.owned_beads) + ghosted.ghosts)
