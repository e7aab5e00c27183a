"""Walls of [[wall]]: sides of the box that move, are thermal or have their own coefficient, and walls with shapes.

`Physics.extended` has those of the input (`config.demands.check.walls_of`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import WallConstants
from hpcchain.model.system import WALL

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, System

AXES = ("x", "y", "z")
NOT_GIVEN = -1.0
SORTS = {"sphere": L.SPHERE, "cylinder": L.CYLINDER}


def shapes_of(physics: Physics) -> list[WallConstants]:
    """Return those walls that have shapes, in their order."""
    return [wall for wall in physics.extended.walls if wall.shape is not None]


def number_of_wall(physics: Physics, wall: WallConstants) -> int:
    """Return the number of a wall: a side's, then those with shapes in their order."""
    if wall.shape is None:
        return L.SIDE_NAMES.index(wall.side)
    return L.SIDES + shapes_of(physics).index(wall)


def at_rest(walls: tuple[WallConstants, ...]) -> tuple[WallConstants, ...]:
    """Return walls as they are while a start grows: shapes alone, at rest, that reflect."""
    shapes = [wall for wall in walls if wall.shape is not None]
    return tuple(
        WallConstants(None, one.shape, one.center, one.radius, one.axis, 0.0, 0.0, 1.0, tangential_restitution=1.0)
        for one in shapes
    )


def wall_rows(system: System) -> np.ndarray:
    """Return the (6 + shapes, WALL_COLUMNS) float64 rows of `walls` (`layout.arrays`)."""
    box, physics = system.box, system.physics
    shapes = shapes_of(physics)
    rows = np.zeros((L.SIDES + len(shapes), L.WALL_COLUMNS))
    for number in range(L.SIDES):
        axis = number % L.AXES
        rows[number, L.WALL_SORT] = L.PLANE if box.boundary[axis] == WALL else L.NO_WALL
        rows[number, L.WALL_AXIS] = axis
        rows[number, L.WALL_PLACE] = box.origin[axis] + (box.size[axis] if number >= L.AXES else 0.0)
    for wall in physics.extended.walls:
        row = rows[number_of_wall(physics, wall)]
        if wall.shape is not None:
            row[L.WALL_SORT] = SORTS[wall.shape]
            row[L.WALL_AXIS] = AXES.index(wall.axis) if wall.axis else 0.0
            row[L.WALL_CENTRE : L.WALL_CENTRE + L.AXES] = wall.center
            row[L.WALL_PLACE] = wall.radius
        row[L.WALL_VELOCITY] = wall.velocity
        row[L.WALL_TEMPERATURE] = wall.temperature
        row[L.WALL_SLIDING : L.WALL_SLIDING + L.AXES] = wall.sliding or 0.0
        row[L.WALL_SHAKING : L.WALL_SHAKING + L.AXES] = wall.shaking or 0.0
        row[L.WALL_AMPLITUDE], row[L.WALL_PERIOD] = wall.amplitude or 0.0, wall.period or 0.0
    return rows


def volume_within(size: Sequence[float] | np.ndarray, walls: Sequence[WallConstants]) -> float:
    """Return the volume that a box of these edge lengths and walls with shapes leave, the least of each [length^3]."""
    volume = float(np.prod(size))
    for wall in walls:
        if wall.radius is None:
            continue  # a side
        if wall.shape == "sphere":
            volume = min(volume, 4.0 / 3.0 * math.pi * wall.radius**3)
        else:
            volume = min(volume, math.pi * wall.radius**2 * float(size[AXES.index(wall.axis)]))
    return volume


def enclosures(walls: Sequence[WallConstants]) -> np.ndarray:
    """Return (shapes, 7) float64: centre, along which axes each encloses (0, 1), and radius, at time 0."""
    return np.array(
        [
            [*wall.center, *(float(axis != wall.axis) for axis in AXES), wall.radius]
            for wall in walls
            if wall.center is not None
        ]
    ).reshape(-1, 7)


def outside(walls: Sequence[WallConstants], position: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return (n, shapes) how far beads' surfaces reach beyond walls with shapes at time 0 [length].

    Parameters
    ----------
    walls : sequence of WallConstants
        Those with shapes (`shapes_of`).
    position : (n, 3) float64 array
        [length].
    radius : (n,) float64 array
        Of the beads [length].
    """
    found = np.zeros((len(position), len(walls)))
    for column, row in enumerate(enclosures(walls)):
        away = (position - row[: L.AXES]) * row[L.AXES : 2 * L.AXES]
        found[:, column] = np.sqrt(np.sum(away**2, axis=1)) + radius - row[-1]
    return found
