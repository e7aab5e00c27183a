"""Free motion of beads joined by rigid bonds: the Taylor recursion with one dense solve for the whole system.

With b_l the bond vectors (end minus start), D the signed incidence matrix (bond by bead), M the masses and
S = D M^-1 D^T, the bond tensions u_l (force per length) obey

    q'' = -M^-1 D^T w,   w_l = u_l b_l,   b'' = -S w,   b_l . (S w)_l = |b_l'|^2,

an equation between power series in time. Every order is one linear system with the same matrix
T_lm = S_lm b_l(0) . b_m(0).
"""

import numpy as np

from .linear import inverse, solve


class Mechanics:
    """Masses and bonds of a whole system, in one float type.

    Parameters
    ----------
    mass : (N,) [mass]
    bonds : (B, 2) ints
        Bead ids of each bond.
    bond_length : (B,) [length]
    dtype : numpy float type
    """

    def __init__(self, mass, bonds, bond_length, dtype=np.longdouble):
        self.dtype = dtype
        self.mass = np.asarray(mass, dtype=dtype)
        self.bonds = np.asarray(bonds, dtype=int).reshape(-1, 2)
        self.length = np.asarray(bond_length, dtype=dtype)
        rows = np.arange(len(self.bonds))
        self.incidence = np.zeros((len(self.bonds), len(self.mass)), dtype=dtype)
        self.incidence[rows, self.bonds[:, 0]] = -1
        self.incidence[rows, self.bonds[:, 1]] = 1
        self.coupling = (self.incidence / self.mass) @ self.incidence.T

    def bond_vectors(self, beads):
        """Return (..., B, 3) differences of bead vectors (..., N, 3) along the bonds."""
        return beads[..., self.bonds[:, 1], :] - beads[..., self.bonds[:, 0], :]

    def pull(self, bond_forces):
        """Return (N, 3) M^-1 D^T of vectors (B, 3) on the bonds."""
        return (self.incidence.T @ bond_forces) / self.mass[:, None]

    def tension_matrix(self, b):
        """Return T (B, B) and its inverse for bond vectors (B, 3)."""
        matrix = self.coupling * (b @ b.T)
        return matrix, inverse(matrix)

    def series(self, position, velocity, order):
        """Return (order + 1, N, 3) Taylor coefficients of the free motion in time."""
        q = np.zeros((order + 1, len(self.mass), 3), dtype=self.dtype)
        q[0], q[1] = position, velocity
        if len(self.bonds) == 0:
            return q
        b = np.zeros((order + 1, len(self.bonds), 3), dtype=self.dtype)
        b[:2] = self.bond_vectors(q[:2])
        matrix, inverted = self.tension_matrix(b[0])
        tension = np.zeros((order - 1, len(self.bonds)), dtype=self.dtype)
        w, sw = np.zeros_like(b), np.zeros_like(b)
        rates = np.arange(1, order + 1).astype(self.dtype)[:, None, None]
        for k in range(order - 1):
            known = np.sum(tension[:k, :, None] * b[k:0:-1], axis=0)
            slope = rates[: k + 1] * b[1 : k + 2]
            right = np.sum(slope * slope[::-1], axis=(0, 2))
            right -= np.sum(b[k:0:-1] * sw[:k], axis=(0, 2)) + np.sum(b[0] * (self.coupling @ known), axis=1)
            tension[k] = solve(matrix, inverted, right)
            w[k] = known + tension[k][:, None] * b[0]
            sw[k] = self.coupling @ w[k]
            factor = self.dtype((k + 1) * (k + 2))
            b[k + 2] = -sw[k] / factor
            q[k + 2] = -self.pull(w[k]) / factor
        return q

    def project(self, position, velocity, sweeps=4):
        """Return the state moved (mass-weighted) onto bond lengths and bond-consistent velocities."""
        if len(self.bonds) == 0:
            return position, velocity
        for _ in range(sweeps):
            b = self.bond_vectors(position)
            matrix, inverted = self.tension_matrix(b)
            excess = (np.sum(b * b, axis=1) - self.length**2) / 2
            position = position - self.pull(solve(matrix, inverted, excess)[:, None] * b)
        b = self.bond_vectors(position)
        matrix, inverted = self.tension_matrix(b)
        for _ in range(2):
            rate = np.sum(b * self.bond_vectors(velocity), axis=1)
            velocity = velocity - self.pull(solve(matrix, inverted, rate)[:, None] * b)
        return position, velocity

    def response(self, position, rows):
        """Return (C, N, 3) velocity changes per unit impulse along contact rows (C, N, 3), bonds kept."""
        change = rows / self.mass[:, None]
        if len(self.bonds) == 0:
            return change
        b = self.bond_vectors(position)
        matrix, inverted = self.tension_matrix(b)
        rates = np.sum(b * self.bond_vectors(change), axis=2)
        reaction = solve(matrix, inverted, rates.T).T
        return change - np.stack([self.pull(one[:, None] * b) for one in reaction])

    def energy(self, velocity):
        """Return the kinetic energy [mass length^2 / time^2]."""
        return np.sum(self.mass[:, None] * velocity**2) / 2


def at(series, dt):
    """Return position and velocity (N, 3) of Taylor coefficients (K + 1, N, 3) at time dt after their start."""
    position = np.zeros_like(series[0])
    velocity = np.zeros_like(series[0])
    for coefficient in series[::-1]:
        velocity = velocity * dt + position
        position = position * dt + coefficient
    return position, velocity


def trusted_length(series, error):
    """Return the time over which the last two terms of a series stay below `error` [time]; inf if they vanish."""
    order = len(series) - 1
    sizes = [(k, np.max(np.abs(series[k]))) for k in (order - 1, order)]
    return min((float((error / size) ** (1 / series.dtype.type(k))) for k, size in sizes if size > 0), default=np.inf)
