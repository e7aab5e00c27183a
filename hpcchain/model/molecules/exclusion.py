"""What bonds join: beads that few of them are between never collide with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import in_blocks, running_sum

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Topology


def pairs_within(bonds: np.ndarray, beads: int, most: np.ndarray | int) -> np.ndarray:
    """Return (n, 2) int64 pairs of beads that at most so many bonds join, lower first; of one bond the bonds as given.

    Parameters
    ----------
    bonds : (b, 2) int64 array
        Of one molecule or of many.
    beads : int
        Number of beads.
    most : int or (beads,) integer array
        The same for all beads of a molecule.
    """
    most = np.broadcast_to(np.asarray(most, dtype=np.int64), beads)
    if len(bonds) == 0 or most.max(initial=1) == 1:
        return bonds
    offsets, partners = adjacency(bonds, beads)
    front = np.concatenate([bonds, bonds[:, ::-1]])
    found = [np.sort(bonds, axis=1)]
    for separation in range(2, int(most.max()) + 1):
        front = front[most[front[:, 0]] >= separation]
        count = np.diff(offsets)[front[:, 1]]
        ends = partners[in_blocks(offsets[front[:, 1]], count)]
        front = np.column_stack([np.repeat(front[:, 0], count), ends])
        front = np.unique(front[front[:, 0] != front[:, 1]], axis=0)
        found.append(front[front[:, 0] < front[:, 1]])
    return np.unique(np.concatenate(found), axis=0)


def adjacency(pairs: np.ndarray, beads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (beads + 1,) int64 offsets and int64 partners: the beads that each bead is in a pair with, ascending."""
    a = np.concatenate([pairs[:, 0], pairs[:, 1]])
    b = np.concatenate([pairs[:, 1], pairs[:, 0]])
    sequence = np.lexsort((b, a))
    offsets = running_sum(np.bincount(a, minlength=beads))
    return offsets, np.ascontiguousarray(b[sequence], dtype=np.int64)


class BondWalker:
    """Walks along bonds (b, 2) of beads 0 ... `beads` - 1, those of a bead in the order in which bonds stand."""

    def __init__(self, beads: int, bonds: np.ndarray) -> None:
        ends = bonds.ravel()
        sequence = np.argsort(ends, kind="stable")
        self._first = running_sum(np.bincount(ends, minlength=beads)).tolist()
        self._partners, self._bonds = bonds[:, ::-1].ravel()[sequence].tolist(), (sequence // 2).tolist()

    def partners(self, bead: int) -> list[int]:
        """Return the beads that a bead is bonded to."""
        return self._partners[self._first[bead] : self._first[bead + 1]]

    def walk(self, first: int) -> list[tuple[int, int, int]]:
        """Return (bead, the one before it, bond between) of beads that bonds join to a first one, breadth first.

        It begins with the first itself, of which the bond is -1.
        """
        found, seen = [(first, first, -1)], {first}
        for bead, _, _ in found:
            for at in range(self._first[bead], self._first[bead + 1]):
                other = self._partners[at]
                if other not in seen:
                    seen.add(other)
                    found.append((other, bead, self._bonds[at]))
        return found


def component_of(beads: int, pairs: np.ndarray) -> np.ndarray:
    """Return for every bead the lowest bead, (beads,) int64, that pairs (n, 2) connect it to."""
    label = np.arange(beads)
    while True:
        low = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        after = label.copy()
        # hook the labels' own roots as well, so that long paths halve in every round
        for end in (0, 1):
            np.minimum.at(after, pairs[:, end], low)
            np.minimum.at(after, label[pairs[:, end]], low)
        after = after[after]
        if np.array_equal(after, label):
            return label
        label = after


def excluded_pairs(topology: Topology) -> np.ndarray:
    """Return (n, 2) int64 pairs of beads of a Topology that never collide directly, by bonds alone, lower first."""
    return pairs_within(topology.bonds, topology.beads, np.repeat(topology.exclude, np.diff(topology.first_bead)))


def excluded_in(group: Group) -> np.ndarray:
    """Return the same of one molecule of a Group, beads counted from 0."""
    return pairs_within(group.bonds, len(group.mass), group.exclude)
