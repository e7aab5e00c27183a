"""The dimer against its exact motion: centre of mass straight, axis u0 cos wt + (u0'/w) sin wt."""

import numpy as np
import pytest

from tests.support import twins
from tests.support.kernel_tools import Bench, chain_bonds


def dimer(seed, speed=1.0, masses=None, length=None):
    """Return a molecule with the given scale of velocities, and its exact motion as a function of time."""
    rng = np.random.default_rng(seed)
    mass = rng.uniform(0.3, 3.0, 2) if masses is None else np.asarray(masses, float)
    axis = rng.normal(size=3)
    axis *= (rng.uniform(0.5, 2) if length is None else length) / np.linalg.norm(axis)
    x = rng.normal(size=3) + np.array([np.zeros(3), axis])
    v = twins.project(chain_bonds(2), x, speed * rng.normal(size=(2, 3)), mass)
    share = mass / mass.sum()
    turn = v[1] - v[0]
    omega = np.linalg.norm(turn) / np.linalg.norm(axis)

    def exact(t):
        u = axis * np.cos(omega * t) + turn / omega * np.sin(omega * t)
        du = turn * np.cos(omega * t) - axis * omega * np.sin(omega * t)
        centre, drift = share @ x, share @ v
        arm = np.array([-share[1], share[0]])[:, None]
        return centre + drift * t + arm * u, drift + arm * du

    return (chain_bonds(2), x, v, mass), omega, exact


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("angle", [1e-3, 0.1, 0.9, 30.0])
def test_rotation_is_exact(seed, angle):
    molecule, omega, exact = dimer(seed)
    series, h, _ = Bench(molecule, stale=seed).expand(angle / omega, 1e-16)
    asked = angle / omega
    assert h == asked if angle < 0.5 else 0.5 / omega <= h <= asked
    for t in (0.37 * h, h):
        for got, expected in zip(twins.evaluate(series, t), exact(t), strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("speed", [1e-6, 1e6])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1e-3, 1.0), (1e6, 1.0)])
def test_rotation_at_other_scales(speed, masses):
    molecule, omega, exact = dimer(9, speed, masses, 1.0)
    series, h, _ = Bench(molecule).expand(0.5 / omega, 1e-16)
    (x, v), (exact_x, exact_v) = twins.evaluate(series, h), exact(h)
    np.testing.assert_allclose(x, exact_x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(v, exact_v, rtol=0, atol=1e-14 * speed)


def test_coefficients_are_those_of_the_dense_expansion():
    molecule, omega, _ = dimer(10)
    series, h, _ = Bench(molecule).expand(1 / omega, 1e-16)
    twin = twins.taylor(*molecule, len(series) - 1)
    for k in range(11):
        np.testing.assert_allclose(series[k], twin[k], rtol=0, atol=1e-11 * np.abs(twin[k]).max())


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_truncation_is_as_asked(tolerance):
    molecule, omega, exact = dimer(11)
    orders = []
    for angle in (0.01, 0.3, 1.0):
        series, h, _ = Bench(molecule).expand(angle / omega, tolerance)
        rate = np.linalg.norm(molecule[2][1] - molecule[2][0])
        assert np.abs(twins.evaluate(series, h)[1] - exact(h)[1]).max() < tolerance * rate + 1e-14
        orders.append(len(series))
    assert orders[0] < orders[1] < orders[2]


def test_acceleration_bound_is_the_centripetal_acceleration():
    molecule, omega, _ = dimer(12)
    bonds, x, _, mass = molecule
    _, _, bound = Bench(molecule).expand(0.5 / omega, 1e-14)
    arm = np.linalg.norm(x[1] - x[0]) * mass[::-1] / mass.sum()
    np.testing.assert_allclose(bound, omega**2 * arm, rtol=1e-13)


def test_dimer_that_does_not_turn():
    bonds, x, _, mass = dimer(13)[0]
    series, h, bound = Bench((bonds, x, np.tile([1.0, 2.0, 3.0], (2, 1)), mass)).expand(50.0, 1e-16)
    assert h == 50.0 and not np.any(series[2:]) and not np.any(bound)


def test_prepare_and_kick_of_a_dimer():
    bonds, x, v, mass = dimer(14)[0]
    bench = Bench((bonds, x, v, mass))
    bench.put_state(x * (1 + 1e-9), v + 1.0 * x)
    bench.prepare()
    np.testing.assert_allclose(twins.lengths(bonds, bench.position()), twins.lengths(bonds, x), rtol=3e-15)
    np.testing.assert_allclose(bench.velocity(), twins.project(bonds, bench.position(), v + x, mass), atol=1e-14)
    axis = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    bench = Bench((bonds, x, v, mass))
    assert bench.kick(0, axis)[1] == pytest.approx(1 / mass.sum(), rel=1e-13)
    across = np.cross(axis, [0.3, 0.4, 0.5])
    assert bench.kick(0, across / np.linalg.norm(across))[1] == pytest.approx(1 / mass[0], rel=1e-13)
