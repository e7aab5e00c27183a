"""Arrangements of molecules that their bonds make stiff: distances put into space, then least squares.

Distances along the bonds are embedded by classical scaling (Torgerson 1952), stirred by random numbers, and the bonds'
and contacts' errors are brought down together by the method of Levenberg and Marquardt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.model.molecules.exclusion import excluded_in
from hpcchain.model.random import Stream, normal
from hpcchain.model.starts.constraints import EPS

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group

MOST_BEADS = 100  # a step solves for all coordinates of a molecule at once
STARTS, STEPS = 24, 120
WORK = 24 * 40.0**2  # starts times beads squared, at most; two starts in any case
FIRST_DRAW = 1 << 20  # counters of its random numbers; those before are `conformation`'s
SPREAD = 1.02  # of the contact distance that is asked for, at first
REACHED = 1e-9  # relative error up to which projecting puts bonds right
CLOSE = 1e-3  # relative error of bonds from which more tries are worth it: they can all but be met


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


@dataclass
class Embedding:
    """What was found: positions (n, 3) near the bonds, or None, and the smallest of the tries' largest bond errors."""

    position: np.ndarray | None
    error: float


def embed(sought: Sought, index: int = 0) -> Embedding:
    """Return the Embedding of a molecule; `index`: which arrangement, each has random numbers of its own."""
    group, n, best = sought.group, len(sought.diameter), np.inf
    if n > MOST_BEADS:
        return Embedding(None, np.nan)
    scaled, pairs = classical(group), pairs_of(sought)
    for start in range(max(2, min(STARTS, int(WORK / n**2)))):
        stir = (0.05, 0.2, 0.5, 1.0)[start % 4] * float(group.length.mean())
        draws = sought.draws(FIRST_DRAW + index * STARTS + start)
        position, error, overlap = least_squares(pairs, scaled + stir * draws)
        if error < REACHED and overlap < REACHED:
            return Embedding(position, error)
        best = min(best, error)
    return Embedding(None, best)


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
