"""Solve the bond equations (G M^-1 G^T) x = r of many equal molecules at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group

# Up to this many bonds a graph's matrix is inverted whole; above, conjugate gradients need no matrix.
DENSE = 160
# Eigenvalues below this, relative to the largest, belong to bonds that follow from others.
SINGULAR = 1e-11


def solve(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the least-squares solution of the bond equations.

    Parameters
    ----------
    group : Group
        C molecules of n beads and b bonds.
    bond : (C, b, 3) float64 array
        Bond vectors, second bead minus first [length].
    right : (C, b) float64 array
        Right sides.

    Returns
    -------
    (C, b) float64 array
        One multiplier per bond; bonds that follow from others share theirs in the least-squares sense.
    """
    if group.is_chain:
        return solve_chain(group.mass, bond, right)
    if len(group.bonds) <= DENSE:
        return np.concatenate([solve_dense(group, b, r) for b, r in _portions(group, bond, right)])
    return solve_iterated(group, bond, right)


def _portions(group: Group, bond: np.ndarray, right: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the molecules in portions whose matrices fit into a cache of moderate size."""
    size = max(1, 2_000_000 // max(1, len(group.bonds)) ** 2)
    for begin in range(0, len(bond), size):
        yield bond[begin : begin + size], right[begin : begin + size]


def solve_chain(mass: np.ndarray, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the tridiagonal equations of chains (Thomas algorithm, all molecules side by side)."""
    inverse = 1.0 / mass
    diagonal = (inverse[..., :-1] + inverse[..., 1:]) * np.einsum("cbk,cbk->cb", bond, bond)
    beside = -inverse[..., 1:-1] * np.einsum("cbk,cbk->cb", bond[:, :-1], bond[:, 1:])
    pivot, x = diagonal.T.copy(), right.T.copy()
    beside = np.ascontiguousarray(beside.T)
    for i in range(1, len(pivot)):
        factor = beside[i - 1] / pivot[i - 1]
        pivot[i] -= factor * beside[i - 1]
        x[i] -= factor * x[i - 1]
    for i in range(len(pivot) - 1, -1, -1):
        if i + 1 < len(pivot):
            x[i] -= beside[i] * x[i + 1]
        x[i] /= pivot[i]
    return x.T


def matrix(group: Group, bond: np.ndarray) -> np.ndarray:
    """Return G M^-1 G^T of every molecule, with rows b_l (x_j - x_i) per bond.

    Parameters
    ----------
    group : Group
        C molecules of b bonds.
    bond : (C, b, 3) float64 array
        Bond vectors [length].

    Returns
    -------
    (C, b, b) float64 array
        Symmetric, positive semi-definite [length^2 / mass].
    """
    incidence = np.zeros((len(group.bonds), len(group.mass)))
    rows = np.arange(len(group.bonds))
    incidence[rows, group.bonds[:, 0]] = -1.0
    incidence[rows, group.bonds[:, 1]] = 1.0
    shared = (incidence / group.mass) @ incidence.T
    return shared * np.einsum("cik,cjk->cij", bond, bond)


def solve_dense(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with the whole matrix; singular matrices by their eigenvectors."""
    full = matrix(group, bond)
    if not group.has_cycles:
        return np.linalg.solve(full, right[..., None])[..., 0]
    inverse = np.linalg.pinv(full, rcond=SINGULAR, hermitian=True)
    return np.einsum("cij,cj->ci", inverse, right)


def solve_iterated(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by conjugate gradients, all molecules side by side; consistent singular equations are allowed."""
    scale = 1.0 / ((1.0 / group.mass)[group.bonds].sum(axis=1) * np.einsum("cbk,cbk->cb", bond, bond))
    x, residual = np.zeros_like(right), right.copy()
    direction = scale * residual
    energy = np.sum(residual * direction, axis=1)
    goal = 1e-30 * energy
    for _ in range(4 * len(group.bonds)):
        active = energy > goal
        if not active.any():
            break
        image = along(group, bond, spread(group, bond, direction) / group.mass[None, :, None])
        curvature = np.sum(direction * image, axis=1)
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=active & (curvature > 0.0))[:, None]
        x += step * direction
        residual -= step * image
        after = np.sum(scale * residual * residual, axis=1)
        ratio = np.divide(after, energy, out=np.zeros_like(energy), where=active)[:, None]
        direction = scale * residual + ratio * direction
        energy = after
    return x


def along(group: Group, bond: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return G v: each bond vector times the difference of its beads' vectors; (C, n, 3) to (C, b)."""
    first, second = group.bonds.T
    return np.einsum("cbk,cbk->cb", bond, vector[:, second] - vector[:, first])


def spread(group: Group, bond: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """Return G^T x: per bead the sum of its bonds' multipliers times bond vectors; (C, b) to (C, n, 3)."""
    force = multiplier[..., None] * bond
    out = np.zeros((group.mass.shape[-1], len(bond), 3))
    if group.is_chain:
        out[1:] += force.swapaxes(0, 1)
        out[:-1] -= force.swapaxes(0, 1)
    else:
        np.add.at(out, group.bonds[:, 1], force.swapaxes(0, 1))
        np.subtract.at(out, group.bonds[:, 0], force.swapaxes(0, 1))
    return out.swapaxes(0, 1)
