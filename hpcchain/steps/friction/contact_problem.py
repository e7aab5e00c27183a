"""One pool of molecules in contact under contact dynamics: its equations, and their solution cluster by cluster.

A step has two parts, u the relative velocity of a contact's surfaces.

1. Where something strikes, that is, where contacts approach and e > 0: impacts without forces (Moreau 1988), of all
   contacts that hang together with it. With v' before, w = u + e u':

       0 <= w_n,   0 <= P_n,   w_n P_n = 0,   |P_t| <= mu P_n, against w_t

   One coefficient for all of them, along contacts as across, takes energy out whatever happens: P (u + u') <= 0.
   Contacts with coefficients of their own may win energy together: where they would, all take the least of theirs.
2. Everywhere: implicit Euler without restitution (Jean 1999, Marinkovic 2022), from there and with the forces:

       0 <= u_n + max(gap, 0) / h,   0 <= P_n,   (u_n + ...) P_n = 0,   |P_t| <= mu P_n, against u_t

   What comes near lies at the end of the step; P u <= 0 takes energy out, too.

Bonds are taken up in what impulses do to molecules. That bonds turn during the step changes their beads' velocities,
`bend`; it is found by solving again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.steps.contacts.clusters import dot
from hpcchain.steps.contacts.inclusions import CLOSE
from hpcchain.steps.friction import friction_kernels as kernels
from hpcchain.steps.friction import sweep_kernels
from hpcchain.steps.friction.cone_newton import cone_newton, greatest
from hpcchain.steps.friction.friction_kernels import ContactBodies, ContactSet
from hpcchain.steps.friction.pool_bodies import PoolBodies
from hpcchain.steps.friction.regions import solve_regions

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpcchain.model.composition import Composition
    from hpcchain.steps.contacts.clusters import Geometry, Pool
    from hpcchain.steps.contacts.coefficients import Coefficients
    from hpcchain.steps.rigid.molecules import RigidMolecules

NO_APPROACH = 1e-9
"""Approach in a step, relative to the contact distance, that does not count as one."""
WON = 1e-9
"""Work of impacts above 0, relative to the sum of the sizes of its parts, by which energy counts as won, at least."""
FIRST_SWEEPS, MOST_SWEEPS, NEWTON_TURNS, DENSE = 40, 20_000, 4, 120
"""Sweeps before Newton's method; sweeps at most without it; how often both take turns, with five times as many sweeps
each; contacts of a cluster up to which Newton's method is tried on it as a whole."""
REGIONS_FROM, REGION_TURNS, REGION_SWEEPS = 2, 10, 100
"""Turn from which on regions of larger clusters are solved; how often at most in a turn, and sweeps after each."""


class Law:
    """Constants of the law of contacts: h [time], coefficients, residual, solver.

    `near`: impulses to begin with are taken to be near the solution, which Newton's method then looks for first.
    """

    def __init__(self, h: float, coefficients: Coefficients, tolerance: float, solver: str) -> None:
        self.h, self.coefficients = h, coefficients
        self.tolerance, self.solver, self.near = tolerance, solver, False


class Solved(NamedTuple):
    """A solution.

    Attributes
    ----------
    velocity, spin : (m, 3) float64 arrays
        After the step.
    blows, impulse : (n, 3) float64 arrays
        Impulses of both its parts.
    solved : bool
        Whether all are.
    """

    velocity: np.ndarray
    spin: np.ndarray
    blows: np.ndarray
    impulse: np.ndarray
    solved: bool


class Problem:
    """The equations of a pool.

    Parameters
    ----------
    pool : Pool
        Velocities are those before the step; `extra` as `contact_dynamics` has it.
    pairs : (n, 2) int64 array
        Contacts.
    clusters, geometry : callable
        `Contacts._clusters` and `_geometry`: of pool and Geometry, the lists of contacts that hang together; of pool
        and pairs, the Geometry.
    time : float
        At the step's begin [time].
    law : Law
    composition : Composition
    rigid : RigidMolecules
    bend : (m, 3) float64 array
        By how much the step's velocities are off the linear ones because of bonds.
    """

    def __init__(
        self,
        pool: Pool,
        pairs: np.ndarray,
        clusters: Callable[[Pool, Geometry], list],
        geometry: Callable[[Pool, np.ndarray], Geometry],
        time: float,
        law: Law,
        composition: Composition,
        rigid: RigidMolecules,
        bend: np.ndarray,
    ) -> None:
        self.pool, self.law = pool, law
        found = clusters(pool, geometry(pool, pairs))
        self.sequence = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
        self.pairs = pairs[self.sequence]
        self.geometry = geometry(pool, self.pairs)
        self.gap, self.normal = self.geometry.at(pool.position, time)
        self.leaving = self.geometry.moving[:, None] * self.normal + self.geometry.sliding
        self.bend = bend
        self.bodies = PoolBodies(pool, self.geometry, composition, rigid)
        self._set_contacts()
        self._set_clusters()
        self.counts = np.zeros((len(found), 2), dtype=np.int64)

    def _rates(self, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
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
        self.arm = np.where(there, bodies.radius[beads], 0.0)
        turns = there & ~bodies.fixed[beads] & (bodies.whole[beads] < 0) & self.law.coefficients.rubs
        self.turn = np.where(turns, self.arm / bodies.moment[beads], 0.0)
        k = len(one)
        self.impulse, self.offset = np.zeros((k, 3)), np.zeros((k, 3))
        self.stiff, self.slip = np.ones(k), np.ones(k)
        known = self.law.coefficients
        self.restitution, self.friction = (known.of(one, self.pairs) for one in (known.restitution, known.friction))
        plain, own = (bodies.row_block < 0) & (bodies.whole < 0), np.empty((k, 3, 3))
        self.contacts = ContactSet(
            one,
            other,
            self.normal,
            self.impulse,
            self.offset,
            self.stiff,
            self.slip,
            self.arm,
            self.turn,
            self.friction,
            own,
            plain[one] & (wall | plain[geometry.other]),
        )
        kernels.own_response(bodies.still(), self.contacts, own)
        across, last = frames_of(self.normal)
        self.frames = np.stack([self.normal, across, last], axis=1)
        self.stiff[:] = along(own, self.normal, self.normal)
        self.slip[:] = greatest(along(own, across, across), along(own, across, last), along(own, last, last))
        turned = self.arm[:, 0] * self.turn[:, 0] + self.arm[:, 1] * self.turn[:, 1]
        self.slip += turned
        own += turned[:, None, None] * (np.eye(3) - self.normal[:, :, None] * self.normal[:, None, :])

    def _set_clusters(self) -> None:
        """Say which cluster each bead is of (m,), -1: of none, and list the beads of each."""
        count, geometry = len(self.starts) - 1, self.geometry
        molecule = np.full(len(self.pool.ids), -1, dtype=np.int64)
        of = np.repeat(np.arange(count), np.diff(self.starts))
        first = self.bodies.first
        molecule[first[geometry.one]] = molecule[first[geometry.other]] = of
        self.cluster = molecule[first]
        self.rows = np.argsort(self.cluster, kind="stable")
        self.row_starts = np.searchsorted(self.cluster[self.rows], np.arange(count + 1))

    def solve(self, start: np.ndarray, begin: np.ndarray) -> Solved:
        """Return what becomes of the beads.

        Parameters
        ----------
        start, begin : (n, 3) float64 arrays
            Impulses of the second part, and of the first one, to begin with, in the order of `pairs`.
        """
        law, k = self.law, len(self.pairs)
        velocity, spin = self.pool.velocity, np.ascontiguousarray(self.pool.extra[:, L.SPIN : L.SPIN + 3])
        cluster = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        before = self._rates(velocity, spin) - self.leaving
        bent = self.bend[self.geometry.one] - np.where(self.geometry.wall[:, None], 0.0, self.bend[self.geometry.other])
        approach = dot(self.normal, before)
        strikes = (approach < -NO_APPROACH * self.geometry.contact / law.h) & (self.restitution > 0.0)
        struck = np.bincount(cluster, strikes, len(self.starts) - 1) > 0.0
        blows, solved = np.zeros((k, 3)), True
        if struck.any():
            velocity, spin, solved = self._struck(velocity, spin, before, begin, cluster, struck)
            blows = self.impulse.copy()
        gap = np.where(self.gap > CLOSE * self.geometry.contact, self.gap, 0.0)  # that of what touches is rounding
        offset = bent + (gap / law.h)[:, None] * self.normal - self.leaving
        every = np.ones(len(struck), dtype=bool)
        velocity, spin, good = self._solved(self.bodies.with_forces(velocity, law.h), spin, offset, start, every)
        return Solved(velocity, spin, blows, self.impulse, solved and good)

    def _struck(
        self,
        velocity: np.ndarray,
        spin: np.ndarray,
        before: np.ndarray,
        begin: np.ndarray,
        cluster: np.ndarray,
        struck: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Solve the impacts; where contacts with coefficients of their own would win energy, all take the least.

        Parameters
        ----------
        velocity, spin : (m, 3) float64 arrays
        before, begin : (n, 3) float64 arrays
            Rates of contacts; impulses to begin with.
        cluster : (n,) int64 array
            Which cluster each contact is of.
        struck : (q,) bool array
            Which clusters have impacts.
        """
        restitution, count = self.restitution, len(struck)
        found = self._solved(velocity, spin, restitution[:, None] * before - self.leaving, begin, struck)
        if self.law.coefficients.same:
            return found
        work = dot(self.impulse, before + (self._rates(found[0], found[1]) - self.leaving))
        most = max(WON, 10.0 * self.law.tolerance) * np.bincount(cluster, np.abs(work), count)
        wins = np.bincount(cluster, work, count) > most
        if not wins.any():
            return found
        least = np.ones(count)
        np.minimum.at(least, cluster, restitution)
        restitution = np.where(wins[cluster], least[cluster], restitution)
        return self._solved(velocity, spin, restitution[:, None] * before - self.leaving, begin, struck)

    def _solved(
        self, velocity: np.ndarray, spin: np.ndarray, offset: np.ndarray, start: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Solve one part of a step; impulses are then in `impulse`, 0 of other clusters.

        Parameters
        ----------
        velocity, spin : (m, 3) float64 arrays
            Without impulses; they stay as they are.
        offset, start : (n, 3) float64 arrays
            Of rates; impulses to begin with.
        left : (q,) bool array
            Which clusters are to be solved.
        """
        newton = self.law.solver == "newton"
        self.offset[:] = offset
        self._begin(start)
        chosen, left = left, left.copy()
        unit = self._units(velocity, spin)
        if newton and self.law.near:
            for q in np.flatnonzero(left):
                left[q] = not self._newton(int(q), velocity, spin, unit[q])
        bodies = self._pushed(velocity, spin)
        most = FIRST_SWEEPS if newton else MOST_SWEEPS
        self._sweep(bodies, left, unit, most)
        for turn in range(NEWTON_TURNS if newton else 0):
            if not left.any():
                break
            for q in np.flatnonzero(left):
                left[q] = not self._newton(int(q), velocity, spin, unit[q])
            if turn >= REGIONS_FROM:
                self._sweep_regions(velocity, spin, left, unit)
            bodies, most = self._pushed(velocity, spin), FIRST_SWEEPS * 5 ** (turn + 1)
            self._sweep(bodies, left, unit, most)
        bodies = self._pushed(velocity, spin)
        self.bodies.scatter(bodies, velocity, spin, ~chosen[self.cluster])
        return bodies.velocity, bodies.spin, not left.any()

    def _sweep(self, bodies: ContactBodies, left: np.ndarray, unit: np.ndarray, most: int) -> None:
        """Sweep over the clusters that are left, as `sweep_kernels.sweep_clusters` says."""
        sizes = 2 * (len(self.pairs), len(self.pool.ids), len(self.pool.ids))
        kept = sweep_kernels.Kept(*(np.zeros((n, 3)) for n in sizes))
        seen, moved = np.full(len(self.pairs), -1, dtype=np.int64), np.zeros(len(self.pool.ids), dtype=np.int64)
        sweep_kernels.sweep_clusters(
            bodies,
            self.contacts,
            self.starts,
            self.rows,
            self.row_starts,
            left,
            unit,
            most,
            self.counts,
            kept,
            seen,
            moved,
        )

    def _begin(self, start: np.ndarray) -> None:
        """Set impulses to those (n, 3) to begin with, brought into their cones."""
        along = dot(start, self.normal)
        pushes = np.maximum(along, 0.0)
        self.impulse[:] = pushes[:, None] * self.normal
        if self.law.coefficients.rubs:
            self.impulse += within(start - along[:, None] * self.normal, self.friction * pushes)

    def _pushed(self, velocity: np.ndarray, spin: np.ndarray) -> ContactBodies:
        """Return the ContactBodies with these velocities and spins and what impulses add to them."""
        bodies = self.bodies.gathered(velocity, spin)
        kernels.apply_all(bodies, self.contacts)
        return bodies

    def _units(self, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """Return the residuals (q,) at which clusters are solved, relative to their greatest speed."""
        speed = np.sqrt(dot(velocity, velocity)) + np.sqrt(dot(spin, spin)) * self.bodies.radius
        mates = np.where(self.geometry.wall, np.sqrt(dot(self.leaving, self.leaving)), speed[self.geometry.other])
        fastest = np.zeros(len(self.starts) - 1)
        cluster = np.repeat(np.arange(len(fastest)), np.diff(self.starts))
        np.maximum.at(fastest, cluster, speed[self.geometry.one] + mates)
        return self.law.tolerance * np.maximum(fastest, np.finfo(float).tiny)

    def _sweep_regions(self, velocity: np.ndarray, spin: np.ndarray, left: np.ndarray, unit: np.ndarray) -> None:
        """Solve larger clusters that are left by Newton's method where they fail, and by sweeps; see `_solved`."""
        geometry = self.geometry
        sides = np.column_stack([geometry.one, geometry.other])
        kept = ~self.bodies.fixed[sides] & np.column_stack([np.ones(len(sides), dtype=bool), ~geometry.wall])
        mates = np.where(kept, self.bodies.first[sides], -1)
        larger = left & (np.diff(self.starts) > DENSE)
        still = self.bodies.still()
        for _ in range(REGION_TURNS):
            if not larger.any():
                break
            bodies = self._pushed(velocity, spin)
            for q in np.flatnonzero(larger):
                low, high = int(self.starts[q]), int(self.starts[q + 1])
                left[q] = larger[q] = not solve_regions(
                    bodies, still, self.contacts, low, high, mates, self.frames, unit[q]
                )
            left &= ~larger
            self._sweep(self._pushed(velocity, spin), larger, unit, REGION_SWEEPS)
            left |= larger

    def _newton(self, q: int, velocity: np.ndarray, spin: np.ndarray, unit: float) -> bool:
        """Solve cluster q by Newton's method, if it is small enough; return whether it is solved; see `_solved`."""
        low, high = self.starts[q : q + 2]
        k = int(high - low)
        if k > DENSE:
            return False
        matrix = np.empty((3 * k, 3 * k))
        kernels.fill_matrix(self.bodies.still(), self.contacts, low, self.frames[low:high], matrix)
        rates = self._rates(velocity, spin)
        frames = self.frames[low:high]
        offset = np.einsum("kab,kb->ka", frames, rates[low:high] + self.offset[low:high])
        start = np.einsum("kab,kb->ka", frames, self.impulse[low:high])
        found, good = cone_newton(matrix, offset, start, self.friction[low:high], 0.5 * unit)
        found[:, 0] = np.maximum(found[:, 0], 0.0)
        self.impulse[low:high] = np.einsum("kab,ka->kb", frames, found)
        return good


def frames_of(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors (n, 3) across each normal and one another."""
    least = np.argmin(np.abs(normal), axis=1)
    axis = np.zeros_like(normal)
    axis[np.arange(len(normal)), least] = 1.0
    one = cross(normal, axis)
    one = one / np.sqrt(dot(one, one))[:, None]
    return one, cross(normal, one)


def along(matrices: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products (n,) a M b of matrices (n, 3, 3) and rows (n, 3), summed in one order."""
    return dot(a, np.column_stack([dot(matrices[:, c], b) for c in range(3)]))


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the vector products (n, 3) of rows (n, 3)."""
    return np.column_stack(
        [a[:, (c + 1) % 3] * b[:, (c + 2) % 3] - a[:, (c + 2) % 3] * b[:, (c + 1) % 3] for c in range(3)]
    )


def within(across: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) made no longer than `most` (n,)."""
    size = np.sqrt(dot(across, across))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(size > most, most / size, 1.0)
    return across * part[:, None]
