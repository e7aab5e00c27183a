"""Coefficients of Gauss collocation, and of the polynomial that its stages define."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.propagators.catalogue import STAGE_SOLVERS, VARIANTS, solver_for

MOST_STAGES = 12

INDEX2, INDEX1, PAPER = VARIANTS.values()
QUASI_NEWTON, NEWTON, FIXED_POINT = STAGE_SOLVERS.values()


class GaussTables(NamedTuple):
    """Gauss method of s stages on the unit interval.

    node (s,), a (s, s), weight (s,) are the usual ones: a[j, k] integrates the k-th Lagrange polynomial to node j.
    `legendre` (s, s) turns values at the nodes into coefficients of shifted Legendre polynomials, `monomial` (s + 1,
    s + 1) turns those into coefficients of powers. They are kept apart because the second holds large integers: its
    product with the first would be rounded, and a smooth function's coefficients are not.

    `variant` and `solver` say which constraints are imposed at the nodes and how they are solved (see `collocation`);
    `correction` (s, s) turns what is left of the constraints into changes of T mu: A^-1, 1 or A^-2 by variant.
    """

    node: np.ndarray
    a: np.ndarray
    weight: np.ndarray
    legendre: np.ndarray
    monomial: np.ndarray
    correction: np.ndarray
    variant: int
    solver: int


def gauss_tables(s: int, variant: str = "index2", solver: str = "auto") -> GaussTables:
    """Return the tables of s stages.

    Parameters
    ----------
    s : int
    variant : str
        Of VARIANTS.
    solver : str
        Of STAGE_SOLVERS, or "auto" for the variant's own (`solver_for`).

    Raises
    ------
    ConfigError
        If s is not between 1 and MOST_STAGES, or the solver is none for the variant.
    """
    if not 1 <= s <= MOST_STAGES:
        raise ConfigError(f"propagator.stages = {s}: choose 1 to {MOST_STAGES} stages")
    point, weight = np.polynomial.legendre.leggauss(s)
    value = np.polynomial.legendre.legvander(point, s)
    degree = np.arange(s)
    legendre = (2 * degree[:, None] + 1) * value[:, :s].T * weight / 2
    a = _integrals(point, value) @ legendre
    inverse = np.linalg.inv(a)
    correction = {"index2": inverse, "index1": np.eye(s), "paper": inverse @ inverse}[variant]
    return GaussTables(
        (point + 1) / 2,
        a,
        weight / 2,
        legendre,
        _shifted_legendre(s),
        correction,
        VARIANTS[variant],
        STAGE_SOLVERS[solver_for(variant, solver)],
    )


def _integrals(point: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Integrate the shifted Legendre polynomials 0 .. s - 1 from 0 to the nodes, (node, degree)."""
    s = len(point)
    integral = np.empty((s, s))
    integral[:, 0] = (point + 1) / 2
    for m in range(1, s):
        integral[:, m] = (value[:, m + 1] - value[:, m - 1]) / (2 * (2 * m + 1))
    return integral


def _shifted_legendre(s: int) -> np.ndarray:
    """Return the integer coefficients of the shifted Legendre polynomials, (power, degree), as exact floats."""
    table = np.zeros((s + 1, s + 1))
    for m in range(s + 1):
        for k in range(m + 1):
            table[k, m] = (-1) ** (m + k) * comb(m, k) * comb(m + k, k)
    return table
