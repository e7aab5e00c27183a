"""Molecules with any bond graph in the tiled workspace: dense twins, and the chain code where the graph is a chain."""

import numpy as np
import pytest

from hpcchain.layout.workspace import KMAX
from tests.support import twins
from tests.support.kernel_tools import Bench, random_chain
from tests.support.kicks import dense_kick, inverse
from tests.support.webs import GRAPHS, shuffled, web


@pytest.mark.parametrize("n", [3, 7, 8, 9, 16, 17, 40])
def test_a_chain_moves_as_by_the_chain_code(n):
    molecule = random_chain(n, 20)
    plain, sparse = Bench(molecule), Bench(shuffled(molecule, n), stale=1)
    assert plain.solver() != sparse.solver()
    rng = np.random.default_rng(n)
    x, v = molecule[1] + 1e-7 * rng.normal(size=(n, 3)), molecule[2] + 0.1 * rng.normal(size=(n, 3))
    for bench in (plain, sparse):
        bench.put_state(x, v)
        bench.prepare()
    np.testing.assert_allclose(sparse.position(), plain.position(), atol=1e-14)
    np.testing.assert_allclose(sparse.velocity(), plain.velocity(), atol=1e-12)
    for bead in (0, n // 2, n - 1):
        (y, m), (expected, mobility) = (b.kick(bead, (0.48, 0.6, 0.64)) for b in (sparse, plain))
        np.testing.assert_allclose(y, expected, atol=1e-12)
        assert m == pytest.approx(mobility, rel=1e-12)
    (a, ha, _), (b, hb, _) = (bench.expand(5e-3, 1e-15) for bench in (sparse, plain))
    assert ha == hb == 5e-3
    for t in (0.4 * ha, ha):
        for got, expected in zip(twins.evaluate(a, t), twins.evaluate(b, t), strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_kick_is_the_dense_formula(name):
    bonds, x, v, mass = web(name, 0)
    bench = Bench((bonds, x, v, mass), stale=2)
    for bead in range(len(x)):
        normal = np.random.default_rng(bead).normal(size=3)
        normal /= np.linalg.norm(normal)
        y, mobility = bench.kick(bead, normal)
        twin = dense_kick(bonds, x, mass, bead, normal)
        np.testing.assert_allclose(y, twin, atol=1e-11 * np.abs(twin).max())
        assert mobility == pytest.approx(normal @ twin[bead], rel=1e-10)
        np.testing.assert_allclose(mass @ y, normal, atol=1e-12)
    np.testing.assert_array_equal(bench.velocity(), v)


@pytest.mark.parametrize("name", GRAPHS)
def test_prepare(name):
    bonds, x, v, mass = web(name, 1)
    rng = np.random.default_rng(1)
    off, fast = x + 1e-7 * rng.normal(size=x.shape), v + rng.normal(size=v.shape)
    bench = Bench((bonds, x, v, mass), stale=3)
    bench.put_state(off, fast)
    bench.prepare()
    longer = 0.5 * (twins.lengths(bonds, off) ** 2 - twins.lengths(bonds, x) ** 2)
    mu = np.linalg.solve(twins.tension_matrix(bonds, off, mass), longer)
    twin = off - (inverse(mass) * (twins.gradient(bonds, off).T @ mu)).reshape(-1, 3)
    np.testing.assert_allclose(bench.position(), twin, atol=1e-13)
    np.testing.assert_allclose(bench.velocity(), twins.project(bonds, twin, fast, mass), atol=1e-10)
    np.testing.assert_allclose(mass @ bench.velocity(), mass @ fast, atol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_series_is_the_dense_expansion_and_keeps_the_invariants(name):
    bonds, x, v, mass = web(name, 2)
    series, h, bound = Bench((bonds, x, v, mass), stale=4).expand(2e-3, 1e-15)
    twin = twins.taylor(bonds, x, v, mass, len(series) - 1)
    for k in range(len(series)):
        np.testing.assert_allclose(series[k], twin[k], rtol=0, atol=1e-9 * np.abs(twin[k]).max())
    xt, vt = twins.evaluate(series, h)
    np.testing.assert_allclose(twins.invariants(xt, vt, mass), twins.invariants(x, v, mass), atol=1e-11)
    np.testing.assert_allclose(twins.lengths(bonds, xt), twins.lengths(bonds, x), atol=1e-13)
    k = np.arange(2, len(series))
    for t in np.linspace(0, h, 9):
        a = np.linalg.norm(np.tensordot(k * (k - 1) * t ** (k - 2.0), series[2:], 1), axis=1)
        assert np.all(a <= bound * (1 + 1e-12))


@pytest.mark.parametrize("name", ["ring8", "star3x2", "tetrahedron"])
def test_a_segment_that_is_too_long_is_shortened_and_then_accurate(name):
    bonds, x, v, mass = web(name, 3)
    tolerance = 1e-10
    series, h, _ = Bench((bonds, x, v, mass)).expand(100.0, tolerance)
    assert len(series) == KMAX + 1 and h < 100.0
    exact_x, exact_v = x, v
    for _ in range(16):
        exact_x, exact_v = twins.evaluate(twins.taylor(bonds, exact_x, exact_v, mass, 14), h / 16)
    (xt, vt), rate = twins.evaluate(series, h), max(np.linalg.norm(v[j] - v[i]) for i, j in bonds)
    assert np.abs(xt - exact_x).max() < 10 * tolerance * rate * h
    assert np.abs(vt - exact_v).max() < 20 * tolerance * rate


@pytest.mark.parametrize("name", ["ring9", "star12x1"])
def test_what_was_in_the_workspace_before_leaves_no_trace(name):
    results = []
    for stale in (None, 7, 8):
        bench = Bench(web(name, 4), stale=stale)
        bench.prepare()
        y, mobility = bench.kick(1, (0.6, 0.0, 0.8))
        series, h, bound = bench.expand(0.01, 1e-14)
        results.append(np.concatenate([y.ravel(), [mobility, h], bound, series.ravel()]))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_web_at_rest_stays():
    bonds, x, v, mass = web("ring7", 5)
    series, h, bound = Bench((bonds, x, 0 * v, mass)).expand(3.0, 1e-15)
    assert h == 3.0 and not np.any(series[1:]) and not np.any(bound)
