"""Potentials constant between distances, bridges of wet grains, limits of distances in molecules: tables for kernels.

A pair of beads is on a level: 0 beyond the greatest distance of its potential, one more within each smaller one. It is
on that level because it has crossed the distances in between; where the two beads are decides it at the start alone.
A pair of wet grains is on level 1 while it has a bridge.

The table `potential` of a sector begins with the number of types T; then, for each pair of types (a, b) at PAIRS + a T
+ b, where its table begins, 0 where it has none. A table begins with the number n of steps. At BRIDGE is the energy
that breaking a bridge takes, NO_BRIDGE where there are none. From ENERGIES on are those of levels 0 ... n, then the
distances between levels 0 and 1, 1 and 2, ..., n - 1 and n. At the end are all distances of all records, and their
number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import running_sum
from hpcchain.model.molecules.exclusion import pairs_within
from hpcchain.model.physics.extended import LEVELS, types_apart

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Physics, Topology

TYPES, PAIRS = 0, 1
"""Indices of `potential`."""
BRIDGE, ENERGIES = 1, 2
"""Indices of one table in it."""
NO_BRIDGE = -1.0
CLOSEST = 1e-6
"""How far apart, relative, distances of one potential must be, so that which was met is never in doubt."""


def bead_types(topology: Topology, physics: Physics) -> tuple[list[str], np.ndarray]:
    """Return the names of the types of beads that potentials tell apart, and the type (N,) int64 of each bead."""
    names, like = types_apart(topology.type_names, physics.extended.potentials)
    return list(names), like[topology.bead_type]


def potential_table(topology: Topology, physics: Physics) -> np.ndarray:
    """Return the float64 table of the run's potentials; [0.0] where it has none."""
    given = physics.extended.potentials
    if not given:
        return np.zeros(1)
    names, _ = bead_types(topology, physics)
    count = len(names)
    head = np.zeros(PAIRS + count * count)
    head[TYPES] = count
    tables, end = [head], len(head)
    for one in given:
        a, b = (names.index(name) for name in one.types)
        steps = len(one.distances)
        bridge = NO_BRIDGE if one.bridge is None else one.bridge
        table = np.array([steps, bridge, 0.0, *one.energies[::-1], *one.distances[::-1]])
        head[PAIRS + a * count + b] = head[PAIRS + b * count + a] = end
        tables.append(table)
        end += len(table)
    distances = sorted({distance for one in given for distance in one.distances})
    return np.concatenate([*tables, distances, [len(distances)]])


def beyond_contact(topology: Topology, physics: Physics) -> float:
    """Return how much farther than contact any potential reaches at most, 0 without any [length]."""
    names, of = bead_types(topology, physics)
    smallest = np.full(len(names), np.inf)
    np.minimum.at(smallest, of, topology.diameter)
    least = dict(zip(names, smallest.tolist(), strict=True))
    return max(
        (one.distances[-1] - 0.5 * sum(least[name] for name in one.types) for one in physics.extended.potentials),
        default=0.0,
    )


def farthest(physics: Physics) -> float:
    """Return the greatest distance of a potential or limit, 0 without any [length]."""
    steps = [one.distances[-1] for one in physics.extended.potentials]
    return max([*steps, *(most for kind in physics.extended.distance_limits for _, _, most in kind)], default=0.0)


def limited_pairs(topology: Topology, physics: Physics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (N + 1,) offsets, the beads whose distance from each bead is limited, and (n, 3) what kernels know of it.

    The columns of the last are the least and the greatest distance, and whether the two beads act on one another
    otherwise (0, 1): collide, and have their types' potential.

    Parameters
    ----------
    topology : Topology
        A molecule of each kind.
    physics : Physics
    """
    rules = physics.extended.distance_limits
    pairs, distances = [], []
    for m in range(topology.molecules if rules else 0):
        first, end = (int(x) for x in topology.first_bead[m : m + 2])
        bonds = topology.bonds[topology.first_bond[m] : topology.first_bond[m + 1]] - first
        for separation, least, most in rules[int(topology.kind[m])]:
            for a, b in pairs_apart(end - first, bonds, separation).tolist():
                pairs += [(first + a, first + b), (first + b, first + a)]
                acts = topology.self_contact[m] and separation > topology.exclude[m]
                distances += [(least, most, float(acts))] * 2
    if not pairs:
        return np.zeros(topology.beads + 1, np.int64), np.zeros(0, np.int64), np.zeros((0, 3))
    table = np.array(pairs, dtype=np.int64)
    sequence = np.lexsort((table[:, 1], table[:, 0]))
    offsets = running_sum(np.bincount(table[:, 0], minlength=topology.beads))
    return offsets, table[sequence, 1], np.array(distances)[sequence]


def pairs_apart(beads: int, bonds: np.ndarray, separation: int) -> np.ndarray:
    """Return the (n, 2) pairs of beads, ascending, of a molecule that are just so many bonds apart, two or more."""
    near, nearer = (pairs_within(bonds, beads, most) @ np.array([beads, 1]) for most in (separation, separation - 1))
    return np.stack(np.divmod(np.setdiff1d(near, nearer), beads), axis=1)


def potential_energies(
    inside: np.ndarray, own: np.ndarray, other_type: Callable[[np.ndarray], np.ndarray], table: np.ndarray
) -> np.ndarray:
    """Return each bead's half of the energies of the pairs that it is in, (n,) float64 [mass length^2 / time^2].

    Parameters
    ----------
    inside : (n, columns) float64 array
        The beads' tables of others inside.
    own : (n,) int64 array
        Types of the beads.
    other_type : callable
        Takes global ids (k,) and returns the types of those beads.
    table : float64 array
        `potential_table`.
    """
    found = np.zeros(len(inside))
    rows, at = np.nonzero(inside > 0.0)
    codes = inside[rows, at].astype(np.int64)
    if len(codes):
        types = int(table[TYPES])
        begin = table[PAIRS + own[rows] * types + other_type(codes // LEVELS - 1)].astype(np.int64)
        np.add.at(found, rows, 0.5 * table[begin + ENERGIES + codes % LEVELS])
    return found


def inside_is_sound(inside: np.ndarray, ids: np.ndarray, topology: Composition, physics: Physics) -> np.ndarray:
    """Return whether beads' tables of others inside can be: (n,) bool.

    Parameters
    ----------
    inside : (n, columns) float64 array
        All numbers from 0 to 2^53, or UNKNOWN.
    ids : (n,) int64 array
        Global ids of the beads.
    topology : Composition
    physics : Physics
    """
    codes = np.where(inside > 0.0, inside, 0.0).astype(np.int64)
    beads, level = codes // LEVELS - 1, codes % LEVELS
    empty = codes == 0
    ascending = np.all((codes[:, 1:] > codes[:, :-1]) | empty[:, 1:], axis=1)
    good = ascending & np.all(empty | ((beads < topology.beads) & (level > 0)), axis=1)
    good &= np.all(~empty[:, :-1] | empty[:, 1:], axis=1)
    table = potential_table(topology.prototypes, physics)
    if table[TYPES] == 0:
        return good & np.all(empty, axis=1)
    types = bead_types(topology.prototypes, physics)[1]
    rows, at = np.nonzero(good[:, None] & ~empty)
    own, other = (types[topology.prototype_of(beads)] for beads in (ids[rows], beads[rows, at]))
    begin = table[PAIRS + own * int(table[TYPES]) + other].astype(np.int64)
    wrong = (begin == 0) | (level[rows, at] > table[begin])
    good[rows[wrong]] = False
    return good
