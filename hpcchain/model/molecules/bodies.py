"""Rigid bodies: places of their beads along their principal axes, the bonds that stand for them, states put onto them.

What a body is follows from the input by sums, products and roots alone, so that it has the same bits on all machines.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group

EPS = np.finfo(np.float64).eps
LEAST_WIDTH = 1e-3
"""Of a body, relative to its length: below it its beads lie on a line (roots of the two greatest sums m s^2)."""
SWEEPS = 12
LEAST_BEADS = 3


def body_sites(places: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return (n, 3) coordinates of a body's beads about its centre of mass, along its principal axes.

    The first axis is that along which the body is longest, the third that along which it is shortest; they are
    right-handed. Coordinates are rounded to the last bit of the greatest, so that their differences are exact.

    Parameters
    ----------
    places : (n, 3) float64 array
        In any frame [length].
    mass : (n,) float64 array
        [mass].
    """
    m = [float(one) for one in mass]
    total = math.fsum(m)
    centre = [math.fsum(one * float(x) for one, x in zip(m, column, strict=True)) / total for column in places.T]
    r = [[float(x) - c for x, c in zip(row, centre, strict=True)] for row in places]
    pairs = [[[one * row[i] * row[j] for one, row in zip(m, r, strict=True)] for j in range(3)] for i in range(3)]
    a = [[math.fsum(each) for each in row] for row in pairs]
    axes = _axes(a)
    found = np.array([[row[0] * e[0] + row[1] * e[1] + row[2] * e[2] for e in axes] for row in r])
    last_bit = np.spacing(np.abs(found).max())
    return np.rint(found / last_bit) * last_bit + 0.0


def _axes(a: list[list[float]]) -> list[list[float]]:
    """Return three unit eigenvectors of a symmetric matrix, the greatest eigenvalue first, by Jacobi's rotations."""
    v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for p, q in SWEEPS * ((0, 1), (0, 2), (1, 2)):
        if a[p][q] == 0.0:
            continue
        theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q])
        t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
        c = 1.0 / math.sqrt(t * t + 1.0)
        s = t * c
        for rows in (a, v):
            for row in rows:
                row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
        for k in range(3):
            a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
        a[p][q] = a[q][p] = 0.0
    sequence = sorted(range(3), key=lambda k: -a[k][k])
    e, f = ([v[k][j] for k in range(3)] for j in sequence[:2])
    return [e, f, [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]]]


def is_thin(sites: np.ndarray, mass: np.ndarray) -> bool:
    """Whether the beads of a body, as `body_sites` returns them, lie on a line, all but."""
    along, across = (mass @ sites[:, k] ** 2 for k in (0, 1))
    return not across > LEAST_WIDTH**2 * along


def body_bonds(sites: np.ndarray) -> np.ndarray:
    """Return (n - 1, 2) int64 pairs of beads, lower first, that stand for a body where bonds are drawn.

    Of all trees it is that of the shortest bonds, of equal ones those of the lowest beads.
    """
    n = len(sites)
    near, parent = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    inside = np.zeros(n, dtype=bool)
    pairs, bead = [], 0
    for _ in range(n - 1):
        inside[bead] = True
        square = np.sum((sites - sites[bead]) ** 2, axis=1)
        nearer = (square < near * (1.0 - 1e-12)) & ~inside
        near[nearer], parent[nearer] = square[nearer], bead
        bead = int(np.argmin(np.where(inside, np.inf, near * (1.0 + 1e-12 * np.arange(n)))))
        pairs.append(sorted((bead, int(parent[bead]))))
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def bond_lengths(sites: np.ndarray) -> np.ndarray:
    """Return the (n - 1,) lengths of `body_bonds` [length]."""
    d = np.diff(sites[body_bonds(sites)], axis=1)[:, 0]
    return np.sqrt(d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2])


def body_length(sites: np.ndarray) -> float:
    """Return twice the distance of a body's farthest bead from its centre of mass [length]."""
    return 2.0 * float(np.sqrt(np.sum(sites**2, axis=1).max(initial=0.0)))


def frames(group: Group, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centres (C, 3) and rotations (C, 3, 3) of the bodies nearest to positions (C, n, 3), by mass.

    A bead is at centre + rotation @ site (Kabsch 1976).
    """
    mass = group.mass
    centre = np.einsum("n,cnk->ck", mass, position - position[:, :1]) / mass.sum() + position[:, 0]
    away = position - centre[:, None]
    u, _, v = np.linalg.svd(np.einsum("n,cnk,nl->ckl", mass, away, group.site))
    sign = np.linalg.det(u @ v)
    u[:, :, 2] *= np.where(sign < 0.0, -1.0, 1.0)[:, None]
    return centre, u @ v


def body_positions(group: Group, position: np.ndarray) -> np.ndarray:
    """Return (C, n, 3) positions on the bodies nearest to those given; those on them to the last bits keep every bit.

    Each body's centre of mass stays. Positions that are not numbers give such.
    """
    if not np.all(np.isfinite(position)):
        return np.full_like(position, np.nan)
    centre, rotation = frames(group, position)
    fitted = centre[:, None] + np.einsum("ckl,nl->cnk", rotation, group.site)
    return unless_equal(position, fitted, group.last_bits(position))


def body_velocities(group: Group, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return (C, n, 3) rigid velocities with the momentum and angular momentum of those given; see `body_positions`."""
    mass = group.mass
    centre, rotation = frames(group, position)
    away = np.einsum("ckl,nl->cnk", rotation, group.site)
    sums = mass @ group.site**2
    mean, turn = velocity[:, 0].copy(), np.zeros_like(centre)
    for _ in range(2):
        rest = velocity - mean[:, None] - np.cross(turn[:, None], away)
        momentum = np.einsum("n,cnk->ck", mass, np.cross(away, rest))
        turn += np.einsum("ckl,cl->ck", rotation, np.einsum("ckl,ck->cl", rotation, momentum) / (sums.sum() - sums))
        mean += np.einsum("n,cnk->ck", mass, rest) / mass.sum()
    speed = np.sqrt(np.einsum("cnk,cnk->cn", velocity, velocity)).max(axis=1)
    rigid = mean[:, None] + np.cross(turn[:, None], away)
    return unless_equal(velocity, rigid, speed * group.last_bits(position) / group.extent)


def unless_equal(rows: np.ndarray, fitted: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return fitted rows (C, n, 3), of each molecule those that it has where they differ by no more than (C,)."""
    same = np.abs(fitted - rows).max(axis=(1, 2)) <= slack
    return np.where(same[:, None, None], rows, fitted)
