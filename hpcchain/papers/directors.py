"""Leyendecker et al. 2012, 4.1-4.2: two rigid spheres with directors, by the variational null-space method.

A body's configuration is its centre and three orthonormal directors, its mass matrix diag(M, E, E, E) with E = M r^2 /
5, so that its moment of inertia is 2 E. Unknowns of a step are, per body, a displacement and a rotation vector (the
null space of the constraints). Newton's iterates are moved by them, d <- exp(theta) d, and so stay orthonormal
(Leyendecker et al. 2012, remark 2; in its 4.1 the rotation acts on d_n).

A spinning body's discrete energy depends on the length of the step, J (1 - (1 - h^2 w^2)^1/2) / h^2, so a collision
moves exactly E_rot(alpha) - E_rot(tau) of it between rotation and translation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.papers.collisions import TOLERANCE, Integrator
from hpcchain.papers.single_chain import Chain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RADIUS = 0.1
MASS = 2700.0 * 4.0 / 3.0 * np.pi * RADIUS**3
DIRECTOR_MASS = MASS * RADIUS**2 / 5.0
"""Radius [length], mass, and E [mass length^2], of spheres of uniform density."""
CENTRES, DIRECTORS = slice(0, 8, 4), [1, 2, 3, 5, 6, 7]
"""Rows of a configuration: of each body its centre, then d_1, d_2, d_3."""
SPIN = np.array([[1.0, 2.0, -1.0], [2.0, 3.0, -3.0]])
SETUPS = {
    "head-on": ([[5.0, 5.0, 0.0], [5.0, 7.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
    "oblique": ([[5.0, 5.0, -0.85], [5.0, 7.0, 1.0]], [[0.0, 1.0, 1.0], [0.0, -1.0, -1.0]]),
    "grazing": ([[5.0, 5.0, 0.2], [5.0, 7.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
}
"""Centres and their velocities of the paper's three simulations; SPIN are the angular velocities of all of them."""


def turned(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) turned by the rotation vector theta: exp(theta^) (Rodrigues)."""
    angle = np.linalg.norm(theta)
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    cross = np.cross(theta, rows)
    return rows + first * cross + second * np.cross(theta, cross)


class Spheres(Chain):
    """Two equal spheres of uniform density as (8, 3) rows, with their centres and velocities (2, 3), and SPIN."""

    def __init__(self, centre: ArrayLike, velocity: ArrayLike) -> None:
        position, moving = np.tile(np.eye(4, 3, k=-1), (2, 1)), np.zeros((8, 3))
        position[CENTRES], moving[CENTRES] = centre, velocity
        moving[DIRECTORS] = np.cross(np.repeat(SPIN, 3, axis=0), position[DIRECTORS])
        mass = np.tile([MASS, *[DIRECTOR_MASS] * 3], 2)
        super().__init__(position, moving, 2.0 * RADIUS, None, mass)

    def contacts(self) -> list:
        """Return the contact of the two centres."""
        return [("p", 0, 4)]

    def null_space(self, q: np.ndarray) -> np.ndarray:
        """Return P (24, 12): of each body a displacement, and theta x d of its directors."""
        p = np.zeros((2, 4, 3, 2, 6))
        for b in range(2):
            p[b, 0, :, b, :3] = np.eye(3)
            for k in range(1, 4):
                p[b, k, :, b, 3:] = np.cross(np.eye(3), q[4 * b + k]).T
        return p.reshape(24, 12)

    def moved(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return a configuration moved by displacements and rotation vectors (12,)."""
        found = q.copy()
        for b, change in enumerate(u.reshape(2, 6)):
            found[4 * b] += change[:3]
            found[4 * b + 1 : 4 * b + 4] = turned(change[3:], q[4 * b + 1 : 4 * b + 4])
        return found


class Hit(NamedTuple):
    """A collision: the node that it is at, steps before and after it [time], Newton iterations of (15) and (16)."""

    node: int
    alpha: float
    tau: float
    contact: int
    after: int


class Pair(Integrator):
    """Carries two spheres; Newton's method without damping, as in the paper.

    (16) starts from the reflected velocities and no rotation, unless it `spins`. A contact may be at a node.
    """

    tolerance, round_off, most, damps, pulled = 1e-10, 0.0, 500, False, True
    spins = False

    def _advance(self) -> None:
        (contact,) = self.possible
        whole = len(self.course.energy) > 0 and self.time not in self.course.contact_time[-1:]
        gap, rate = self.chain.gap(self.q, contact), np.sum(self.chain.normal(self.q, contact) * self.w)
        if whole and abs(gap) <= TOLERANCE and rate <= 0.0:
            self._collide(contact, self.time)
        else:
            super()._advance()

    def direction(self, contacts: list) -> np.ndarray:
        """Return the normal of the contact, which at a graze has no impulse to be weighted with."""
        super().direction(contacts)
        return self.chain.normal(self.q, contacts[0]).ravel()

    def _free_guess(self, q0: np.ndarray, ahead: np.ndarray) -> np.ndarray:
        return self._ahead(q0, ahead)

    def _ahead(self, q: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Return where displacements lead; of directors they are those of a step, which says the sine of its angle."""
        u = np.zeros((2, 6))
        u[:, :3] = moved[CENTRES]
        u[:, 3:] = 0.5 * np.cross(q[DIRECTORS], moved[DIRECTORS]).reshape(2, 3, 3).sum(axis=1)
        sine = np.linalg.norm(u[:, 3:], axis=1)[:, None]
        u[:, 3:] *= np.arcsin(sine) / np.maximum(sine, np.finfo(float).tiny)
        return self.chain.moved(q, u)

    def _reflected(self, tau: float) -> np.ndarray:
        moved = tau * self.exact.reshape(8, 3)
        if not self.spins:
            moved[DIRECTORS] = 0.0
        return self._ahead(self.q, moved)

    @property
    def hit(self) -> Hit:
        """The first collision."""
        course = self.course
        node = course.node_time.index(course.contact_time[0])
        alpha, tau = np.diff(course.node_time[node - 1 : node + 2]).tolist()
        counts = {kind: count for kind, count in zip(course.kind, course.iterations, strict=True)}
        return Hit(node, alpha, tau, counts.get("contact", 0), counts["after"])


def run(name: str, h: float, steps: int, tolerance: float = Pair.tolerance, spins: bool = False) -> Pair:
    """Return the Pair of one of SETUPS after a number of grid steps."""
    pair = Pair(Spheres(*SETUPS[name]), h)
    pair.tolerance, pair.spins = tolerance, spins
    pair.run(until=(steps - 0.5) * h)
    return pair


def energies(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Return discrete kinetic energies of every step, of translation and of rotation."""
    w = np.diff(pair.course.node_position, axis=0) / np.diff(pair.course.node_time)[:, None, None]
    each = 0.5 * pair.chain.mass * np.sum(w**2, axis=2)
    return each[:, CENTRES].sum(axis=1), each[:, DIRECTORS].sum(axis=1)


def angular_momentum(pair: Pair) -> np.ndarray:
    """Return the angular momentum (steps, 3) of every step."""
    q, time = np.array(pair.course.node_position), np.array(pair.course.node_time)
    momentum = pair.chain.mass[:, None] * np.diff(q, axis=0) / np.diff(time)[:, None, None]
    return np.sum(np.cross(q[:-1], momentum), axis=1)


def rotation_energy(spin: np.ndarray, h: float) -> float:
    """Return the exact discrete energy of free rotation with steps of h: J (1 - (1 - h^2 w^2)^1/2) / h^2, summed."""
    inertia, w2 = 2.0 * DIRECTOR_MASS, np.sum(np.asarray(spin, float) ** 2, axis=1)
    return float(np.sum(inertia * w2 / (1.0 + np.sqrt(1.0 - h**2 * w2))))
