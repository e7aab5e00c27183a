"""How fast the frame moves in which neighbour lists and ghosts are kept (`search.list_place`): as the centre of mass.

Its velocity is found once, from a start whose momentum nothing changes. Where walls, gravity, a thermostat or fixed
beads do, and where the system is slow compared to its beads, the frame is at rest. Results depend on none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.system import WALL
from hpcchain.sector.search.list_place import ROUND

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import System

SLOW = 0.1  # of the beads' own speed: a frame that moves by less is not worth it
MOST_TURNS = 2.0**12  # periods that the frame moves in a tick: its places are exact (`list_place.turned`)
ACTING = ("gravity", "walls", "thermostat", "fixed")  # in `Physics.extended`: these change the momentum


def motion_of(composition: Composition, ids: np.ndarray, velocity: np.ndarray) -> list[float]:
    """Return what beads add to a system's motion: mass, momentum (3), number and sum of squares of velocities.

    `ids`: global, (n,); `velocity`: (n, 3) [length / time].
    """
    mass = composition.prototypes.mass[composition.prototype_of(ids)]
    with np.errstate(all="ignore"):
        return [float(mass.sum()), *(mass @ velocity).tolist(), float(len(ids)), float(np.sum(velocity**2))]


def drift_of(system: System, motion: list[list[float]]) -> np.ndarray:
    """Return the velocity of a system's lists' frame, (3,), in periods a tick, of which ROUND make whole ones.

    `motion`: of `motion_of`, for all beads together. The system's state is not looked at.
    """
    walled = system.box.boundary == WALL
    extended = system.physics.extended
    acting = any(getattr(extended, name) for name in ACTING)
    if acting or (walled.any() and extended != ExtendedPhysics()):  # such walls may rub
        return np.zeros(3)
    with np.errstate(all="ignore"):
        mass, *momentum, beads, squares = np.sum(motion, axis=0)
        mean = np.where(walled, 0.0, np.array(momentum) / mass)
        turns = np.rint(mean * (system.physics.tick / system.box.size) * ROUND) / ROUND
        square = np.sum(mean**2)
        if not square > SLOW**2 * (squares / beads - square) or not np.all(np.abs(turns) < MOST_TURNS):
            return np.zeros(3)
    return turns


def set_drift(par: np.ndarray, turns: np.ndarray) -> None:
    """Write the frame's velocity, in periods a tick, into a sector's constants."""
    par[L.DRIFT_TURNS : L.DRIFT_TURNS + L.AXES] = turns
    drift = turns * par[L.PERIOD : L.PERIOD + L.AXES] / par[L.TICK]
    par[L.DRIFT : L.DRIFT + L.AXES] = drift
    par[L.DRIFTS] = float(np.any(turns))


def velocity_in_frame(system: System, turns: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return velocities, (n, 3), in the frame that moves by so many periods a tick."""
    return velocity - turns * (system.box.size / system.physics.tick)


def place_in_frame(system: System, turns: np.ndarray, position: np.ndarray, now: tuple) -> np.ndarray:
    """Return places, (n, 3), in the frame that moves by so many periods a tick, at a time (ticks, remainder)."""
    if not turns.any():
        return position
    periodic = system.box.periodic
    moved = turns * np.where(periodic, now[0] % ROUND, now[0])
    moved -= np.where(periodic, np.floor(moved), 0.0)
    return position - system.box.size * (moved + turns * (now[1] / system.physics.tick))
