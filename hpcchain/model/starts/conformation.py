"""Conformations of molecules whose bonds close on themselves: rings and graphs with cycles.

Those that their bonds make stiff are found by distances put into space, then least squares. Distances along the bonds
are embedded by classical scaling (Torgerson 1952), stirred by random numbers, and the bonds' and contacts' errors are
brought down together by the method of Levenberg and Marquardt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.model.molecules.exclusion import excluded_in
from hpcchain.model.random import Stream, normal
from hpcchain.model.starts.constraints import EPS, NotConverged, bond_vectors, constraint_rank, project_group
from hpcchain.model.starts.overlap import near_pairs
from hpcchain.model.system import OPEN, Box

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group

# Separations asked for while relaxing, relative to contact; and what is accepted at the end.
CLEARANCE, ACCEPTED = 1.02, 1.0 - 1e-10
# A relaxation that has not come nearer after this many sweeps is given up.
STALE = 150
# Most starts of a conformation, and most sweeps of relaxation of each.
ATTEMPTS, SWEEPS = 8, 3000

# Of stiff molecules.
MOST_BEADS = 100  # a step solves for all coordinates of a molecule at once
STARTS, STEPS = 24, 120
WORK = 24 * 40.0**2  # starts times beads squared, at most; two starts in any case
FIRST_DRAW = 1 << 20  # counters of its random numbers; those before are `conformation`'s
SPREAD = 1.02  # of the contact distance that is asked for, at first
REACHED = 1e-9  # relative error up to which projecting puts bonds right
CLOSE = 1e-3  # relative error of bonds from which more tries are worth it: they can all but be met


def conformation(sought: Sought, index: int) -> np.ndarray | None:
    """Return a random closed conformation without overlaps, (n, 3) about its mean, or None when none was found.

    Starts from a Gaussian network (normal modes of the bond graph), pulls bonds to their lengths and overlapping beads
    apart until both are nearly met, then projects to the bonds. Each `index` has random numbers of its own.
    """
    modes = normal_modes(sought.group)
    for attempt in range(ATTEMPTS):
        found = relax(sought, modes @ sought.draws(index * ATTEMPTS + attempt))
        if found is not None:
            return found - found.mean(axis=0)
    return None


def stiff_conformation(sought: Sought, index: int) -> np.ndarray | None:
    """Return a conformation found by least squares, or None; arguments as in `conformation`."""
    found, _ = embed(sought, index)
    return None if found is None else settled(sought, found - found.mean(axis=0))


def normal_modes(group: Group) -> np.ndarray:
    """Return the (n, n) matrix that turns independent normal numbers into a Gaussian network of the group's bonds."""
    n = len(group.mass)
    stiffness = np.zeros((n, n))
    first, second = group.bonds.T
    spring = 3.0 / group.length**2
    np.add.at(stiffness, (first, first), spring)
    np.add.at(stiffness, (second, second), spring)
    np.subtract.at(stiffness, (first, second), spring)
    np.subtract.at(stiffness, (second, first), spring)
    values, vectors = np.linalg.eigh(stiffness)
    values[0] = np.inf
    return vectors / np.sqrt(values)


def relax(sought: Sought, position: np.ndarray) -> np.ndarray | None:
    """Return the relaxed and projected positions, or None where bonds and contacts do not settle."""
    before = np.inf
    for sweep in range(SWEEPS):
        move, worst = bond_moves(sought.group, position)
        if sought.self_contact:
            parting, overlap = contact_moves(sought, position, CLEARANCE)
            move, worst = move + parting, max(worst, overlap)
        if worst < 5e-3:
            break
        position = position + move
        if sweep % STALE == STALE - 1:
            if not worst < 0.95 * before:
                return None
            before = worst
    return settled(sought, position)


def settled(sought: Sought, position: np.ndarray) -> np.ndarray | None:
    """Return positions put onto the bonds, or None where that fails or beads overlap then."""
    try:
        projected = project_group(sought.group, position[None])[0]
    except (NotConverged, np.linalg.LinAlgError):
        return None
    if sought.self_contact and contact_moves(sought, projected, ACCEPTED)[1] > 0.0:
        return None
    return projected


def bond_moves(group: Group, position: np.ndarray) -> tuple[np.ndarray, float]:
    """Return moves that halve the error of every bond, averaged over a bead's bonds, and the largest relative error."""
    bond = bond_vectors(position, group.bonds)
    length = np.sqrt(np.einsum("bk,bk->b", bond, bond)) + EPS
    pull = (0.5 * (1.0 - group.length / length))[:, None] * bond
    move = np.zeros_like(position)
    np.add.at(move, group.bonds[:, 0], pull)
    np.subtract.at(move, group.bonds[:, 1], pull)
    bonds_of = np.bincount(group.bonds.ravel(), minlength=len(position))
    return move * (1.6 / np.maximum(bonds_of, 2))[:, None], float(np.abs(length / group.length - 1.0).max())


def contact_moves(sought: Sought, position: np.ndarray, clearance: float) -> tuple[np.ndarray, float]:
    """Return moves that part overlapping beads that are not excluded, and the largest relative overlap."""
    low = position.min(axis=0)
    box = Box(size=position.max(axis=0) - low + 1.0, origin=low, boundary=np.full(3, OPEN, dtype=np.int8))
    n, diameter = len(position), sought.diameter
    bonded = np.sort(excluded_in(sought.group), axis=1) @ np.array([n, 1])
    move, worst = np.zeros_like(position), 0.0
    for i, j in near_pairs(box, position, clearance * float(diameter.max())):
        other = ~np.isin(np.minimum(i, j) * n + np.maximum(i, j), bonded)
        i, j = i[other], j[other]
        apart = position[j] - position[i]
        distance = np.sqrt(np.einsum("ik,ik->i", apart, apart)) + EPS
        contact = 0.5 * clearance * (diameter[i] + diameter[j])
        near = distance < contact
        i, j = i[near], j[near]
        push = (0.25 * (contact / distance - 1.0))[near, None] * apart[near]
        np.subtract.at(move, i, push)
        np.add.at(move, j, push)
        if len(i):
            worst = max(worst, float((1.0 - distance[near] / contact[near]).max()))
    return move, worst


def is_rigid(group: Group, position: np.ndarray) -> bool:
    """Return whether the bonds leave a molecule no motion but that of a rigid body."""
    return len(group.mass) > 2 and constraint_rank(group, position) >= 3 * len(group.mass) - 6


class Sought(NamedTuple):
    """A kind of molecules of which arrangements are sought.

    Attributes
    ----------
    group : Group
    diameter : (n,) float64 array
        Of the beads of one [length].
    self_contact : bool
        Whether non-bonded beads may not overlap.
    seed : int
        The run's seed.
    """

    group: Group
    diameter: np.ndarray
    self_contact: bool
    seed: int

    def draws(self, number: int) -> np.ndarray:
        """Return (n, 3) standard normal numbers, others for each number."""
        ids = self.group.molecules[0] + np.arange(len(self.diameter))
        return normal(self.seed, Stream.TEMPLATE, ids, number)[:, :3]


class Pairs(NamedTuple):
    """Pairs of beads, how far apart they are to be [length], and whether just so, as by a bond, or at least."""

    first: np.ndarray
    second: np.ndarray
    distance: np.ndarray
    bonded: np.ndarray


class Rows(NamedTuple):
    """Pairs whose distances are not as they should be, or bonded: relative errors, and their gradients."""

    first: np.ndarray
    second: np.ndarray
    error: np.ndarray
    gradient: np.ndarray
    bonded: np.ndarray


def embed(sought: Sought, index: int = 0) -> tuple[np.ndarray | None, float]:
    """Return positions (n, 3) near the bonds, if any are found, and the smallest of the tries' largest bond errors.

    Each `index` has random numbers of its own.
    """
    group, n, best = sought.group, len(sought.diameter), np.inf
    if n > MOST_BEADS:
        return None, np.nan
    scaled, pairs = classical(group), pairs_of(sought)
    for start in range(max(2, min(STARTS, int(WORK / n**2)))):
        stir = (0.05, 0.2, 0.5, 1.0)[start % 4] * float(group.length.mean())
        draws = sought.draws(FIRST_DRAW + index * STARTS + start)
        position, error, overlap = least_squares(pairs, scaled + stir * draws)
        if error < REACHED and overlap < REACHED:
            return position, error
        best = min(best, error)
    return None, best


def classical(group: Group) -> np.ndarray:
    """Return the (n, 3) positions of which the distances are nearest to those along the bonds [length]."""
    n = len(group.mass)
    distance = np.full((n, n), np.inf)
    distance[np.arange(n), np.arange(n)] = 0.0
    first, second = group.bonds.T
    distance[first, second] = distance[second, first] = group.length
    for k in range(n):
        np.minimum(distance, distance[:, k, None] + distance[None, k, :], out=distance)
    squared = distance**2
    inner = -0.5 * (squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean())
    values, vectors = np.linalg.eigh(inner)
    return vectors[:, -3:] * np.sqrt(np.maximum(values[-3:], 0.0))


def pairs_of(sought: Sought) -> Pairs:
    """Return the bonds, then the Pairs of all other beads that may collide."""
    n, diameter, bonds = len(sought.diameter), sought.diameter, sought.group.bonds
    loose = np.triu(np.full((n, n), sought.self_contact), 1)
    left_out = excluded_in(sought.group)
    loose[left_out[:, 0], left_out[:, 1]] = loose[left_out[:, 1], left_out[:, 0]] = False
    first, second = np.nonzero(loose)
    distance = np.concatenate([sought.group.length, 0.5 * (diameter[first] + diameter[second])])
    first, second = np.concatenate([bonds, np.column_stack([first, second])]).T
    return Pairs(first, second, distance, np.arange(len(first)) < len(bonds))


def least_squares(pairs: Pairs, position: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return positions after Levenberg and Marquardt's steps, and the largest relative errors of bonds and contacts.

    Contacts are asked to be a little open as long as bonds allow it, so that none is left just closed by rounding.
    """
    damping, spread = 1e-2, SPREAD
    cost, rows = errors(pairs, position, spread)
    for step in range(STEPS):
        matrix, right = normal_equations(rows, len(position))
        move = np.linalg.solve(matrix + damping * np.eye(len(right)), -right).reshape(-1, 3)
        new_cost, new_rows = errors(pairs, position + move, spread)
        if new_cost < cost:
            position, cost, rows, damping = position + move, new_cost, new_rows, max(0.2 * damping, 1e-14)
        else:
            damping = min(5.0 * damping, 1e6)
        if cost < 0.01 * REACHED**2:
            break
        if step == STEPS // 2 or (spread > 1.0 and damping > 1e3):
            damping, spread = 1e-2, 1.0
            cost, rows = errors(pairs, position, spread)
    bonds, contacts = (float(np.abs(rows.error[own]).max(initial=0.0)) for own in (rows.bonded, ~rows.bonded))
    return position, bonds, contacts if spread == 1.0 else 0.0


def errors(pairs: Pairs, position: np.ndarray, spread: float) -> tuple[float, Rows]:
    """Return half the sum of squared relative errors, and the Rows that count.

    Contacts count that are closer than `spread` times their distance.
    """
    wanted = np.where(pairs.bonded, 1.0, spread) * pairs.distance
    apart = position[pairs.second] - position[pairs.first]
    distance = np.sqrt(np.einsum("ik,ik->i", apart, apart)) + EPS
    counts = pairs.bonded | (distance < wanted)
    error, gradient = distance / wanted - 1.0, apart / (distance * wanted)[:, None]
    rows = Rows(*(each[counts] for each in (pairs.first, pairs.second, error, gradient, pairs.bonded)))
    return 0.5 * float(np.sum(rows.error**2)), rows


def normal_equations(rows: Rows, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the (3n, 3n) matrix and (3n,) right-hand side of a Gauss-Newton step."""
    first, second, error, gradient, _ = rows
    jacobian = np.zeros((len(first), n, 3))
    every = np.arange(len(first))
    jacobian[every, second] = gradient
    jacobian[every, first] = -gradient
    jacobian = jacobian.reshape(len(first), 3 * n)
    return jacobian.T @ jacobian, jacobian.T @ error
