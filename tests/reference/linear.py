"""Dense linear algebra for any float type; numpy.linalg knows no extended precision."""

from itertools import combinations

import numpy as np


def inverse(matrix, drop=1e-11):
    """Return a symmetric generalised inverse of a symmetric positive semi-definite matrix.

    Gauss-Jordan sweeps with the largest remaining diagonal entry as pivot; rows that depend on earlier
    pivots to `drop` (relative) are left out, which amounts to dropping redundant equations.

    Parameters
    ----------
    matrix : (n, n) array of any float type
    drop : float
        Smallest pivot, relative to the largest diagonal entry.
    """
    swept = np.array(matrix)
    remaining = list(range(len(swept)))
    smallest = drop * np.max(np.diag(swept), initial=0)
    while remaining:
        k = max(remaining, key=lambda row: swept[row, row])
        pivot = swept[k, k]
        if pivot <= smallest:
            break
        remaining.remove(k)
        row, column = swept[k].copy(), swept[:, k].copy()
        swept -= np.multiply.outer(column, row / pivot)
        swept[k], swept[:, k] = row / pivot, -column / pivot
        swept[k, k] = 1 / pivot
    swept = symmetrised(swept, remaining)
    return swept


def symmetrised(swept, left_out):
    """Return swept rows as an inverse: entries of left-out equations zero, both triangles equal."""
    result = np.array(swept)
    result[left_out] = 0
    result[:, left_out] = 0
    return (result + result.T) / 2


def solve(matrix, inverse_matrix, right):
    """Return inverse @ right after one step of iterative refinement; `right` is (n,) or (n, m)."""
    first = inverse_matrix @ right
    return first + inverse_matrix @ (right - matrix @ first)


def pushes(matrix, right):
    """Return the (n,) p >= 0 with matrix @ p >= right, one of the two equal in each row, found by trying all subsets.

    The largest subset comes first; `matrix` is symmetric and positive semi-definite, `right` positive.
    """
    count = len(right)
    slack = 1e-9 * np.abs(right)
    for size in range(count, -1, -1):
        for subset in combinations(range(count), size):
            some = list(subset)
            block = matrix[np.ix_(some, some)]
            p = np.zeros_like(right)
            p[some] = solve(block, inverse(block), right[some]) if some else 0
            if np.all(p >= 0) and np.all(matrix @ p >= right - slack):
                return p
    raise ValueError("no set of contacts that push solves this")


def nonnegative_least_squares(matrix, right, rounding=1e-13):
    """Return the (n,) x >= 0 that makes |matrix @ x - right| least (Lawson and Hanson 1974, chapter 23)."""
    x = np.zeros(matrix.shape[1])
    free = np.zeros(len(x), dtype=bool)
    while True:
        gradient = matrix.T @ (right - matrix @ x)
        gradient[free] = -np.inf
        k = int(np.argmax(gradient))
        if free.all() or gradient[k] <= rounding * np.linalg.norm(right):
            return x
        free[k] = True
        while True:
            some = np.flatnonzero(free)
            best = np.linalg.lstsq(matrix[:, some], right, rcond=1e-12)[0]
            if np.all(best > 0):
                x[some] = best
                break
            falling = best <= 0
            share = np.min(x[some][falling] / (x[some][falling] - best[falling]))
            x[some] += share * (best - x[some])
            free[some[falling & (x[some] <= 1e-15 * np.max(x))]] = False
            free[some[best == np.min(best)]] &= share > 0
            x[~free] = 0


def least_distance(matrix, right):
    """Return the shortest x with matrix @ x >= right (Lawson and Hanson 1974, chapter 23, problem LDP)."""
    stacked = np.vstack([matrix.T, right])
    wanted = np.zeros(len(stacked))
    wanted[-1] = 1
    residual = stacked @ nonnegative_least_squares(stacked, wanted) - wanted
    return -residual[:-1] / residual[-1]
