"""The contacts of a pool under contact dynamics, cluster by cluster, as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import running_sum
from hpcchain.steps.contacts.clusters import dot
from hpcchain.steps.friction import friction_kernels as kernels
from hpcchain.steps.friction.cone_newton import greatest
from hpcchain.steps.friction.friction_kernels import ContactSet
from hpcchain.steps.friction.pool_bodies import PoolBodies

if TYPE_CHECKING:
    from hpcchain.steps.contacts.clusters import Pool
    from hpcchain.steps.contacts.inclusions import ContactSolver


class PoolContacts:
    """Contacts of a pool and its bodies; their impulses and offsets are those that a ClusterSolver sets.

    Parameters
    ----------
    pool : Pool
    pairs : (n, 2) int64 array
        Contacts.
    solver : ContactSolver

    Attributes
    ----------
    pairs, starts, of : (n, 2), (q + 1,), (n,) int64 arrays
        Contacts in the order of clusters, as all arrays here are; where clusters begin; of which each contact is.
    geometry, bodies, contacts : Geometry, PoolBodies, ContactSet
    gap, normal, leaving : (n,), (n, 3), (n, 3) float64 arrays
        At the step's beginning; velocities of walls.
    frames : (n, 3, 3) float64 array
        Of each contact: its normal and two vectors across.
    cluster, rows, row_starts : (m,), (m,), (q + 1,) int64 arrays
        Which cluster each bead is of, -1: none; beads in the order of clusters; where those of a cluster begin.
    """

    def __init__(self, pool: Pool, pairs: np.ndarray, solver: ContactSolver) -> None:
        self.pool, self.coefficients = pool, solver.coefficients
        found = solver.clusters(pool, solver.geometry(pool, pairs))
        sequence = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        self.starts = running_sum([len(one) for one in found])
        self.of = np.repeat(np.arange(len(found)), np.diff(self.starts))
        self.pairs = pairs[sequence]
        self.geometry = solver.geometry(pool, self.pairs)
        self.gap, self.normal = self.geometry.at(pool.position, solver.clock.span[0])
        self.leaving = self.geometry.moving[:, None] * self.normal + self.geometry.sliding
        self.bodies = PoolBodies(pool, self.geometry, solver)
        self._set_contacts()
        self._set_clusters()

    def rates(self, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """Return the relative velocities (n, 3) of contacts' surfaces, of velocities and spins (m, 3)."""
        found = np.empty_like(self.normal)
        kernels.rates(self.bodies.gathered(velocity, spin), self.contacts, found)
        return found

    def _set_contacts(self) -> None:
        """Make the ContactSet, but for offsets and impulses."""
        geometry, bodies = self.geometry, self.bodies
        one, wall = geometry.one, geometry.wall
        other = np.where(wall, -1, geometry.other)
        beads = np.column_stack([one, geometry.other])
        there = np.column_stack([np.ones(len(one), dtype=bool), ~wall])
        arm = np.where(there, bodies.radius[beads], 0.0)
        turns = there & ~bodies.fixed[beads] & (bodies.whole[beads] < 0) & self.coefficients.rubs
        turn = np.where(turns, arm / bodies.moment[beads], 0.0)
        k = len(one)
        stiff, slip = np.ones(k), np.ones(k)
        known = self.coefficients
        self.restitution, self.friction = (known.of(one, self.pairs) for one in (known.restitution, known.friction))
        plain, own = (bodies.row_block < 0) & (bodies.whole < 0), np.empty((k, 3, 3))
        self.contacts = ContactSet(
            one,
            other,
            self.normal,
            np.zeros((k, 3)),
            np.zeros((k, 3)),
            stiff,
            slip,
            arm,
            turn,
            self.friction,
            own,
            plain[one] & (wall | plain[geometry.other]),
        )
        kernels.own_response(bodies.still(), self.contacts, own)
        across, last = frames_of(self.normal)
        self.frames = np.stack([self.normal, across, last], axis=1)
        stiff[:] = along(own, self.normal, self.normal)
        slip[:] = greatest(along(own, across, across), along(own, across, last), along(own, last, last))
        turned = arm[:, 0] * turn[:, 0] + arm[:, 1] * turn[:, 1]
        slip += turned
        own += turned[:, None, None] * (np.eye(3) - self.normal[:, :, None] * self.normal[:, None, :])

    def _set_clusters(self) -> None:
        """Say which cluster each bead is of (m,), -1: of none, and list the beads of each."""
        count, geometry = len(self.starts) - 1, self.geometry
        molecule = np.full(len(self.pool.ids), -1, dtype=np.int64)
        first = self.bodies.first
        molecule[first[geometry.one]] = molecule[first[geometry.other]] = self.of
        self.cluster = molecule[first]
        self.rows = np.argsort(self.cluster, kind="stable")
        self.row_starts = np.searchsorted(self.cluster[self.rows], np.arange(count + 1))


def frames_of(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors (n, 3) across each normal and one another."""
    least = np.argmin(np.abs(normal), axis=1)
    axis = np.zeros_like(normal)
    axis[np.arange(len(normal)), least] = 1.0
    one = np.cross(normal, axis)
    one = one / np.sqrt(dot(one, one))[:, None]
    return one, np.cross(normal, one)


def along(matrices: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products (n,) a M b of matrices (n, 3, 3) and rows (n, 3), summed in one order."""
    return dot(a, np.column_stack([dot(matrices[:, c], b) for c in range(3)]))
