"""The null space of a chain's bonds and its reparametrisation (Leyendecker et al. 2012, (19)-(23))."""

import numpy as np


def triads(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return bond vectors d (n - 1, 3), their lengths, and unit vectors r, s at right angles to them."""
    d = np.diff(q, axis=0)
    length = np.sqrt(np.einsum("ij,ij->i", d, d))
    unit = d / length[:, None]
    r = cross(np.eye(3)[np.argmin(np.abs(unit), axis=1)], unit)
    r /= np.sqrt(np.einsum("ij,ij->i", r, r))[:, None]
    return d, length, r, cross(unit, r)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rows' vector products, several times faster than NumPy's for a few rows."""
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]


def null_space(q: np.ndarray) -> np.ndarray:
    """Return P (20), (3 n, 2 n + 1), with the bond lengths that (19)-(20) lack."""
    n = len(q)
    _, length, r, s = triads(q)
    p = np.zeros((n, 3, 2 * n + 1))
    p[:, :, :3] = np.eye(3)
    for k in range(n - 1):
        p[k + 1 :, :, 3 + 2 * k] = length[k] * r[k]
        p[k + 1 :, :, 4 + 2 * k] = length[k] * s[k]
    return p.reshape(3 * n, -1)


def reparametrise(q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return F(u, q) (22): bead 0 moved by u[:3], every bond turned by exp_d(u_r r + u_s s) (23)."""
    d, length, r, s = triads(q)
    turn = u[3:].reshape(-1, 2)
    angle = np.sqrt(np.einsum("ij,ij->i", turn, turn))[:, None]
    side = turn[:, :1] * r + turn[:, 1:] * s
    bonds = np.cos(angle) * d + np.sinc(angle / np.pi) * length[:, None] * side
    return np.concatenate([q[:1] + u[:3], q[0] + u[:3] + np.cumsum(bonds, axis=0)])
