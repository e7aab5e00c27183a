"""Rigid spheres with directors: free spinning in closed form, the paper's three collisions, the energy they move."""

import numpy as np
import pytest

from hpcchain.papers import directors

BODIES = directors.Bodies()


def track_of(name, h=0.01, end=1.2, **settings):
    """Return the Track of one of the paper's set-ups."""
    return directors.run(BODIES, *directors.setup(name), h, round(end / h), **settings)


def test_the_inertia_is_that_of_a_sphere():
    """Two fifths M r^2, the mass that of the density 2700."""
    assert 2.0 * BODIES.director_mass == pytest.approx(0.4 * BODIES.mass * 0.01, rel=1e-15)
    assert BODIES.mass == pytest.approx(11.3097, abs=1e-4)


def test_rotations():
    rng = np.random.default_rng(1)
    for size in (1e-9, 0.3, 2.0):
        theta = rng.normal(size=3)
        theta *= size / np.linalg.norm(theta)
        matrix = directors.turned(theta, np.eye(3)).T
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(matrix @ theta, theta, atol=1e-15)
        np.testing.assert_allclose(directors.rotation_vector(matrix), theta, rtol=1e-9, atol=1e-24)


@pytest.mark.parametrize("h", [0.01, 0.05])
def test_free_spinning(h):
    """Each step turns by arcsin(h w) about the axis; the discrete energy of rotation is J (1 - cos) / h^2."""
    track = track_of("head-on", h, end=0.5)
    rate = np.linalg.norm(directors.SPIN, axis=1)
    turn = (np.arcsin(h * rate) / rate)[:, None] * directors.SPIN
    for b in range(2):
        for one, two in zip(track.director, track.director[1:], strict=False):
            found = directors.rotation_vector(two[b].T @ one[b])
            np.testing.assert_allclose(found, turn[b], atol=1e-9)
    np.testing.assert_allclose(track.rotation, directors.rotation_energy(BODIES, directors.SPIN, h), rtol=1e-9)
    for director in track.director:
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
    track = track_of("head-on", h, end=3 * h)
    for b in range(2):
        one, two, wanted = (frames[b] for frames in track.director[:3])
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
        track = track_of("head-on", h, end=0.8)
        turned = [directors.turned(0.8 * spin, np.eye(3)) for spin in directors.SPIN]
        errors.append(np.abs(track.director[-1] - turned).max())
    assert np.polyfit(np.log([0.04, 0.02, 0.01]), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("name", directors.SETUPS)
def test_gap_and_angular_momentum(name):
    """No penetration at any node, and angular momentum to the tolerance of Newton's method."""
    track = track_of(name)
    assert min(track.gap) > -1e-12
    momentum = np.array(track.momentum)
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    assert len(track.collisions) == 1


def test_head_on():
    """Contact at node 90: the centres exchange velocities, and nothing changes step, so energy is kept."""
    track = track_of("head-on")
    assert track.collisions[0]["node"] == 90 and track.collisions[0]["alpha"] == track.collisions[0]["tau"] == 0.01
    np.testing.assert_allclose((track.centre[-1] - track.centre[-2]) / 0.01, [[0, -1, 0], [0, 1, 0]], atol=1e-10)
    assert np.ptp(track.energy()) < 1e-12 * track.energy()[0]


@pytest.mark.parametrize(("h", "jump"), [(0.01, -1.44e-4), (0.001, 3.1e-7), (0.05, -6.8e-3)])
def test_oblique_jumps(h, jump):
    """Translation changes by exactly E_rot(alpha) - E_rot(tau), for a contact at its exact time."""
    track = track_of("oblique", h)
    (found,) = track.collisions
    exact = 0.5 * (7.7 - np.sqrt(0.23)) / 4.0
    assert found["node"] * h + found["alpha"] - h == pytest.approx(exact, abs=1e-10)
    assert found["alpha"] + found["tau"] == pytest.approx(h, abs=1e-15)
    got = track.translation[-1] - track.translation[0]
    wanted = [directors.rotation_energy(BODIES, directors.SPIN, found[part]) for part in ("alpha", "tau")]
    assert got == pytest.approx(wanted[0] - wanted[1], abs=1e-9)
    assert got == pytest.approx(jump, rel=0.02)
    np.testing.assert_allclose(track.rotation[-1], track.rotation[0], rtol=1e-9)


@pytest.mark.parametrize("h", [0.01, 0.001])
def test_oblique_direction_is_that_of_the_exact_impulse(h):
    """Velocities after the collision are those of the exact reflection, but for the energy moved: error O(h^2)."""
    track = track_of("oblique", h)
    centre, velocity, _ = directors.setup("oblique")
    time = 0.5 * (7.7 - np.sqrt(0.23)) / 4.0
    n = (centre + time * velocity)[0] - (centre + time * velocity)[1]
    n /= np.linalg.norm(n)
    exact = velocity[0] - n @ (velocity[0] - velocity[1]) * n
    got = (track.centre[-1] - track.centre[-2])[0] / h
    assert np.linalg.norm(got - exact) < 0.2 * h**2


def test_grazing_needs_many_iterations():
    """At the graze the contact's two roots are one, to which Newton comes by halves: 37 to 112 iterations."""
    track = track_of("grazing")
    assert track.collisions[0]["node"] == 100 and 37 <= track.collisions[0]["after"] <= 112
    assert np.ptp(track.energy()) < 1e-9
    np.testing.assert_allclose((track.centre[-1] - track.centre[-2]) / 0.01, [[0, 1, 0], [0, -1, 0]], atol=1e-5)
    assert track_of("grazing", spin_guess=True).collisions[0]["after"] < 10


def test_the_complement_is_orthonormal_and_across():
    vector = np.random.default_rng(2).normal(size=12)
    q = directors.complement(vector)
    np.testing.assert_allclose(q.T @ q, np.eye(11), atol=1e-15)
    np.testing.assert_allclose(vector @ q, 0.0, atol=1e-15)
