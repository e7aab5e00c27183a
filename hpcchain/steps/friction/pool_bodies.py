"""What impulses do to the beads of a pool under contact dynamics: alone, through bonds, as rigid bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.steps.friction import turning_kernels
from hpcchain.steps.friction.friction_kernels import ContactBodies

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.steps.contacts.clusters import Geometry, Pool
    from hpcchain.steps.rigid.molecules import RigidMolecules


class PoolBodies:
    """The beads of a pool: all that ContactBodies have but velocities and spins.

    Parameters
    ----------
    pool : Pool
    geometry : Geometry
        Of its contacts.
    composition : Composition
    rigid : RigidMolecules

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

    def __init__(self, pool: Pool, geometry: Geometry, composition: Composition, rigid: RigidMolecules) -> None:
        self.pool, self.rigid = pool, rigid
        examples, prototype = composition.prototypes, composition.prototype_of(pool.ids)
        self.radius = np.where(examples.soft, 0.0, 0.5 * examples.diameter)[prototype]
        self.fixed, self.moment = examples.fixed[prototype], examples.moment[prototype]
        self.inverse = np.where(self.fixed, 0.0, 1.0 / examples.mass[prototype])
        size, self.kind = np.diff(pool.first), composition.class_of(pool.molecules)
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
                part = _responses_of(self.pool, group, beads, self.first, self.inverse)
                n = int(self.size[beads[0]])
                self.row_block[beads] = at + n * np.arange(len(beads))
                responses.append(part)
                at += len(part)
        self.response = np.concatenate(responses) if responses else np.zeros((0, 3, 3))

    def _set_turning(self) -> None:
        """Make tables of the rigid bodies; see `turning_kernels`."""
        beads, kind = len(self.pool.ids), self.kind
        bodies = {one: group for one, group in self.rigid.groups.items() if group.is_body}
        is_body = np.isin(kind, list(bodies))
        self.whole = np.full(beads, turning_kernels.NONE, dtype=np.int64)
        self.lever, self.heavy = np.zeros((beads, 3)), np.zeros(int(is_body.sum()))
        self.tensor, self.turning, at = np.zeros((len(self.heavy), 3, 3)), [], 0
        for one, group in bodies.items():
            rows = self.pool.first[:-1][kind == one]
            if len(rows):
                turning_kernels.body_tables(
                    self.pool.position, self.inverse, rows, group.beads, at, self.lever, self.heavy, self.tensor
                )
                self.whole[rows[:, None] + np.arange(group.beads)] = at + np.arange(len(rows))[:, None]
                self.turning.append((rows, group.beads, at))
                at += len(rows)

    def with_forces(self, velocity: np.ndarray, h: float) -> np.ndarray:
        """Return velocities (m, 3) after a step h of forces, without contacts."""
        pool = self.pool
        found = velocity + h * (pool.force * self.inverse[:, None])
        for one, group in self.rigid.groups.items():
            begin = pool.first[:-1][self.kind == one]
            if len(begin):
                group.project(pool.position, np.arange(len(found)), found, begin)
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


def _responses_of(pool: Pool, group: Any, beads: np.ndarray, first: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return what unit impulses on some beads do to their molecules' beads, through bonds: (k size, 3, 3).

    Parameters
    ----------
    pool : Pool
    group : Bonded or Rigid, no body
        Of the molecules, all of one kind.
    beads : (k,) int64 array
        Rows of the pool.
    first, inverse : (m,), (m,) arrays
        First rows of beads' molecules, inverse masses [1 / mass].
    """
    k = len(beads)
    size = int(np.diff(pool.first)[np.searchsorted(pool.first, beads[0], side="right") - 1])
    rows = (first[beads][:, None] + np.arange(size)).ravel()
    place = np.tile(pool.position[rows], (3, 1))
    field = np.zeros((3, k, size, 3))
    for d in range(3):
        field[d, np.arange(k), beads - first[beads], d] = inverse[beads]
    flat = field.reshape(-1, 3)
    group.project(place, np.arange(len(flat)), flat, np.arange(3 * k) * size)
    return np.ascontiguousarray(flat.reshape(3, k * size, 3).transpose(1, 2, 0))
