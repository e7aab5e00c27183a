"""Own molecules that are rigid: those with rigid bonds, rods, and rigid bodies, kind by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.jit.simd_plain import LANES
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import build_structure
from hpcchain.model.molecules.rods import sites
from hpcchain.propagators.rigid import body, rod
from hpcchain.propagators.steps.rattle_and_variational import TRIDIAGONAL, step_size
from hpcchain.propagators.taylor.graph import factor_size
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
    is_body = False

    def __init__(self, bonds: np.ndarray, length: np.ndarray, mass: np.ndarray) -> None:
        n = len(mass)
        self.structure = build_structure(n, bonds)
        npad = -(-n // LANES) * LANES
        self.shape = 1.0 / mass, length**2
        floats = step_size(self.structure, npad, TRIDIAGONAL), factor_size(self.structure)
        self.work = tuple(np.zeros(size) for size in (3 * npad, 3 * npad, *floats))

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float, rows: np.ndarray) -> int:
        """Move the molecules with these first rows; return -1, or the index of the first that cannot be moved."""
        return kernels.move_bonded(
            position, own, velocity, rows, self.structure, self.shape, step, TOLERANCE, self.work
        )

    def project(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, rows: np.ndarray) -> None:
        """Take from velocities of the molecules with these first rows what would change the lengths of bonds."""
        kernels.project_bonded(position, own, velocity, rows, self.structure, self.shape, self.work)


class Rigid:
    """Rods or rigid bodies of one kind.

    Parameters
    ----------
    place : (n, 1) or (n, 3) float64 array
        Of the beads along a rod from its centre of mass, or along a body's axes [length].
    mass : (n,) float64 array
        [mass]
    """

    reason = "it would turn too far"

    def __init__(self, place: np.ndarray, mass: np.ndarray) -> None:
        self.beads, axes = place.shape
        self.is_body = axes > 1
        begin, count = body.SITE if self.is_body else rod.SITE, int(W.tiles(self.beads))
        tiles = np.zeros((count, W.TILE))
        for at, values in ((W.INVM, 1.0 / mass), *((begin + c * LANES, place[:, c]) for c in range(axes))):
            tiles[:, at : at + LANES] = np.pad(values, (0, count * LANES - self.beads)).reshape(count, LANES)
        self.work = tiles.ravel()

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float, rows: np.ndarray) -> int:
        """See `Bonded.move`."""
        kernel = kernels.move_bodies if self.is_body else kernels.move_rods
        return kernel(position, own, velocity, rows, self.beads, step, self.work)

    def project(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, rows: np.ndarray) -> None:
        """Make velocities those of rigid motion; see `Bonded.project`."""
        kernels.project_rigid(position, own, velocity, rows, self.beads, self.is_body, self.work)


class RigidMolecules:
    """All own molecules with rigid bonds.

    Parameters
    ----------
    composition : Composition
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.groups: dict[int, Any] = {}  # Bonded or Rigid, by class of molecules
        prototypes = composition.prototypes
        for one in range(prototypes.molecules):
            bead, bond = (slice(*first[one : one + 2]) for first in (prototypes.first_bead, prototypes.first_bond))
            bonds, length, mass = prototypes.bonds[bond], prototypes.bond_length[bond], prototypes.inertia[bead]
            if prototypes.rod[one]:
                self.groups[one] = Rigid(sites(length, mass)[:, None], mass)
            elif prototypes.body[one]:
                self.groups[one] = Rigid(prototypes.site[bead], mass)
            elif len(bonds) and not prototypes.flexible[one]:
                self.groups[one] = Bonded(bonds - bead.start, length, mass)

    def set_molecules(self, molecules: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Take own molecules (k,), and the rows (k + 1,) at which their beads begin; return the rows of free beads."""
        classes = self.composition.class_of(molecules)
        self.own = self.among(classes, first)
        return np.flatnonzero(np.repeat(self.free(classes), np.diff(first)))

    def free(self, classes: np.ndarray) -> np.ndarray:
        """Return whether molecules of these classes (k,) are none of these."""
        return ~np.isin(classes, list(self.groups))

    def among(self, classes: np.ndarray, first: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """Return the groups that molecules are of, by their classes (k,), each with its first rows of `first`."""
        found = [(group, first[:-1][classes == one]) for one, group in self.groups.items()]
        return [(group, rows) for group, rows in found if len(rows)]

    def move(self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, step: float) -> tuple[int, str] | None:
        """Move molecules for a step; return None, or (first row of one that cannot be moved, why)."""
        for group, rows in self.own:
            m = group.move(position, own, velocity, step, rows)
            if m >= 0:
                return int(rows[m]), group.reason
        return None

    def project(
        self, position: np.ndarray, own: np.ndarray, velocity: np.ndarray, chosen: np.ndarray | None = None
    ) -> None:
        """Put velocities onto the bonds and lines, of all molecules or of those whose first rows are given.

        Others must stay as they are: twice is not the same to the bit.
        """
        for group, rows in self.own:
            group.project(position, own, velocity, rows if chosen is None else np.intersect1d(rows, chosen))
