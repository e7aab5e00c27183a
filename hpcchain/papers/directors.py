"""Leyendecker et al. 2012, 4.1-4.2: two rigid spheres with directors, by the variational null-space method.

A body's configuration is its centre and three orthonormal directors, its mass matrix diag(M, E, E, E) with E = M r^2 /
5, so that its moment of inertia is 2 E. The discrete Lagrangian is the midpoint rule's, L_d = h/2 |(q' - q) / h|^2 in
the mass metric. Unknowns of a step are, per body, a displacement and a rotation vector (the null space of the
constraints). Newton's iterates are moved by them, d <- exp(theta) d, and so stay orthonormal (Leyendecker et al. 2012,
remark 2; in its 4.1 the rotation acts on d_n).

At a collision the time alpha to contact solves (15), and the step after it, to the next node of the grid, solves (16).
All momenta across the contact's normal go on, and the discrete energy is that of the step before. A spinning body's
discrete energy depends on the length of the step, J (1 - (1 - h^2 w^2)^1/2) / h^2, so a collision moves exactly
E_rot(alpha) - E_rot(tau) of it between rotation and translation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hpcchain.papers.result import NoStep

TOLERANCE = 1e-10
MOST = 500


@dataclass
class Bodies:
    """Two equal spheres of uniform density.

    Attributes
    ----------
    radius, mass : float
        [length], [mass]
    tolerance : float
        Of Newton's method: the largest component of the residual, in momenta, length squared and energy.
    """

    radius: float = 0.1
    mass: float = 2700.0 * 4.0 / 3.0 * np.pi * 0.1**3
    tolerance: float = TOLERANCE

    @property
    def director_mass(self) -> float:
        """E [mass length^2]."""
        return self.mass * self.radius**2 / 5.0


@dataclass
class Track:
    """What a run gives; one entry per node, or per step between two of them.

    Attributes
    ----------
    time, centre, director : lists
        Of nodes: [time], (2, 3) [length], (2, 3, 3) rows d_1, d_2, d_3.
    step, translation, rotation : lists
        Of steps: length [time] and discrete energies [mass length^2 / time^2].
    gap, momentum : lists
        Of nodes: g_c of (18) [length^2]; angular momentum of the step that begins there [mass length^2 / time].
    collisions : list of dict
        Node, alpha, tau, Newton iterations of (15) (0 where the contact is at a node) and of (16).
    """

    time: list = field(default_factory=list)
    centre: list = field(default_factory=list)
    director: list = field(default_factory=list)
    step: list = field(default_factory=list)
    translation: list = field(default_factory=list)
    rotation: list = field(default_factory=list)
    gap: list = field(default_factory=list)
    momentum: list = field(default_factory=list)
    collisions: list = field(default_factory=list)

    def energy(self) -> Any:
        """Return the discrete energy of every step."""
        return np.array(self.translation) + np.array(self.rotation)


def turned(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) turned by the rotation vector theta: exp(theta^) (Rodrigues)."""
    angle = np.linalg.norm(theta)
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    cross = np.cross(theta, rows)
    return rows + first * cross + second * np.cross(theta, cross)


def moved(state: Any, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a state (centre, director) moved by u (2, 6): displacements and rotation vectors."""
    centre, director = state
    return centre + u[:, :3], np.array([turned(u[b, 3:], director[b]) for b in range(2)])


def momenta(bodies: Bodies, one: Any, two: tuple, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (2, 3) momenta of the centres and (2, 3, 3) of the directors of a step from one state to another."""
    return bodies.mass * (two[0] - one[0]) / h, bodies.director_mass * (two[1] - one[1]) / h


def reduced(state: Any, momentum: tuple) -> np.ndarray:
    """Return P^T p at a state, (12,): per body the centre's momentum and the sum of d x pi."""
    turning = np.cross(state[1], momentum[1]).sum(axis=1)
    return np.concatenate([momentum[0], turning], axis=1).ravel()


def energies(bodies: Bodies, one: tuple, two: tuple, h: float) -> tuple[float, float]:
    """Return discrete kinetic energies of a step, translation and rotation."""
    p, pi = momenta(bodies, one, two, h)
    return 0.5 * np.sum(p**2) / bodies.mass, 0.5 * np.sum(pi**2) / bodies.director_mass


def gap(bodies: Bodies, state: tuple) -> float:
    """Return g_c of (18) [length^2]."""
    apart = state[0][0] - state[0][1]
    return 0.5 * (apart @ apart - 4.0 * bodies.radius**2)


def gap_gradient(state: Any) -> Any:
    """Return P^T G_c^T, (12,): a sphere's turning does not change the gap."""
    apart = state[0][0] - state[0][1]
    return np.concatenate([apart, np.zeros(3), -apart, np.zeros(3)])


def slope(bodies: Bodies, state: Any, after: tuple, h: float) -> np.ndarray:
    """Return (12, 12): how P^T p at a state changes with the unknowns of the state after it, (12)."""
    matrix = np.zeros((12, 12))
    for b in range(2):
        old, new = state[1][b], after[1][b]
        matrix[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = bodies.mass / h * np.eye(3)
        turning = np.sum(old * new) * np.eye(3) - new.T @ old
        matrix[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = bodies.director_mass / h * turning
    return matrix


def energy_slope(bodies: Bodies, one: tuple, two: tuple, h: float) -> Any:
    """Return (12,): how the discrete energy of a step changes with the unknowns of its end."""
    p, pi = momenta(bodies, one, two, h)
    return np.concatenate([p, np.cross(two[1], pi).sum(axis=1)], axis=1).ravel() / h


def complement(vector: np.ndarray) -> Any:
    """Return (n, n - 1) orthonormal columns across a vector: those of a Householder reflection."""
    v = vector / np.linalg.norm(vector)
    at = int(np.argmax(np.abs(v)))
    w = v.copy()
    w[at] += np.copysign(1.0, v[at])
    return np.delete(np.eye(len(v)) - 2.0 * np.outer(w, w) / (w @ w), at, axis=1)


def newton(bodies: Bodies, guess: tuple, residual: Callable) -> tuple[tuple, np.ndarray, int]:
    """Return the solution of residual(state, extra) = 0, the extra unknowns and the number of iterations.

    Parameters
    ----------
    guess : (state, extra)
        `extra` is an array of unknowns besides the state's twelve.
    residual : callable
        Returns values and their derivatives with respect to the twelve and the extra ones.
    """
    state, extra = guess
    for count in range(MOST):
        value, matrix = residual(state, extra)
        if np.abs(value).max() < bodies.tolerance:
            return state, extra, count
        change = np.linalg.solve(matrix, -value)
        state, extra = moved(state, change[:12].reshape(2, 6)), extra + change[12:]
    raise NoStep(f"no solution after {MOST} iterations; the residual is {np.abs(value).max():.3g}")


def free_step(bodies: Bodies, state: tuple, incoming: np.ndarray, guess: np.ndarray, h: float) -> tuple[tuple, int]:
    """Return the next state by (11), and the iterations; `incoming` is P^T p of the step before (or of the start)."""
    nothing = np.zeros(0)

    def residual(after: tuple, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return reduced(state, momenta(bodies, state, after, h)) - incoming, slope(bodies, state, after, h)

    after, _, count = newton(bodies, (moved(state, h * guess), nothing), residual)
    return after, count


def contact_step(bodies: Bodies, state: Any, incoming: np.ndarray, guess: np.ndarray, start: Any) -> Any:
    """Return the state at contact, the time alpha to it and the iterations: (15), from a first guess of alpha."""

    def residual(after: tuple, extra: np.ndarray) -> Any:
        alpha = extra[0]
        p = reduced(state, momenta(bodies, state, after, alpha))
        value = np.concatenate([p - incoming, [gap(bodies, after)]])
        matrix = np.zeros((13, 13))
        matrix[:12, :12] = slope(bodies, state, after, alpha)
        matrix[:12, 12] = -p / alpha
        matrix[12, :12] = gap_gradient(after)
        return value, matrix

    after, extra, count = newton(bodies, (moved(state, start * guess), np.array([start])), residual)
    return after, float(extra[0]), count


def collision_step(
    bodies: Bodies, contact: tuple, incoming: np.ndarray, energy: float, guess: np.ndarray, tau: float
) -> Any:
    """Return the state a time tau after contact, and the iterations: (16), from velocities (2, 6) as a first guess."""
    across = complement(gap_gradient(contact))

    def residual(after: tuple, _: np.ndarray) -> Any:
        p = reduced(contact, momenta(bodies, contact, after, tau))
        kept = np.array([sum(energies(bodies, contact, after, tau)) - energy])
        matrix = np.vstack([across.T @ slope(bodies, contact, after, tau), energy_slope(bodies, contact, after, tau)])
        return np.concatenate([across.T @ (p - incoming), kept]), matrix

    after, _, count = newton(bodies, (moved(contact, tau * guess), np.zeros(0)), residual)
    return after, count


def reflected(contact: tuple, velocity: np.ndarray) -> Any:
    """Return velocities (2, 6) with those of the centres exchanged along the normal, as equal spheres do."""
    apart = contact[0][0] - contact[0][1]
    n = apart / np.linalg.norm(apart)
    change = (n @ (velocity[0, :3] - velocity[1, :3])) * n
    out = velocity.copy()
    out[0, :3] -= change
    out[1, :3] += change
    return out


def velocities(one: tuple, two: tuple, h: float) -> np.ndarray:
    """Return (2, 6) velocities of centres and rotation vectors per time of a step."""
    out = np.zeros((2, 6))
    out[:, :3] = (two[0] - one[0]) / h
    for b in range(2):
        out[b, 3:] = rotation_vector(two[1][b].T @ one[1][b]) / h
    return out


def rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """Return the rotation vector of a rotation matrix by less than a half turn."""
    axis = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine = np.linalg.norm(axis)
    angle = np.arctan2(sine, 0.5 * (np.trace(matrix) - 1.0))
    return axis * (angle / sine) if sine > 0.0 else axis


def run(
    bodies: Bodies,
    centre: np.ndarray,
    velocity: np.ndarray,
    spin: np.ndarray,
    h: float,
    steps: int,
    spin_guess: bool = False,
    touching: float = 1e-12,
) -> Track:
    """Return the Track of a number of grid steps.

    Parameters
    ----------
    bodies : Bodies
    centre, velocity, spin : (2, 3) arrays
        Start [length], [length / time], angular velocities [1 / time].
    h : float
        Step of the grid [time].
    steps : int
    spin_guess : bool
        Whether (16) starts from the present rotation as well as from reflected velocities; else from none.
    touching : float
        A contact counts as being at a node when |g_c| is below this there [length^2].
    """
    state = (np.array(centre, float), np.tile(np.eye(3), (2, 1, 1)))
    guess = np.concatenate([velocity, spin], axis=1).astype(float)
    pi = bodies.director_mass * np.cross(np.asarray(spin, float)[:, None], state[1])
    incoming = reduced(state, (bodies.mass * guess[:, :3], pi))
    track = Track()
    _node(track, bodies, 0.0, state)
    previous = None
    for k in range(steps):
        length = h
        if previous is not None and abs(gap(bodies, state)) <= touching and not _parting(state, guess):
            energy = sum(energies(bodies, previous, state, h))
            after, count = collision_step(bodies, state, incoming, energy, _start(state, guess, spin_guess), h)
            track.collisions.append({"node": len(track.step), "alpha": h, "tau": h, "contact": 0, "after": count})
        else:
            after, _ = free_step(bodies, state, incoming, guess, h)
            if gap(bodies, after) < -touching:
                before, inside = gap(bodies, state), gap(bodies, after)
                contact, alpha, first = contact_step(bodies, state, incoming, guess, h * before / (before - inside))
                _step(track, bodies, state, contact, alpha, k * h + alpha)
                energy, length = sum(energies(bodies, state, contact, alpha)), h - alpha
                incoming = reduced(contact, momenta(bodies, state, contact, alpha))
                start = _start(contact, velocities(state, contact, alpha), spin_guess)
                after, count = collision_step(bodies, contact, incoming, energy, start, length)
                found = {"node": len(track.step), "alpha": alpha, "tau": length, "contact": first, "after": count}
                track.collisions.append(found)
                state = contact
        _step(track, bodies, state, after, length, (k + 1) * h)
        incoming, guess = reduced(after, momenta(bodies, state, after, length)), velocities(state, after, length)
        previous, state = state if length == h else None, after
    return track


def _start(contact: tuple, guess: np.ndarray, spin_guess: bool) -> Any:
    start = reflected(contact, guess)
    if not spin_guess:
        start[:, 3:] = 0.0
    return start


def _parting(state: Any, velocity: np.ndarray) -> Any:
    return (state[0][0] - state[0][1]) @ (velocity[0, :3] - velocity[1, :3]) > 0.0


def _node(track: Track, bodies: Bodies, time: float, state: tuple) -> None:
    track.time.append(time)
    track.centre.append(state[0])
    track.director.append(state[1])
    track.gap.append(gap(bodies, state))


def _step(track: Track, bodies: Bodies, one: tuple, two: tuple, h: float, time: float) -> None:
    p, pi = momenta(bodies, one, two, h)
    track.momentum.append(np.cross(one[0], p).sum(axis=0) + np.cross(one[1], pi).sum(axis=(0, 1)))
    translation, rotation = energies(bodies, one, two, h)
    track.step.append(h)
    track.translation.append(translation)
    track.rotation.append(rotation)
    _node(track, bodies, time, two)


def rotation_energy(bodies: Bodies, spin: np.ndarray, h: float) -> float:
    """Return the exact discrete energy of free rotation with steps of h: J (1 - (1 - h^2 w^2)^1/2) / h^2, summed."""
    inertia, w2 = 2.0 * bodies.director_mass, np.sum(np.asarray(spin, float) ** 2, axis=1)
    return float(np.sum(inertia * w2 / (1.0 + np.sqrt(1.0 - h**2 * w2))))


SPIN = np.array([[1.0, 2.0, -1.0], [2.0, 3.0, -3.0]])
SETUPS = {
    "head-on": ([[5.0, 5.0, 0.0], [5.0, 7.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
    "oblique": ([[5.0, 5.0, -0.85], [5.0, 7.0, 1.0]], [[0.0, 1.0, 1.0], [0.0, -1.0, -1.0]]),
    "grazing": ([[5.0, 5.0, 0.2], [5.0, 7.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
}
"""Centres and their velocities of the paper's three simulations; SPIN are the angular velocities of all of them."""


def setup(name: str) -> Any:
    """Return centre, velocity and spin of one of SETUPS."""
    centre, velocity = SETUPS[name]
    return np.array(centre), np.array(velocity), SPIN
