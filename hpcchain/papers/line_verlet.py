"""Velocity-Verlet steps of particles on a rigid line, without iteration (Tapia-McClung and Grønbech-Jensen 2005).

Two ways that give the same numbers. The paper's multipliers (its equations (15), (14), (16), then (24)-(26)), with its
slips corrected (docs/theory/numerics.md), solve systems of N - 2 linear equations whose matrices never change. A closed
form in O(N) fits a straight line to the unconstrained step, each particle weighted by the inverse of how far a force
moves it. Either sets right whatever error the geometry had before. The engine, which has no forces between contacts,
moves rods exactly (`hpcchain.propagators.rigid.rod`) or by what the closed form then becomes (`rod_steps`).

Units: positions [length], velocities [length / time], forces [mass length / time^2], damping [mass / time].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.molecules.rod_matrices import matrices
from hpcchain.papers.result import NoStep

if TYPE_CHECKING:
    from hpcchain.model.molecules.rod_matrices import Line


def position_weights(line: Line, dt: Any) -> np.ndarray:
    """Return A_j = dt^2 / 2 m_j: how far a force moves a particle within a step [time^2 / mass]."""
    return dt**2 / (2.0 * line.mass)


def velocity_weights(line: Line, dt: Any) -> np.ndarray:
    """Return B_j = dt / (2 m_j + alpha_j dt): what a force at its end adds to a velocity [time / mass]."""
    return dt / (2.0 * line.mass + line.damping * dt)


def solve(
    line: Line, weights: np.ndarray, free: np.ndarray, axis: np.ndarray, speed: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that the multipliers make of unconstrained ones, and the constraint forces.

    Parameters
    ----------
    line : Line
    weights : (N,) array
        A_j for positions, B_j for velocities.
    free : (N, 3) array
        Unconstrained positions, or velocities.
    axis : (3,) array
        R_1N along which the multipliers act: of the step's start for positions, of its end for velocities.
    speed : None or 0.0
        None: the rows are positions, |R_1N| becomes the line's length; 0: velocities, R_1N . V_1N becomes 0.

    Returns
    -------
    (N, 3) rows, (N, 3) forces

    Raises
    ------
    NoStep
        When (14) has no real root.
    """
    length, to_first = line.length, line.place[1:-1]
    to_last, norm = length - to_first, np.linalg.norm(axis)
    u = axis / norm
    across, along = matrices(line, weights)
    off = free[1:-1] - (to_last[:, None] * free[0] + to_first[:, None] * free[-1]) / length
    off_along = off @ u
    side = np.linalg.solve(across, off - off_along[:, None] * u)
    end = free[-1] - free[0]
    end = end + length * ((weights[0] - weights[-1] * to_first / to_last) @ side)
    both = weights[0] + weights[-1]
    centre = (end @ axis) / (both * norm**2) if speed is not None else _smaller_root(end, axis, both, length)
    balance = (weights[0] * to_last - weights[-1] * to_first) * norm / length
    straight = np.linalg.solve(along, off_along - balance * centre)
    gauge = weights[0] / weights[-1]
    force = np.zeros_like(free)
    force[1:-1] = length**2 / to_last[:, None] * side + length * (1.0 + gauge) * straight[:, None] * u
    force[0] = centre * axis - length * (side.sum(axis=0) + straight.sum() * u)
    force[-1] = -centre * axis - length * ((to_first / to_last) @ side + gauge * straight.sum() * u)
    return free + weights[:, None] * force, force


def _smaller_root(end: np.ndarray, axis: np.ndarray, both: float, length: float) -> float:
    """Return the root of (14), |end - both axis lambda| = length, that is nearer to 0."""
    along, norm2 = end @ axis, axis @ axis
    under = along**2 - norm2 * (end @ end - length**2)
    if not (under >= 0.0 and along > 0.0):
        raise NoStep("the step turns the line too far: (14) has no root; take a shorter one")
    return (end @ end - length**2) / (both * (along + np.sqrt(under)))


def fitted(line: Line, weights: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centre, slope and coordinates of the line fitted to rows, weighted by 1 / A_j or 1 / B_j."""
    w = 1.0 / weights
    s = line.place - (w @ line.place) / w.sum()
    centre = (w @ free) / w.sum()
    return centre, ((w * s) @ (free - centre)) / (w @ s**2), s


def closed_positions(line: Line, weights: np.ndarray, free: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return the positions that `solve` iterates to, in closed form; raises NoStep."""
    centre, slope, s = fitted(line, weights, free)
    u = axis / np.linalg.norm(axis)
    side = slope - (slope @ u) * u
    rest = 1.0 - side @ side
    if rest < 0.0:
        raise NoStep("the step turns the line too far: the fitted slope across it exceeds 1; take a shorter one")
    return centre + s[:, None] * (side + np.sqrt(rest) * u)


def closed_velocities(line: Line, weights: np.ndarray, free: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return the velocities that `solve` iterates to, in closed form."""
    centre, slope, s = fitted(line, weights, free)
    u = axis / np.linalg.norm(axis)
    return centre + s[:, None] * (slope - (slope @ u) * u)


def step(
    line: Line, position: np.ndarray, velocity: np.ndarray, dt: Any, force: Callable, closed: Any = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity after one step, equations (9) and (10) with damping alpha_j dt / 2 m_j.

    Parameters
    ----------
    line : Line
    position, velocity : (N, 3) arrays
        The geometry may be off: the step puts it right.
    dt : float
        [time]
    force : callable
        Of positions (N, 3), velocities not: external forces (N, 3).
    closed : bool
        Closed form, or the paper's multipliers.

    Raises
    ------
    NoStep
        When the step turns the line too far; for a free line when omega dt > 1.
    """
    drag = (line.damping * dt / (2.0 * line.mass))[:, None]
    a, b = position_weights(line, dt), velocity_weights(line, dt)
    axis, pull = position[-1] - position[0], force(position)
    free = position + (1.0 - drag) * dt * velocity + a[:, None] * pull
    if closed:
        after = closed_positions(line, a, free, axis)
        reaction = (after - free) / a[:, None]
    else:
        after, reaction = solve(line, a, free, axis)
    free = (1.0 - drag) / (1.0 + drag) * velocity + b[:, None] * (pull + reaction + force(after))
    axis = after[-1] - after[0]
    if closed:
        return after, closed_velocities(line, b, free, axis)
    return after, solve(line, b, free, axis, speed=0.0)[0]


def errors(line: Line, position: np.ndarray, velocity: np.ndarray) -> Any:
    """Return how far positions are from the constraints (2), (3) and velocities from (18), (19): largest components."""
    share = (line.place / line.length)[:, None]
    off = [rows - (1.0 - share) * rows[0] - share * rows[-1] for rows in (position, velocity)]
    axis, rate = position[-1] - position[0], velocity[-1] - velocity[0]
    return (
        max(float(np.abs(off[0]).max()), abs(float(np.linalg.norm(axis)) - line.length)),
        max(float(np.abs(off[1]).max()), abs(float(axis @ rate)) / line.length),
    )


def state(line: Line, centre: np.ndarray, axis: Any, drift: Any, turn: Any) -> Any:
    """Return positions and velocities of a line by its centre of mass, axis, and their rates (3,) each."""
    s = (line.place - (line.mass @ line.place) / line.mass.sum())[:, None]
    u = np.asarray(axis, float) / np.linalg.norm(axis)
    across = np.asarray(turn, float) - (np.asarray(turn, float) @ u) * u
    return np.asarray(centre, float) + s * u, np.asarray(drift, float) + s * across


def damped_exactly(line: Line, position: np.ndarray, velocity: np.ndarray, rate: Any, t: Any) -> Any:
    """Return the exact state after t of a free line with alpha_j = rate m_j: both motions fade as exp(-rate t)."""
    s = (line.place - (line.mass @ line.place) / line.mass.sum())[:, None]
    mean = line.mass / line.mass.sum()
    centre, drift = mean @ position, mean @ velocity
    u, w = (position[-1] - position[0]) / line.length, (velocity[-1] - velocity[0]) / line.length
    omega, fading = np.linalg.norm(w), np.exp(-rate * t)
    path = -np.expm1(-rate * t) / rate if rate else t
    turned = omega * path
    axis = u * np.cos(turned) + w / omega * np.sin(turned)
    side = (w * np.cos(turned) - u * omega * np.sin(turned)) * fading
    return centre + drift * path + s * axis, drift * fading + s * side
