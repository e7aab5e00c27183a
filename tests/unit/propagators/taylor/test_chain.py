"""Rigid bonds of linear chains against dense matrices and exact motions (`twins`)."""

import numpy as np
import pytest

from hpcchain.layout.workspace import COEF, KMAX, ROW
from hpcchain.propagators.taylor import chain_series as chain_series_kernels
from hpcchain.propagators.taylor.chain import solve_back
from tests.support import twins
from tests.support.kernel_tools import Bench, chain_bonds, random_chain
from tests.support.kicks import dense_kick, inverse

SIZES = [3, 4, 7, 8, 9, 10, 15, 16, 17, 18, 24, 25, 40]
SOME = [3, 8, 9, 17, 33]


@pytest.mark.parametrize("n", SIZES)
def test_bonds_and_solution(n):
    bonds, x, v, mass = random_chain(n, 0)
    bench = Bench((bonds, x, v, mass), stale=1)
    np.testing.assert_array_equal(bench.bonds(), x[1:] - x[:-1])
    rhs = np.random.default_rng(n).normal(size=n - 1)
    exact = np.linalg.solve(twins.tension_matrix(bonds, x, mass), rhs)
    np.testing.assert_allclose(bench.solve(rhs), exact, rtol=0, atol=2e-13 * np.abs(exact).max())


@pytest.mark.parametrize("n", [4, 8, 9, 17, 40])
def test_solution_with_every_single_rhs(n):
    """The inverse of T is symmetric, column by column."""
    bonds, x, v, mass = random_chain(n, 1)
    bench = Bench((bonds, x, v, mass))
    columns = np.array([bench.solve(row) for row in np.eye(n - 1)])
    np.testing.assert_allclose(columns, np.linalg.inv(twins.tension_matrix(bonds, x, mass)), atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_prepare_takes_one_newton_step_and_projects_velocities(n):
    bonds, x, v, mass = random_chain(n, 2)
    rng = np.random.default_rng(n)
    bench = Bench((bonds, x, v, mass), stale=2)
    off, fast = x + 1e-6 * rng.normal(size=x.shape), v + rng.normal(size=v.shape)
    bench.put_state(off, fast)
    bench.prepare()
    g = twins.gradient(bonds, off)
    longer = 0.5 * (twins.lengths(bonds, off) ** 2 - twins.lengths(bonds, x) ** 2)
    mu = np.linalg.solve(twins.tension_matrix(bonds, off, mass), longer)
    twin = off - (inverse(mass) * (g.T @ mu)).reshape(-1, 3)
    np.testing.assert_allclose(bench.position(), twin, atol=1e-14)
    np.testing.assert_allclose(twins.lengths(bonds, bench.position()), twins.lengths(bonds, x), atol=3e-11)
    np.testing.assert_allclose(bench.velocity(), twins.project(bonds, bench.position(), fast, mass), atol=2e-13)
    np.testing.assert_allclose(mass @ bench.position(), mass @ off, atol=1e-12)
    np.testing.assert_allclose(mass @ bench.velocity(), mass @ fast, atol=1e-12)
    bench.prepare()
    np.testing.assert_allclose(twins.lengths(bonds, bench.position()), twins.lengths(bonds, x), rtol=4e-15)


@pytest.mark.parametrize("n", SOME)
def test_prepare_leaves_a_good_state_alone(n):
    bonds, x, v, mass = random_chain(n, 3)
    bench = Bench((bonds, x, v, mass))
    bench.prepare()
    np.testing.assert_array_equal(bench.position(), x)
    np.testing.assert_allclose(bench.velocity(), v, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_kick_is_the_dense_formula(n):
    bonds, x, v, mass = random_chain(n, 4)
    bench = Bench((bonds, x, v, mass), stale=3)
    rng = np.random.default_rng(n)
    for bead in sorted({0, 1, n // 2, n - 2, n - 1, *(b for b in (6, 7, 8, 15, 16) if b < n)}):
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        y, mobility = bench.kick(bead, normal)
        twin = dense_kick(bonds, x, mass, bead, normal)
        np.testing.assert_allclose(y, twin, atol=1e-13 / mass.min())
        assert mobility == pytest.approx(normal @ twin[bead], rel=1e-12)
        np.testing.assert_allclose(twins.gradient(bonds, x) @ y.ravel(), 0, atol=1e-13)
        np.testing.assert_allclose(mass @ y, normal, atol=1e-13)
        np.testing.assert_allclose(np.cross(x, mass[:, None] * y).sum(0), np.cross(x[bead], normal), atol=1e-11)
    np.testing.assert_array_equal(bench.velocity(), v)


@pytest.mark.parametrize("n", [3, 8, 9, 20])
def test_straight_chain_kicked_along_its_axis_moves_as_one(n):
    bonds, x, v, mass = random_chain(n, 5, straight=True)
    axis = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    for bead in (0, n // 2, n - 1):
        y, mobility = Bench((bonds, x, v, mass)).kick(bead, axis)
        np.testing.assert_allclose(y, np.tile(axis / mass.sum(), (n, 1)), atol=1e-13)
        assert mobility == pytest.approx(1 / mass.sum(), rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_series_is_the_dense_expansion(n):
    bonds, x, v, mass = random_chain(n, 6)
    series, h, _ = Bench((bonds, x, v, mass), stale=4).expand(1e-2, 1e-13)
    twin = twins.taylor(bonds, x, v, mass, len(series) - 1)
    assert len(series) > 6
    for k in range(len(series)):
        np.testing.assert_allclose(series[k], twin[k], rtol=0, atol=1e-11 * np.abs(twin[k]).max(), err_msg=f"order {k}")


@pytest.mark.parametrize("n", [9, 10, 16])
def test_in_two_tiles_the_bits_are_those_of_any_number(n):
    """What is made in registers there, and step by step in memory elsewhere."""
    molecule = random_chain(n, 30)
    series, h, _ = Bench(molecule, stale=1).expand(1e-2, 1e-13)
    other = Bench(molecule, stale=2)
    tiles, none = np.int64(2), np.int64(0)
    at = chain_series_kernels.Tiles(np.int64(other.offset[0]), tiles, none, none)
    chain_series_kernels._first_side(other.work, at, None)
    for k in range(len(series) - 2):
        if k > 0:
            chain_series_kernels._known(other.work, at, np.int64(k), None)
        lowest = chain_series_kernels.LAMBDA + chain_series_kernels.PER_ORDER * k
        solve_back(other.work, at.offset, tiles, np.int64(lowest))
        chain_series_kernels._append(other.work, at, np.int64(k), None)
    for k in range(len(series)):
        np.testing.assert_array_equal(other.rows(COEF + ROW * k), series[k])


@pytest.mark.parametrize("n", SOME)
def test_series_to_the_highest_order(n):
    bonds, x, v, mass = random_chain(n, 7)
    series, h, _ = Bench((bonds, x, v, mass)).expand(5.0, 1e-15)
    assert len(series) == KMAX + 1
    twin = twins.taylor(bonds, x, v, mass, KMAX)
    for k in range(KMAX + 1):
        np.testing.assert_allclose(series[k], twin[k], rtol=0, atol=1e-9 * np.abs(twin[k]).max(), err_msg=f"order {k}")


@pytest.mark.parametrize("n", SIZES)
def test_a_segment_keeps_what_free_motion_keeps(n):
    bonds, x, v, mass = random_chain(n, 8)
    series, h, _ = Bench((bonds, x, v, mass)).expand(5e-3, 1e-16)
    assert h == 5e-3
    for t in (0.3 * h, h):
        xt, vt = twins.evaluate(series, t)
        before, after = twins.invariants(x, v, mass), twins.invariants(xt, vt, mass)
        np.testing.assert_allclose(after, before, atol=2e-13 * (1 + np.abs(before).max()))
        np.testing.assert_allclose(twins.lengths(bonds, xt), twins.lengths(bonds, x), atol=3e-15)
        np.testing.assert_allclose(twins.gradient(bonds, xt) @ vt.ravel(), 0, atol=3e-13)
        np.testing.assert_allclose(mass @ xt, mass @ (x + v * t), atol=1e-13)


@pytest.mark.parametrize("n", [3, 5, 8, 9, 17])
def test_straight_rod_turns_uniformly(n):
    """A straight chain whose velocities are those of a rigid rod stays one: no bending, centre of mass straight."""
    bonds, x, _, mass = random_chain(n, 9, straight=True)
    rng = np.random.default_rng(n)
    centre, drift = mass @ x / mass.sum(), rng.normal(size=3)
    axis = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    turn = np.cross(axis, rng.normal(size=3))
    place = (x - centre) @ axis
    omega = np.linalg.norm(turn)
    v = drift + place[:, None] * turn
    series, h, _ = Bench((bonds, x, v, mass)).expand(0.02 / omega, 1e-16)
    for t in (0.5 * h, h):
        xt, vt = twins.evaluate(series, t)
        u = axis * np.cos(omega * t) + turn / omega * np.sin(omega * t)
        rate = turn * np.cos(omega * t) - axis * omega * np.sin(omega * t)
        np.testing.assert_allclose(xt, centre + drift * t + place[:, None] * u, atol=2e-14 * n)
        np.testing.assert_allclose(vt, drift + place[:, None] * rate, atol=2e-12 * n)


def test_chain_at_rest_and_in_uniform_motion_is_straight_to_all_orders():
    bonds, x, v, mass = random_chain(9, 10)
    for drift in (np.zeros(3), np.array([1.0, -2.0, 3.0])):
        series, h, bound = Bench((bonds, x, np.tile(drift, (9, 1)), mass)).expand(100.0, 1e-16)
        assert h == 100.0
        assert np.abs(series[2:]).max(initial=0) == 0 and np.all(bound == 0)


def reference(bonds, x, v, mass, h, steps=16):
    """Many short dense expansions, each put back on the bonds."""
    for _ in range(steps):
        x, v = twins.evaluate(twins.taylor(bonds, x, v, mass, 14), h / steps)
        v = twins.project(bonds, x, v, mass)
    return x, v


@pytest.mark.parametrize("tolerance", [1e-7, 1e-10, 1e-13])
@pytest.mark.parametrize("n", [3, 9, 17])
def test_truncation_is_as_asked_whether_or_not_the_segment_was_shortened(n, tolerance):
    bonds, x, v, mass = random_chain(n, 11)
    rate = np.linalg.norm(np.diff(v, axis=0), axis=1).max()
    cut = 0
    for asked in (0.01, 0.1, 10.0):
        series, h, _ = Bench((bonds, x, v, mass)).expand(asked, tolerance)
        assert h <= asked and (h == asked or len(series) == KMAX + 1)
        cut += h < asked
        xt, vt = twins.evaluate(series, h)
        exact_x, exact_v = reference(bonds, x, v, mass, h)
        assert np.abs(vt - exact_v).max() < 20 * tolerance * rate + 2e-13
        assert np.abs(xt - exact_x).max() < 20 * tolerance * rate * h + 2e-14 * n
    assert cut >= 1


def test_a_series_ends_where_the_whole_estimate_says_so():
    rng = np.random.default_rng(12)
    cases = rng.lognormal(sigma=2.0, size=(3000, 4)) * np.array([1e-12, 1e-13, 1e-14, 1e-15])
    cases[::7, rng.integers(4)] = 0.0
    cases[::50] = 0.0
    ends = infinite = 0
    for terms in map(tuple, cases):
        for tolerance in (1e-16, 1e-15, 1e-14, 1e-13):
            whole = chain_series_kernels._left_out(*terms)
            left = chain_series_kernels._left_after(terms, 9, tolerance)
            assert left == whole or (np.isinf(left) and whole > tolerance)
            assert chain_series_kernels._left_after(terms, KMAX - 1, tolerance) == whole
            ends += whole <= tolerance
            infinite += np.isinf(left)
    assert ends > 1000 and infinite > 1000


@pytest.mark.parametrize("order", [4, 8, 12])
def test_a_series_of_order_k_is_wrong_by_the_next_power_of_the_step(order):
    bonds, x, v, mass = random_chain(9, 11)
    series = Bench((bonds, x, v, mass)).expand(10.0, 1e-15)[0][: order + 1]
    steps = np.array([0.15, 0.2, 0.27]) * order / 12 / np.linalg.norm(np.diff(v, axis=0), axis=1).max()
    exact = [reference(bonds, x, v, mass, h)[0] for h in steps]
    errors = [np.abs(twins.evaluate(series, h)[0] - there).max() for h, there in zip(steps, exact, strict=True)]
    assert min(errors) > 2e-13, "at round-off there is no slope to fit"
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order + 1, abs=0.35)


@pytest.mark.parametrize("n", [3, 9, 17])
def test_a_shortened_segment_is_not_shorter_than_the_tolerance_asks(n):
    """What is left out is not far below the tolerance either."""
    bonds, x, v, mass = random_chain(n, 11)
    rate = np.linalg.norm(np.diff(v, axis=0), axis=1).max()
    for tolerance in (1e-7, 1e-9):
        series, h, _ = Bench((bonds, x, v, mass)).expand(1.0, tolerance)
        assert len(series) == KMAX + 1 and h < 1.0
        error = np.abs(twins.evaluate(series, h)[1] - reference(bonds, x, v, mass, h)[1]).max()
        assert error > 1e-3 * tolerance * rate


def test_a_looser_tolerance_needs_fewer_orders():
    molecule = random_chain(12, 12)
    orders = [len(Bench(molecule).expand(0.01, tolerance)[0]) for tolerance in (1e-4, 1e-8, 1e-12)]
    assert orders[0] < orders[1] < orders[2] <= KMAX + 1


@pytest.mark.parametrize("n", SIZES)
def test_acceleration_bound_holds_over_the_segment_and_is_not_loose(n):
    molecule = random_chain(n, 13)
    for asked in (0.02, 5.0):
        series, h, bound = Bench(molecule).expand(asked, 1e-13)
        k = np.arange(2, len(series))
        largest = np.zeros(n)
        for t in np.linspace(0, h, 30):
            a = np.tensordot(k * (k - 1) * t ** (k - 2.0), series[2:], 1)
            largest = np.maximum(largest, np.linalg.norm(a, axis=1))
        assert np.all(largest <= bound * (1 + 1e-12))
        if asked == 0.02:
            assert np.all(bound < 2.5 * largest + 0.1 * largest.max())


@pytest.mark.parametrize("n", SOME)
def test_what_was_in_the_workspace_before_leaves_no_trace(n):
    molecule = random_chain(n, 14)
    results = []
    for stale in (None, 5, 6):
        bench = Bench(molecule, stale=stale)
        bench.prepare()
        y, mobility = bench.kick(n // 2, (0.6, 0.0, 0.8))
        series, h, bound = bench.expand(0.05, 1e-14)
        results.append(np.concatenate([y.ravel(), [mobility, h], bound, series.ravel()]))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_neighbouring_molecules_do_not_touch_each_other():
    """Two chains in one workspace: working on one leaves the other's state and results as they are."""
    first, second = random_chain(9, 15), random_chain(12, 16)
    alone = Bench(second).expand(0.02, 1e-13)
    bench = Bench(first, second)
    bench.prepare(0)
    bench.kick(3, (1.0, 0.0, 0.0), 0)
    bench.expand(0.02, 1e-13, 0)
    for got, expected in zip(bench.expand(0.02, 1e-13, 1), alone, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_dimer_as_a_chain():
    """The shortest chain has one bond and T is a number."""
    bonds, x, v, mass = random_chain(2, 17)
    bench = Bench((bonds, x, v, mass))
    t = (1 / mass).sum() * np.sum((x[1] - x[0]) ** 2)
    assert bench.solve(np.array([2.0]))[0] == pytest.approx(2 / t, rel=1e-14)
    y, mobility = bench.kick(1, (0.0, 1.0, 0.0))
    np.testing.assert_allclose(y, dense_kick(chain_bonds(2), x, mass, 1, [0, 1, 0]), atol=1e-14)
