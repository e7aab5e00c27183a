"""What centres of mass carry: the sums over molecules of M V V and of E V, of their masses, velocities and energies.

They are the kinetic parts of the molecular pressure tensor and of the flux of heat. Blocks of beads may cut molecules,
also into more than two pieces. So a block says what its whole molecules carry, and momenta and energies of the pieces
at its two ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition

COLUMNS = 18
"""Numbers of a block: xx, yy, zz, xy, xz, yz and x, y, z of its whole molecules; momentum and energy of the beads of a
molecule that began before it; mass of that molecule, where it ends in it; and momentum and energy of one that begins in
it and ends behind it."""
WHOLE, BEFORE, MASS, BEHIND = slice(0, 9), slice(9, 13), 13, slice(14, 18)
FIRST, SECOND = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])


def carried_by(pieces: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return (m, 9) P P / M and E P / M of molecules with momenta and energies (m, 4) and masses (m,)."""
    momentum, energy = pieces[:, :3], pieces[:, 3:]
    return np.column_stack([momentum[:, FIRST] * momentum[:, SECOND], energy * momentum]) / mass[:, None]


def block_sums(composition: Composition, low: int, momentum: np.ndarray, energy: np.ndarray, block: int) -> np.ndarray:
    """Return (blocks, COLUMNS) float64 of the beads low, low + 1, ..., where `low` is a multiple of `block`.

    Parameters
    ----------
    momentum, energy : (n, 3), (n,) float64 arrays
        Of each bead [mass length / time], [mass length^2 / time^2].
    """
    prototypes, found = composition.prototypes, np.zeros((-(-len(momentum) // block), COLUMNS))
    moving = np.column_stack([momentum, energy])
    masses = np.add.reduceat(prototypes.mass, prototypes.first_bead[:-1])
    for row, start in zip(found, range(0, len(moving), block), strict=True):
        own = moving[start : start + block]
        begin, end = low + start, low + start + len(own)
        molecule = composition.molecule_of(np.arange(begin, end))
        rows = np.flatnonzero(np.diff(molecule, prepend=-1))
        molecule, carried = molecule[rows], np.add.reduceat(own, rows)
        first, mass = composition.first_bead_of(molecule), masses[composition.class_of(molecule)]
        before, behind = first < begin, first + composition.size_of(molecule) > end
        whole = ~(before | behind)
        row[WHOLE] = np.sum(carried_by(carried[whole], mass[whole]), axis=0)
        row[BEFORE], row[MASS] = np.sum(carried[before], axis=0), np.sum(mass[before & ~behind])
        row[BEHIND] = np.sum(carried[behind & ~before], axis=0)
    return found


def all_carry(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what all molecules carry, of the sums of all blocks in order.

    Returns
    -------
    tensor : (3, 3) float64 array
        [mass length^2 / time^2]
    flow : (3,) float64 array
        [mass length^3 / time^3]
    """
    rows, piece = [sums[:, WHOLE]], np.zeros(4)
    for row in sums:
        piece = piece + row[BEFORE]
        if row[MASS] > 0.0:
            rows.append(carried_by(piece[None], row[MASS : MASS + 1]))
            piece = np.zeros(4)
        piece = piece + row[BEHIND]
    xx, yy, zz, xy, xz, yz, *flow = (math.fsum(column) for column in np.concatenate(rows).T)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), np.array(flow)
