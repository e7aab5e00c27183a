"""Beads that overlap, looked for by all ranks together, each in a part of the box of which it is sent the molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.parallel.sectors import Bisection, brought_in

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box
    from hpcchain.parallel.agreement import Ranks

ROUNDING = 1e-6


def overlap_on_ranks(
    comm: Ranks, box: Box, composition: Composition, molecule_ids: np.ndarray, position: np.ndarray, tolerance: float
) -> tuple[int, int, float] | None:
    """Return (bead, bead, distance) of two beads that overlap, the same on all ranks, or None when none do; collective.

    What `model.starts.overlap.bead_overlap` finds, though it may be another pair where there are several.

    Parameters
    ----------
    comm : Ranks
    box : Box
    composition : Composition
    molecule_ids : (k,) int64 array
        Molecules that this rank has: each is on one.
    position : (n, 3) float64 array
        Of their beads, one molecule after another, unwrapped [length].
    tolerance : float
        Overlap that does not count, relative to the contact distance.
    """
    distance = float(composition.prototypes.diameter.max())
    ids, place, _, _ = dealt_by_place(
        comm, box, composition, molecule_ids, position, np.zeros((len(position), 0)), distance
    )
    found = None
    if len(ids):
        topology = composition.part(np.unique(composition.molecule_of(ids)))
        pair = bead_overlap(box, topology, place, tolerance)
        found = pair and (int(ids[pair[0]]), int(ids[pair[1]]), pair[2])
    return min((pair for pair in comm.allgather(found) if pair is not None), default=None)


def dealt_by_place(
    comm: Ranks,
    box: Box,
    composition: Composition,
    molecule_ids: np.ndarray,
    position: np.ndarray,
    more: np.ndarray,
    distance: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return beads in a part of the box, and those of the molecules that reach into its surroundings; collective.

    Parameters
    ----------
    comm : Ranks
    box, composition, molecule_ids, position :
        As `overlap_on_ranks` takes them.
    more : (n, w) float64 array
        What else beads have, the same w on all ranks.
    distance : float
        How far the surroundings go [length].

    Returns
    -------
    ids : (m,) int64 array
        Global ids, ascending.
    position, more : (m, 3), (m, w) float64 arrays
    home : (m,) bool array
        Whether a bead is in this rank's part of the box: all within that distance of it are here.
    """
    distance *= 1.0 + ROUNDING
    points, bead = images(box, position, distance)
    sectors = Bisection(box, points, np.ones(len(points)), comm.size, comm)
    which, rank = sectors.within(points, distance)
    own, width = composition.beads_of(molecule_ids), 4 + more.shape[1]
    table, molecule = np.column_stack([own, position, more]), composition.molecule_of(own)
    there = molecule[bead[which]]
    received = comm.exchange_unknown(
        {int(to): table[np.isin(molecule, there[rank == to])].ravel() for to in np.unique(rank)}
    )
    rows = np.concatenate([np.zeros((0, width)), *(received[source].reshape(-1, width) for source in sorted(received))])
    rows = rows[np.argsort(rows[:, 0])]
    ids, place, more = np.split(rows, [1, 4], axis=1)
    place = np.ascontiguousarray(place)
    home = sectors.owner(brought_in(box, place)) == comm.rank
    return ids[:, 0].astype(np.int64), place, more, home


def images(box: Box, position: np.ndarray, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points (m, 3) of the box and its surroundings within `distance` where beads are, and which beads (m,)."""
    points = brought_in(box, position)
    bead = np.arange(len(points))
    for axis in np.flatnonzero(box.periodic):
        low, size = box.origin[axis], box.size[axis]
        shift = np.zeros(3)
        shift[axis] = size
        first = points[:, axis] < low + distance
        last = points[:, axis] > low + size - distance
        points = np.concatenate([points, points[first] + shift, points[last] - shift])
        bead = np.concatenate([bead, bead[first], bead[last]])
    return points, bead
