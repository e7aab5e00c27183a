"""Rods of unequal beads, and their exact free motion."""

import numpy as np

from hpcchain.model.molecules import rod_matrices
from hpcchain.papers import line_verlet as lv
from tests.support.kernel_tools import chain_bonds


def unit(vector):
    """Return a vector of length 1."""
    return np.asarray(vector, float) / np.linalg.norm(vector)


def place_of(n, rng, mass):
    """Return random coordinates of a rod's beads from its centre of mass."""
    place = np.concatenate([[0.0], np.cumsum(rng.uniform(0.7, 1.4, n - 1))])
    return place - mass @ place / mass.sum()


def random_rod(n, seed, turn=1.0):
    """Return (bonds, x, v, mass) of a rod with unequal masses and distances, which turns at a given rate."""
    rng = np.random.default_rng([n, seed, 2])
    mass = rng.uniform(0.3, 3.0, n)
    place = place_of(n, rng, mass)[:, None]
    axis = unit(rng.normal(size=3))
    rate = turn * unit(np.cross(axis, rng.normal(size=3)))
    return chain_bonds(n), rng.normal(size=3) + place * axis, rng.normal(size=3) + place * rate, mass


def exact(molecule, t):
    """Return the exact state of a rod after a time."""
    _, x, v, mass = molecule
    centre, drift = mass @ x / mass.sum(), mass @ v / mass.sum()
    axis, place = unit(x[-1] - x[0]), (x - centre) @ unit(x[-1] - x[0])
    rate = (v[-1] - v[0]) / (place[-1] - place[0])
    omega = np.linalg.norm(rate)
    u = axis * np.cos(omega * t) + rate / omega * np.sin(omega * t)
    du = rate * np.cos(omega * t) - axis * omega * np.sin(omega * t)
    return centre + drift * t + place[:, None] * u, drift + place[:, None] * du


def two_rods(gap=0.4):
    """Return two rods of 3 that cross above each other and meet with end bead 2 and bead 1, and the gap's function."""
    bonds, mass = chain_bonds(3), np.array([1.0, 2.0, 4.0])
    place = np.array([0.0, 1.0, 2.5])
    place -= mass @ place / mass.sum()
    above = np.array([0.2, 0.1, 1.0 + gap]) + place[:, None] * unit([1.0, 0.2, 0.1])
    below = np.array([0.2 + place[2], 0.0, 0.0]) + (place - place[1])[:, None] * unit([0.1, 1.0, 0.0])
    turn = unit(np.cross(unit([1.0, 0.2, 0.1]), [0.0, 1.0, 0.3]))
    one = (bonds, above, [0.0, 0.0, -0.5] - 0.3 * place[:, None] * turn, mass)
    two = (bonds, below, np.tile([0.0, 0.0, 0.4], (3, 1)) + 1e-3 * place[:, None] * unit([-1.0, 0.1, 0.0]), mass)
    return one, two


def line_of(rod):
    """Return the `Line` of `papers.line_verlet` that is a rod."""
    _, x, _, mass = rod
    return rod_matrices.Line(mass, (x - x[0]) @ unit(x[-1] - x[0]), np.zeros(len(mass)))


def nothing(position):
    """Return no forces."""
    return np.zeros_like(position)


def by_paper(rod, dt, closed=True):
    """Return the state of a free rod after one step as the paper has it."""
    return lv.step(line_of(rod), rod[1], rod[2], dt, nothing, closed)
