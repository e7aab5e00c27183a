"""Beads that overlap, looked for by all ranks together, each in a part of the box of which it is sent the molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.system import PERIODIC
from hpcchain.parallel.decomposition.sectors import Bisection

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box
    from hpcchain.parallel.exchange import Exchange

ROUNDING = 1e-6


def overlap_on_ranks(
    comm: Exchange, box: Box, composition: Any, molecule_ids: np.ndarray, position: np.ndarray, tolerance: float
) -> tuple[int, int, float] | None:
    """Return (bead, bead, distance) of two beads that overlap, the same on all ranks, or None when none do; collective.

    What `model.starts.overlap.bead_overlap` finds, though it may be another pair where there are several.

    Parameters
    ----------
    comm : Exchange
    box : Box
    composition : Composition
    molecule_ids : (k,) int64 array
        Molecules that this rank has: each is on one.
    position : (n, 3) float64 array
        Of their beads, one molecule after another, unwrapped [length].
    tolerance : float
        Overlap that does not count, relative to the contact distance.
    """
    reach = float(composition.prototypes.diameter.max()) * (1.0 + ROUNDING)
    points, bead = images(box, position, reach)
    sectors = Bisection(box, points, np.ones(len(points)), comm.size, comm)
    which, rank = sectors.within(points, reach)
    molecule = np.repeat(np.arange(len(molecule_ids)), composition.size_of(molecule_ids))[bead[which]]
    received = comm.exchange_unknown(
        {
            int(to): packed(composition, molecule_ids, position, np.unique(molecule[rank == to]))
            for to in np.unique(rank)
        }
    )
    rows = np.concatenate([np.zeros((0, 4)), *(received[source].reshape(-1, 4) for source in sorted(received))])
    rows = rows[np.argsort(rows[:, 0])]
    ids = rows[:, 0].astype(np.int64)
    found = None
    if len(ids):
        topology = composition.part(np.unique(composition.molecule_of(ids)))
        pair = bead_overlap(box, topology, np.ascontiguousarray(rows[:, 1:]), tolerance)
        found = pair and (int(ids[pair[0]]), int(ids[pair[1]]), pair[2])
    return min((pair for pair in comm.allgather(found) if pair is not None), default=None)


def images(box: Box, position: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points (m, 3) of the box and its surroundings within `reach` where beads are, and which beads (m,)."""
    periodic = box.boundary == PERIODIC
    points = np.where(periodic, box.origin + (position - box.origin) % box.size, position)
    bead = np.arange(len(points))
    for axis in np.flatnonzero(periodic):
        low, size = box.origin[axis], box.size[axis]
        shift = np.zeros(3)
        shift[axis] = size
        first = points[:, axis] < low + reach
        last = points[:, axis] > low + size - reach
        points = np.concatenate([points, points[first] + shift, points[last] - shift])
        bead = np.concatenate([bead, bead[first], bead[last]])
    return points, bead


def packed(composition: Composition, molecule_ids: np.ndarray, position: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return, for a message, the global ids and places of the beads of some of the molecules."""
    size = composition.size_of(molecule_ids)
    mask = np.zeros(len(molecule_ids), dtype=bool)
    mask[which] = True
    at = np.flatnonzero(np.repeat(mask, size))
    return np.column_stack([composition.beads_of(molecule_ids[which]).astype(float), position[at]]).ravel()
