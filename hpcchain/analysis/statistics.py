"""Errors of correlated samples, over molecules and over time, and the end of equilibration.

Sums over blocks of frames and over groups of molecules are kept apart, in a fixed number of each. Every figure is a
function of the mean of such sums; its errors are found by leaving out one block, or one group, at a time (jackknife).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

BLOCKS = 64
"""Blocks of frames, and groups of molecules, at most: the same on any number of ranks, so that sums are, too."""
FEWEST_BLOCKS = 8
"""Blocks of time that give an error, when neighbours are joined to longer ones."""

SHORTEST_LAG = 3
"""An autocorrelation is summed over at least so many lags, whatever its sign (Chodera 2016, as in pymbar)."""

DIFFERENT = {2: 5.0, 4: 3.4}
"""Errors by which the mean of a start, up to a half or a quarter of a series, differs from that of the rest: chance
does that in few series of 100. The rest after a quarter is longer, and so says better how the series varies."""

MOST_LENGTHS = 200
"""Of stretches whose means are compared; between two of them what a sample of such a mean is worth is interpolated."""
LONGEST_STRETCH = 4
"""Means are compared over stretches of up to this part of a series, so that there are some independent ones."""

NO_CHANGE = 1e-9
"""A series that changes by less than this, relative, is constant: what is conserved has no equilibration."""


def inefficiency(series: np.ndarray) -> float:
    """Return the statistical inefficiency of a series: 1 + 2 times its integrated correlation time in samples.

    The autocorrelation is summed up to its first value that is not positive (Chodera et al. 2007).

    Parameters
    ----------
    series : (n,) float array
        At equal intervals.

    Returns
    -------
    float
        At least 1; 1 of a constant series.
    """
    series = np.asarray(series, dtype=np.float64)
    n = len(series)
    if is_constant(series):
        return 1.0
    away = series - series.mean()
    spectrum = np.fft.rfft(away, 1 << (2 * n - 1).bit_length())
    products = np.fft.irfft(spectrum * spectrum.conj())[:n] / np.arange(n, 0, -1)
    values = products[1:-1] / products[0]
    ended = np.flatnonzero((values <= 0.0) & (np.arange(1, n - 1) > SHORTEST_LAG))
    last = ended[0] if len(ended) else len(values)
    lags = np.arange(1, last + 1)
    return float(max(1.0, 1.0 + 2.0 * np.sum(values[:last] * (1.0 - lags / n))))


def is_constant(series: np.ndarray) -> bool:
    """Return whether a series has fewer than three values, or changes by round-off alone."""
    return len(series) < 3 or float(np.ptp(series)) <= NO_CHANGE * float(np.max(np.abs(series)))


def equilibration(series: np.ndarray) -> tuple[int, float]:
    """Return (first, effective): where a start that differs from the rest of a series ends, 0 where none does.

    It is looked for in the first half and in the first quarter; the later end counts (`end_of_start`).

    Parameters
    ----------
    series : (n,) float array
        At equal intervals.

    Returns
    -------
    first : int
        At most n // 2.
    effective : float
        Effective samples of the second half: its variance over that of its mean.
    """
    series = np.asarray(series, dtype=np.float64)
    if is_constant(series):
        return 0, float(len(series))
    found = [end_of_start(series, max(1, len(series) // part), most) for part, most in DIFFERENT.items()]
    return max(first for first, _ in found), found[0][1]


def end_of_start(series: np.ndarray, early: int, different: float) -> tuple[int, float]:
    """Return (first, effective): where a start of up to `early` samples ends, and effective samples of all later ones.

    A start differs where its mean is more than so many errors from that of the later samples. The error is how much
    means over as many samples differ there (`variances_of_means`), so that noise does not hide how slowly a series
    changes. What differs ends, in the first half, where the series first is within a standard deviation of that mean;
    of the places from there on the one is taken that leaves the greatest number of effective samples
    (`most_effective`).
    """
    late, samples, half = series[early:], np.arange(1.0, early + 1.0), len(series) // 2
    variances, of_all = variances_of_means(late, early)
    effective = variances[0] / of_all
    away = np.cumsum(series[:early]) / samples - late.mean()
    square = away**2 / (variances + of_all)
    stretch = np.minimum(samples, max(1, len(late) // LONGEST_STRETCH))
    freedom = np.minimum(len(late) / stretch - 1.0, 2.0 * effective)  # squares are correlated half as long
    deviate = np.sqrt(freedom * np.log1p(square / freedom))  # Student's t as a normal deviate (Wallace 1959)
    worst = int(np.argmax(deviate))
    if not deviate[worst] > different:
        return 0, effective
    near = (series[worst:half] - late.mean()) * np.sign(away[worst]) <= np.sqrt(variances[0])
    return most_effective(series, worst + int(np.argmax(np.append(near, True))), half)[0], effective


def variances_of_means(series: np.ndarray, longest: int) -> tuple[np.ndarray, float]:
    """Return the variances of means over 1 ... longest successive samples of a series, and that of its own mean.

    Means over all overlapping stretches are compared (Meketon and Schmeiser 1984). Those over stretches too long for
    that have the greater of two inefficiencies: that of stretches, and `inefficiency`. Noise ends the latter's sum
    early, the former is low where correlation is as long as the longest stretch.

    Parameters
    ----------
    series : (n,) float array
        At equal intervals.
    longest : int

    Returns
    -------
    of_stretches : (longest,) float64 array
    of_all : float
    """
    n, sums = len(series), np.concatenate([[0.0], np.cumsum(series - series.mean())])
    samples, compared = np.arange(1.0, longest + 1.0), max(1, n // LONGEST_STRETCH)
    lengths = np.unique(np.geomspace(1, compared, min(compared, MOST_LENGTHS)).round().astype(int))
    squares = np.array([np.sum((sums[k:] - sums[:-k]) ** 2) / (k * (n - k) * (n - k + 1)) * n for k in lengths])
    squares[0] = max(squares[0], (NO_CHANGE * float(np.abs(series).max())) ** 2)
    greatest = max(float(np.max(squares)), inefficiency(series) * squares[0])
    inefficient = np.where(samples <= compared, np.interp(samples, lengths, squares), greatest)
    return inefficient / samples, greatest / n


def most_effective(series: np.ndarray, low: int, high: int) -> tuple[int, float, float]:
    """Return (first, g, effective): of low ... high the first sample from which on the most effective ones are left.

    Their number is that of the samples left over their statistical inefficiency g (Chodera 2016, as in pymbar).
    """
    best = (low, 1.0, 0.0)
    for first in range(low, high + 1):
        left = len(series) - first
        if left <= best[2]:
            break
        g = inefficiency(series[first:])
        if left / g > best[2]:
            best = (first, g, left / g)
    return best


def split(count: int, most: int = BLOCKS) -> np.ndarray:
    """Return the bounds of at most so many even stretches of `count` things: (stretches + 1,) int64."""
    stretches = min(count, most)
    return np.arange(stretches + 1, dtype=np.int64) * count // max(stretches, 1)


@dataclass
class Sums:
    """Sums of samples, each of K numbers, once by blocks of time and once by groups of molecules.

    Attributes
    ----------
    by_time : (B, K) float64 array
        NaN where a block is too short for a number.
    time_weight : (B,) float64 array
        Samples in each block.
    by_group : (G, K) float64 array
    group_weight : (G,) float64 array
    """

    by_time: np.ndarray
    time_weight: np.ndarray
    by_group: np.ndarray
    group_weight: np.ndarray

    @property
    def samples(self) -> float:
        """Number of samples: of molecules times frames."""
        return float(self.group_weight.sum())

    def mean(self) -> np.ndarray:
        """Return the mean of all samples, (K,)."""
        return self.by_group.sum(axis=0) / self.samples

    def estimate(self, figure: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Return a function of the mean, and its error: over molecules or over time, the greater.

        Parameters
        ----------
        figure : function
            Takes (K,), returns a number or (J,).

        Returns
        -------
        value, error : (J,) float64 arrays
            NaN where there is no error: one molecule and one frame.
        """
        with np.errstate(all="ignore"):
            value = np.atleast_1d(np.asarray(figure(self.mean()), dtype=np.float64))
            used = self.time_weight > 0.0
            over_time = by_blocking(self.by_time[used], self.time_weight[used], lambda s, w: left_out(s, w, figure))
            over_groups = left_out(self.by_group, self.group_weight, figure)
        return value, np.fmax(over_time, over_groups)


def left_out(sums: np.ndarray, weight: np.ndarray, figure: Callable) -> np.ndarray:
    """Return the standard error of a function of a mean, by leaving out one of n independent parts at a time.

    Parameters
    ----------
    sums : (n, K) float64 array
    weight : (n,) float64 array
        Samples in each part; parts without any are passed over.
    figure : function
        Takes (K,), returns a number or (J,).

    Returns
    -------
    (J,) float64 array
        NaN for fewer than two parts.
    """
    used = weight > 0.0
    sums, weight = sums[used], weight[used]
    n = len(sums)
    if n < 2:
        like = np.zeros(sums.shape[1]) if n == 0 else sums[0] / weight[0]
        return np.full(np.atleast_1d(figure(like)).shape, np.nan)
    total, whole = sums.sum(axis=0), weight.sum()
    found = np.array([np.atleast_1d(figure((total - s) / (whole - w))) for s, w in zip(sums, weight, strict=True)])
    return np.sqrt((n - 1) / n * np.sum((found - found.mean(axis=0)) ** 2, axis=0))


def by_blocking(sums: np.ndarray, weight: np.ndarray, naive: Callable) -> np.ndarray:
    """Return the standard error of a mean over correlated blocks, from that of independent ones (Flyvbjerg, Petersen).

    Neighbouring blocks are joined in pairs while there are enough; the naive error grows until they are longer than the
    correlation time. The first is taken that those of longer blocks do not exceed by more than its own uncertainty.

    Parameters
    ----------
    sums : (n, ...) float64 array
        Of each block, in order of time.
    weight : (n,) float64 array
        Samples in each block.
    naive : function
        Takes sums and weight, returns an error or (J,).
    """
    errors, counts = [naive(sums, weight)], [len(sums)]
    while len(sums) // 2 >= FEWEST_BLOCKS:
        even = len(sums) // 2 * 2
        sums, weight = sums[0:even:2] + sums[1:even:2], weight[0:even:2] + weight[1:even:2]
        errors.append(naive(sums, weight))
        counts.append(len(sums))
    table, found = np.array(errors), errors[-1]
    for level in reversed(range(len(table))):
        doubt = table[level] / np.sqrt(2.0 * max(counts[level] - 1, 1))
        settled = np.all(table[level + 1 :] <= table[level] + doubt, axis=0)
        found = np.where(settled, table[level], found)
    return found


def mean_and_error(series: Any) -> tuple[float, float]:
    """Return the mean of a correlated series and its standard error (`by_blocking`).

    Parameters
    ----------
    series : (n,) float array
        At equal intervals.

    Returns
    -------
    mean, error : float
        NaN where there are too few values: no value, one value.
    """
    series = np.asarray(series, dtype=np.float64)
    if len(series) < 2:
        return float(series[0]) if len(series) else np.nan, np.nan
    error = by_blocking(series, np.ones(len(series)), lambda sums, w: np.std(sums / w, ddof=1) / np.sqrt(len(w)))
    return float(series.mean()), float(error)
