"""Small systems for contact dynamics (Marinkovic 2022, eq. 36 to 48), soft spheres, and columns of balls on a floor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.physics.constants import ExtendedPhysics, PotentialConstants, Roughness, SteppedPhysics
from hpcchain.model.system import OPEN, WALL, Box, System
from hpcchain.papers.engine import system_of

if TYPE_CHECKING:
    from hpcchain.steps.engine import SteppedEngine

G = 9.8
EDGE, MIDDLE = 400.0, 200.0
"""Of the box, whose lower corner is the origin, so that the floor is at z = 0; its middle along x and y."""


def hard(
    position: Any,
    velocity: Any,
    h: float,
    e: float = 0.0,
    friction: float = 0.0,
    gravity: Any = (0.0, 0.0, -G),
    moment: float | None = None,
    center: float = 0.0,
) -> System:
    """Return a System of contact dynamics: equal spheres of diameter and mass 1 above a floor.

    Parameters
    ----------
    position, velocity : (n, 3) arrays
        x and y from the middle of the box [length], [length / time].
    h : float
        Step [time].
    e, friction : float
    gravity : 3 floats
    moment : float, optional
        Of inertia; that of uniform spheres when left out.
    center : float
        Stiffness of a spring that draws all to (0, 0, 20).
    """
    spring = PotentialConstants("center", stiffness=center, center=(MIDDLE, MIDDLE, 20.0))
    potentials = (spring,) if center else ()
    steps = SteppedPhysics(
        step=h, integrator="contact", friction=friction, potentials=potentials, gravity=tuple(gravity), seed=1
    )
    extended = ExtendedPhysics(impulses=True, rough=Roughness(1.0, 1, 1.0) if friction > 0.0 else None)
    place = np.asarray(position, dtype=float) + [MIDDLE, MIDDLE, 0.0]
    moving = np.asarray(velocity, dtype=float)
    system = system_of(place, moving + (0.0 if moving.any() else 1.0), restitution=e, steps=steps, extended=extended)
    system.state.velocity[:] = moving
    kinds = np.array([OPEN, OPEN, WALL], dtype=np.int8)
    topology = system.topology.whole()
    topology = topology if moment is None else replace(topology, moment=np.full(len(place), moment))
    return replace(system, box=Box(np.full(3, EDGE), np.zeros(3), kinds), topology=topology)


def engine_at(system: System, time: float) -> SteppedEngine:
    """Return the engine of a system that it has carried to a time, with the log of its contacts."""
    from hpcchain.steps.engine import SteppedEngine

    engine = SteppedEngine(system, log_events=True)
    engine.advance(time)
    return engine


def column(count: int, space: float) -> np.ndarray:
    """Return places (count, 3) of balls above one another, with so much space below each."""
    z = 0.5 + space + (1.0 + space) * np.arange(count)
    return np.column_stack([np.zeros(count), np.zeros(count), z])


def hard_heights(places: np.ndarray, h: float, e: float, times: np.ndarray) -> np.ndarray:
    """Return the heights (times, balls) of a column that falls, by contact dynamics."""
    engine, found = engine_at(hard(places, np.zeros_like(places), h, e), 0.0), []
    for time in times:
        engine.advance(float(time))
        found.append(engine.frame(float(time))[0][:, 2])
    return np.array(found)


def soft_heights(z: np.ndarray, duration: float, e: float, times: np.ndarray) -> np.ndarray:
    """Return the heights of soft balls of a column that falls: springs with dashpots, contacts of this duration.

    A contact of two unit masses has stiffness k and damping c such that it lasts pi / w, w^2 = 2 k - c^2, and leaves
    exp(-c pi / w) = e of the rate. The floor has the same stiffness and damping for each mass twice as large.
    """
    rate = np.pi / duration
    c = -np.log(e) * rate / np.pi
    k, h = 0.5 * (rate**2 + c**2), duration / 200.0
    z, v, found = z.copy(), np.zeros(len(z)), []

    def force() -> np.ndarray:
        total = np.full(len(z), -G)
        gaps = np.diff(z, prepend=-0.5) - 1.0
        rates = np.diff(v, prepend=0.0)
        push = np.where(gaps < 0.0, np.maximum(-k * gaps - c * rates, 0.0), 0.0)
        push[0] *= 2.0
        total += push
        total[:-1] -= push[1:]
        return total

    now = 0.0
    for time in times:
        while now < time - 0.5 * h:
            v += h * force()
            z += h * v
            now += h
        found.append(z.copy())
    return np.array(found)


def column_with_contact_time(
    places: np.ndarray, e: float, contact_time: float, end: float, most: int
) -> tuple[int, float, float]:
    """Return contacts (at most `most`), kinetic energy and time reached of a column of points, event by event.

    A contact keeps its energy where one of the two has had another within `contact_time` (Luding and McNamara 1998).
    """
    z, v = places.copy(), np.zeros(len(places))
    last, now = np.full(len(z), -np.inf), 0.0
    for count in range(most):
        pairs = [(z[k + 1] - z[k]) / (v[k] - v[k + 1]) if v[k] > v[k + 1] else np.inf for k in range(len(z) - 1)]
        fall = (v[0] + np.sqrt(v[0] ** 2 + 2.0 * G * max(z[0], 0.0))) / G
        waits = [fall, *(max(wait, 0.0) for wait in pairs)]
        k = int(np.argmin(waits))
        if now + waits[k] > end:
            v = v - G * (end - now)
            return count, 0.5 * float(v @ v), end
        now += waits[k]
        z, v = z + v * waits[k] - 0.5 * G * waits[k] ** 2, v - G * waits[k]
        beads = [0] if k == 0 else [k - 1, k]
        kept = 1.0 if now - last[beads].max() < contact_time else e
        last[beads] = now
        if k == 0:
            z[0], v[0] = 0.0, -kept * v[0]
        else:
            change = 0.5 * (1.0 + kept) * (v[k - 1] - v[k])
            v[k - 1] -= change
            v[k] += change
    return most, 0.5 * float(v @ v), now
