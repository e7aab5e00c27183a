"""The chain of Leyendecker et al. 2012: its null space, its gaps (18), and the set-ups of 4.4 and 4.5.

Bead i = 0 .. n - 1, bond i from bead i to i + 1; arrays are (n, 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


@dataclass
class Chain:
    """A chain of equal beads in a box centred at 0, or in free space.

    Attributes
    ----------
    position, velocity : (n, 3) arrays
        At the start [length], [length / time].
    diameter : float
        [length]
    box : (3,) array or None
        Edge lengths; walls touch the beads' surfaces.
    mass : (n,) array
    """

    position: np.ndarray
    velocity: np.ndarray
    diameter: float = 1.0
    box: np.ndarray | None = None
    mass: np.ndarray = None

    def __post_init__(self) -> None:
        if self.mass is None:
            self.mass = np.ones(len(self.position))

    def contacts(self) -> list:
        """Return all contacts that can be: ("p", i, j) of beads that are not bonded, ("w", i, axis, side) of walls."""
        n = len(self.position)
        pairs = [("p", i, j) for i in range(n) for j in range(i + 2, n)]
        walls = [] if self.box is None else [("w", i, c, s) for i in range(n) for c in range(3) for s in (-1, 1)]
        return pairs + walls

    def gap(self, q: np.ndarray, contact: tuple) -> float:
        """Return g_c (18), >= 0 where beads do not overlap."""
        if contact[0] == "p":
            r = q[contact[1]] - q[contact[2]]
            return 0.5 * (r @ r - self.diameter**2)
        _, i, axis, side = contact
        return 0.5 * (self.box[axis] - self.diameter) - side * q[i, axis]

    def normal(self, q: np.ndarray, contact: tuple) -> np.ndarray:
        """Return the gradient G_c of g_c, (n, 3)."""
        g = np.zeros_like(q)
        if contact[0] == "p":
            g[contact[1]] = q[contact[1]] - q[contact[2]]
            g[contact[2]] = -g[contact[1]]
        else:
            g[contact[1], contact[2]] = -contact[3]
        return g

    def null_space(self, q: np.ndarray) -> np.ndarray:
        """Return P (3 n, u): velocities of the beads by those u that keep the constraints."""
        return null_space(q)

    def moved(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the configuration that changes u lead to."""
        return reparametrise(q, u)

    def energy(self, w: np.ndarray) -> float:
        """Return the kinetic energy of velocities w."""
        return 0.5 * np.sum(self.mass[:, None] * w**2)


def trimer() -> Chain:
    """Return Leyendecker et al. 2012's intracolliding trimer (4.4); of the printed q0 three numbers are missing."""
    position = np.array([[1.0, 0, 0], [0, 0, 0], [0, -1.0, 0]])
    return Chain(position, np.array([[0, 0.5, 0], [0, 0, 0], [-0.5, 0, 0]]))


def four_beads(velocity: Any) -> Any:
    """Return the four beads of 4.5 in their box; the diameter is 1 (printed: radius .1) for the printed contacts."""
    a = 1 / (2 * np.sqrt(2.0))
    position = np.array([[-3 * a, -a, 0], [-a, a, 0], [a, -a, 0], [3 * a, a, 0]])
    return Chain(position, np.array(velocity, dtype=float), box=np.array([8.0, 10.0, 14.0]))


def periodic() -> Any:
    """Return the chain of Figs 9 and 10."""
    return four_beads([[1 / 6, 1 / 6, 0], [1 / 6, 1 / 6, 0], [-1 / 6, -1 / 6, 0], [-1 / 6, -1 / 6, 0]])


def chaotic() -> Any:
    """Return the chain of Figs 11 and 12."""
    return four_beads([[-0.1, 0.1, -0.1], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
