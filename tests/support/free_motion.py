"""Molecules in thermal motion, and their free motion by short Taylor series."""

import numpy as np

from tests.support import twins
from tests.support.molecules import GRAPHS, Molecule


def thermal(bonds, n, seed=3, equal=False):
    """Return a molecule with unit bonds along a random spanning walk where the graph is a tree, else random."""
    rng = np.random.default_rng(seed)
    mass = np.ones(n) if equal else rng.uniform(0.5, 2.0, n)
    x = rng.normal(size=(n, 3))
    for low, high in bonds if len(bonds) == n - 1 else []:
        step = rng.normal(size=3)
        x[max(low, high)] = x[min(low, high)] + step / np.linalg.norm(step)
    v = rng.normal(size=(n, 3)) / np.sqrt(mass)[:, None]
    return Molecule(bonds, x, v - mass @ v / mass.sum(), mass)


def build(name, seed=3):
    """Return the Molecule of a graph of `GRAPHS`, in thermal motion."""
    n, bonds = GRAPHS[name]
    return thermal(bonds, n, seed)


def reference(m, time, pieces=200):
    """Return the state after free motion by Taylor series of order 16 over short pieces."""
    x, v = m.x, m.v
    for _ in range(pieces):
        piece = Molecule(m.bonds, x, v, m.mass)
        order, _ = piece.taylor()
        x, v = twins.evaluate(piece.series(order), time / pieces)
    return x, v
