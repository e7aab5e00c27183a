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
from hpcchain.steps.contacts.finding import CLOSE
from hpcchain.steps.friction.cluster_solver import ClusterSolver
from hpcchain.steps.friction.pool_contacts import PoolContacts

if TYPE_CHECKING:
    from hpcchain.steps.contacts.clusters import Pool
    from hpcchain.steps.friction.contact_dynamics import FrictionalContacts

NO_APPROACH = 1e-9
"""Approach in a step, relative to the contact distance, that does not count as one."""
WON = 1e-9
"""Work of impacts above 0, relative to the sum of the sizes of its parts, by which energy counts as won, at least."""


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
    contacts : FrictionalContacts
    bend : (m, 3) float64 array
        By how much the step's velocities are off the linear ones because of bonds.

    Attributes
    ----------
    contacts : PoolContacts
    solver : ClusterSolver
    """

    def __init__(self, pool: Pool, pairs: np.ndarray, contacts: FrictionalContacts, bend: np.ndarray) -> None:
        self.pool, self.settings, self.bend = pool, contacts, bend
        self.contacts = PoolContacts(pool, pairs, contacts)
        self.solver = ClusterSolver(self.contacts, contacts)

    def solve(self, start: np.ndarray, begin: np.ndarray) -> Solved:
        """Return what becomes of the beads.

        Parameters
        ----------
        start, begin : (n, 3) float64 arrays
            Impulses of the second part, and of the first one, to begin with, in the order of `pairs`.
        """
        h, found, geometry = self.settings.h, self.contacts, self.contacts.geometry
        velocity, spin = self.pool.velocity, np.ascontiguousarray(self.pool.extra[:, L.SPIN : L.SPIN + 3])
        before = found.rates(velocity, spin) - found.leaving
        bent = self.bend[geometry.one] - np.where(geometry.wall[:, None], 0.0, self.bend[geometry.other])
        strikes = (dot(found.normal, before) < -NO_APPROACH * geometry.contact / h) & (found.restitution > 0.0)
        struck = np.bincount(found.of, strikes, len(found.starts) - 1) > 0.0
        blows, solved = np.zeros((len(found.pairs), 3)), True
        if struck.any():
            velocity, spin, solved = self._struck(velocity, spin, before, begin, struck)
            blows = found.contacts.impulse.copy()
        gap = np.where(found.gap > CLOSE * geometry.contact, found.gap, 0.0)  # that of what touches is rounding
        offset = bent + (gap / h)[:, None] * found.normal - found.leaving
        every = np.ones(len(struck), dtype=bool)
        velocity = found.bodies.with_forces(velocity, h)
        velocity, spin, good = self.solver.solved(velocity, spin, offset, start, every)
        return Solved(velocity, spin, blows, found.contacts.impulse, solved and good)

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
        contacts, restitution, count = self.contacts, self.contacts.restitution, len(struck)
        offset = restitution[:, None] * before - contacts.leaving
        found = self.solver.solved(velocity, spin, offset, begin, struck)
        if self.settings.coefficients.same:
            return found
        work = dot(contacts.contacts.impulse, before + (contacts.rates(found[0], found[1]) - contacts.leaving))
        most = max(WON, 10.0 * self.settings.aim) * np.bincount(contacts.of, np.abs(work), count)
        wins = np.bincount(contacts.of, work, count) > most
        if not wins.any():
            return found
        least = np.ones(count)
        np.minimum.at(least, contacts.of, restitution)
        restitution = np.where(wins[contacts.of], least[contacts.of], restitution)
        offset = restitution[:, None] * before - contacts.leaving
        return self.solver.solved(velocity, spin, offset, begin, struck)
