"""Averages of correlated series against the exact error of one; which molecules are chains."""

import math

import numpy as np
import pytest

from hpcchain.observe.averages import is_linear, mean_and_error


def autoregressive(correlation, count, seed):
    """Return x[i] = c x[i-1] + noise; the variance of its mean is near (1 + c) / (1 - c) / count times its own."""
    noise = np.random.default_rng(seed).normal(size=count)
    series = np.empty(count)
    series[0] = noise[0] / math.sqrt(1.0 - correlation**2)
    for i in range(1, count):
        series[i] = correlation * series[i - 1] + noise[i]
    return series


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_error_of_a_correlated_series(correlation):
    count = 2**16
    mean, error = mean_and_error(autoregressive(correlation, count, seed=5))
    exact = math.sqrt(1.0 / (1.0 - correlation**2) * (1.0 + correlation) / (1.0 - correlation) / count)
    assert error == pytest.approx(exact, rel=0.15)
    assert abs(mean) < 4.0 * exact


def test_short_and_constant_series():
    assert mean_and_error(np.full(100, 2.5)) == (2.5, 0.0)
    assert mean_and_error([3.0])[0] == 3.0 and math.isnan(mean_and_error([3.0])[1])
    assert all(map(math.isnan, mean_and_error([])))
    mean, error = mean_and_error([1.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1.0))


def test_only_chains_have_ends():
    bonds = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [3, 5], [6, 7], [6, 8], [10, 11]])
    first = np.array([0, 3, 6, 9, 10, 12])
    assert is_linear(bonds, first).tolist() == [True, False, False, True, True]
