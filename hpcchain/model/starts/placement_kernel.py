"""Random placement of molecules, bead by bead or as rigid bodies, with a grid of cells."""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import allocating
from hpcchain.model.random_kernel import fraction, philox


class Grid(NamedTuple):
    """Beads that are placed, by cells of the box.

    `head[cell]` is the last bead put into a cell, `after[bead]` the one before it, -1 none. Positions are unwrapped.
    """

    origin: np.ndarray
    size: np.ndarray
    periodic: np.ndarray
    shape: np.ndarray
    head: np.ndarray
    after: np.ndarray
    position: np.ndarray


class Constants(NamedTuple):
    """Of all beads: the first bead of their molecule, shrunk diameter, distance kept from sides, full radius.

    `shapes` are those that enclose all beads: rows of `model.physics.walls.enclosures`.
    """

    owner: np.ndarray
    diameter: np.ndarray
    margin: np.ndarray
    radius: np.ndarray
    shapes: np.ndarray


PLACED, FULL = 0, 1
DIRECTIONS = 40


@allocating
def axis_cell(grid, axis, x):
    """Return the cell index of a coordinate along one axis; beyond a side that is not periodic, the outermost."""
    scaled = (x - grid.origin[axis]) / grid.size[axis]
    if grid.periodic[axis]:
        scaled -= math.floor(scaled)
    return max(0, min(int(scaled * grid.shape[axis]), grid.shape[axis] - 1))


@allocating
def cell_of(grid, x, y, z):
    """Return the number of the cell that holds a point."""
    shape = grid.shape
    return (axis_cell(grid, 0, x) * shape[1] + axis_cell(grid, 1, y)) * shape[2] + axis_cell(grid, 2, z)


@allocating
def insert(grid, bead):
    """Put a bead into the cell of its position."""
    place = grid.position[bead]
    cell = cell_of(grid, place[0], place[1], place[2])
    grid.after[bead] = grid.head[cell]
    grid.head[cell] = bead


@allocating
def remove(grid, bead):
    """Take out the bead that was put into its cell last."""
    place = grid.position[bead]
    cell = cell_of(grid, place[0], place[1], place[2])
    grid.head[cell] = grid.after[bead]


@allocating
def meets(grid, constants, bead, other, direct):
    """Return whether two beads overlap in their nearest images; the unwrapped pair does not count when `direct`."""
    size, periodic, position, diameter = grid.size, grid.periodic, grid.position, constants.diameter
    squared, wrapped = 0.0, False
    for k in range(3):
        d = position[bead, k] - position[other, k]
        if periodic[k]:
            turns = np.rint(d / size[k])
            wrapped = wrapped or turns != 0.0
            d -= turns * size[k]
        squared += d * d
    contact = 0.5 * (diameter[bead] + diameter[other])
    return squared < contact * contact and (wrapped or not direct)


@allocating
def enclosed(position, bead, radius, walls):
    """Return whether a bead of its full radius is inside all shapes (`Constants`)."""
    for wall in walls:
        squared = 0.0
        for k in range(3):
            squared += wall[3 + k] * (position[bead, k] - wall[k]) ** 2
        extent = wall[6] - radius[bead]
        if extent < 0.0 or squared > extent * extent:
            return False
    return True


@allocating
def free(grid, constants, bead, partners, through):
    """Return whether a bead at its position is inside the box and overlaps none in the grid.

    Those of its own molecule with the numbers `partners`, and with `through` all of it, are no overlap in their direct
    image.
    """
    origin, size, periodic, shape, head, after, position = grid
    owner, margin = constants.owner, constants.margin
    for k in range(3):
        x = position[bead, k] - origin[k]
        if not periodic[k] and (x < margin[bead, k] or x > size[k] - margin[bead, k]):
            return False
    if not enclosed(position, bead, constants.radius, constants.shapes):
        return False
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    for k in range(3):
        centre = axis_cell(grid, k, position[bead, k])
        low[k], high[k] = centre - 1, centre + 1
        if periodic[k] and shape[k] < 3:
            low[k], high[k] = 0, shape[k] - 1
        elif not periodic[k]:
            low[k], high[k] = max(low[k], 0), min(high[k], shape[k] - 1)
    for a in range(low[0], high[0] + 1):
        for b in range(low[1], high[1] + 1):
            for c in range(low[2], high[2] + 1):
                cell = ((a % shape[0]) * shape[1] + b % shape[1]) * shape[2] + c % shape[2]
                other = head[cell]
                while other >= 0:
                    direct = through and owner[other] == owner[bead]
                    for k in range(len(partners)):
                        direct = direct or other == owner[bead] + partners[k]
                    if meets(grid, constants, bead, other, direct):
                        return False
                    other = after[other]
    return True


@allocating
def scatter(grid, constants, bead, words):
    """Put a bead at a random point of the box, as far from its sides as the bead's margin asks."""
    origin, size, position, margin = grid.origin, grid.size, grid.position, constants.margin
    for k in range(3):
        extent = size[k] - 2.0 * margin[bead, k]
        position[bead, k] = origin[k] + margin[bead, k] + fraction(words[k]) * extent


@allocating
def direct_from(grid, bead, parent, length, words):
    """Put a bead at a distance from its parent in a random direction; returns False when the words give none."""
    position = grid.position
    x, y, z = 2.0 * fraction(words[0]) - 1.0, 2.0 * fraction(words[1]) - 1.0, 2.0 * fraction(words[2]) - 1.0
    squared = x * x + y * y + z * z
    if squared > 1.0 or squared < 1e-4:
        return False
    factor = length / math.sqrt(squared)
    position[bead, 0] = position[parent, 0] + factor * x
    position[bead, 1] = position[parent, 1] + factor * y
    position[bead, 2] = position[parent, 2] + factor * z
    return True


@allocating
def within_limits(grid, first, sequence, done, limits):
    """Return whether the bead placed as number `done` keeps its distances from those placed before it (`tree_limits`).

    A distance that is no multiple of whole boxes counts: molecules are placed unwrapped.
    """
    begin, others, squares = limits
    position = grid.position
    bead = first + sequence[done]
    for e in range(begin[done], begin[done + 1]):
        squared = 0.0
        for k in range(3):
            squared += (position[bead, k] - position[first + others[e], k]) ** 2
        if squared <= squares[e, 0] or squared >= squares[e, 1]:
            return False
    return True


@allocating
def place_tree(grid, constants, first, tree, through, seed, stream, molecule, budget):
    """Place one molecule bead by bead along a spanning tree, stepping back where it gets stuck.

    Parameters
    ----------
    grid, constants : Grid, Constants
    first : int
        The molecule's first bead.
    tree : tuple of arrays
        Beads in the order of placing, each one's parent, and the bond between them, (n,) each; the root comes first.
        Behind them, of each bead, where those that it never collides with begin (n + 1,), and their numbers.
        Last, which distances from earlier ones they keep (`tree_limits`).
    through : bool
        Whether the molecule's own beads may overlap.
    seed, stream, molecule : uint64
        Key and first counter of its random numbers; the second counts the draws.
    budget : int
        Most draws.

    Returns
    -------
    int
        PLACED or FULL.
    """
    sequence, parents, lengths, first_partner, partners, limits = tree
    done, furthest, back, draw, tries = 0, 0, 1, 0, 0
    while done < len(sequence):
        if draw >= budget:
            while done > 0:
                done -= 1
                remove(grid, first + sequence[done])
            return FULL
        bead = first + sequence[done]
        words = philox(molecule, np.uint64(draw), seed, stream)
        draw += 1
        tries += 1
        there = True
        if done == 0:
            scatter(grid, constants, bead, words)
        else:
            there = direct_from(grid, bead, first + parents[done], lengths[done], words)
        there = there and within_limits(grid, first, sequence, done, limits)
        own = partners[first_partner[sequence[done]] : first_partner[sequence[done] + 1]]
        if there and free(grid, constants, bead, own, through):
            insert(grid, bead)
            done += 1
            tries = 0
            if done > furthest:
                furthest, back = done, 1
        elif done > 0 and tries >= DIRECTIONS:
            for _ in range(min(back, done)):
                done -= 1
                remove(grid, first + sequence[done])
            back, tries = 2 * back, 0
            if done == 0:
                furthest, back = 0, 1
    return PLACED


@allocating
def turn(shape, grid, first, centre, words):
    """Put a rigid shape around a centre in a random orientation; returns False when the words give none."""
    position = grid.position
    q0, q1 = 2.0 * fraction(words[0]) - 1.0, 2.0 * fraction(words[1]) - 1.0
    q2, q3 = 2.0 * fraction(words[2]) - 1.0, 2.0 * fraction(words[3]) - 1.0
    squared = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3
    if squared > 1.0 or squared < 1e-4:
        return False
    scale = 2.0 / squared
    for i in range(len(shape)):
        x, y, z = shape[i]
        a, b, c = q2 * z - q3 * y, q3 * x - q1 * z, q1 * y - q2 * x
        position[first + i, 0] = centre[0] + x + scale * (q0 * a + q2 * c - q3 * b)
        position[first + i, 1] = centre[1] + y + scale * (q0 * b + q3 * a - q1 * c)
        position[first + i, 2] = centre[2] + z + scale * (q0 * c + q1 * b - q2 * a)
    return True


@allocating
def shift(shape, grid, first, centre):
    """Put a rigid shape around a centre as it lies."""
    position = grid.position
    for i in range(len(shape)):
        for k in range(3):
            position[first + i, k] = centre[k] + shape[i, k]


@allocating
def place_rigid(grid, constants, first, shape, turned, seed, stream, molecule, budget):
    """Place one molecule as a rigid body at a random point, in a random orientation or as it lies.

    Parameters
    ----------
    shape : (n, 3) float64 array
        Its beads about the origin [length].
    turned : bool
        Whether it is turned at random.
    grid, constants, first, seed, stream, molecule, budget :
        As in `place_tree`.

    Returns
    -------
    int
        PLACED or FULL.
    """
    origin, size = grid.origin, grid.size
    centre, none = np.empty(3), np.empty(0, np.int64)
    for draw in range(0, budget, 2):
        words = philox(molecule, np.uint64(draw), seed, stream)
        for k in range(3):
            centre[k] = origin[k] + fraction(words[k]) * size[k]
        if not turned:
            shift(shape, grid, first, centre)
        elif not turn(shape, grid, first, centre, philox(molecule, np.uint64(draw + 1), seed, stream)):
            continue
        done = 0
        while done < len(shape) and free(grid, constants, first + done, none, True):
            insert(grid, first + done)
            done += 1
        if done == len(shape):
            return PLACED
        while done > 0:
            done -= 1
            remove(grid, first + done)
    return FULL


@allocating
def place_trees(grid, constants, firsts, molecules, tree, through, seed, stream, budget):
    """Place molecules of one kind by `place_tree`; returns the index of the first that found no room, or -1."""
    for i in range(len(firsts)):
        if place_tree(grid, constants, firsts[i], tree, through, seed, stream, molecules[i], budget) != PLACED:
            return i
    return -1


@allocating
def place_rigids(grid, constants, firsts, molecules, shapes, turned, seed, stream, budget):
    """Place molecules of one kind by `place_rigid`, taking the shapes in turn; returns as `place_trees` does."""
    for i in range(len(firsts)):
        shape = shapes[i % len(shapes)]
        if place_rigid(grid, constants, firsts[i], shape, turned, seed, stream, molecules[i], budget) != PLACED:
            return i
    return -1
