"""The contacts of a pool under contact dynamics, cluster by cluster, and its bodies, as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.composition import running_sum
from hpcchain.steps.contacts.clusters import dot, through
from hpcchain.steps.friction import friction_kernels as kernels
from hpcchain.steps.friction import turning_kernels
from hpcchain.steps.friction.cone_newton import greatest
from hpcchain.steps.friction.friction_kernels import ContactBodies, ContactSet

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
        k, (across, last) = len(one), frames_of(self.normal)
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
            np.stack([self.normal, across, last], axis=1),
            stiff,
            slip,
            arm,
            turn,
            self.friction,
            own,
            plain[one] & (wall | plain[geometry.other]),
        )
        kernels.own_response(bodies.still(), self.contacts, own)
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


def _responses_of(pool: Pool, group: Any, beads: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return what unit impulses on beads (k,) of molecules of a group do to all of these, through bonds: (r, 3, 3)."""
    struck = np.tile(beads, 3)
    change = np.repeat(np.eye(3), len(beads), axis=0) * inverse[struck, None]
    _, _, fields = through(pool, group, np.arange(len(struck)), struck, change, pool.molecule_of(struck))
    return np.ascontiguousarray(fields.reshape(3, -1, 3).transpose(1, 2, 0))
