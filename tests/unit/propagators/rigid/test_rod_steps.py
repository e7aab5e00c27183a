"""Single steps of rods (`propagators.rigid.rod_steps`) against the form that their paper has, and what many keep."""

import numpy as np
import pytest

from hpcchain.layout.workspace import COEF, ROW
from hpcchain.papers import line_verlet as lv
from hpcchain.propagators.interface import acceleration_bound
from hpcchain.propagators.rigid.rod import rod_prepare
from hpcchain.propagators.rigid.rod_steps import WIDEST, rod_step, rod_steps_error, rod_steps_series
from tests.support import twins
from tests.support.kernel_tools import Bench
from tests.support.rods import by_paper, exact, random_rod, unit

SIZES = [3, 8, 9, 50]


def bench_of(rod, **keys):
    """Return a Bench of a rod, and what kernels of rods take first."""
    bench = Bench(rod, rods=(0,), **keys)
    return bench, (bench.work, bench.offset[0], len(rod[1]))


def expand(rod, h, tolerance=1e-16):
    """Return coefficients (order + 1, n, 3), length, acceleration bounds (n,) and bound of the error of a segment."""
    bench, place = bench_of(rod, stale=1)
    order, h = rod_steps_series(*place, h, tolerance)
    series = np.array([bench.rows(COEF + ROW * k) for k in range(order + 1)])
    bound = [acceleration_bound(bench.work, bench.offset[0], b) for b in range(len(rod[1]))]
    return series, h, np.array(bound), rod_steps_error(*place, order, h)


def march(rod, steps):
    """Return the state after steps of these lengths, put on the rod after each as the engine does."""
    bench, place = bench_of(rod)
    for tau in steps:
        rod_step(*place, float(tau))
        rod_prepare(*place)
    return bench.position(), bench.velocity()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("angle", [1e-4, 0.05, 0.5, 0.79])
def test_a_step_is_that_of_the_paper(n, angle):
    """In closed form to 1e-14 of the rod; by the multipliers to what their linear systems leave of it."""
    rod = random_rod(n, 1, turn=1.7)
    bench, place = bench_of(rod, stale=2)
    rod_step(*place, angle / 1.7)
    size = np.abs(rod[1]).max()
    for closed, bound in ((True, 1e-14), (False, 1e-14 * n)):
        x, v = by_paper(rod, angle / 1.7, closed)
        np.testing.assert_allclose(bench.position(), x, rtol=0, atol=bound * size)
        np.testing.assert_allclose(bench.velocity(), v, rtol=0, atol=bound * size * max(1.0, 0.1 / angle))


def test_no_step_at_all_changes_no_bit():
    rod = random_rod(9, 3)
    bench, place = bench_of(rod)
    rod_step(*place, 0.0)
    assert bench.position().tobytes() == rod[1].tobytes() and bench.velocity().tobytes() == rod[2].tobytes()


def test_turns_by_the_arc_sine_at_an_unchanged_rate():
    rod = random_rod(5, 4, turn=2.0)
    x, v = march(rod, [0.3])
    cosine = unit(x[-1] - x[0]) @ unit(rod[1][-1] - rod[1][0])
    assert np.arccos(cosine) == pytest.approx(np.arcsin(0.6), abs=1e-14)
    length = np.linalg.norm(x[-1] - x[0])
    assert np.linalg.norm(v[-1] - v[0]) / length == pytest.approx(2.0, rel=1e-14)


def test_order_2_to_the_exact_rotor():
    rod = random_rod(6, 5)
    counts = np.array([50, 100, 200, 400])
    for part in range(2):
        errors = [np.abs(march(rod, np.full(n, 2.0 / n))[part] - exact(rod, 2.0)[part]).max() for n in counts]
        assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.02)


def test_steps_backwards_lead_back():
    """Whatever their lengths, as contacts cut them short."""
    rod = random_rod(9, 6)
    steps = np.random.default_rng(1).uniform(0.01, 0.6, 40)
    x, v = march(rod, steps)
    x, v = march((rod[0], x, -v, rod[3]), steps[::-1])
    assert np.abs(x - rod[1]).max() < 1e-13 * 40 and np.abs(v + rod[2]).max() < 1e-13 * 40


def test_symplectic():
    """The form sum m (dq1 . dv2 - dq2 . dv1) of two rigid disturbances is the same after steps.

    Central differences leave eps^2. A shift of the beads that goes with how fast the rod turns changes it: the test
    sees that.
    """
    rod, eps = random_rod(5, 7), 1e-4
    bonds, x, v, mass = rod
    s = (x - mass @ x / mass.sum()) @ unit(x[-1] - x[0])
    pair = np.random.default_rng(2).normal(size=(2, 4, 3))

    def body(change, size):
        centre, drift, axis, rate = size * change
        u = unit(unit(x[-1] - x[0]) + axis)
        w = (v[-1] - v[0]) / (s[-1] - s[0]) + rate
        return (
            bonds,
            mass @ x / mass.sum() + centre + s[:, None] * u,
            mass @ v / mass.sum() + drift + s[:, None] * (w - (w @ u) * u),
            mass,
        )

    def crooked(disturbed):
        omega = np.linalg.norm(disturbed[2][-1] - disturbed[2][0]) / (s[-1] - s[0])
        y, w = march(disturbed, [0.3, 0.1])
        return y + 0.05 * omega * s[:, None] * np.array([0.0, 0.0, 1.0]), w

    forms = []
    for move in (lambda rod: rod[1:3], lambda rod: march(rod, [0.3, 0.1]), crooked):
        one, other = (
            [(a - b) / (2 * eps) for a, b in zip(move(body(d, eps)), move(body(d, -eps)), strict=True)] for d in pair
        )
        forms.append(np.sum(mass[:, None] * (one[0] * other[1] - other[0] * one[1])))
    assert abs(forms[0]) > 0.1
    assert abs(forms[1] - forms[0]) < 1e-6 * abs(forms[0])
    assert abs(forms[2] - forms[0]) > 1e-3 * abs(forms[0])


@pytest.mark.parametrize("n", [3, 50])
def test_1e5_steps_keep_energy_momenta_and_the_line(n):
    bonds, x, v, mass = random_rod(n, 3, turn=2.0)
    rod = (bonds, x, v - mass @ v / mass.sum(), mass)
    y, w = march(rod, np.full(100_000, 0.1))
    before, after = twins.invariants(*rod[1:]), twins.invariants(y, w, mass)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-11 * before[0])
    np.testing.assert_allclose(twins.lengths(bonds, y), twins.lengths(bonds, x), rtol=1e-13)
    assert np.abs(np.cross(y - y[0], unit(y[-1] - y[0]))).max() < 1e-14 * n


@pytest.mark.parametrize("n", [3, 50])
@pytest.mark.parametrize("angle", [1e-3, 0.05, 0.2, 0.5, 0.79])
def test_series_is_within_its_bound_of_the_truncated_steps(n, angle):
    """Short steps are a series to round-off; the acceleration's bound holds for the steps and for the series."""
    rod = random_rod(n, 8, turn=1.7)
    series, h, bound, error = expand(rod, angle / 1.7)
    assert h == angle / 1.7
    size = np.abs(rod[1]).max()
    off = [np.abs(twins.evaluate(series, t)[0] - by_paper(rod, t)[0]).max() for t in np.linspace(0.1, 1.0, 7) * h]
    assert max(off) < error + 1e-14 * size
    assert error < (1e-15 * size if angle < 0.15 else 1e-2 * size)
    if angle > 0.4:
        assert max(off) > 0.05 * error
    k = np.arange(2, len(series))[:, None, None]
    for t in (0.0, h):
        bend = np.linalg.norm((k * (k - 1) * series[2:] * t ** (k - 2.0)).sum(axis=0), axis=1)
        assert np.all(bend <= bound * (1.0 + 1e-12))
    arm = np.linalg.norm(rod[1] - rod[3] @ rod[1] / rod[3].sum(), axis=1)
    np.testing.assert_allclose(bound, arm * 1.7**2 / (1.0 - angle**2) ** 1.5, rtol=1e-11)


def test_a_rod_that_does_not_turn_flies_straight():
    bonds, x, _, mass = random_rod(4, 2)
    series, h, bound, error = expand((bonds, x, np.tile([1.0, 2.0, 3.0], (4, 1)), mass), 5.0)
    assert h == 5.0 and np.all(np.abs(series[2:]) < 1e-28) and np.all(bound < 1e-27)
    assert error == 0.0


def test_a_step_that_turns_too_far_is_halved():
    """The paper's has no solution beyond omega dt = 1."""
    rod = random_rod(5, 4, turn=3.0)
    _, h, _, _ = expand(rod, 1.0)
    assert h == 0.25 and 3.0 * h < WIDEST <= 6.0 * h
    with pytest.raises(lv.NoStep):
        by_paper(rod, 1.0)
