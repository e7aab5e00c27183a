"""Rigid spheres with directors: free spinning in closed form, the paper's three collisions, the energy they move."""

import itertools

import numpy as np
import pytest

from hpcchain.papers import directors

FIRST = slice(1, 4), slice(5, 8)
"""Rows of the directors of both bodies."""


def pair_of(name, h=0.01, end=1.2, **settings):
    """Return one of the paper's set-ups, run."""
    return directors.run(name, h, round(end / h), **settings)


def frames_of(pair):
    """Return the directors (nodes, 2, 3, 3)."""
    nodes = np.array(pair.course.node_position)
    return np.stack([nodes[:, rows] for rows in FIRST], axis=1)


def rotation_vector(matrix):
    """Return the rotation vector of a rotation matrix by less than a half turn."""
    axis = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine = np.linalg.norm(axis)
    return axis * np.arctan2(sine, 0.5 * (np.trace(matrix) - 1.0)) / sine


def test_the_inertia_is_that_of_a_sphere():
    """Two fifths M r^2, the mass that of the density 2700."""
    assert 2.0 * directors.DIRECTOR_MASS == pytest.approx(0.4 * directors.MASS * 0.01, rel=1e-15)
    assert directors.MASS == pytest.approx(11.3097, abs=1e-4)


def test_rotations():
    rng = np.random.default_rng(1)
    for size in (1e-9, 0.3, 2.0):
        theta = rng.normal(size=3)
        theta *= size / np.linalg.norm(theta)
        matrix = directors.turned(theta, np.eye(3)).T
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(matrix @ theta, theta, atol=1e-15)
        np.testing.assert_allclose(rotation_vector(matrix), theta, rtol=1e-9, atol=1e-24)


@pytest.mark.parametrize("h", [0.01, 0.05])
def test_free_spinning(h):
    """Each step turns by arcsin(h w) about the axis; the discrete energy of rotation is J (1 - cos) / h^2."""
    pair = pair_of("head-on", h, end=0.5)
    rate = np.linalg.norm(directors.SPIN, axis=1)
    turn = (np.arcsin(h * rate) / rate)[:, None] * directors.SPIN
    for b in range(2):
        for one, two in itertools.pairwise(frames_of(pair)[:, b]):
            found = rotation_vector(two.T @ one)
            np.testing.assert_allclose(found, turn[b], atol=1e-9)
    rotation = directors.energies(pair)[1]
    np.testing.assert_allclose(rotation, directors.rotation_energy(directors.SPIN, h), rtol=1e-9)
    for director in frames_of(pair):
        np.testing.assert_allclose(director @ director.transpose(0, 2, 1), np.tile(np.eye(3), (2, 1, 1)), atol=1e-13)


def frame_gradient(frame):
    """Return the (6, 9) gradient of the frame's constraints d_i . d_k - delta_ik, and their values."""
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    gradient = np.zeros((6, 3, 3))
    for row, (i, k) in enumerate(pairs):
        gradient[row, i] += frame[k]
        gradient[row, k] += frame[i]
    return gradient.reshape(6, 9), np.array([frame[i] @ frame[k] - (i == k) for i, k in pairs])


@pytest.mark.parametrize("h", [0.01, 0.05])
def test_a_null_space_step_is_that_with_multipliers(h):
    """The same discrete Euler-Lagrange equations for nine components and six multipliers, by Newton's method."""
    frames = frames_of(pair_of("head-on", h, end=3 * h))
    for b in range(2):
        one, two, wanted = frames[:3, b]
        gradient = frame_gradient(two)[0]
        frame, multipliers = (2.0 * two - one).ravel(), np.zeros(6)
        for _ in range(20):
            slope, off = frame_gradient(frame.reshape(3, 3))
            residual = np.concatenate([frame - 2.0 * two.ravel() + one.ravel() - gradient.T @ multipliers, off])
            matrix = np.block([[np.eye(9), -gradient.T], [slope, np.zeros((6, 6))]])
            change = np.linalg.solve(matrix, residual)
            frame, multipliers = frame - change[:9], multipliers - change[9:]
        np.testing.assert_allclose(frame.reshape(3, 3), wanted, atol=1e-11)


def test_orientation_is_of_order_two_to_the_exact_rotation():
    """A sphere spins about a fixed axis at a fixed rate."""
    errors = []
    for h in (0.04, 0.02, 0.01):
        turned = [directors.turned(0.8 * spin, np.eye(3)) for spin in directors.SPIN]
        errors.append(np.abs(frames_of(pair_of("head-on", h, end=0.8))[-1] - turned).max())
    assert np.polyfit(np.log([0.04, 0.02, 0.01]), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("name", directors.SETUPS)
def test_gap_and_angular_momentum(name):
    """No penetration at any node, and angular momentum to the tolerance of Newton's method."""
    pair = pair_of(name)
    (contact,) = pair.possible
    assert min(pair.chain.gap(q, contact) for q in pair.course.node_position) > -1e-12
    momentum = directors.angular_momentum(pair)
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    assert len(pair.course.contact_time) == 1 and pair.course.no_root == 0


def test_head_on():
    """Contact at node 90: the centres exchange velocities, and nothing changes step, so energy is kept."""
    pair = pair_of("head-on")
    assert pair.hit.node == 90 and pair.hit.contact == 0
    assert [pair.hit.alpha, pair.hit.tau] == pytest.approx([0.01, 0.01], abs=1e-15)
    np.testing.assert_allclose(pair.w[directors.CENTRES], [[0, -1, 0], [0, 1, 0]], atol=1e-10)
    assert np.ptp(pair.course.energy) < 1e-12 * pair.course.energy[0]


@pytest.mark.parametrize(("h", "jump"), [(0.01, -1.44e-4), (0.001, 3.1e-7), (0.05, -6.8e-3)])
def test_oblique_jumps(h, jump):
    """Translation changes by exactly E_rot(alpha) - E_rot(tau), for a contact at its exact time."""
    pair = pair_of("oblique", h)
    found, exact = pair.hit, 0.5 * (7.7 - np.sqrt(0.23)) / 4.0
    assert (found.node - 1) * h + found.alpha == pytest.approx(exact, abs=1e-10)
    assert found.alpha + found.tau == pytest.approx(h, abs=1e-15)
    translation, rotation = directors.energies(pair)
    got = translation[-1] - translation[0]
    wanted = [directors.rotation_energy(directors.SPIN, part) for part in (found.alpha, found.tau)]
    assert got == pytest.approx(wanted[0] - wanted[1], abs=1e-9)
    assert got == pytest.approx(jump, rel=0.02)
    np.testing.assert_allclose(rotation[-1], rotation[0], rtol=1e-9)


@pytest.mark.parametrize("h", [0.01, 0.001])
def test_oblique_direction_is_that_of_the_exact_impulse(h):
    """Velocities after the collision are those of the exact reflection, but for the energy moved: error O(h^2)."""
    pair = pair_of("oblique", h)
    centre, velocity = map(np.array, directors.SETUPS["oblique"])
    time = 0.5 * (7.7 - np.sqrt(0.23)) / 4.0
    n = (centre + time * velocity)[0] - (centre + time * velocity)[1]
    n /= np.linalg.norm(n)
    exact = velocity[0] - n @ (velocity[0] - velocity[1]) * n
    assert np.linalg.norm(pair.w[0] - exact) < 0.2 * h**2


def test_grazing_needs_many_iterations():
    """At the graze the contact's two roots are one, to which Newton comes by halves: 37 to 112 iterations."""
    pair = pair_of("grazing")
    assert pair.hit.node == 100 and 37 <= pair.hit.after <= 112
    assert np.ptp(pair.course.energy) < 1e-9
    np.testing.assert_allclose(pair.w[directors.CENTRES], [[0, 1, 0], [0, -1, 0]], atol=1e-5)
    assert pair_of("grazing", spins=True).hit.after < 10
