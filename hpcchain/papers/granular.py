"""Gases of single spheres for the experiments of Marinkovic 2022, and how they cool in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import ExtendedPhysics, Roughness
from hpcchain.model.system import System
from hpcchain.papers.engine import engine_of, system_of


def rough(e_t: float) -> ExtendedPhysics:
    """Return `Physics.extended` of rough spheres with this e_t."""
    return ExtendedPhysics(rough=Roughness(e_t, 0, 1.0))


def gas(cells: int, fraction: float, seed: int, spins: bool = False, **physics: Any) -> System:
    """Return a gas of cells^3 spheres, m = kT = 1, after some ten elastic contacts of each.

    Parameters
    ----------
    cells : int
    fraction : float
        Packing fraction.
    seed : int
    spins : bool
        Whether they spin, at the same temperature.
    physics : settings of Physics of the run that begins then.
    """
    n, random = cells**3, np.random.default_rng(seed)
    edge = (n * np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    grid = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    position = (grid + 0.5) * edge / cells - 0.5 * edge
    velocity = random.normal(size=(n, 3))
    velocity -= velocity.mean(axis=0)
    velocity *= np.sqrt(3.0 * n / np.sum(velocity**2))
    mixing = engine_of(system_of(position, velocity, size=edge))
    time = 0.0
    while mixing.counters["contacts"] < 5 * n:
        time += 0.2
        mixing.advance(time)
    position, velocity, _ = mixing.frame(time)
    turning = random.normal(size=(n, 3)) * np.sqrt(10.0) if spins else None
    return system_of(position, velocity, size=edge, spins=turning, **physics)


def temperatures(velocity: np.ndarray, extra: np.ndarray) -> tuple[float, float]:
    """Return the temperatures of translation and of spins (`State.extra`) [mass length^2 / time^2]."""
    turning = 0.1 * float(np.sum(extra[:, L.SPIN : L.SPIN + 3] ** 2)) if extra.shape[1] else 0.0
    return float(np.sum(velocity**2)) / (3.0 * len(velocity)), turning / (3.0 * len(velocity))


def cooled(contacts: Any, e_n: float, e_t: float) -> np.ndarray:
    """Return (k, 2) temperatures after so many contacts for each sphere, both 1 at first: Haff's law of rough spheres.

    Of velocities and spins that stay Gaussian and independent (Huthmann and Zippelius 1997): a contact of two of N
    spheres changes 3 N T / 2 and 3 N T_rot / 2 by

        -(1 - e_n^2) T - 4 a (1 - a) T + 4 q a^2 T_rot,   4 q a (a T + (a q - 1) T_rot),   a = (1 - e_t) / (2 (1 + q)).

    Parameters
    ----------
    contacts : (k,) array
        Contacts over spheres.
    e_n, e_t : float
    """
    ratio = 2.5  # q = m R^2 / I of uniform spheres
    a = (1.0 - e_t) / (2.0 * (1.0 + ratio))
    matrix = (2.0 / 3.0) * np.array(
        [
            [-(1.0 - e_n**2) - 4.0 * a * (1.0 - a), 4.0 * ratio * a * a],
            [4.0 * ratio * a * a, 4.0 * ratio * a * (a * ratio - 1.0)],
        ]
    )
    values, vectors = np.linalg.eigh(matrix)
    start = vectors.T @ np.ones(2)
    return np.array([vectors @ (np.exp(values * c) * start) for c in np.asarray(contacts, dtype=float)])


def run_cooling(system: System, contacts: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, contacts over spheres, and (k, 2) temperatures of a gas that cools, until it has had so many."""
    engine, n = engine_of(system), system.topology.beads
    time, interval, found = 0.0, 0.05, [(0.0, 0.0, *temperatures(system.state.velocity, system.state.extra))]
    while found[-1][1] < contacts:
        time += interval
        engine.advance(time)
        now = temperatures(engine.frame(time)[1], engine.state().extra)
        found.append((time, engine.counters["contacts"] / n, *now))
        gained = found[-1][1] - found[-2][1]
        interval *= min(max(contacts / steps / max(gained, 1e-3), 0.5), 2.0)
    table = np.array(found)
    return table[:, 0], table[:, 1], table[:, 2:]
