"""Random velocities of a given temperature that satisfy the bonds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.demands.check import NO_TEMPERATURE
from hpcchain.errors import ConfigError
from hpcchain.model.random import Stream, normal
from hpcchain.model.starts.constraints import degrees_of_freedom, project_velocities

if TYPE_CHECKING:
    from hpcchain.model.system import Topology


def kinetic_energy(topology: Topology, velocity: np.ndarray) -> float:
    """Return the kinetic energy of what is not fixed [mass length^2 / time^2].

    Parameters
    ----------
    topology : Topology
        For the masses.
    velocity : (N, 3) float64 array
        [length / time].
    """
    return 0.5 * float(np.sum(np.where(topology.fixed, 0.0, topology.mass) * np.einsum("ik,ik->i", velocity, velocity)))


def maxwell(topology: Topology, position: np.ndarray, temperature: float, seed: int) -> np.ndarray:
    """Return Maxwellian velocities that satisfy the bonds, at rest as a whole, with the temperature exactly as asked.

    Each bead draws by its global id. The draw is then projected to the bonds of its molecule (mass-weighted). The
    centre of mass is brought to rest, and all is scaled to a kinetic energy of f T / 2 with f degrees of freedom
    (`degrees_of_freedom`, the momentum's three not counted).

    Parameters
    ----------
    topology : Topology
        Masses and bonds.
    position : (N, 3) float64 array
        Bonds satisfied [length].
    temperature : float
        [mass length^2 / time^2].
    seed : int
        The run's seed.

    Returns
    -------
    (N, 3) float64 array
        Velocities [length / time].

    Raises
    ------
    ConfigError
        When nothing but the centre of mass can move, so that there is no temperature.
    """
    freedom = degrees_of_freedom(topology, position)
    require_freedom(freedom)
    velocity = drawn(np.arange(topology.beads), topology.inertia, temperature, seed)
    # resting and scaling bring back some round-off along the bonds; the second round leaves none
    for _ in range(2):
        velocity = rest(topology, project_velocities(topology, position, velocity))
        velocity *= np.sqrt(freedom * temperature / (2.0 * kinetic_energy(topology, velocity)))
    return velocity


def require_freedom(freedom: int) -> None:
    """Raise ConfigError where beads have no degrees of freedom besides their momentum."""
    if freedom <= 0:
        raise ConfigError(NO_TEMPERATURE)


def drawn(ids: np.ndarray, mass: np.ndarray, temperature: float, seed: int) -> np.ndarray:
    """Return (n, 3) independent Maxwellian velocities of beads, by their global ids alone [length / time].

    Parameters
    ----------
    ids : (n,) int64 array
    mass : (n,) float64 array
        [mass].
    temperature, seed :
        As `maxwell`.
    """
    return normal(seed, Stream.VELOCITY, ids)[:, :3] * np.sqrt(temperature / mass)[:, None]


def rest(topology: Topology, velocity: np.ndarray) -> np.ndarray:
    """Return velocities less that of the centre of mass; as they are where beads are fixed."""
    if topology.fixed.any():
        return velocity
    return velocity - (topology.mass @ velocity) / topology.mass.sum()
