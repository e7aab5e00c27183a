"""Walls in steps: sides of the box and shapes about all beads, which may move; where they are, and how fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.walls import wall_rows
from hpcchain.steps.contacts import contact_kernels as kernels

if TYPE_CHECKING:
    from hpcchain.model.system import System


class WallRows(NamedTuple):
    """What the kernels of `contact.walls` read of a sector: `walls` alone."""

    walls: np.ndarray


class Walls:
    """The walls of a run; each has a code, -1 - its row (`layout.arrays`).

    Parameters
    ----------
    system : System

    Attributes
    ----------
    rows : WallRows
        What kernels take.
    velocity : (w,) float64 array
        At which they move towards the inside [length / time].
    sliding : (w, 3) float64 array
        Their velocities along themselves [length / time].
    there : bool
        Whether there are any.
    """

    def __init__(self, system: System) -> None:
        rows = wall_rows(system)
        self.rows, self.velocity = WallRows(rows), rows[:, L.WALL_VELOCITY].copy()
        self.sliding = rows[:, L.WALL_SLIDING : L.WALL_SLIDING + L.AXES].copy()
        self.there = bool(np.any(rows[:, L.WALL_SORT] != L.NO_WALL))

    def at(self, codes: np.ndarray, position: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances (n,) of places (n, 3) from walls with these codes at a time, and the normals (n, 3)."""
        distance, normal = np.empty(len(codes)), np.empty((len(codes), 3))
        kernels.from_walls(self.rows, -1 - codes, position, time, distance, normal)
        return distance, normal
