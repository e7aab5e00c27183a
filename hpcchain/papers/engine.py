"""The experiments' small systems in the engine of events: spheres and chains, and what is kept of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import tick_for
from hpcchain.model.composition import Composition
from hpcchain.model.molecules.bonds import gradient
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.system import OPEN, PERIODIC, Box, Physics, State, System, Topology

if TYPE_CHECKING:
    from hpcchain.sector.serial import Engine

FAR = 1e6
"""Size of free space [length]. It cuts no segment: bounds of motion may be far above it over a long printed step."""


def system_of(
    position: Any,
    velocity: Any,
    beads: int = 1,
    size: float | None = None,
    collide: bool = True,
    spins: Any = None,
    **physics: Any,
) -> System:
    """Return the System of equal chains of beads of diameter and mass 1, in a periodic cube or in free space.

    Parameters
    ----------
    position, velocity, spins : (n, 3) arrays
        On the bonds [length], [length / time], [1 / time]; moments of inertia are those of uniform spheres.
    beads : int
        Of a chain, whose bonds join them in their order.
    size : float or None
        Edge of the cube; without, free space.
    collide : bool
        Whether the beads of one chain collide.
    physics : settings of Physics.
    """
    position, velocity = np.asarray(position, dtype=float), np.asarray(velocity, dtype=float)
    n = len(position)
    one = Topology(
        names=("A",),
        kind=np.zeros(1, dtype=np.int32),
        first_bead=np.array([0, beads]),
        first_bond=np.array([0, beads - 1]),
        bonds=np.arange(beads - 1)[:, None] + np.arange(2),
        bond_length=np.linalg.norm(np.diff(position[:beads], axis=0), axis=1),
        mass=np.ones(beads),
        diameter=np.ones(beads),
        self_contact=np.full(1, collide),
    )
    ends = np.array([0, n // beads])
    topology = Composition(one, np.zeros(1, dtype=np.int64), ends, ends * beads, ends * (beads - 1))
    edge = FAR if size is None else size
    box = Box(np.full(3, edge), np.full(3, -0.5 * edge), np.full(3, OPEN if size is None else PERIODIC, dtype=np.int8))
    state = State.at_time_zero(position, velocity)
    if spins is not None:
        state.extra = first_rows(n)
        state.extra[:, L.SPIN : L.SPIN + 3] = spins
    speed = float(np.sqrt(np.mean(np.sum(velocity**2, axis=1))))
    return System(box, topology, state, Physics(tick=tick_for(1.0 / speed if speed > 0.0 else 0.0), **physics))


@dataclass
class Track:
    """What was kept of a run of beads of mass 1.

    Attributes
    ----------
    time : (k,) array
    position, velocity : (k, n, 3) arrays
        At these times [length], [length / time].
    contact, pairs : (c,), (c, 2) arrays
        Times of the contacts until the last of them, and the beads.
    bonds : (b, 2) int array
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    contact: np.ndarray
    pairs: np.ndarray
    bonds: np.ndarray

    @property
    def double_energy(self) -> Any:
        """2 E [mass length^2 / time^2], which Hartmann et al. 2009 calls the energy."""
        return np.sum(self.velocity**2, axis=(1, 2))

    @property
    def energy_error(self) -> float:
        """The largest deviation of 2 E from its start."""
        return float(np.max(np.abs(self.double_energy - self.double_energy[0])))

    @property
    def angular(self) -> Any:
        """Angular momentum (k, 3)."""
        return np.sum(np.cross(self.position, self.velocity), axis=1)

    @property
    def stretch(self) -> Any:
        """|b|^2 - 1 of every bond (k, bonds)."""
        bond = self.position[:, self.bonds[:, 1]] - self.position[:, self.bonds[:, 0]]
        return np.sum(bond**2, axis=2) - 1.0


def engine_of(system: System, **options: Any) -> Engine:
    """Return the engine of events of a system; a list of experiments need not load its kernels."""
    from hpcchain.sector.serial import Engine

    return Engine(system, **options)


def followed(system: System, times: Any) -> Track:
    """Return the Track of a run, with the states at some times, which ascend [time]."""
    engine, states = engine_of(system, log_events=True), []
    for time in np.asarray(times, dtype=float).tolist():
        engine.advance(time)
        sequence = np.argsort(engine.ids)
        states.append([rows[sequence] for rows in engine.frame(time)[:2]])
    position, velocity = np.array(states).swapaxes(0, 1)
    events = engine.drain_events()
    return Track(np.asarray(times), position, velocity, events["time"], events["bead"], system.topology.whole().bonds)


def thermal_chain(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a thermal chain of unit bonds and beads, kT = m = 1, no overlap."""
    random = np.random.default_rng([n, seed])
    position = self_avoiding(random, n, 1.0)
    velocity = random.normal(size=(n, 3))
    return position, on_bonds(position, velocity - velocity.mean(axis=0))


def self_avoiding(random: np.random.Generator, n: int, apart: float, back: float = 0.0) -> np.ndarray:
    """Return (n, 3) beads of a random walk of unit bonds that are so far apart.

    `back`: how likely it goes five beads back where it finds no place, as long walks have to.
    """
    beads = [np.zeros(3)]
    while len(beads) < n:
        step = random.normal(size=3)
        fresh = beads[-1] + step / np.linalg.norm(step)
        if all(np.linalg.norm(fresh - old) > apart for old in beads[:-1]):
            beads.append(fresh)
        elif back and random.random() < back:
            beads = beads[: max(1, len(beads) - 5)]
    return np.array(beads)


def bond_gradient(position: np.ndarray) -> np.ndarray:
    """Return G (n - 1, 3 n) of the squares over 2 of a chain's bonds, which join its beads (n, 3) in their order."""
    beads = np.arange(len(position))
    return gradient(np.column_stack([beads[:-1], beads[1:]]), position)


def on_bonds(position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return velocities (n, 3) without what would change a chain's bonds, of beads of one mass."""
    g = bond_gradient(position)
    return velocity - (g.T @ np.linalg.solve(g @ g.T, g @ velocity.ravel())).reshape(velocity.shape)
