"""First root in [0, 1] of many polynomials: fine sampling, every minimum refined, roots bracketed to the last bits."""

import numpy as np

SAMPLES = 48


def first_roots(coefficients, leaving):
    """Return the first root of each gap polynomial where it turns negative; inf where there is none.

    Parameters
    ----------
    coefficients : (2K + 1, Q) array
        Gap functions as polynomials in s, 0 <= s <= 1; a contact begins where one becomes negative.
    leaving : (Q,) bools
        Pairs in touch at s = 0 and moving apart: their root at 0 is divided out.
    """
    gaps = np.array(coefficients)
    gaps[:-1, leaving] = gaps[1:, leaving]
    gaps[-1, leaving] = 0
    gaps[0, leaving] = np.maximum(gaps[0, leaving], 0)
    grid = np.linspace(0, 1, SAMPLES + 1).astype(gaps.dtype)
    values = horner(gaps[:, :, None], grid)
    slopes = horner(derivative(gaps)[:, :, None], grid)
    margin = 4 * np.max(np.abs(np.diff(values, n=2, axis=1)), axis=1)
    near = np.min(values, axis=1) <= margin
    roots = np.full(gaps.shape[1], np.inf, dtype=gaps.dtype)
    for q in np.flatnonzero(near):
        roots[q] = one_root(gaps[:, q], grid, values[q], slopes[q], margin[q])
    return roots


def one_root(gap, grid, values, slopes, margin):
    """Return the first root of one gap polynomial from its samples; see first_roots."""
    if values[0] <= 0 and slopes[0] < 0:
        return grid[0]
    for i in range(len(grid) - 1):
        dips = slopes[i] < 0 < slopes[i + 1] and min(values[i], values[i + 1]) <= margin
        if dips:
            lowest = bracketed(derivative(gap), grid[i], grid[i + 1], rising=True)
            if horner(gap, lowest) < 0:
                return bracketed(gap, grid[i], lowest, rising=False)
        if values[i + 1] < 0:
            return bracketed(gap, grid[i], grid[i + 1], rising=False)
    return np.inf


def bracketed(polynomial, low, high, rising):
    """Return the sign change of a polynomial between low and high by safeguarded Newton steps."""
    slope = derivative(polynomial)
    x = (low + high) / 2
    for _ in range(200):
        value = horner(polynomial, x)
        if (value < 0) == rising:
            low = x
        else:
            high = x
        steep = horner(slope, x)
        following = x - value / steep if steep != 0 else low
        if not low < following < high:
            following = (low + high) / 2
        if following in (low, high, x):
            break
        x = following
    return x


def horner(coefficients, x):
    """Return sum_k coefficients[k] x^k, broadcasting the trailing axes of `coefficients` with x."""
    result = coefficients[-1] + 0 * x
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def derivative(coefficients):
    """Return the coefficients of the derivative of polynomials (K + 1, ...)."""
    rates = np.arange(1, len(coefficients)).astype(coefficients.dtype)
    return coefficients[1:] * rates.reshape((-1,) + (1,) * (coefficients.ndim - 1))
