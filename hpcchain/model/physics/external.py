"""What acts on molecules from outside: gravity, walls, a thermostat; as `Physics.extended` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import Physics


def exchanges_energy(physics: Physics) -> bool:
    """Whether walls that move or are thermal, fixed beads, which may move, or a thermostat bring energy in."""
    acting = physics.extended
    own = acting.thermostat is not None or acting.fixed
    return own or any(wall.moves or wall.temperature for wall in acting.walls)


def draws_momenta(physics: Physics) -> bool:
    """Whether a thermostat, or a thermal wall, draws velocities, and with them those of the centre of mass."""
    return physics.acting.thermostat is not None or physics.extended.seed is not None


def not_one_volume(physics: Physics) -> bool:
    """Whether walls move inwards or outwards or have shapes, so that beads do not have the box's volume."""
    return any(wall.closes or wall.shape for wall in physics.extended.walls)


def loses_energy(physics: Physics) -> bool:
    """Whether contacts with some wall, or bridges that break, take energy."""
    walls = physics.extended.walls
    tangential = [wall.tangential_restitution for wall in walls]
    rubs = any(e is not None and abs(e) < 1.0 for e in tangential)
    rubs = rubs or any(one.bridge for one in physics.extended.potentials)
    return rubs or any(0.0 <= wall.restitution < 1.0 for wall in walls)


def gravity_of(physics: Physics) -> np.ndarray:
    """Return (3,) the acceleration of all that is not fixed; zeros where there is none [length / time^2]."""
    return np.array(physics.extended.gravity or (0.0, 0.0, 0.0), dtype=np.float64)
