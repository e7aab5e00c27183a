"""Correlations over all time origins, and how long they last.

By Fourier transforms, in O(T log T), of many vectors at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums

PER_DOUBLING = 16
"""Lags that are kept per doubling; the shortest are all kept."""
WINDOW = 5.0
"""The integral ends at the first lag that is so many times longer than what has been integrated so far."""


def lags_of(frames: int) -> np.ndarray:
    """Return the lags, in frames, at which correlations are kept: 0, 1, ... and evenly in the logarithm beyond."""
    found = list(range(min(frames, 2 * PER_DOUBLING)))
    spacing = 2
    while found and found[-1] + spacing < frames:
        found.extend(range(found[-1] + spacing, min(found[-1] + spacing * PER_DOUBLING + 1, frames), spacing))
        spacing *= 2
    return np.array(found, dtype=np.int64)


def flat(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (T, ..., d), one row a frame, as (T, k): what is found of rows is summed over all of a frame."""
    return vectors.reshape(len(vectors), -1)


def autocorrelations(rows: np.ndarray) -> np.ndarray:
    """Return the mean products of rows (..., n, d) that are 0, 1, ... n - 1 apart in each series, (..., n)."""
    n = rows.shape[-2]
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(rows, length, axis=-2)
    power = np.sum(spectrum.real**2 + spectrum.imag**2, axis=-1)
    return np.fft.irfft(power, length, axis=-1)[..., :n] / np.arange(n, 0, -1)


def square_distances(rows: np.ndarray) -> np.ndarray:
    """Return the mean squared distances of rows (..., n, d) that are 0, 1, ... n - 1 apart in each series, (..., n).

    The squares' sums by running totals, the products by `autocorrelations` (Calandrini et al. 2011).
    """
    n = rows.shape[-2]
    rows = rows - rows.mean(axis=-2, keepdims=True)
    square = np.sum(rows * rows, axis=-1)
    total = np.cumsum(np.concatenate([np.zeros((*square.shape[:-1], 1)), square], axis=-1), axis=-1)
    lag = np.arange(n)
    both = (total[..., n - lag] + total[..., [n]] - total[..., lag]) / (n - lag)
    return np.maximum(both - 2.0 * autocorrelations(rows), 0.0)


def integrated(lags: np.ndarray, values: np.ndarray) -> float:
    """Return the integral of an autocorrelation over its lags, by trapezoids, in the lags' unit.

    It ends where the lag is WINDOW times the integral so far (Sokal's rule): beyond it there is noise alone. Where the
    lags end before, the integral over all of them is a lower bound or a rough guess.

    Parameters
    ----------
    lags, values : (k,) float64 arrays
        From lag 0 on, values[0] = 1.

    Returns
    -------
    float
        NaN for fewer than two lags.
    """
    if len(lags) < 2:
        return np.nan
    so_far = np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(lags))
    done = np.flatnonzero(lags[1:] >= WINDOW * so_far)
    return float(max(so_far[done[0] if len(done) else -1], 0.0))


def correlation_times(sums: Sums, lags: np.ndarray, correlations: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Return the integrals of normalised autocorrelations of a mean, and their errors.

    Where the lags end before WINDOW times the integral, what lies beyond them is missing from it. Its scatter says
    nothing of that, so there is no error.

    Parameters
    ----------
    sums : Sums
    lags : (k,) float64 array
    correlations : function
        Takes a mean, returns (J, k) with 1 at lag 0, or rows of NaN.

    Returns
    -------
    times, errors : (J,) float64 arrays
        NaN where there is none.
    """
    times, errors = sums.estimate(lambda x: np.array([integrated(lags, row) for row in correlations(x)]))
    return times, np.where(WINDOW * times <= lags[-1], errors, np.nan)
