"""Parts of a large group that sweeps do not solve, each solved by Newton's method with the rest held.

In groups of thousands of contacts sweeps solve all but a few. These go round: what friction does to one contact undoes
the next one, again and again, and the worst residual never falls. What they need from each other is near: a contact
that fails is taken with those around it, and Newton's method solves these together, with all other impulses as they
are. So this is a block Gauss-Seidel method, with blocks only where single contacts are too small.

`bodies` and `contacts` are ContactBodies and a ContactSet (`friction_kernels`).
"""

from __future__ import annotations

import numpy as np

from hpcchain.steps.friction import friction_kernels as kernels
from hpcchain.steps.friction.cone_newton import cone_newton
from hpcchain.steps.friction.friction_kernels import ContactBodies, ContactSet

MOST_CONTACTS, MOST_REGIONS = 120, 16
"""Contacts of a region at most, and regions at most that are solved before sweeps go on. With 15 and with 40 contacts
those that fail do so again when the rest has answered; with 80 they do not."""
FEW = 0.25
"""Share of a group's contacts that may fail: where more do, what is solved of one region is lost in the next."""
SHARE = 0.1
"""Share of the residual to which a region is solved, since sweeps of the rest change it again."""


class Neighbours:
    """Which contacts of a group act on one another.

    Parameters
    ----------
    mates : (k, 2) int64 array
        The molecules of each contact, -1 for what no impulse moves: a wall, a fixed bead.
    """

    def __init__(self, mates: np.ndarray) -> None:
        self.mates = mates
        molecule = mates.ravel()
        order = np.argsort(molecule, kind="stable")
        self._molecule, self._contact = molecule[order], order // 2

    def region(self, seed: int, most: int) -> np.ndarray:
        """Return the numbers of contacts around one, ascending: its molecules' first, then those of these, ...

        Parameters
        ----------
        seed : int
        most : int
            There are no more.
        """
        chosen, met = [seed], {seed}
        for contact in chosen:
            for molecule in self.mates[contact]:
                if molecule < 0:
                    continue
                low, high = np.searchsorted(self._molecule, [molecule, molecule + 1])
                for one in self._contact[low:high].tolist():
                    if len(chosen) == most:
                        return np.sort(np.array(chosen))
                    if one not in met:
                        met.add(one)
                        chosen.append(one)
        return np.sort(np.array(chosen))


def solve_together(
    still: ContactBodies, contacts: ContactSet, low: int, rates: np.ndarray, pushed: bool, unit: float
) -> tuple[np.ndarray, bool]:
    """Return the impulses (k, 3) of contacts low ... by Newton's method, others held, and whether these solve them.

    `rates` (k, 3) are theirs with offsets, and where they are `pushed` with their impulses; the rest as `solve_region`.
    """
    k = len(rates)
    frames, start = contacts.frames[low : low + k], contacts.impulse[low : low + k]
    matrix = np.empty((3 * k, 3 * k))
    kernels.fill_matrix(still, contacts, low, matrix)
    start, offset = (np.einsum("kab,kb->ka", frames, one) for one in (start, rates))
    if pushed:
        offset = offset - (matrix @ start.ravel()).reshape(k, 3)
    found, good = cone_newton(matrix, offset, start, contacts.friction[low : low + k], unit)
    found[:, 0] = np.maximum(found[:, 0], 0.0)
    return np.einsum("kab,ka->kb", frames, found), good


def solve_region(
    bodies: ContactBodies, still: ContactBodies, contacts: ContactSet, rows: np.ndarray, unit: float
) -> None:
    """Solve some contacts with all others as they are; bodies and impulses are then those with what was found.

    Parameters
    ----------
    bodies, contacts : ContactBodies, ContactSet
        Velocities are those with all impulses.
    still : ContactBodies
        `bodies` with velocities and spins of 0, which they are again in the end.
    rows : (k,) int64 array
        Which contacts.
    unit : float
        Residual [length / time].
    """
    part, rates = ContactSet(*(np.ascontiguousarray(one[rows]) for one in contacts)), np.empty((len(rows), 3))
    kernels.rates(bodies, part, rates)
    after, _ = solve_together(still, part, 0, rates + part.offset, True, SHARE * unit)
    contacts.impulse[rows], part.impulse[:] = after, after - part.impulse
    kernels.apply_all(bodies, part)


def solve_regions(
    bodies: ContactBodies,
    still: ContactBodies,
    contacts: ContactSet,
    low: int,
    high: int,
    mates: np.ndarray,
    unit: float,
) -> bool:
    """Solve regions around those of contacts low ... high - 1 that fail, the worst first, where these are few.

    Parameters
    ----------
    bodies, still, contacts, unit :
        See `solve_region`.
    low, high : int
    mates : (n, 2) int64 array
        See `Neighbours`; of all contacts.

    Returns
    -------
    bool
        Whether all of these contacts are within the residual then.
    """
    failure = np.empty(high - low)
    kernels.residuals(bodies, contacts, low, high, failure)
    if np.count_nonzero(failure > unit) > FEW * (high - low):
        return False
    neighbours, tried, count = Neighbours(mates[low:high]), np.zeros(high - low, dtype=bool), 0
    for seed in np.argsort(-failure, kind="stable").tolist():
        if failure[seed] <= unit or count == MOST_REGIONS:
            break
        if not tried[seed]:
            near = neighbours.region(seed, MOST_CONTACTS)
            tried[near] = True
            solve_region(bodies, still, contacts, low + near, unit)
            count += 1
    return bool(kernels.residual(bodies, contacts, low, high) <= unit)
