"""Errors and the end of equilibration, of series whose correlation times are known."""

import math

import numpy as np
import pytest

from hpcchain.analysis.statistics import (
    Sums,
    by_blocking,
    equilibration,
    inefficiency,
    left_out,
    mean_and_error,
    most_effective,
    split,
)


def autoregressive(n, time, seed):
    """Return a series of variance 1 whose correlation is exp(-t / time): g = coth(1 / 2 time)."""
    rng, decay = np.random.default_rng(seed), np.exp(-1.0 / time)
    noise = rng.normal(size=n) * np.sqrt(1.0 - decay**2)
    noise[0] = rng.normal()
    for k in range(1, n):
        noise[k] += decay * noise[k - 1]
    return noise


@pytest.mark.parametrize("time", [0.5, 3.0, 10.0])
def test_inefficiency_of_autoregressive_series(time):
    exact = 1.0 / np.tanh(0.5 / time)
    found = np.mean([inefficiency(autoregressive(4000, time, seed)) for seed in range(8)])
    assert found == pytest.approx(exact, rel=0.12)


def test_inefficiency_equals_the_sum_written_out():
    """The loop of Chodera et al. 2007, term by term."""
    series = autoregressive(200, 4.0, 3)
    away, total = series - series.mean(), 1.0
    for lag in range(1, len(series) - 1):
        value = np.mean(away[:-lag] * away[lag:]) / np.mean(away**2)
        if value <= 0.0 and lag > 3:
            break
        total += 2.0 * value * (1.0 - lag / len(series))
    assert inefficiency(series) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(
    ("seed", "time", "transient", "first", "g"),
    [
        (0, 2.0, 30.0, 93, 3.3623),
        (1, 8.0, 10.0, 35, 18.2753),
        (2, 0.5, 0.0, 2, 1.1266),
        (3, 3.0, 0.0, 6, 6.1874),
        (4, 8.0, 10.0, 17, 17.1232),
        (5, 2.0, 30.0, 70, 3.8130),
    ],
)
def test_the_most_effective_samples_are_those_of_pymbar(seed, time, transient, first, g):
    """Of pymbar 4.0.3: timeseries.detect_equilibration(series, fast=False, nskip=1)."""
    series = autoregressive(400, time, seed) + transient * np.exp(-np.arange(400) / 20.0)
    found = most_effective(series, 0, 398)
    assert (found[0], round(found[1], 4)) == (first, g)


def test_constant_and_short_series_have_no_correlation():
    for series in (np.ones(50), np.ones(50) + 1e-13 * np.arange(50), np.array([1.0, 2.0]), np.empty(0)):
        assert inefficiency(series) == 1.0
        assert equilibration(series)[0] == 0


@pytest.mark.parametrize("seed", range(5))
def test_equilibration_ends_where_a_transient_does(seed):
    """A decay of time constant 20 from 30 standard deviations is below one after 68 samples."""
    series = autoregressive(600, 2.0, seed) + 30.0 * np.exp(-np.arange(600) / 20.0)
    first, effective = equilibration(series)
    assert 40 <= first <= 160
    assert effective == pytest.approx(300 / inefficiency(series[300:]), rel=0.6)


def ends(samples, time, noise=0.0, start=0.0, decay=1.0, seeds=100):
    """Return where equilibration ends in some series below white noise, with starts of so many standard deviations."""
    start = start * np.hypot(1.0, noise) * np.exp(-np.arange(samples) / decay)
    white = [noise * np.random.default_rng(900 + seed).normal(size=samples) for seed in range(seeds)]
    return np.array([equilibration(autoregressive(samples, time, k) + white[k] + start)[0] for k in range(seeds)])


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(
    ("samples", "time"), [(500, 0.5), (500, 5), (500, 10), (500, 20), (500, 50), (500, 100), (250, 50)]
)
def test_steady_series_are_kept(samples, time, noise):
    """Of 5 to 1000 correlation times: 95 in 100 keep nine tenths, also where noise hides how slow they are."""
    assert np.mean(ends(samples, time, noise) <= 0.1 * samples) >= 0.95


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("decay", [20.0, 50.0])
@pytest.mark.parametrize("time", [0.5, 5.0, 10.0, 20.0, 50.0])
def test_starts_that_decay_are_lost(time, decay, noise):
    """From 10 standard deviations, also where they decay faster than the series is correlated; half is left.

    Of the slowest series 94 in 100 lose it, of 40 all but 6 with a probability of .99.
    """
    found = ends(500, time, noise, 10.0, decay, seeds=40)
    assert np.mean(10.0 * np.exp(-found / decay) < 3.0) >= 0.85 and found.max() <= 250


@pytest.mark.parametrize("time", [5.0, 25.0, 50.0])
def test_a_start_of_six_deviations_is_seen_in_ten_correlation_times(time):
    """It decays within one of these: in 90 of 100, when there are more in 95."""
    assert np.mean(ends(500, time, 0.0, 6.0, time) > 0) >= 0.84


@pytest.mark.parametrize("part", [0.2, 0.4])
def test_a_step_is_lost(part):
    step = 5.0 * (np.arange(500) < 500 * part)
    found = np.array([equilibration(autoregressive(500, 1.0, seed) + step)[0] for seed in range(10)])
    assert np.all((found >= 495 * part) & (found <= 250))


def test_a_small_shift_is_seen_in_a_long_series():
    """In 95 of 100: it lasts a fifth of the half to which it is compared, and five means know their scatter badly."""
    assert np.mean(ends(1000, 0.5, 0.0, 1.5, 100.0, seeds=40) > 0) >= 0.9


def test_a_start_before_a_constant_is_lost_to_the_sample():
    series = np.full(100, 0.1)
    series[3:9] = 0.7
    assert equilibration(series)[0] == 9
    assert equilibration(0.1 + 1e-12 * np.arange(100.0) * (np.arange(100) < 50))[0] == 0


def test_half_of_a_series_that_drifts_is_left():
    drift = np.arange(30.0) + np.random.default_rng(1).normal(size=30) * 0.01
    assert equilibration(drift)[0] <= 15 and equilibration(drift)[1] < 5.0


def test_leaving_out_gives_the_standard_error_of_a_mean_and_of_its_root():
    values = np.random.default_rng(1).normal(5.0, 1.0, size=(30, 2))
    one = np.ones(30)
    exact = values.std(axis=0, ddof=1) / np.sqrt(30)
    assert left_out(values, one, lambda mean: mean) == pytest.approx(exact)
    assert left_out(values, one, np.sqrt) == pytest.approx(exact / (2.0 * np.sqrt(values.mean(axis=0))), rel=0.01)
    assert np.isnan(left_out(values[:1], one[:1], lambda mean: mean)).all()


@pytest.mark.parametrize("time", [1.0, 6.0])
def test_errors_over_blocks_are_the_scatter_over_seeds(time):
    errors, means = [], []
    for seed in range(40):
        series = autoregressive(64 * 8, time, seed)
        means.append(series.mean())
        sums = series.reshape(64, 8).sum(axis=1)[:, None]
        errors.append(by_blocking(sums, np.full(64, 8.0), lambda s, weight: left_out(s, weight, lambda x: x))[0])
    assert np.mean(errors) == pytest.approx(np.std(means, ddof=1), rel=0.3)


def test_the_greater_error_is_taken_and_one_sample_has_none():
    few = Sums(np.array([[1.0], [1.0]]), np.ones(2), np.array([[0.0], [2.0]]), np.ones(2))
    value, error = few.estimate(lambda mean: mean)
    assert (value[0], error[0]) == (1.0, pytest.approx(1.0))
    alone = Sums(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1))
    assert np.isnan(alone.estimate(lambda mean: mean)[1]).all()


def test_stretches_are_even_and_whole():
    for count in (0, 1, 5, 64, 65, 1000):
        bounds = split(count)
        assert bounds[0] == 0 and bounds[-1] == count and len(bounds) <= 65
        assert not count or np.ptp(np.diff(bounds)) <= 1


def with_memory(correlation, count, seed):
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
    mean, error = mean_and_error(with_memory(correlation, count, seed=5))
    exact = math.sqrt(1.0 / (1.0 - correlation**2) * (1.0 + correlation) / (1.0 - correlation) / count)
    assert error == pytest.approx(exact, rel=0.15)
    assert abs(mean) < 4.0 * exact


def test_short_and_constant_series():
    assert mean_and_error(np.full(100, 2.5)) == (2.5, 0.0)
    assert mean_and_error([3.0])[0] == 3.0 and math.isnan(mean_and_error([3.0])[1])
    assert all(map(math.isnan, mean_and_error([])))
    mean, error = mean_and_error([1.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1.0))
