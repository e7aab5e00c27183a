"""The small systems of Kaufman and Pai 2012, with the corrections that their figures need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpcchain.papers.inclusions import Mechanics

GRAVITY = 9.8


def pogo() -> tuple[Mechanics, np.ndarray, np.ndarray]:
    """Return two masses on a spring above the ground, coordinates of the upper and the lower one, and a start."""
    stiffness, length = 10.0, 5.0
    matrix = stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])

    def slope(q: np.ndarray) -> np.ndarray:
        return stiffness * (q[0] - q[1] - length) * np.array([1.0, -1.0]) + GRAVITY

    found = Mechanics(
        np.ones(2),
        lambda q: 0.5 * stiffness * (q[0] - q[1] - length) ** 2 + GRAVITY * q.sum(),
        slope,
        lambda q: matrix,
        lambda q: (q[1:2].copy(), np.array([[0.0], [1.0]])),
    )
    return found, np.array([6.0, 1.0]), np.zeros(2)


def differences(slope: Callable, q: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return the Hessian from central differences of a gradient, which is exact enough for Newton's method."""
    columns = [(slope(q + e) - slope(q - e)) / (2.0 * step) for e in step * np.eye(len(q))]
    found = np.array(columns)
    return 0.5 * (found + found.T)


def spring_in_sphere(outward: float) -> Mechanics:
    """Return two points on a spring within a circle of radius 5, driven outward with a coefficient."""
    length, radius = 2.0 * np.sqrt(2.0), 5.0

    def potential(q: np.ndarray) -> float:
        a, b = q[:2], q[2:]
        return outward / (a @ a) + outward / (b @ b) + 0.5 * (np.linalg.norm(a - b) - length) ** 2

    def slope(q: np.ndarray) -> np.ndarray:
        a, b = q[:2], q[2:]
        apart = a - b
        pull = (np.linalg.norm(apart) - length) * apart / np.linalg.norm(apart)
        push = [-2.0 * outward * one / (one @ one) ** 2 for one in (a, b)]
        return np.concatenate([push[0] + pull, push[1] - pull])

    def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient, values = np.zeros((4, 2)), np.empty(2)
        for k in range(2):
            one = q[2 * k : 2 * k + 2]
            values[k] = radius - np.linalg.norm(one)
            gradient[2 * k : 2 * k + 2, k] = -one / np.linalg.norm(one)
        return values, gradient

    return Mechanics(np.ones(4), potential, slope, lambda q: differences(slope, q), gaps)


def tangent(q: np.ndarray) -> np.ndarray:
    """Return momenta (4,) of length 1 for each of two points, at right angles to where it is, counter-clockwise."""
    return np.concatenate([np.array([-one[1], one[0]]) / np.linalg.norm(one) for one in (q[:2], q[2:])])


def oscillator() -> tuple[Mechanics, np.ndarray, np.ndarray]:
    """Return two discs of radius 1 in a nonlinear central potential, and a start."""

    def slope(q: np.ndarray) -> np.ndarray:
        out = []
        for one in (q[:2], q[2:]):
            s = one @ one
            out.append(2.0 * ((s - 1.0) ** 2 + 2.0 * s * (s - 1.0)) * one)
        return np.concatenate(out)

    def curvature(q: np.ndarray) -> np.ndarray:
        found = np.zeros((4, 4))
        for k in (0, 2):
            one = q[k : k + 2]
            s = one @ one
            first = (s - 1.0) ** 2 + 2.0 * s * (s - 1.0)
            found[k : k + 2, k : k + 2] = 2.0 * first * np.eye(2) + 4.0 * (6.0 * s - 4.0) * np.outer(one, one)
        return found

    found = Mechanics(
        np.ones(4),
        lambda q: sum(s * (s - 1.0) ** 2 for s in (q[:2] @ q[:2], q[2:] @ q[2:])),
        slope,
        curvature,
        lambda q: pair_gaps(q.reshape(2, 2), [(0, 1)], 2.0),
    )
    return found, np.array([0.0, -1.4, 0.0, 1.4]), np.array([1.0, 0.0, -1.0, 0.0])


def pair_gaps(x: np.ndarray, pairs: list, contact: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps of pairs of points x (n, d), and their gradients (n d, pairs)."""
    values, gradient = np.empty(len(pairs)), np.zeros((*x.shape, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        apart = x[i] - x[j]
        r = np.linalg.norm(apart)
        values[k] = r - contact
        gradient[i, :, k], gradient[j, :, k] = apart / r, -apart / r
    return values, gradient.reshape(x.size, len(pairs))


def lengths(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of vectors x (n, d), and their gradients (n d, n)."""
    each, size, gradient = np.arange(len(x)), np.linalg.norm(x, axis=1), np.zeros((*x.shape, len(x)))
    gradient[each, :, each] = x / size[:, None]
    return size, gradient.reshape(x.size, len(x))


def cradle() -> tuple[Mechanics, np.ndarray, np.ndarray]:
    """Return Newton's cradle of five pendulums of length 1, and a start with two balls lifted by 36 degrees."""
    balls, radius, lifted = 5, 0.25, 2
    pivots = np.column_stack([2.0 * radius * np.arange(balls), np.zeros(balls)])
    pairs = [(k, k + 1) for k in range(balls - 1)]
    flat = np.zeros((2 * balls, 2 * balls))
    down = np.tile([0.0, GRAVITY], balls)

    def holds(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length, gradient = lengths(q.reshape(balls, 2) - pivots)
        return length - 1.0, gradient

    start = pivots + [0.0, -1.0]
    start[:lifted] = pivots[:lifted] + [-np.sin(np.pi / 5.0), -np.cos(np.pi / 5.0)]
    found = Mechanics(
        np.ones(2 * balls),
        lambda q: down @ q,
        lambda q: down,
        lambda q: flat,
        lambda q: pair_gaps(q.reshape(balls, 2), pairs, 2.0 * radius),
        holds,
    )
    return found, start.ravel(), np.zeros(2 * balls)


def chain() -> tuple[Mechanics, np.ndarray, np.ndarray]:
    """Return six spheres on rods of length 1 that interact by Lennard-Jones within a sphere, and a start of our own."""
    beads, radius, bond, around = 6, 0.3, 1.0, 5.0
    sigma2, pairs = (2.0 * radius) ** 2, [(i, j) for i in range(beads) for j in range(i + 1, beads)]
    first, second = np.array(pairs).T

    def parts(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = q.reshape(beads, 3)
        apart = x[first] - x[second]
        s = sigma2 / np.sum(apart**2, axis=1)
        return apart, s, s**3

    def slope(q: np.ndarray) -> np.ndarray:
        apart, s, s6 = parts(q)
        force = -24.0 * (2.0 * s6 * s6 - s6) * s / sigma2
        out = np.zeros((beads, 3))
        np.add.at(out, first, force[:, None] * apart)
        np.add.at(out, second, -force[:, None] * apart)
        return out.ravel()

    def curvature(q: np.ndarray) -> np.ndarray:
        apart, s, s6 = parts(q)
        r2 = sigma2 / s
        one, two = -24.0 * (2.0 * s6 * s6 - s6) / r2, 4.0 * (168.0 * s6 * s6 - 48.0 * s6) / r2**2
        found = np.zeros((beads, 3, beads, 3))
        for k, (i, j) in enumerate(pairs):
            block = one[k] * np.eye(3) + two[k] * np.outer(apart[k], apart[k])
            found[i, :, i] += block
            found[j, :, j] += block
            found[i, :, j] -= block
            found[j, :, i] -= block
        return found.reshape(3 * beads, 3 * beads)

    def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = q.reshape(beads, 3)
        values, gradient = pair_gaps(x, pairs, 2.0 * radius)
        size, outward = lengths(x)
        return np.concatenate([values, around - radius - size]), np.hstack([gradient, -outward])

    found = Mechanics(
        np.ones(3 * beads),
        lambda q: float(np.sum(4.0 * (parts(q)[2] ** 2 - parts(q)[2]))),
        slope,
        curvature,
        gaps,
        lambda q: pair_gaps(q.reshape(beads, 3), [(k, k + 1) for k in range(beads - 1)], bond),
    )
    n = np.arange(beads)
    q = np.column_stack([0.8 * (n - 2.5), 0.6 * (n % 2) + 0.3, np.full(beads, 0.2)]).ravel()
    p = np.random.default_rng(3).normal(size=3 * beads)
    hold = found.holds(q)[1]
    return found, q, p - hold @ np.linalg.lstsq(hold, p, rcond=None)[0]
