"""Averages of correlated series with honest errors, and which molecules are chains."""

from typing import Any

import numpy as np

FEWEST_BLOCKS = 8


def mean_and_error(series: Any) -> tuple[float, float]:
    """Return the mean of a correlated series and its standard error by block averaging.

    Neighbouring values are averaged in pairs, again and again; the naive error of the block means grows until the
    blocks are longer than the correlation time (Flyvbjerg and Petersen). The first error that no longer blocks exceed
    by more than its own uncertainty is taken.

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
    if len(series) == 0:
        return np.nan, np.nan
    errors, doubts = block_errors(series)
    settled = [level for level in range(len(errors)) if np.all(errors[level + 1 :] <= errors[level] + doubts[level])]
    return float(series.mean()), float(errors[settled[0]]) if settled else np.nan


def block_errors(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of the mean, and the uncertainty of that error, for blocks of 1, 2, 4, ... values.

    Parameters
    ----------
    series : (n,) float array

    Returns
    -------
    errors, doubts : (levels,) float64 arrays
        Empty for fewer than two values; beyond the first level only while there are enough blocks.
    """
    errors, doubts = [], []
    blocks = series
    while len(blocks) >= (FEWEST_BLOCKS if errors else 2):
        error = blocks.std(ddof=1) / np.sqrt(len(blocks))
        errors.append(error)
        doubts.append(error / np.sqrt(2.0 * (len(blocks) - 1)))
        even = len(blocks) // 2 * 2
        blocks = 0.5 * (blocks[0:even:2] + blocks[1:even:2])
    return np.array(errors), np.array(doubts)


def is_linear(bonds: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return for every molecule whether its bonds join each bead to the next and no others.

    Parameters
    ----------
    bonds : (B, 2) integer array
        Global bead ids, lower first; no bond twice.
    first : (M + 1,) integer array

    Returns
    -------
    (M,) bool array
    """
    beads = np.diff(first)
    owner = np.searchsorted(first, bonds[:, 0], side="right") - 1
    along = np.bincount(owner, weights=bonds[:, 1] - bonds[:, 0] == 1, minlength=len(beads))
    return (along == beads - 1) & (np.bincount(owner, minlength=len(beads)) == beads - 1)
