"""Contacts arranged on purpose: grazes by a hair, and several contacts at one instant, each with its exact answer."""

import numpy as np

from .systems import Molecule, System

SLACKS = (1e-9, 1e-10, 1e-11, 1e-12)


def assemble(parts, size, origin, boundary):
    """Return the System of parts [(Molecule, positions, velocities)], in that order."""
    position = np.concatenate([np.asarray(part[1], dtype=np.float64).reshape(-1, 3) for part in parts])
    velocity = np.concatenate([np.asarray(part[2], dtype=np.float64).reshape(-1, 3) for part in parts])
    return System([part[0] for part in parts], size, boundary, origin, 1.0, position, velocity)


def grazing_monomers():
    """Return a System of pairs that pass at 1 -+ slack, and [((0, i, j), time, impulse, slack)] of those that touch.

    Lane k lies at z = 4 k: one bead flies along x at speed 1 past another whose offset in y is the impact parameter.
    All share a drift along z.
    """
    parts, answer = [], []
    for k, slack in enumerate([*SLACKS, *(-slack for slack in SLACKS)]):
        offset, start = 1.0 - slack, 2.0 + k / 8
        parts.append((Molecule("monomer", 1, 2), [[0, 0, 4 * k], [start, offset, 4 * k]], [[1, 0, 0.25], [0, 0, 0.25]]))
        if slack > 0:
            depth = np.sqrt(1 - np.longdouble(offset) ** 2)
            answer.append(((0, 2 * k, 2 * k + 1), np.longdouble(start) - depth, depth, slack))
    return assemble(parts, (40.0,) * 3, (-4.0,) * 3, ("open",) * 3), answer


def grazing_walls():
    """Return a System of dimers that turn once a 2 pi and graze the wall y = 0, and [((1, bead, -2), time, slack)].

    A dimer's centre rests 1 -+ slack above the wall; its second bead is lowest at t = pi / 2.
    """
    parts, answer = [], []
    for k, slack in enumerate([*SLACKS, *(-slack for slack in SLACKS)]):
        height, z = 1.0 - slack, 4.0 * k
        places = [[-0.5, height, z], [0.5, height, z]]
        parts.append((Molecule("chain", 2), places, [[0, 0.5, 0], [0, -0.5, 0]]))
        if slack > 0:
            answer.append(((1, 2 * k + 1, -2), np.arcsin(2 * np.longdouble(height) - 1), slack))
    return assemble(parts, (40.0,) * 3, (-4.0, 0.0, -4.0), ("open", "wall", "open")), answer


def deepest(offset):
    """Return the least |r|^2 - 1 of a monomer at (-3 + t, offset) from the beads +-(cos t, sin t) / 2 of a dimer."""
    time = np.linspace(0, 6, 3001).astype(np.longdouble)
    for _ in range(5):
        turn = np.stack([np.cos(time), np.sin(time)], axis=-1) / 2
        path = np.stack([time - 3, offset + 0 * time], axis=-1)
        gap = np.minimum(*(np.sum((path - sign * turn) ** 2, axis=-1) for sign in (1, -1))) - 1
        best = time[np.argmin(gap)]
        width = (time[1] - time[0]) * 2
        time = best + np.linspace(-1, 1, 401).astype(np.longdouble) * width
    return np.min(gap)


def grazing_dimers():
    """Return a System of monomers that pass turning dimers, -+slack deep in |r|^2, and the slacks of those that touch.

    Lane k lies at z = 4 k and holds beads 3 k, 3 k + 1 (the dimer) and 3 k + 2.
    """
    parts, slacks = [], [*SLACKS, *(-slack for slack in SLACKS)]
    for k, slack in enumerate(slacks):
        low, high = np.longdouble(1.2), np.longdouble(1.6)
        while high - low > 1e-17:
            middle = (low + high) / 2
            low, high = (middle, high) if deepest(middle) < -slack else (low, middle)
        z = 4.0 * k
        parts.append((Molecule("chain", 2), [[0.5, 0, z], [-0.5, 0, z]], [[0, 0.5, 0], [0, -0.5, 0]]))
        parts.append((Molecule("monomer"), [[-3, float(low), z]], [[1, 0, 0]]))
    return assemble(parts, (40.0,) * 3, (-4.0,) * 3, ("open",) * 3), [slack for slack in slacks if slack > 0]


def at_once():
    """Return a System with several contacts at one instant in each of six places.

    Beads 0-4: monomers onto both ends of a straight chain of 3; 5-7: a dimer between wall and monomer; 8: a monomer
    into a corner; 9-11: two monomers onto one at rest; 12-14: one monomer onto two at rest; 15-18: two pairs that
    have nothing to do with each other. The box is [0, 32]^3 with walls.
    """
    half, rise = 0.5, np.sqrt(0.75)
    chain = Molecule("chain", 3)
    parts = [
        (Molecule("monomer", 1, 2), [[8, 10, 8], [10, 10, 8]], [[0, -1, 0], [0, -1, 0]]),
        (chain, [[8, 8, 8], [9, 8, 8], [10, 8, 8]], np.zeros((3, 3))),
        (Molecule("chain", 2), [[1, 16, 16], [2, 16, 16]], [[-0.5, 0, 0], [-0.5, 0, 0]]),
        (Molecule("monomer"), [[4.5, 16, 16]], [[-2, 0, 0]]),
        (Molecule("monomer"), [[1.5, 1.5, 1.5]], [[-1, -1, -1]]),
        (Molecule("monomer", 1, 3), [[14, 24, 24], [16, 24, 24], [18, 24, 24]], [[1, 0, 0], [0, 0, 0], [-1, 0, 0]]),
        (
            Molecule("monomer", 1, 3),
            [[20, 8, 24], [21 + rise, 8 + half, 24], [21 + rise, 8 - half, 24]],
            [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
        ),
        (Molecule("monomer", 1, 2), [[24, 24, 8], [26, 24, 8]], [[1, 0, 0], [0, 0, 0]]),
        (Molecule("monomer", 1, 2), [[24, 28, 8], [26, 28, 8]], [[1, 0, 0], [0, 0, 0]]),
    ]
    return assemble(parts, (32.0,) * 3, (0.0,) * 3, ("wall",) * 3)
