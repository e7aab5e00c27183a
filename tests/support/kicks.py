"""Impulse responses of a molecule by dense matrices."""

import numpy as np

from tests.support import twins


def inverse(mass):
    """Return the diagonal of M^-1, (3n,)."""
    return 1 / np.repeat(mass, 3)


def dense_kick(bonds, x, mass, bead, n):
    """Return y = M^-1 (n^T - G^T T^-1 G M^-1 n^T)."""
    g, force = twins.gradient(bonds, x), np.zeros_like(x)
    force[bead] = n
    mu = np.linalg.solve(twins.tension_matrix(bonds, x, mass), g @ (inverse(mass) * force.ravel()))
    return (inverse(mass) * (force.ravel() - g.T @ mu)).reshape(-1, 3)
