"""The kinetic part of the molecular pressure tensor: the sum over molecules of M V V, V the centre of mass's velocity.

Blocks of beads may cut molecules, also into more than two pieces. So a block says what its whole molecules carry, and
the momenta of the pieces at its two ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition

COLUMNS = 13
"""Numbers of a block: xx, yy, zz, xy, xz, yz of its whole molecules; momentum of the beads of a molecule that began
before it; mass of that molecule, where it ends in it; and momentum of one that begins in it and ends behind it."""
FIRST, SECOND = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])


def tensors(momentum: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return (m, 6) P P / M of molecules with momenta (m, 3) and masses (m,)."""
    return momentum[:, FIRST] * momentum[:, SECOND] / mass[:, None]


def block_sums(composition: Composition, low: int, momentum: np.ndarray, block: int) -> np.ndarray:
    """Return (blocks, COLUMNS) float64 of the beads low, low + 1, ..., where `low` is a multiple of `block`.

    Parameters
    ----------
    momentum : (n, 3) float64 array
        Of each bead [mass length / time].
    """
    prototypes, found = composition.prototypes, np.zeros((-(-len(momentum) // block), COLUMNS))
    masses = np.add.reduceat(prototypes.mass, prototypes.first_bead[:-1])
    for row, start in zip(found, range(0, len(momentum), block), strict=True):
        own = momentum[start : start + block]
        begin, end = low + start, low + start + len(own)
        molecule = composition.molecule_of(np.arange(begin, end))
        rows = np.flatnonzero(np.diff(molecule, prepend=-1))
        molecule, carried = molecule[rows], np.add.reduceat(own, rows)
        first, mass = composition.first_bead_of(molecule), masses[composition.class_of(molecule)]
        before, behind = first < begin, first + composition.size_of(molecule) > end
        whole = ~(before | behind)
        row[:6] = np.sum(tensors(carried[whole], mass[whole]), axis=0)
        row[6:9], row[9] = np.sum(carried[before], axis=0), np.sum(mass[before & ~behind])
        row[10:] = np.sum(carried[behind & ~before], axis=0)
    return found


def whole_tensor(sums: np.ndarray) -> np.ndarray:
    """Return (3, 3) the tensor of all molecules, of the sums of all blocks in order [mass length^2 / time^2]."""
    rows, carried = [sums[:, :6]], np.zeros(3)
    for row in sums:
        carried = carried + row[6:9]
        if row[9] > 0.0:
            rows.append(tensors(carried[None], row[9:10]))
            carried = np.zeros(3)
        carried = carried + row[10:]
    xx, yy, zz, xy, xz, yz = (math.fsum(column) for column in np.concatenate(rows).T)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
