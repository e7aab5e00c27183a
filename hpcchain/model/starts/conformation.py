"""Conformations of molecules whose bonds close on themselves: rings and graphs with cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.exclusion import excluded_in
from hpcchain.model.starts.constraints import EPS, NotConverged, bond_vectors, constraint_rank, project_group
from hpcchain.model.starts.embedding import Sought, embed
from hpcchain.model.starts.overlap import near_pairs
from hpcchain.model.system import OPEN, Box

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group

# Separations asked for while relaxing, relative to contact; and what is accepted at the end.
CLEARANCE, ACCEPTED = 1.02, 1.0 - 1e-10
# A relaxation that has not come nearer after this many sweeps is given up.
STALE = 150
# Most starts of a conformation, and most sweeps of relaxation of each.
ATTEMPTS, SWEEPS = 8, 3000


def conformation(sought: Sought, index: int) -> np.ndarray | None:
    """Return a random closed conformation without overlaps, (n, 3) about its mean, or None when none was found.

    Starts from a Gaussian network (normal modes of the bond graph), pulls bonds to their lengths and overlapping beads
    apart until both are nearly met, then projects to the bonds. Each `index` has random numbers of its own.
    """
    modes = normal_modes(sought.group)
    for attempt in range(ATTEMPTS):
        found = relax(sought, modes @ sought.draws(index * ATTEMPTS + attempt))
        if found is not None:
            return found - found.mean(axis=0)
    return None


def stiff_conformation(sought: Sought, index: int) -> np.ndarray | None:
    """Return a conformation found by least squares, or None; arguments as in `conformation`."""
    found = embed(sought, index).position
    return None if found is None else settled(sought, found - found.mean(axis=0))


def normal_modes(group: Group) -> np.ndarray:
    """Return the (n, n) matrix that turns independent normal numbers into a Gaussian network of the group's bonds."""
    n = len(group.mass)
    stiffness = np.zeros((n, n))
    first, second = group.bonds.T
    spring = 3.0 / group.length**2
    np.add.at(stiffness, (first, first), spring)
    np.add.at(stiffness, (second, second), spring)
    np.subtract.at(stiffness, (first, second), spring)
    np.subtract.at(stiffness, (second, first), spring)
    values, vectors = np.linalg.eigh(stiffness)
    values[0] = np.inf
    return vectors / np.sqrt(values)


def relax(sought: Sought, position: np.ndarray) -> np.ndarray | None:
    """Return the relaxed and projected positions, or None where bonds and contacts do not settle."""
    before = np.inf
    for sweep in range(SWEEPS):
        move, worst = bond_moves(sought.group, position)
        if sought.self_contact:
            parting, overlap = contact_moves(sought, position, CLEARANCE)
            move, worst = move + parting, max(worst, overlap)
        if worst < 5e-3:
            break
        position = position + move
        if sweep % STALE == STALE - 1:
            if not worst < 0.95 * before:
                return None
            before = worst
    return settled(sought, position)


def settled(sought: Sought, position: np.ndarray) -> np.ndarray | None:
    """Return positions put onto the bonds, or None where that fails or beads overlap then."""
    try:
        projected = project_group(sought.group, position[None])[0]
    except (NotConverged, np.linalg.LinAlgError):
        return None
    if sought.self_contact and contact_moves(sought, projected, ACCEPTED)[1] > 0.0:
        return None
    return projected


def bond_moves(group: Group, position: np.ndarray) -> tuple[np.ndarray, float]:
    """Return moves that halve the error of every bond, averaged over a bead's bonds, and the largest relative error."""
    bond = bond_vectors(position, group.bonds)
    length = np.sqrt(np.einsum("bk,bk->b", bond, bond)) + EPS
    pull = (0.5 * (1.0 - group.length / length))[:, None] * bond
    move = np.zeros_like(position)
    np.add.at(move, group.bonds[:, 0], pull)
    np.subtract.at(move, group.bonds[:, 1], pull)
    bonds_of = np.bincount(group.bonds.ravel(), minlength=len(position))
    return move * (1.6 / np.maximum(bonds_of, 2))[:, None], float(np.abs(length / group.length - 1.0).max())


def contact_moves(sought: Sought, position: np.ndarray, clearance: float) -> tuple[np.ndarray, float]:
    """Return moves that part overlapping beads that are not excluded, and the largest relative overlap."""
    low = position.min(axis=0)
    box = Box(size=position.max(axis=0) - low + 1.0, origin=low, boundary=np.full(3, OPEN, dtype=np.int8))
    n, diameter = len(position), sought.diameter
    bonded = np.sort(excluded_in(sought.group), axis=1) @ np.array([n, 1])
    move, worst = np.zeros_like(position), 0.0
    for i, j in near_pairs(box, position, clearance * float(diameter.max())):
        other = ~np.isin(np.minimum(i, j) * n + np.maximum(i, j), bonded)
        i, j = i[other], j[other]
        apart = position[j] - position[i]
        distance = np.sqrt(np.einsum("ik,ik->i", apart, apart)) + EPS
        contact = 0.5 * clearance * (diameter[i] + diameter[j])
        near = distance < contact
        i, j = i[near], j[near]
        push = (0.25 * (contact / distance - 1.0))[near, None] * apart[near]
        np.subtract.at(move, i, push)
        np.add.at(move, j, push)
        if len(i):
            worst = max(worst, float((1.0 - distance[near] / contact[near]).max()))
    return move, worst


def is_rigid(group: Group, position: np.ndarray) -> bool:
    """Return whether the bonds leave a molecule no motion but that of a rigid body."""
    return len(group.mass) > 2 and constraint_rank(group, position) >= 3 * len(group.mass) - 6
