"""Small gases of mixed molecules on a lattice, for tests of the search and of the engine."""

import numpy as np

from tests.support import twins
from tests.support.kernel_tools import chain_bonds, make_system

NO_BONDS = np.empty((0, 2), dtype=np.int64)


def monomer(x, v, mass=1.0):
    """Return one bead."""
    return NO_BONDS, np.array([x], float), np.array([v], float), np.array([float(mass)])


def shape(kind):
    """Return bonds and positions of a molecule that fits into a sphere of diameter 4 with beads of diameter 0.8."""
    zigzag = np.column_stack([0.75 * np.arange(12), 0.45 * (np.arange(12) % 2), np.zeros(12)])
    if kind == "ring":
        angle = np.arange(6) * np.pi / 3
        bonds = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
        return bonds, np.column_stack([np.cos(angle), np.sin(angle), 0.1 * (np.arange(6) % 2)])
    n = {"monomer": 1, "dimer": 2, "chain3": 3, "chain5": 5, "chain10": 10}[kind]
    x = zigzag[:n]
    if n == 10:
        x = np.concatenate([zigzag[:5], (zigzag[:5] + [0.0, 0.0, 1.0])[::-1]])
    return chain_bonds(n) if n > 1 else NO_BONDS, x - x.mean(axis=0)


def gas(kinds, seed=0, pitch=4.2, cells=None, boundary=(0, 0, 0), random_mass=True, **settings):
    """Return a System with one molecule of each kind named at the places of a simple cubic lattice.

    Parameters
    ----------
    pitch : float
        Distance of the lattice's places [length].
    cells : (int, int, int) or None
        Places per axis; as few as possible in a cube if None.
    """
    rng = np.random.default_rng(seed)
    count = int(np.ceil(len(kinds) ** (1 / 3)))
    cells = (count,) * 3 if cells is None else cells
    places = np.array(list(np.ndindex(*cells))) + 0.5
    size = pitch * np.array(cells)
    molecules = []
    for kind, place in zip(kinds, places, strict=False):
        bonds, x = shape(kind)
        mass = rng.uniform(0.5, 2.0, len(x)) if random_mass else np.ones(len(x))
        v = twins.project(bonds, x, rng.normal(size=x.shape), mass) if len(bonds) else rng.normal(size=x.shape)
        molecules.append((bonds, x + place * pitch - 0.5 * size, v, mass))
    return make_system(molecules, size, boundary, diameter=settings.pop("diameter", 0.8), **settings)


MIXTURE = ["chain5", "monomer", "dimer", "chain10", "ring", "monomer", "chain3", "dimer"]
