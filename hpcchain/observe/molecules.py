"""Which beads of a molecule are its ends, and how long a run should last for its molecules."""

import numpy as np

ENOUGH = 5.0
"""Correlation times that a run should last, so that its errors can be relied on."""


def far_ends(beads: int, bonds: np.ndarray) -> tuple[int, int]:
    """Return two beads of a molecule that are far apart along its bonds, in trees as far as any two are.

    Those are the ends of a chain, the ends of two arms of a star, and opposite beads of a ring.

    Parameters
    ----------
    beads : int
    bonds : (b, 2) integer array
        Of a connected molecule, beads counted from 0.

    Returns
    -------
    (int, int)
        Lower bead first.
    """
    neighbours = [[] for _ in range(beads)]
    for i, j in np.asarray(bonds).tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    one = furthest(neighbours, 0)
    other = furthest(neighbours, one)
    return min(one, other), max(one, other)


def furthest(neighbours: list, start: int) -> int:
    """Return the last bead that a search along bonds, breadth first, comes to; the lowest of those as far away."""
    seen, ring = {start}, [start]
    while True:
        ahead = sorted({bead for one in ring for bead in neighbours[one]} - seen)
        if not ahead:
            return ring[0]
        seen.update(ahead)
        ring = ahead
