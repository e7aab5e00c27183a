"""Correlations over all time origins, and how long they last.

By Fourier transforms, in O(T log T), of many vectors at once.
"""

from __future__ import annotations

import numpy as np

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


def autocorrelation(vectors: np.ndarray) -> np.ndarray:
    """Return the mean product of each vector with itself so many frames later, summed over all vectors.

    Parameters
    ----------
    vectors : (T, ..., d) float64 array
        One row a frame.

    Returns
    -------
    (T,) float64 array
    """
    frames = len(vectors)
    length = 1 << (2 * frames - 1).bit_length()
    spectrum = np.fft.rfft(vectors.reshape(frames, -1), length, axis=0)
    power = np.sum(spectrum.real**2 + spectrum.imag**2, axis=1)
    return np.fft.irfft(power, length)[:frames] / np.arange(frames, 0, -1)


def square_displacement(points: np.ndarray) -> np.ndarray:
    """Return the mean squared way of each point in so many frames, summed over all points.

    The squares' sums by running totals, the products by `autocorrelation` (Calandrini et al. 2011).

    Parameters
    ----------
    points : (T, ..., 3) float64 array
        Unwrapped [length].

    Returns
    -------
    (T,) float64 array
        [length^2]
    """
    frames = len(points)
    points = points - points.mean(axis=0)
    total = np.concatenate([[0.0], np.cumsum(np.sum((points * points).reshape(frames, -1), axis=1))])
    lag = np.arange(frames)
    both = (total[frames - lag] + total[frames] - total[lag]) / (frames - lag)
    return np.maximum(both - 2.0 * autocorrelation(points), 0.0)


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
