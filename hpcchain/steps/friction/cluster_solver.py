"""A step of a pool of molecules in contact under contact dynamics, cluster by cluster, by sweeps or Newton's method.

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

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.steps.contacts.clusters import dot
from hpcchain.steps.contacts.finding import CLOSE
from hpcchain.steps.friction import friction_kernels as kernels
from hpcchain.steps.friction import sweep_kernels
from hpcchain.steps.friction.regions import solve_regions, solve_together

if TYPE_CHECKING:
    from hpcchain.steps.friction.contact_dynamics import FrictionalContacts
    from hpcchain.steps.friction.friction_kernels import ContactBodies
    from hpcchain.steps.friction.pool_contacts import PoolContacts

FIRST_SWEEPS, MOST_SWEEPS, NEWTON_TURNS, DENSE = 40, 20_000, 4, 120
"""Sweeps before Newton's method; sweeps at most without it; how often both take turns, with five times as many sweeps
each; contacts of a cluster up to which Newton's method is tried on it as a whole."""
REGIONS_FROM, REGION_TURNS, REGION_SWEEPS = 3, 10, 100
"""Turn from which on regions of larger clusters are solved; how often at most in a turn, and sweeps after each."""
NO_APPROACH = 1e-9
"""Approach in a step, relative to the contact distance, that does not count as one."""
WON = 1e-9
"""Work of impacts above 0, relative to the sum of the sizes of its parts, by which energy counts as won, at least."""


class ClusterSolver:
    """Finds the impulses of a pool's contacts.

    Parameters
    ----------
    pool : PoolContacts
        Impulses found are in its `contacts`. Velocities of its Pool are those before the step; `extra` is as
        `contact_dynamics` has it.
    settings : FrictionalContacts

    Attributes
    ----------
    counts : (q, 2) int64 array
        Sweeps over each cluster so far, and changes of impulses in them.
    """

    def __init__(self, pool: PoolContacts, settings: FrictionalContacts) -> None:
        self.pool, self.settings, self.bodies = pool, settings, pool.bodies
        self.starts, self.contacts, self.geometry = pool.starts, pool.contacts, pool.geometry
        self.counts = np.zeros((len(self.starts) - 1, 2), dtype=np.int64)

    def step(
        self, start: np.ndarray, begin: np.ndarray, bend: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """Return velocities and spins (m, 3) after a step, impulses of impacts (n, 3), and whether all is solved.

        Impulses of the second part are those of `contacts` then.

        Parameters
        ----------
        start, begin : (n, 3) float64 arrays
            Impulses of the second part, and of the first one, to begin with, in the order of the pool's contacts.
        bend : (m, 3) float64 array
            By how much the step's velocities are off the linear ones because of bonds.
        """
        h, found, geometry = self.settings.h, self.pool, self.geometry
        velocity, spin = found.pool.velocity, np.ascontiguousarray(found.pool.extra[:, L.SPIN : L.SPIN + 3])
        before = found.rates(velocity, spin) - found.leaving
        bent = bend[geometry.one] - np.where(geometry.wall[:, None], 0.0, bend[geometry.other])
        strikes = (dot(found.normal, before) < -NO_APPROACH * geometry.contact / h) & (found.restitution > 0.0)
        struck = np.bincount(found.of, strikes, len(found.starts) - 1) > 0.0
        blows, solved = np.zeros((len(found.pairs), 3)), True
        if struck.any():
            velocity, spin, solved = self._struck(velocity, spin, before, begin, struck)
            blows = self.contacts.impulse.copy()
        gap = np.where(found.gap > CLOSE * geometry.contact, found.gap, 0.0)  # that of what touches is rounding
        offset = bent + (gap / h)[:, None] * found.normal - found.leaving
        every = np.ones(len(struck), dtype=bool)
        velocity = self.bodies.with_forces(velocity, h)
        velocity, spin, good = self.solved(velocity, spin, offset, start, every)
        return velocity, spin, blows, solved and good

    def _struck(
        self, velocity: np.ndarray, spin: np.ndarray, before: np.ndarray, begin: np.ndarray, struck: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Solve the impacts; where contacts with coefficients of their own would win energy, all take the least.

        Parameters
        ----------
        velocity, spin : (m, 3) float64 arrays
        before, begin : (n, 3) float64 arrays
            Rates of contacts; impulses to begin with.
        struck : (q,) bool array
            Which clusters have impacts.
        """
        pool, restitution, count = self.pool, self.pool.restitution, len(struck)
        offset = restitution[:, None] * before - pool.leaving
        found = self.solved(velocity, spin, offset, begin, struck)
        if self.settings.coefficients.same:
            return found
        work = dot(self.contacts.impulse, before + (pool.rates(found[0], found[1]) - pool.leaving))
        most = max(WON, 10.0 * self.settings.aim) * np.bincount(pool.of, np.abs(work), count)
        wins = np.bincount(pool.of, work, count) > most
        if not wins.any():
            return found
        least = np.ones(count)
        np.minimum.at(least, pool.of, restitution)
        restitution = np.where(wins[pool.of], least[pool.of], restitution)
        offset = restitution[:, None] * before - pool.leaving
        return self.solved(velocity, spin, offset, begin, struck)

    def solved(
        self, velocity: np.ndarray, spin: np.ndarray, offset: np.ndarray, start: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Solve one part of a step; return velocities, spins, and whether all is solved.

        Impulses of other clusters are 0 then.

        Parameters
        ----------
        velocity, spin : (m, 3) float64 arrays
            Without impulses; they stay as they are.
        offset, start : (n, 3) float64 arrays
            Of rates; impulses to begin with.
        left : (q,) bool array
            Which clusters are to be solved.
        """
        newton = self.settings.solver == "newton"
        self.contacts.offset[:] = offset
        self._begin(start)
        chosen, left = left, left.copy()
        unit, free = self._units(velocity, spin), self.bodies.gathered(velocity, spin)
        rates = self.pool.rates(velocity, spin) + offset
        for turn in range(1 + NEWTON_TURNS if newton else 1):
            if not left.any():
                break
            if newton and (turn > 0 or self.settings.near):
                for q in np.flatnonzero(left):
                    left[q] = not self._newton(int(q), rates, unit[q])
            if turn >= REGIONS_FROM:
                self._sweep_regions(free, left, unit)
            self._sweep(self._pushed(free), left, unit, FIRST_SWEEPS * 5**turn if newton else MOST_SWEEPS)
        bodies = self._pushed(free)
        self.bodies.scatter(bodies, velocity, spin, ~chosen[self.pool.cluster])
        return bodies.velocity, bodies.spin, not left.any()

    def _sweep(self, bodies: ContactBodies, left: np.ndarray, unit: np.ndarray, most: int) -> None:
        """Sweep over the clusters that are left, as `sweep_kernels.sweep_clusters` says."""
        pool, beads, contacts = self.pool, len(self.pool.pool.ids), len(self.pool.pairs)
        kept = sweep_kernels.Kept(*(np.zeros((n, 3)) for n in 2 * (contacts, beads, beads)))
        seen, moved = np.full(contacts, -1, dtype=np.int64), np.zeros(beads, dtype=np.int64)
        starts, rows, begins, counts = self.starts, pool.rows, pool.row_starts, self.counts
        sweep_kernels.sweep_clusters(
            bodies, self.contacts, starts, rows, begins, left, unit, most, counts, kept, seen, moved
        )

    def _begin(self, start: np.ndarray) -> None:
        """Set impulses to those (n, 3) to begin with, brought into their cones."""
        along = dot(start, self.pool.normal)
        pushes = np.maximum(along, 0.0)
        self.contacts.impulse[:] = pushes[:, None] * self.pool.normal
        if self.settings.coefficients.rubs:
            self.contacts.impulse[:] += within(start - along[:, None] * self.pool.normal, self.pool.friction * pushes)

    def _pushed(self, free: ContactBodies) -> ContactBodies:
        """Return the bodies that are `free` of impulses with what these add to velocities and spins."""
        bodies = free._replace(velocity=free.velocity.copy(), spin=free.spin.copy())
        kernels.apply_all(bodies, self.contacts)
        return bodies

    def _units(self, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """Return the residuals (q,) at which clusters are solved, relative to their greatest speed."""
        speed = np.sqrt(dot(velocity, velocity)) + np.sqrt(dot(spin, spin)) * self.bodies.radius
        mates = np.where(
            self.geometry.wall, np.sqrt(dot(self.pool.leaving, self.pool.leaving)), speed[self.geometry.other]
        )
        fastest = np.zeros(len(self.starts) - 1)
        np.maximum.at(fastest, self.pool.of, speed[self.geometry.one] + mates)
        return self.settings.aim * np.maximum(fastest, np.finfo(float).tiny)

    def _sweep_regions(self, free: ContactBodies, left: np.ndarray, unit: np.ndarray) -> None:
        """Solve larger clusters that are left, by Newton's method where they fail, and by sweeps; see `_pushed`."""
        geometry = self.geometry
        sides = np.column_stack([geometry.one, geometry.other])
        kept = ~self.bodies.fixed[sides] & np.column_stack([np.ones(len(sides), dtype=bool), ~geometry.wall])
        mates = np.where(kept, self.bodies.first[sides], -1)
        larger = left & (np.diff(self.starts) > DENSE)
        still = self.bodies.still()
        for _ in range(REGION_TURNS):
            if not larger.any():
                break
            bodies = self._pushed(free)
            for q in np.flatnonzero(larger):
                low, high = int(self.starts[q]), int(self.starts[q + 1])
                left[q] = larger[q] = not solve_regions(bodies, still, self.contacts, low, high, mates, unit[q])
            left &= ~larger
            self._sweep(self._pushed(free), larger, unit, REGION_SWEEPS)
            left |= larger

    def _newton(self, q: int, rates: np.ndarray, unit: float) -> bool:
        """Solve a small enough cluster by Newton's method, of rates (n, 3) without impulses; return whether it is."""
        low, high = self.starts[q : q + 2]
        if high - low > DENSE:
            return False
        mine, still = slice(low, high), self.bodies.still()
        self.contacts.impulse[mine], good = solve_together(still, self.contacts, low, rates[mine], False, 0.5 * unit)
        return good


def within(across: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) made no longer than `most` (n,)."""
    size = np.sqrt(dot(across, across))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(size > most, most / size, 1.0)
    return across * part[:, None]
