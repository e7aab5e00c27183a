"""Systems with chains that are long enough to have segments of stretches."""

from dataclasses import replace

import numpy as np

from hpcchain.model.system import PERIODIC, Options
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.twins import project

SIDE, ROW = 15.0, 12


def folded(n, layer, rng, bend=0.04):
    """Return (n, 3) places of a chain folded to and fro in layers of a box from z = 1.3 layer on; few touch."""
    k = np.arange(n)
    row, along = k // ROW, k % ROW
    x = np.where(row % 2 == 0, along, ROW - 1 - along)
    y, level = row % ROW, row // ROW
    y = np.where(level % 2 == 0, y, ROW - 1 - y)
    place = np.column_stack([x, 1.15 * y, 1.3 * (layer + level)]) + 1.0
    return place + bend * rng.uniform(-1.0, 1.0, place.shape)


def crowd(seed, lengths=(130, 101, 30), singles=40, boundary=(PERIODIC,) * 3, **settings):
    """Return a System of folded chains of unequal masses and bonds, of these lengths, and single beads above them."""
    rng = np.random.default_rng(seed)
    molecules, layer = [], 0
    for n in lengths:
        x, mass = folded(n, layer, rng), rng.uniform(0.5, 2.0, n)
        v = project(chain_bonds(n), x, rng.normal(size=(n, 3)), mass)
        molecules.append((chain_bonds(n), x, v, mass))
        layer += -(-n // ROW**2)
    grid = np.array([(a, b, c) for c in range(4) for a in range(8) for b in range(8)])[:singles]
    for place in 1.0 + 1.6 * grid + [0.0, 0.0, 1.3 * layer]:
        molecules.append((np.zeros((0, 2), int), place[None], rng.normal(size=(1, 3)), np.ones(1)))
    return make_system(molecules, (SIDE,) * 3, boundary, (0.0,) * 3, diameter=0.9, **settings)


def in_parts(system, beads=100):
    """Return a System the same but that its chains of so many beads and more are divided."""
    return replace(system, physics=replace(system.physics, options=Options(stretches=beads)))


def line(n, hit, mass=None, velocity=(0.0, 0.0, 0.0), bend=0.0, seed=0):
    """Return a System of a straight chain along x, or one bent at random by so much a bond, and single beads.

    Parameters
    ----------
    n : int
    hit : list of (place, velocity)
        Of the single beads.
    mass : (n,) float array, optional
        Of the chain's beads; default 1.
    velocity : (3,) or (n, 3) floats
        Of the chain's beads, before it is projected on the bonds.
    bend : float
    seed : int
    """
    rng = np.random.default_rng(seed)
    step = [1.0, 0.0, 0.0] + bend * rng.normal(size=(n - 1, 3))
    x = np.cumsum(np.vstack([[10.0, 20.0, 20.0], step / np.linalg.norm(step, axis=1)[:, None]]), axis=0)
    mass = np.ones(n) if mass is None else mass
    v = project(chain_bonds(n), x, np.broadcast_to(velocity, (n, 3)).copy(), mass)
    molecules = [(chain_bonds(n), x, v, mass)]
    molecules += [(np.zeros((0, 2), int), np.array([place]), np.array([speed]), np.ones(1)) for place, speed in hit]
    return make_system(molecules, (n + 40.0, 40.0, 40.0), (PERIODIC,) * 3, (0.0,) * 3, diameter=0.9)


def far(seed, sites=3, pitch=15.0, speed=3.0, singles=60):
    """Return a System of folded chains, a long and a short kind, and single beads, scattered in a box and fast."""
    rng = np.random.default_rng(seed)
    molecules = []
    for site in np.ndindex(sites, sites, sites):
        if rng.uniform() < 0.6:
            n = int(rng.choice((101, 130, 30)))
            x, mass = folded(n, 0, rng) + pitch * np.array(site), rng.uniform(0.5, 2.0, n)
            v = rng.normal(size=(n, 3)) + speed * rng.normal(size=3)
            molecules.append((chain_bonds(n), x, project(chain_bonds(n), x, v, mass), mass))
    side = sites * pitch
    grid = np.array(list(np.ndindex(int(side / 2), int(side / 2), sites))) * [2.0, 2.0, pitch] + [0.5, 0.5, 8.0]
    for place in grid[rng.choice(len(grid), singles, replace=False)]:
        molecules.append((np.zeros((0, 2), int), place[None], speed * rng.normal(size=(1, 3)), np.ones(1)))
    return make_system(molecules, (side,) * 3, (PERIODIC,) * 3, (0.0,) * 3, diameter=0.9)
