"""Find beads that overlap each other or a wall, by cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import in_blocks
from hpcchain.model.molecules.exclusion import excluded_pairs
from hpcchain.model.system import WALL, images_between

if TYPE_CHECKING:
    from hpcchain.model.system import Box, Topology

CHUNK = 1_000_000


def wall_overlap(
    box: Box, topology: Topology, position: np.ndarray, tolerance: float = 1e-9
) -> tuple[int, int, float] | None:
    """Return (bead, axis, depth) of the bead that reaches furthest into a wall, or None when none does.

    Parameters
    ----------
    box, topology, position :
        The system; position (N, 3) [length].
    tolerance : float
        Depth that does not count, relative to the diameter.
    """
    axes = np.flatnonzero(box.boundary == WALL)
    if len(axes) == 0:
        return None
    radius = 0.5 * topology.diameter[:, None]
    x = position[:, axes] - box.origin[axes]
    depth = radius - np.minimum(x, box.size[axes] - x)
    excess = np.where((topology.soft | topology.fixed)[:, None], -1.0, depth - 2.0 * tolerance * radius)
    at, axis = np.unravel_index(np.argmax(excess), excess.shape)
    return (int(at), int(axes[axis]), float(depth[at, axis])) if excess[at, axis] > 0.0 else None


def bead_overlap(
    box: Box, topology: Topology, position: np.ndarray, tolerance: float = 1e-9
) -> tuple[int, int, float] | None:
    """Return (bead, bead, distance) of two beads that overlap, or None when none do.

    Nearest images are taken in the separation. Pairs that bonds or few of them join (`exclude`), and pairs of a
    molecule without self-contact, are left out for their direct image only: a bead meets the other images of its own
    molecule like any other bead.

    Parameters
    ----------
    box, topology, position :
        The system; position (N, 3), unwrapped [length]; a periodic side is at least three contact distances.
    tolerance : float
        Overlap that does not count, relative to the contact distance.
    """
    left_out = never_direct(topology)
    for i, j in near_pairs(box, position, float(topology.diameter.max())):
        separation = position[j] - position[i]
        shift = images_between(separation, box.size, box.periodic)
        separation -= shift * box.size
        contact = 0.5 * (topology.diameter[i] + topology.diameter[j])
        distance = np.sqrt(np.einsum("ik,ik->i", separation, separation))
        close = np.flatnonzero(distance < contact * (1.0 - tolerance))
        if len(close) == 0:
            continue
        i, j, shift, depth = i[close], j[close], shift[close], (contact - distance)[close]
        depth[left_out(i, j) & (shift == 0.0).all(axis=1)] = 0.0
        depth[topology.soft[i] | topology.soft[j] | (topology.fixed[i] & topology.fixed[j])] = 0.0
        at = int(np.argmax(depth))
        if depth[at] > 0.0:
            low, high = sorted((int(i[at]), int(j[at])))
            return low, high, float(distance[close[at]])
    return None


def never_direct(topology: Topology) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a test of pairs (i, j) of beads for those that never act on one another, but through periodic sides.

    Few bonds join them (`exclude`), or they are of a molecule without self-contact.
    """
    molecule, pairs = topology.molecule_of_bead, np.sort(excluded_pairs(topology), axis=1)
    bonded = pairs[:, 0] * topology.beads + pairs[:, 1]

    def test(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        through = (molecule[i] == molecule[j]) & ~topology.self_contact[molecule[i]]
        return through | np.isin(np.minimum(i, j) * topology.beads + np.maximum(i, j), bonded)

    return test


def near_pairs(box: Box, position: np.ndarray, distance: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield index arrays (i, j) that hold, at least once, every pair whose nearest images are within a distance.

    Parameters
    ----------
    box : Box
        Periodic sides at least three times the distance.
    position : (N, 3) float64 array
        Unwrapped [length].
    distance : float
        [length].
    """
    cell, shape = _cells(box, position, distance)
    code = np.ravel_multi_index(tuple(cell.T), tuple(shape))
    sequence = np.argsort(code, kind="stable")
    sorted_code, cell = code[sequence], cell[sequence]
    for offset in itertools.product((-1, 0, 1), repeat=3):
        if offset < (0, 0, 0):
            continue  # of each two cells the pairs are looked at once
        target = cell + offset
        target = np.where(box.periodic, target % shape, target)
        inside = ((target >= 0) & (target < shape)).all(axis=1)
        source = np.flatnonzero(inside)
        wanted = np.ravel_multi_index(tuple(target[source].T), tuple(shape))
        first = np.searchsorted(sorted_code, wanted, side="left")
        last = np.searchsorted(sorted_code, wanted, side="right")
        if not any(offset):
            first = source + 1
        yield from _ranges(sequence, source, first, last)


def _cells(box: Box, position: np.ndarray, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the (N, 3) int64 cell of every bead and the (3,) numbers of cells."""
    periodic = box.periodic
    position = np.where(np.isfinite(position), position, box.origin)  # what is no number is near none
    low = np.where(periodic, box.origin, position.min(axis=0))
    extent = np.where(periodic, box.size, np.maximum(position.max(axis=0) - low, distance))
    shape = np.clip(np.floor(extent / (distance * (1.0 + 1e-9))), 1, 2**20).astype(np.int64)
    scaled = (position - low) / extent
    scaled = np.where(periodic, scaled - np.floor(scaled), scaled)
    return np.minimum((scaled * shape).astype(np.int64), shape - 1), shape


def _ranges(
    sequence: np.ndarray, source: np.ndarray, first: np.ndarray, last: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (order[source], order[k]) for first <= k < last, in portions of bounded size."""
    count = np.maximum(last - first, 0)
    busy = count > 0
    source, first, count = source[busy], first[busy], count[busy]
    total = np.cumsum(count)
    begin = 0
    while begin < len(source):
        done = total[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, done + CHUNK, side="right")))
        n = count[begin:end]
        yield sequence[np.repeat(source[begin:end], n)], sequence[in_blocks(first[begin:end], n)]
        begin = end
