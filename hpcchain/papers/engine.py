"""The experiments' small systems in the event-driven engine: a chain alone, in free space or between walls."""

from typing import Any

import numpy as np

from hpcchain.model.clock import tick_for
from hpcchain.model.system import OPEN, WALL, Box, Physics, State, System, Topology

FAR = 1e3


def chain_system(
    position: np.ndarray,
    velocity: np.ndarray,
    mass: np.ndarray,
    diameter: float | np.ndarray = 1.0,
    box: Box | None = None,
    **physics: Any,
) -> Any:
    """Return the System of one chain.

    Parameters
    ----------
    position, velocity : (n, 3) arrays
        On the bonds, which join the beads in their order [length], [length / time].
    mass : (n,) array
    diameter : float
    box : (3,) array or None
        Edge lengths of a box of walls centred at 0; without, free space.
    physics : settings of Physics.
    """
    n = len(position)
    size = np.full(3, FAR) if box is None else np.asarray(box, dtype=float)
    bonds = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    topology = Topology(
        names=("A",),
        kind=np.zeros(1, dtype=np.int32),
        first_bead=np.array([0, n]),
        first_bond=np.array([0, n - 1]),
        bonds=bonds,
        bond_length=np.linalg.norm(np.diff(position, axis=0), axis=1),
        mass=np.asarray(mass, dtype=float),
        diameter=np.full(n, float(diameter)),
        self_contact=np.ones(1, dtype=bool),
    )
    boundary = np.full(3, OPEN if box is None else WALL, dtype=np.int8)
    speed = float(np.sqrt(np.mean(np.sum(np.asarray(velocity) ** 2, axis=1))))
    state = State.at_time_zero(position, velocity)
    constants = Physics(tick=tick_for(float(diameter) / speed), **physics)
    return System(Box(size, -0.5 * size, boundary), topology, state, constants)


def contact_times(system: System, count: int, longest: Any) -> Any:
    """Return the times of the first `count` contacts, those at one instant once, and energies on the way.

    Parameters
    ----------
    system : System
    count : int
    longest : float
        Time after which to stop looking [time].

    Returns
    -------
    (k,) float64 array, (n,) float64 array
        Times, and kinetic energies (of the velocities on the bonds) at evenly spaced times.
    """
    from hpcchain.sector.serial import Engine

    engine = Engine(system, log_events=True)
    mass = system.topology.whole().mass[:, None]
    times, energies, time = [], [], 0.0
    while len(times) < count and time < longest:
        time += longest / 2048
        engine.advance(time)
        for found in engine.drain_events()["time"]:
            if not times or found - times[-1] > 1e-9:
                times.append(float(found))
        energies.append(float(0.5 * np.sum(mass * engine.frame(time)[1] ** 2)))
    return np.array(times[:count]), np.array(energies)


def thermal_chain(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and masses of a thermal chain of unit bonds and beads, kT = m = 1, no overlap."""
    random = np.random.default_rng([n, seed])
    position = [np.zeros(3)]
    while len(position) < n:
        step = random.normal(size=3)
        place = position[-1] + step / np.linalg.norm(step)
        if all(np.linalg.norm(place - other) > 1.0 for other in position[:-1]):
            position.append(place)
    position = np.array(position)
    bond = np.diff(position, axis=0)
    gradient = np.zeros((n - 1, n, 3))
    for k in range(n - 1):
        gradient[k, k + 1], gradient[k, k] = bond[k], -bond[k]
    gradient = gradient.reshape(n - 1, -1)
    velocity = random.normal(size=(n, 3))
    velocity -= velocity.mean(axis=0)
    change = gradient.T @ np.linalg.solve(gradient @ gradient.T, gradient @ velocity.ravel())
    return position, velocity - change.reshape(n, 3), np.ones(n)
