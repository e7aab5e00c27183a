"""Own molecules that are rigid: those with rigid bonds, rods, and rigid bodies, kind by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.jit.simd_plain import LANES
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import build_structure
from hpcchain.model.molecules.rods import sites
from hpcchain.propagators.rigid.body import SITE
from hpcchain.propagators.steps.rattle_and_variational import TRIDIAGONAL, step_size
from hpcchain.propagators.taylor.graph import factor_size
from hpcchain.steps.rigid import body_kernels
from hpcchain.steps.rigid import rigid_kernels as kernels

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition

TOLERANCE = 1e-15
"""Of a step's solution, relative; the solver knows what round-off allows."""


class Bonded:
    """Molecules of one kind whose bonds are rigid.

    Parameters
    ----------
    bonds : (b, 2) int64 array
        Beads counted from 0.
    length, mass : (b,), (n,) float64 arrays
        [length], [mass].
    """

    reason = "its bonds would not keep their lengths"

    def __init__(self, bonds: np.ndarray, length: np.ndarray, mass: np.ndarray) -> None:
        n = len(mass)
        self.structure = build_structure(n, bonds)
        self.npad = -(-max(n, len(bonds)) // LANES) * LANES
        self.shape = np.zeros(2 * self.npad)
        self.shape[:n] = 1.0 / mass
        self.shape[self.npad : self.npad + len(bonds)] = length**2
        floats = step_size(self.structure, 0, self.npad, TRIDIAGONAL)
        self.work = (np.zeros(6 * self.npad), np.zeros(floats), np.zeros(factor_size(self.structure, 0)))
        self.rows = np.zeros(0, dtype=np.int64)

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float, rows: np.ndarray) -> int:
        """Move the molecules with these first rows; return -1, or the index of the first that cannot be moved."""
        return kernels.move_bonded(
            position, own, velocity, rows, self.structure, self.npad, self.shape, step, TOLERANCE, self.work
        )

    def project(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, rows: np.ndarray) -> None:
        """Take from velocities of the molecules with these first rows what would stretch bonds."""
        kernels.project_bonded(position, own, velocity, rows, self.structure, self.npad, self.shape, self.work)


class Rods:
    """Rods of one kind; `length` (n - 1,) are the distances of neighbours, otherwise as `Bonded`."""

    reason = "it would turn too far"

    def __init__(self, length: np.ndarray, mass: np.ndarray) -> None:
        self.mass, self.place = mass.copy(), sites(length, mass)
        self.work = (np.zeros((len(mass), 3)), np.zeros((2, 3)), np.zeros((2, 3)))
        self.rows = np.zeros(0, dtype=np.int64)

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float, rows: np.ndarray) -> int:
        """See `Bonded.move`."""
        return kernels.move_rods(position, own, velocity, rows, self.mass, self.place, step, self.work)

    def project(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, rows: np.ndarray) -> None:
        """Make velocities those of rigid motion; see `Bonded.project`."""
        kernels.project_rods(position, own, velocity, rows, self.mass, self.place, self.work)


class Bodies:
    """Rigid bodies of one kind; `site` (n, 3) are the places of beads along their axes, otherwise as `Bonded`."""

    reason = "it would turn too far"

    def __init__(self, site: np.ndarray, mass: np.ndarray) -> None:
        self.beads = len(mass)
        count = int(W.tiles(self.beads))
        tiles = np.zeros((count, W.TILE))
        rows = np.zeros((4, count * LANES))
        rows[0, : self.beads], rows[1:, : self.beads] = 1.0 / mass, site.T
        tiles[:, W.INVM : W.INVM + LANES] = rows[0].reshape(count, LANES)
        tiles[:, SITE : SITE + W.ROW] = rows[1:].reshape(3, count, LANES).transpose(1, 0, 2).reshape(count, W.ROW)
        self.work = tiles.ravel()
        self.rows = np.zeros(0, dtype=np.int64)

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float, rows: np.ndarray) -> int:
        """See `Bonded.move`."""
        return body_kernels.move_bodies(position, own, velocity, rows, self.beads, step, self.work)

    def project(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, rows: np.ndarray) -> None:
        """Make velocities those of rigid motion; see `Bonded.project`."""
        body_kernels.project_bodies(position, own, velocity, rows, self.beads, self.work)


class RigidMolecules:
    """All own molecules with rigid bonds.

    Parameters
    ----------
    composition : Composition
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.groups: dict[int, Any] = {}
        prototypes = composition.prototypes
        for one in range(prototypes.molecules):
            bead, bond = (slice(*first[one : one + 2]) for first in (prototypes.first_bead, prototypes.first_bond))
            bonds, length, mass = prototypes.bonds[bond], prototypes.bond_length[bond], prototypes.inertia[bead]
            if prototypes.rod[one]:
                self.groups[one] = Rods(length, mass)
            elif prototypes.body[one]:
                self.groups[one] = Bodies(prototypes.site[bead], mass)
            elif len(bonds) and not prototypes.flexible[one]:
                self.groups[one] = Bonded(bonds - bead.start, length, mass)

    def set_molecules(self, molecules: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Take own molecules (k,), and the rows (k + 1,) at which their beads begin; return the rows of free beads."""
        classes = self.composition.class_of(molecules)
        for one, group in self.groups.items():
            group.rows = first[:-1][classes == one].copy()
        free = ~np.isin(classes, list(self.groups))
        return np.flatnonzero(np.repeat(free, np.diff(first)))

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float) -> tuple[int, str] | None:
        """Move molecules for a step; return None, or (first row of one that cannot be moved, why)."""
        for group in self.groups.values():
            m = group.move(position, own, velocity, step, group.rows)
            if m >= 0:
                return int(group.rows[m]), group.reason
        return None

    def project(
        self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, chosen: np.ndarray | None = None
    ) -> None:
        """Put velocities onto the bonds and lines, of all molecules or of those whose first rows are given.

        Others must not be touched: twice is not the same to the bit.
        """
        for group in self.groups.values():
            rows = group.rows if chosen is None else np.intersect1d(group.rows, chosen)
            group.project(position, own, velocity, rows)
