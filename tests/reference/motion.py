"""Free motion of beads joined by rigid bonds: the Taylor recursion with one dense solve for the whole system.

With b_l the bond vectors (end minus start), D the signed incidence matrix (bond by bead), M the masses and
S = D M^-1 D^T, the bond tensions u_l (force per length) obey

    q'' = -M^-1 D^T w,   w_l = u_l b_l,   b'' = -S w,   b_l . (S w)_l = |b_l'|^2,

an equation between power series in time. Every order is one linear system with the same matrix
T_lm = S_lm b_l(0) . b_m(0). Constant accelerations f of the beads add f to q'' and D f to b''; beads of infinite mass
are fixed.
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
    rods : sequence of (bead ids, distances of neighbours)
        Molecules on a straight line; their beads are in no bond.
    gravity : (3,) [length / time^2]
        Of all beads but those of infinite mass.
    """

    def __init__(self, mass, bonds, bond_length, dtype=np.longdouble, rods=(), gravity=(0.0, 0.0, 0.0)):
        self.dtype = dtype
        self.mass = np.asarray(mass, dtype=dtype)
        self.bonds = np.asarray(bonds, dtype=int).reshape(-1, 2)
        self.length = np.asarray(bond_length, dtype=dtype)
        self.fall = np.where(np.isinf(self.mass)[:, None], 0, np.asarray(gravity, dtype=dtype))
        self.rods = [Rod(beads, length, self.mass[beads]) for beads, length in rods]
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
        for rod in self.rods:
            q[:, rod.beads] = rod.series(position[rod.beads], velocity[rod.beads], order)
        q[2] += self.fall / 2
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
            if k == 0:
                right += np.sum(b[0] * self.bond_vectors(self.fall), axis=1)
            tension[k] = solve(matrix, inverted, right)
            w[k] = known + tension[k][:, None] * b[0]
            sw[k] = self.coupling @ w[k] - (self.bond_vectors(self.fall) if k == 0 else 0)
            factor = self.dtype((k + 1) * (k + 2))
            b[k + 2] = -sw[k] / factor
            q[k + 2] -= self.pull(w[k]) / factor
        return q

    def project(self, position, velocity, sweeps=4):
        """Return the state moved (mass-weighted) onto bond lengths and bond-consistent velocities."""
        position, velocity = position.copy(), velocity.copy()
        for rod in self.rods:
            state = rod.project(position[rod.beads], velocity[rod.beads])
            position[rod.beads], velocity[rod.beads] = state
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
        for rod in self.rods:
            change[:, rod.beads] = rod.keep(position[rod.beads], change[:, rod.beads])
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


class Rod:
    """Beads held on a line: x_j = (l_jN x_1 + l_j1 x_N) / L and |x_N - x_1| = L (Tapia-McClung 2005, (2) and (3)).

    Parameters
    ----------
    beads : (n,) ids
    length : (n - 1,) distances of neighbours [length]
    mass : (n,) [mass]
    """

    def __init__(self, beads, length, mass):
        self.beads, self.mass = beads, mass
        self.place = np.concatenate([[0], np.cumsum(np.asarray(length, dtype=mass.dtype))]).astype(mass.dtype)
        self.place = self.place - (mass @ self.place) / np.sum(mass)

    def line(self, rows):
        """Return centre and slope of the mass-weighted straight line through rows (n, 3) of the beads."""
        centre = (self.mass @ rows) / np.sum(self.mass)
        weight = self.mass * self.place
        return centre, (weight @ (rows - centre)) / (weight @ self.place)

    def project(self, position, velocity):
        """Return the state on the rod."""
        (centre, axis), (drift, turn) = self.line(position), self.line(velocity)
        axis = axis / np.sqrt(np.sum(axis**2))
        turn = turn - (turn @ axis) * axis
        return centre + self.place[:, None] * axis, drift + self.place[:, None] * turn

    def series(self, position, velocity, order):
        """Return (order + 1, n, 3) coefficients: the axis obeys u'' = -omega^2 u, the centre does not accelerate."""
        (centre, axis), (drift, turn) = self.line(position), self.line(velocity)
        u = np.zeros((order + 1, 3), dtype=self.mass.dtype)
        u[0], u[1] = axis, turn
        for k in range(order - 1):
            u[k + 2] = -(turn @ turn) / (axis @ axis) * u[k] / ((k + 1) * (k + 2))
        q = self.place[:, None] * u[:, None]
        q[0] += centre
        q[1] += drift
        return q

    def keep(self, position, change):
        """Return velocity changes (C, n, 3) with the constraints' reactions, by one multiplier per constraint."""
        n = len(self.mass)
        rows = np.zeros((3 * (n - 2) + 1, n, 3), dtype=self.mass.dtype)
        rows[0, -1], rows[0, 0] = position[-1] - position[0], position[0] - position[-1]
        share = (self.place - self.place[0]) / (self.place[-1] - self.place[0])
        for j in range(1, n - 1):
            for c in range(3):
                row = rows[3 * j - 2 + c]
                row[j, c], row[0, c], row[-1, c] = 1, share[j] - 1, -share[j]
        flat = rows.reshape(len(rows), -1)
        weighted = flat / np.repeat(self.mass, 3)
        matrix = flat @ weighted.T
        flat_change = change.reshape(len(change), -1)
        reaction = solve(matrix, inverse(matrix), flat @ flat_change.T)
        return (flat_change - reaction.T @ weighted).reshape(change.shape)


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
