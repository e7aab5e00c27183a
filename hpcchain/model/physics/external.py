"""What acts on molecules from outside: gravity, walls, a thermostat; as `Physics.extended` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.physics.walls import walls_of

if TYPE_CHECKING:
    from hpcchain.model.system import Physics


def external(config: Any) -> dict:
    """Return what `Physics.extended` has of gravity, walls and a thermostat: name -> value.

    Parameters
    ----------
    config : Config
        A checked input of the engine of events.
    """
    found: dict[str, Any] = {}
    if any(config.external.gravity):
        found["gravity"] = list(config.external.gravity)
    found |= {"walls": walls_of(config)} if config.walls else {}
    if any(kind.fixed for kind in config.molecules):
        found["fixed"] = True
    speeds = [float(np.linalg.norm(kind.fixed_velocity)) for kind in config.molecules if kind.fixed_velocity]
    found |= {"fixed_speed": max(speeds)} if any(speeds) else {}
    if config.thermostat is not None:
        found["thermostat"] = {"temperature": config.thermostat.temperature, "rate": config.thermostat.rate}
    if config.thermostat is not None or any(wall.temperature for wall in config.walls):
        found["seed"] = config.initial.seed
    return found


def exchanges_energy(physics: Physics) -> bool:
    """Whether walls that move or are thermal, fixed beads, which may move, or a thermostat bring energy in."""
    walls = physics.extended.get("walls", ())
    own = "thermostat" in physics.extended or "fixed" in physics.extended
    return own or any(wall["velocity"] or wall["temperature"] for wall in walls)


def draws_momenta(physics: Physics) -> bool:
    """Whether a thermostat, or a thermal wall, draws velocities, and with them those of the centre of mass."""
    return bool(physics.steps.get("thermostat")) or "seed" in physics.extended


def not_one_volume(physics: Physics) -> bool:
    """Whether walls move or have shapes, so that the box's volume is not that which beads have."""
    return any(wall["velocity"] or wall["shape"] for wall in physics.extended.get("walls", ()))


def loses_energy(physics: Physics) -> bool:
    """Whether contacts with some wall take energy."""
    walls = physics.extended.get("walls", ())
    rubs = any(abs(wall.get("tangential_restitution", 1.0)) < 1.0 for wall in walls)
    return rubs or any(0.0 <= wall["restitution"] < 1.0 for wall in walls)


def gravity_of(physics: Physics) -> np.ndarray:
    """Return (3,) the acceleration of all that is not fixed; zeros where there is none [length / time^2]."""
    return np.array(physics.extended.get("gravity", (0.0, 0.0, 0.0)), dtype=np.float64)
