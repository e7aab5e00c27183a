"""Coefficients of Gauss collocation, and of the polynomial that its stages define."""

from math import comb
from typing import NamedTuple

import numpy as np

from hpcchain.errors import ConfigError

MOST_STAGES = 12


class GaussTables(NamedTuple):
    """Gauss method of s stages on the unit interval.

    node (s,), a (s, s), a_inverse (s, s), weight (s,) are the usual ones: a[j, k] integrates the k-th Lagrange
    polynomial to node j. `legendre` (s, s) turns values at the nodes into coefficients of shifted Legendre polynomials,
    `monomial` (s + 1, s + 1) turns those into coefficients of powers. They are kept apart because the second holds
    large integers: its product with the first would be rounded, and a smooth function's coefficients are not.
    """

    node: np.ndarray
    a: np.ndarray
    a_inverse: np.ndarray
    weight: np.ndarray
    legendre: np.ndarray
    monomial: np.ndarray


def gauss_tables(s):
    """Return the tables of s stages.

    Raises
    ------
    ConfigError
        If s is not between 1 and MOST_STAGES.
    """
    if not 1 <= s <= MOST_STAGES:
        raise ConfigError(f"propagator.stages = {s}: choose 1 to {MOST_STAGES} stages")
    point, weight = np.polynomial.legendre.leggauss(s)
    value = np.polynomial.legendre.legvander(point, s)
    degree = np.arange(s)
    legendre = (2 * degree[:, None] + 1) * value[:, :s].T * weight / 2
    a = _integrals(point, value) @ legendre
    return GaussTables((point + 1) / 2, a, np.linalg.inv(a), weight / 2, legendre, _shifted_legendre(s))


def _integrals(point, value):
    """Integrate the shifted Legendre polynomials 0 .. s - 1 from 0 to the nodes, (node, degree)."""
    s = len(point)
    integral = np.empty((s, s))
    integral[:, 0] = (point + 1) / 2
    for m in range(1, s):
        integral[:, m] = (value[:, m + 1] - value[:, m - 1]) / (2 * (2 * m + 1))
    return integral


def _shifted_legendre(s):
    """Return the integer coefficients of the shifted Legendre polynomials, (power, degree), as exact floats."""
    table = np.zeros((s + 1, s + 1))
    for m in range(s + 1):
        for k in range(m + 1):
            table[k, m] = (-1) ** (m + k) * comb(m, k) * comb(m + k, k)
    return table
