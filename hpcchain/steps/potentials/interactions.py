"""Forces and energies of own beads, and the neighbour lists that they are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import centres_of, running_sum
from hpcchain.steps.potentials import forces, lists

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.steps.potentials.constants import Constants

FIRST_CAPACITY = 32
NO_BEAD = np.uint32(2**32 - 1)
"""In lists, behind the last bead."""


class Interactions:
    """Forces on own beads, whose neighbour lists are made anew with each instance.

    Parameters
    ----------
    box : Box
    constants : Constants
    laws : list of Passes
        A user's own potentials.

    Attributes
    ----------
    ids, row : (n,) int64 arrays
        Of local beads: global numbers, ascending; rows among own ones, -1 for ghosts.
    own : (m,) int64 array
        Which local beads are own.
    """

    def __init__(self, box: Box, constants: Constants, laws: list) -> None:
        self.box, self.constants, self.laws = box, constants, laws
        self.capacity, self.images = FIRST_CAPACITY, lists.images_of(box)
        self.field_acts = bool(np.any(constants.field[:4]))

    def set_beads(self, ids: np.ndarray, own: np.ndarray, position: np.ndarray, list_radius: float) -> None:
        """Take local beads, and list the neighbours of own ones.

        Parameters
        ----------
        ids : (n,) int64 array
            Global numbers of local beads, ascending.
        own : (m,) int64 array
            Which of them are own.
        position : (n, 3) float64 array
            [length].
        list_radius : float
            How far lists look [length].
        """
        constants = self.constants
        self.ids, self.own = ids, own
        self.row = np.full(len(ids), -1, dtype=np.int64)
        self.row[own] = np.arange(len(own))
        rows = constants.composition.prototype_of(ids)
        self.kind = constants.kind[rows]
        self.types = constants.bead_type[rows]
        self.mass = constants.mass[rows[own]]
        self.weight = constants.composition.prototypes.mass[rows[own]]
        self.falling = np.where(np.isfinite(self.mass), self.weight, 0.0)
        first, offset, which = constants.partners(rows[own])
        partner = np.searchsorted(ids, np.repeat(ids[own], np.diff(first)) + offset)
        self.bonds = forces.Bonds(first, partner, which, constants.bonds)
        self.force, self.unread = np.zeros((len(own), 3)), (np.zeros(len(own)), np.zeros(len(own)))
        none, count = np.zeros((len(own), 0), dtype=np.uint32), np.zeros(len(own), dtype=np.int64)
        self.pairs = forces.Pairs(own, none, count, constants.pairs)
        if list_radius > 0.0:
            self._list(position, list_radius)

    def _list(self, position: np.ndarray, list_radius: float) -> None:
        """Fill the neighbour lists, with as much space as that takes."""
        periodic = self.box.periodic
        cells = lists.shape_for(self.box, list_radius, self.constants.composition.beads)
        part = (position - self.box.origin) / self.box.size
        part = np.where(periodic, part - np.floor(part), np.clip(part, 0.0, 1.0))  # outside: in the outermost cells
        x, y, z = np.minimum((part * cells).astype(np.int64), cells - 1).T
        code = (x * cells[1] + y) * cells[2] + z
        first = running_sum(np.bincount(code, minlength=int(np.prod(cells))))
        here = lists.Cells(first, np.argsort(code, kind="stable"), cells, periodic)
        row, work = self.row, lists.list_work(len(position))
        while True:
            self.pairs = self.pairs._replace(neighbour=np.full((len(self.own), self.capacity), NO_BEAD))
            need = lists.fill_lists(position, row, here, self.images, list_radius**2, self.bonds, self.pairs, work)
            if not need:
                break
            self.capacity = -(-need * 9 // 8 // 8) * 8
        self.pairs.neighbour.sort(axis=1)
        self.work = forces.pair_work(self.constants.pairs, self.capacity)

    def forces(self, position: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, tuple]:
        """Return the forces (m, 3) on own beads, and (row, entry) of a torn bond or (-1, -1)."""
        if self.constants.pair_range > 0.0:
            forces.pair_forces(position, self.kind, self.pairs, self.images, self.work, self.force)
        else:
            self.force[:] = 0.0
        return self.force, self._add(position, image, self.force, *self.unread)

    def _add(
        self,
        position: np.ndarray,
        image: np.ndarray,
        force: np.ndarray,
        energy: np.ndarray,
        virial: np.ndarray,
        whole: bool = False,
        inner: bool = True,
    ) -> tuple:
        """Add what bonds, fields and a user's own potentials do; return (row, entry) of a torn bond or (-1, -1)."""
        # Energies and virials of bonds only where it is `whole`; of beads among themselves nothing unless `inner`.
        own, constants, bonds, torn = self.own, self.constants, self.bonds, (-1, -1)
        if inner and len(constants.bonds):
            torn = forces.add_bonds(position, own, bonds, whole, force, energy, virial)
        if self.field_acts:
            forces.add_field(position, image, own, self.falling, self.box.size, constants.field, force, energy)
        for k, law in enumerate(self.laws):
            with law.fails:
                if law.on == "center":
                    law.run(position, image, own, self.box.size, law.center, force, energy)
                elif inner and law.on == "pair":
                    law.run(position, self.types, self.pairs, law.acts, law.near, self.images, force, energy, virial)
                elif inner:
                    found = law.run(position, own, bonds, -2 - k, force, energy, virial)
                    torn = torn if torn[0] >= 0 else found
        return torn

    def molecular_energies(self, position: np.ndarray, image: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return (m, 2) energies of own beads, and virials of molecules' centres of mass; see `SteppedEngine.energies`.

        Both beads of a pair or bond have half of its energy and of separation times force. Forces of outer fields have
        no part in the virial.

        `first` (k + 1,): where own molecules begin.
        """
        energy, virial = np.zeros(len(self.own)), np.zeros(len(self.own))
        if self.constants.pair_range > 0.0:
            forces.pair_energies(position, self.kind, self.pairs, self.images, energy, virial)
        self._add(position, image, np.zeros_like(self.force), energy, virial, whole=True)
        outer = np.zeros_like(self.force)
        self._add(position, image, outer, *self.unread, inner=False)
        own = position[self.own]
        lever = own - centres_of(first, self.weight, own)
        return np.column_stack([energy, virial - np.sum((self.force - outer) * lever, axis=1)])
