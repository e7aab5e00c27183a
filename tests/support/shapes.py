"""Single beads and straight rods put where a test wants them, and a box around them."""

from dataclasses import replace

import numpy as np

from hpcchain.model.system import PERIODIC
from tests.support.kernel_tools import chain_bonds, make_system

NO_BONDS = np.empty((0, 2), dtype=np.int64)


def bead(x, v, mass=1.0):
    """Return one molecule of one bead."""
    return NO_BONDS, np.array([x], float), np.array([v], float), np.array([float(mass)])


def rod(x, axis, beads, v, mass=1.0, pitch=1.0):
    """Return a straight chain along an axis that moves without turning."""
    places = np.array(x, float) + pitch * np.arange(beads)[:, None] * np.eye(3)[axis]
    masses = np.full(beads, float(mass))
    return chain_bonds(beads), places, np.broadcast_to(np.array(v, float), (beads, 3)).copy(), masses


def boxed(molecules, size, boundary=PERIODIC, **physics):
    """Return the System of molecules in a box whose lower corner is the origin."""
    return make_system(molecules, size, np.broadcast_to(boundary, 3), origin=(0.0, 0.0, 0.0), **physics)


def gas(seed=2, fast=1.0, cells=3, pitch=1.55):
    """Return a dense box of beads and rods with random velocities."""
    rng = np.random.default_rng(seed)
    molecules = []
    for p in np.ndindex(cells, cells, cells):
        place = (np.array(p) + 0.5) * pitch
        if p[2] == 0 and sum(p) % 2:
            molecules.append(rod(place, 2, 2, rng.normal(size=3)))
        elif p[2] != 1 or not sum((p[0], p[1], 0)) % 2:
            molecules.append(bead(place, fast * rng.normal(size=3), rng.uniform(0.5, 2.0)))
    return boxed(molecules, (cells * pitch,) * 3)


def sticky():
    """Return beads and rods that do not bounce."""
    return replace(gas(), physics=replace(gas().physics, restitution=0.0))
