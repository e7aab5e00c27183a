"""Whether beads are within those steps of potentials that their tables of others inside say: where they are says it.

A run takes a pair from level to level by the crossings that it has found, and asks distances at the very start alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.physics.extended import LEVELS
from hpcchain.model.physics.step_potentials import bead_types
from hpcchain.model.starts.overlap import near_pairs, never_direct
from hpcchain.model.system import images_between

if TYPE_CHECKING:
    from hpcchain.model.system import Box, Physics, Topology

NEARLY = 1e-6
"""How near a step's distance, relative, a pair may be on either side of it: it has just crossed it, or turned back."""


def wrong_level(
    box: Box,
    topology: Topology,
    physics: Physics,
    ids: np.ndarray,
    position: np.ndarray,
    inside: np.ndarray,
    home: np.ndarray,
) -> tuple[int, int, float] | None:
    """Return (bead, other, distance) of a pair that is on another level than its distance says, or None.

    Parameters
    ----------
    box : Box
    topology : Topology
        Of whole molecules.
    physics : Physics
        With potentials that have steps.
    ids : (n,) int64 array
        Global ids of their beads, ascending.
    position : (n, 3) float64 array
        At one time, unwrapped [length].
    inside : (n, columns) float64 array
        Tables of the beads inside at that time.
    home : (n,) bool array
        Beads to look at: all near them are here.
    """
    rows, at = np.nonzero((inside > 0.0) & home[:, None])
    codes = inside[rows, at].astype(np.int64)
    other = codes // LEVELS - 1
    named = np.minimum(np.searchsorted(ids, other), len(ids) - 1)
    here = ids[named] == other
    if not here.all():
        row = int(np.argmin(here))
        return int(ids[rows[row]]), int(other[row]), np.inf
    pairs = [*_near(box, physics, position), np.sort(np.column_stack([rows, named]), axis=1)]
    i, j = np.unique(np.concatenate(pairs), axis=0).T
    i, j = i[i < j], j[i < j]  # where a box is a few cells wide, a bead is found next to itself
    separation = position[j] - position[i]
    separation -= images_between(separation, box.size, box.periodic) * box.size
    distance = np.sqrt(np.einsum("ik,ik->i", separation, separation))
    deep, shallow = (_levels(topology, physics, i, j, distance, off) for off in (-NEARLY, NEARLY))
    acts = ~(never_direct(topology)(i, j) | (topology.fixed[i] & topology.fixed[j]))
    keys = rows * len(ids) + named
    sequence = np.argsort(keys)
    keys, levels = np.append(keys[sequence], -1), np.append(codes[sequence] % LEVELS, 0)
    for a, b in ((i, j), (j, i)):
        key = a * len(ids) + b
        place = np.searchsorted(keys[:-1], key)
        level = np.where(keys[place] == key, levels[place], 0)
        bad = home[a] & acts & ((level < shallow) | (level > deep))
        if bad.any():
            row = int(np.argmax(bad))
            return int(ids[a[row]]), int(ids[b[row]]), float(distance[row])
    return None


def range_of(physics: Physics) -> float:
    """Return the greatest distance of a potential with steps [length]."""
    return max(one.distances[-1] for one in physics.extended.potentials)


def _near(box: Box, physics: Physics, position: np.ndarray) -> list[np.ndarray]:
    """Return arrays of pairs of rows, the lower first, among which are all that are near enough for a step."""
    pairs = near_pairs(box, position, range_of(physics))
    return [np.sort(np.column_stack(pair), axis=1) for pair in pairs] or [np.zeros((0, 2), dtype=np.int64)]


def _levels(
    topology: Topology, physics: Physics, i: np.ndarray, j: np.ndarray, distance: np.ndarray, off: float
) -> np.ndarray:
    """Return on which level pairs of beads are by their distances, enlarged by a part `off` of them."""
    names, of = bead_types(topology, physics)
    found = np.zeros(len(i), dtype=np.int64)
    for one in physics.extended.potentials:
        if one.bridge is not None and off > 0.0:
            continue  # the lowest level is asked for: beads may be near each other without a bridge
        a, b = (names.index(name) for name in one.types)
        mine = ((of[i] == a) & (of[j] == b)) | ((of[i] == b) & (of[j] == a))
        found[mine] = (distance[mine, None] * (1.0 + off) < np.array(one.distances)).sum(axis=1)
    return found
