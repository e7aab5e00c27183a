"""Molecules of any graph in random places, and chains whose bonds are listed in another order."""

import numpy as np

from tests.support import molecules, twins

NAMES = ["ring3", "ring4", "ring7", "ring8", "star3x2", "star12x1", "tetrahedron", "tree9", "tree20", "two rings"]


GRAPHS = {name: molecules.GRAPHS[name] for name in NAMES} | {f"ring{n}": (n, molecules.ring(n)) for n in (9, 17)}


def web(name, seed):
    """Return (bonds, x, v, mass) with random places, masses and allowed velocities."""
    n, bonds = GRAPHS[name]
    rng = np.random.default_rng([n, seed])
    bonds = np.sort(np.array(bonds), axis=1)
    x, mass = rng.normal(size=(n, 3)), rng.uniform(0.3, 3.0, n)
    return bonds, x, twins.project(bonds, x, rng.normal(size=(n, 3)), mass), mass


def shuffled(molecule, seed):
    """Return a chain with its bonds listed in another order, which the sparse solver moves."""
    bonds, *rest = molecule
    return bonds[np.random.default_rng(seed).permutation(len(bonds))], *rest
