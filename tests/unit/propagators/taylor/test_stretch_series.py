"""Stretches of chains whose neighbours' motion is given, against whole chains."""

import numpy as np
import pytest

from hpcchain.layout import workspace as W
from hpcchain.layout.arrays import START_COLUMNS
from hpcchain.propagators.taylor.chain import chain_prepare
from hpcchain.propagators.taylor.chain_series import Tiles, shifted, stretch_series
from tests.support.kernel_tools import Bench, random_chain

H, TOLERANCE = 0.02, 1e-15


def make_neighbour(bench, tile, lane, series):
    """Have but one lane of a tile move, as given: inverse masses 0, coefficients of order 2 and more there alone."""
    p = bench.offset[0] + tile * W.TILE
    bench.work[p + W.INVM : p + W.INVM + W.LANES] = 0.0
    bench.work[p - W.TILE + W.INVM + W.LANES] = 0.0 if lane == 0 else bench.work[p - W.TILE + W.INVM + W.LANES]
    mask = np.zeros(W.LANES)
    mask[7] = lane == 7
    bench.work[p + W.MASK : p + W.MASK + W.LANES] = mask
    bench.work[p + W.COEF + 2 * W.ROW : p + W.COEF + (W.KMAX + 1) * W.ROW] = 0.0
    for k in range(2, len(series)):
        at = p + W.COEF + k * W.ROW + lane
        bench.work[at : at + 3 * W.LANES : W.LANES] = series[k]


@pytest.mark.parametrize("low, high", [(1, 4), (2, 4), (1, 5), (0, 3), (2, 5)])
def test_series_are_those_of_the_whole_chain_where_the_neighbours_move_with_it(low, high):
    n = 40
    bench = Bench(random_chain(n, 7), stale=3)
    bench.prepare()
    x, v = bench.position(), bench.velocity()
    series, _, _ = bench.expand(H, TOLERANCE)
    bench = Bench(random_chain(n, 7), stale=4)
    bench.put_state(x, v)
    before, behind = low > 0, high < 5
    if before:
        make_neighbour(bench, low - 1, 7, series[:, 8 * low - 1])
    if behind:
        make_neighbour(bench, high, 0, series[:, 8 * high])
    first, tiles = low - before, high + behind - low + before
    chain_prepare(bench.work, bench.offset[0] + first * W.TILE, tiles)
    own = slice(8 * low, 8 * high)
    np.testing.assert_allclose(bench.position()[own], x[own], rtol=0, atol=1e-14)
    np.testing.assert_allclose(bench.velocity()[own], v[own], rtol=0, atol=1e-13)
    where = Tiles(int(bench.offset[0]) + first * W.TILE, tiles, int(before), int(behind))
    order, h = stretch_series(bench.work, where, H, TOLERANCE)
    assert h == H and abs(order - (len(series) - 1)) <= 2
    for k in range(2, min(order + 1, len(series))):
        found, exact = bench.rows(W.COEF + k * W.ROW)[own], series[k, own]
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-11 * np.abs(exact).max())


def test_a_polynomial_about_another_time():
    rng = np.random.default_rng(5)
    order, t = 9, 0.3
    starts, series = rng.normal(size=(2, START_COLUMNS)), rng.normal(size=60)
    work = rng.normal(size=W.TILE)
    shifted(starts, 1, series, 4, order, t, work, W.COEF + 5)
    c = np.concatenate([starts[1, :6].reshape(2, 3), series[4 : 4 + 3 * (order - 1)].reshape(-1, 3)])
    found = np.array([work[W.COEF + 5 + k * W.ROW :][: 3 * W.LANES : W.LANES] for k in range(W.KMAX + 1)])
    for axis in range(3):
        twin = np.polynomial.Polynomial(c[:, axis])(np.polynomial.Polynomial([t, 1.0])).coef
        np.testing.assert_allclose(found[: order + 1, axis], twin, rtol=1e-12, atol=1e-12)
    assert not found[order + 1 :].any()
