"""What impulses do to the beads of a pool under contact dynamics: alone, through bonds, as rigid bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.steps.contacts.clusters import through
from hpcchain.steps.friction import turning_kernels
from hpcchain.steps.friction.friction_kernels import ContactBodies

if TYPE_CHECKING:
    from hpcchain.steps.contacts.clusters import Geometry, Pool
    from hpcchain.steps.contacts.inclusions import ContactSolver


class PoolBodies:
    """The beads of a pool: all that ContactBodies have but velocities and spins.

    Parameters
    ----------
    pool : Pool
    geometry : Geometry
        Of its contacts.
    solver : ContactSolver

    Attributes
    ----------
    radius, moment, inverse : (m,) float64 arrays
        Radii [length], moments of inertia [mass length^2], inverse masses [1 / mass], which are 0 of fixed beads.
    fixed : (m,) bool array
    first, size : (m,) int64 arrays
        First row of each bead's molecule, and how many beads it has.
    row_block, whole : (m,) int64 arrays
        Where a bead's rows of `response` begin, and which rigid body it is of; negative: none.
    """

    def __init__(self, pool: Pool, geometry: Geometry, solver: ContactSolver) -> None:
        self.pool, self.rigid = pool, solver.rigid
        examples, prototype = solver.composition.prototypes, solver.composition.prototype_of(pool.ids)
        self.radius, self.inverse = solver.radius[prototype], 1.0 / solver.mass[prototype]
        self.fixed, self.moment = examples.fixed[prototype], examples.moment[prototype]
        size, self.kind = np.diff(pool.first), solver.composition.class_of(pool.molecules)
        self.first, self.size = np.repeat(pool.first[:-1], size), np.repeat(size, size)
        self._set_turning()
        self._set_responses(np.unique(np.concatenate([geometry.one, geometry.other[~geometry.wall]])))

    def _set_responses(self, met: np.ndarray) -> None:
        """Make what impulses on beads in contact do to molecules with bonds."""
        self.row_block = np.full(len(self.pool.ids), -1, dtype=np.int64)
        kind = np.repeat(self.kind, np.diff(self.pool.first))[met]
        responses, at = [], 0
        for one, group in self.rigid.groups.items():
            beads = met[kind == one]
            if len(beads) and not group.is_body:
                part = _responses_of(self.pool, group, beads, self.inverse)
                n = int(self.size[beads[0]])
                self.row_block[beads] = at + n * np.arange(len(beads))
                responses.append(part)
                at += len(part)
        self.response = np.concatenate(responses) if responses else np.zeros((0, 3, 3))

    def _set_turning(self) -> None:
        """Make tables of the rigid bodies; see `turning_kernels`."""
        beads, kind = len(self.pool.ids), self.kind
        bodies = [(group.beads, rows) for group, rows in self.rigid.among(kind, self.pool.first) if group.is_body]
        self.whole = np.full(beads, turning_kernels.NONE, dtype=np.int64)
        self.lever, self.heavy = np.zeros((beads, 3)), np.zeros(sum(len(rows) for _, rows in bodies))
        self.tensor, self.turning, at = np.zeros((len(self.heavy), 3, 3)), [], 0
        place = self.pool.position
        for n, rows in bodies:
            turning_kernels.body_tables(place, self.inverse, rows, n, at, self.lever, self.heavy, self.tensor)
            self.whole[rows[:, None] + np.arange(n)] = at + np.arange(len(rows))[:, None]
            self.turning.append((rows, n, at))
            at += len(rows)

    def with_forces(self, velocity: np.ndarray, h: float) -> np.ndarray:
        """Return velocities (m, 3) after a step h of forces, without contacts."""
        pool = self.pool
        found = velocity + h * (pool.force * self.inverse[:, None])
        for group, rows in self.rigid.among(self.kind, pool.first):
            group.project(pool.position, np.arange(len(found)), found, rows)
        return found

    def still(self) -> ContactBodies:
        """Return the ContactBodies at rest."""
        zeros = np.zeros_like(self.pool.velocity), np.zeros_like(self.pool.velocity)
        return ContactBodies(*zeros, *(getattr(self, name) for name in ContactBodies._fields[2:]))

    def gathered(self, velocity: np.ndarray, spin: np.ndarray) -> ContactBodies:
        """Return the ContactBodies with copies of velocities and spins (m, 3), of rigid bodies as kernels have them."""
        velocity, spin = velocity.copy(), spin.copy()
        for rows, beads, at in self.turning:
            turning_kernels.gather(velocity, spin, self.inverse, rows, beads, at, self.lever, self.heavy, self.tensor)
        return self.still()._replace(velocity=velocity, spin=spin)

    def scatter(self, bodies: ContactBodies, velocity: np.ndarray, spin: np.ndarray, keeps: np.ndarray) -> None:
        """Give beads of rigid bodies the velocities that kernels have found; some keep theirs.

        To gather and scatter changes round-off, which must not depend on what else is in the pool.

        Parameters
        ----------
        bodies : ContactBodies
        velocity, spin : (m, 3) float64 arrays
            Before.
        keeps : (m,) bool array
            Beads of clusters that have not been solved.
        """
        for rows, beads, _ in self.turning:
            turning_kernels.scatter(bodies.velocity, bodies.spin, rows, beads, self.lever)
            left = (rows[keeps[rows]][:, None] + np.arange(beads)).ravel()
            bodies.velocity[left], bodies.spin[left] = velocity[left], spin[left]


def _responses_of(pool: Pool, group: Any, beads: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return what unit impulses on beads (k,) of molecules of a group do to all of these, through bonds: (r, 3, 3)."""
    struck = np.tile(beads, 3)
    change = np.repeat(np.eye(3), len(beads), axis=0) * inverse[struck, None]
    _, _, fields = through(pool, group, np.arange(len(struck)), struck, change, pool.molecule_of(struck))
    return np.ascontiguousarray(fields.reshape(3, -1, 3).transpose(1, 2, 0))
