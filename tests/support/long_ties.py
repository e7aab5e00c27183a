"""Systems in which long chains touch several things at one instant."""

from dataclasses import replace

import numpy as np

from hpcchain.model.system import PERIODIC, WALL
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.twins import project

SINGLE = np.zeros((0, 2), int)


def single(place, velocity, mass=1.0):
    """Return a molecule of one bead, as `make_system` takes it."""
    return SINGLE, np.array([place], float), np.array([velocity], float), np.array([mass])


def straight(n, place, velocity):
    """Return a straight chain along x from a place on, all beads of one velocity."""
    x = np.asarray(place, float) + np.arange(n)[:, None] * [1.0, 0.0, 0.0]
    return chain_bonds(n), x, np.tile(np.asarray(velocity, float), (n, 1)), np.ones(n)


def flat(n=120, **settings):
    """Return a straight chain that lands flat on a floor, and beads that rest below it, some of which touch."""
    beads = [single([30.0, 10.0, 0.45], [0.0] * 3), single([60.25, 10.0, 0.45], [0.0] * 3)]
    beads += [single([60.25 + side, 10.0, 0.45], [0.0] * 3) for side in (0.9, -0.9)]
    molecules = [straight(n, [10.0, 10.0, 4.0], [0.0, 0.0, -1.0]), *beads]
    box, boundary = (n + 40.0, 20.0, 20.0), (PERIODIC, PERIODIC, WALL)
    return make_system(molecules, box, boundary, (0.0,) * 3, diameter=0.9, **settings)


def mirrored(seed=0, n=121, **settings):
    """Return a chain that is its own mirror image, beads about it, and walls: what happens does so on either side.

    Rounding tells the sides apart by and by. The chain winds to and fro away from the plane between them.
    """
    rng = np.random.default_rng(seed)
    half = n // 2
    bend, x, heading = 0.35, [np.zeros(3)], 0.0
    for k in range(half):
        heading = 1.0 if (k // 6) % 2 == 0 else -1.0
        step = np.array([0.8, heading * 0.55, bend * (0.4 if k % 2 else -0.4)])
        x.append(x[-1] + step / np.linalg.norm(step))
    right = np.array(x[1:])
    place = np.vstack([right[::-1] * [-1.0, 1.0, 1.0], [x[0]], right]) + [80.0, 12.0, 6.0]
    speed = rng.normal(size=(half + 1, 3))
    speed[0, 0] = 0.0
    velocity = np.vstack([speed[:0:-1] * [-1.0, 1.0, 1.0], speed])
    chain = (chain_bonds(n), place, project(chain_bonds(n), place, velocity, np.ones(n)), np.ones(n))
    molecules = [chain]
    for _ in range(20):
        at, v = rng.uniform([2.0, 4.0, 2.0], [60.0, 20.0, 4.0]), rng.normal(size=3)
        for sign in (1.0, -1.0):
            molecules.append(single([80.0 + sign * at[0], at[1], at[2] if at[2] < 4.4 else 9.0], v * [sign, 1.0, 1.0]))
    return make_system(molecules, (160.0, 24.0, 12.0), (WALL,) * 3, (0.0,) * 3, diameter=0.9, **settings)


def cradle(**settings):
    """Return two long straight chains in line with a row of touching beads between them; another bead hits the first.

    The second chain's far end touches a wall, and the middle of a third chain, across, lies at the row.
    """
    n, y, z = 100, 10.0, 10.0
    first, gap = 3.0, 0.9
    row = first + (n - 1) + gap
    molecules = [straight(n, [first, y, z], [0.0] * 3)]
    molecules += [single([row + 0.9 * k, y, z], [0.0] * 3) for k in range(3)]
    second = row + 0.9 * 2 + gap
    molecules.append(straight(n, [second, y, z], [0.0] * 3))
    molecules.append(straight(n, [row - 40.0, y + 0.9, z + 3.0], [0.0, 0.0, -0.6]))
    molecules.append(single([1.0, y, z], [1.0, 0.0, 0.0]))
    size = second + (n - 1) + 0.45
    return make_system(molecules, (size, 20.0, 20.0), (WALL,) * 3, (0.0,) * 3, diameter=0.9, **settings)


def across_a_narrow_box(n=120, side=1.85, diameter=0.9):
    """Return a chain one bond of which spans a box so narrow that an image touches, and the lower bead of that bond.

    The bond turns towards its image. Bead 0, by itself, touches the lower bead and comes.
    """
    low = n // 2
    cos = (1.0 + side * side - diameter * diameter) / (2.0 * side)
    sin = np.sqrt(1.0 - cos * cos)
    place = np.array([0.3, 20.0, 10.0]) + np.arange(n)[:, None] * [0.0, 1.0, 0.0]
    place[low + 1 :] += [cos, sin - 1.0, 0.0]
    velocity = np.zeros((n, 3))
    velocity[low + 1 :] = [sin, -cos, 0.0]
    toward = np.array([0.0, -0.6, -0.8])
    molecules = [single(place[low] - diameter * toward, toward), (chain_bonds(n), place, velocity, np.ones(n))]
    return make_system(molecules, (side, n + 40.0, 20.0), (PERIODIC,) * 3, (0.0,) * 3, diameter=diameter), 1 + low


def exchanged(system):
    """Return the System with axes turned round cyclically, so that sectors cut it otherwise."""
    turn = [2, 0, 1]
    box, state = system.box, system.state
    box = replace(box, size=box.size[turn], origin=box.origin[turn], boundary=box.boundary[turn])
    turned = {name: getattr(state, name)[:, turn] for name in ("position", "velocity", "image")}
    return replace(system, box=box, state=replace(state, **turned))


def packed(seed, **settings):
    """Return folded chains on a lattice with beads about them, where all neighbours touch, of random velocities."""
    rng = np.random.default_rng([20271, seed])
    molecules, layer = [], 2
    for n in rng.choice((101, 120, 24), size=int(rng.integers(1, 4))).tolist():
        k = np.arange(n)
        row, along = k // 8, k % 8
        x = np.where(row % 2 == 0, along, 7 - along)
        place = np.column_stack([x, row % 4, layer + row // 4]) + np.zeros((n, 3))
        place[:, 1] = np.where((row // 4) % 2 == 0, place[:, 1], 3 - place[:, 1])
        layer += int(row[-1]) // 4 + 1
        velocity = project(chain_bonds(n), place + 2.0, rng.integers(-2, 3, (n, 3)) / 2.0, np.ones(n))
        molecules.append((chain_bonds(n), place + 2.0, velocity, np.ones(n)))
    for p in np.ndindex(3, 3, 2):
        if rng.random() < 0.7:
            velocity = rng.integers(-4, 5, 3) / 2.0
            molecules.append(single(np.array(p) + [4.0, 2.0, 2.0], velocity, float(rng.choice([1.0, 2.0]))))
    boundary = (PERIODIC, PERIODIC, WALL) if seed % 2 else (PERIODIC,) * 3
    box = (16.0, 14.0, layer + 6.0)
    return make_system(molecules, box, boundary, (0.0,) * 3, diameter=1.0, **settings)


def stack(chains=8, n=101, gap=0.9, **settings):
    """Return straight chains that lie on one another, with beads between two of them, and land on a floor together."""
    molecules = [straight(n, [10.0, 10.0, 2.0 + gap * k], [0.0, 0.0, -1.0]) for k in range(chains)]
    molecules.append(single([30.5, 10.9, 2.45], [0.0, -0.5, -1.0]))
    boundary = (PERIODIC, PERIODIC, WALL)
    return make_system(molecules, (n + 40.0, 20.0, 24.0), boundary, (0.0,) * 3, diameter=0.9, **settings)
