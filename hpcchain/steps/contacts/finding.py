"""Which contacts own beads have in a step, and what reflections in the metric of H2 need of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.steps.contacts import contact_kernels as kernels
from hpcchain.steps.contacts.clusters import NONE
from hpcchain.steps.potentials.curvature import EXTRA, Metric

if TYPE_CHECKING:
    from hpcchain.model.physics.constants import SteppedPhysics
    from hpcchain.parallel.agreement import Ranks
    from hpcchain.steps.contacts.walls import Walls
    from hpcchain.steps.domain import Refresh
    from hpcchain.steps.local_beads import Clock
    from hpcchain.steps.potentials.constants import Constants
    from hpcchain.steps.potentials.interactions import Interactions

CLOSE = 1e-9
"""Gap, relative to the contact distance, and rate, relative to the speeds, that count as none."""


class ContactFinder:
    """Finds the contacts of own beads among local ones.

    Parameters
    ----------
    constants : Constants
    settings : SteppedPhysics
        `Physics.steps`.
    comm : Ranks
    walls : Walls
    clock : Clock

    Attributes
    ----------
    metric : Metric or None
        Of contacts that keep H2.
    """

    def __init__(self, constants: Constants, settings: SteppedPhysics, comm: Ranks, walls: Walls, clock: Clock) -> None:
        self.constants, self.composition = constants, constants.composition
        self.comm, self.walls, self.clock = comm, walls, clock
        self.metric = Metric(constants, settings) if settings.energy == "H2" else None
        self.capacity = 64

    def set_beads(self, lists: Interactions) -> None:
        """Take local beads and the lists of own ones."""
        molecule = self.composition.molecule_of(lists.ids)
        pass_through = ~self.composition.prototypes.self_contact[self.composition.class_of(molecule)]
        self.lists = lists
        self.local_radius = self.constants.core_radius[self.composition.prototype_of(lists.ids)]
        self.through = np.where(pass_through, molecule, -1)
        if self.metric:
            self.metric.set_beads(lists, molecule)

    def curved(self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray, refresh: Refresh) -> tuple:
        """Return what reflections in the metric of H2 need of second derivatives; collective.

        Parameters
        ----------
        before : (n, 3) float64 array
            Places of local beads at the step's beginning [length].
        velocity : (m, 3) float64 array
            Of own beads then [length / time].
        pairs : (k, 2) int64 array
            Contacts of own beads.
        refresh : Refresh
            Sends others what own beads have, and takes in what ghosts have.

        Returns
        -------
        (m, e) float64 array, (l, 2) int64 array
            `Pool.extra` of own beads, and links of own ones.
        """
        if self.metric is None:
            return np.zeros((len(self.lists.own), 0)), NONE
        if self.comm.maximum(np.array([float(len(pairs))]))[0] == 0.0:
            return np.zeros((len(self.lists.own), EXTRA)), NONE
        every = np.zeros_like(before)
        every[self.lists.own] = velocity
        refresh(every)
        flag = self.metric.flags(pairs)
        refresh(flag)
        return self.metric.blocks(before, every, flag), self.metric.links(before, flag)

    def find(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return active contacts (n, 2) of own beads by global numbers, in ascending order.

        None is of fixed beads alone, which walls do not stop either.
        """
        radius, lists = self.local_radius, self.lists
        while True:
            pairs = np.empty((self.capacity, 2), dtype=np.int64)
            count = kernels.find_pairs(
                before, after, lists.pairs, lists.row, radius, self.through, lists.images, CLOSE, pairs
            )
            rest = pairs[min(count, self.capacity) :]
            walls = 0
            if self.walls.there:
                span = self.clock.span
                walls = kernels.find_walls(before, after, lists.own, radius, self.walls.rows, span, CLOSE, rest)
            if count + walls <= self.capacity:
                break
            self.capacity = 2 * (count + walls)
        pairs = pairs[: count + walls]
        named = np.where(pairs < 0, pairs, lists.ids[np.maximum(pairs, 0)])
        named = named[np.lexsort((named[:, 1], named[:, 0]))]
        return self._pushable(named) if self.composition.prototypes.fixed.any() else named

    def _pushable(self, pairs: np.ndarray) -> np.ndarray:
        """Return contacts (n, 2) without those of two fixed beads, or of one and a wall."""
        one, other = self.composition.prototypes.fixed[self.composition.prototype_of(np.maximum(pairs, 0))].T
        return pairs[~(one & (other | (pairs[:, 1] < 0)))]
