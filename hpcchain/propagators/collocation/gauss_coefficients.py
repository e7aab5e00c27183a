"""Coefficients of Gauss collocation, and of the polynomial that its stages define."""

from math import comb
from typing import NamedTuple

import numpy as np

from hpcchain.errors import ConfigError

MOST_STAGES = 12

VARIANTS = {"index2": 0, "index1": 1, "paper": 2}
INDEX2, INDEX1, PAPER = VARIANTS.values()
SOLVERS = {"quasi-newton": 0, "newton": 1, "fixed-point": 2}
QUASI_NEWTON, NEWTON, FIXED_POINT = SOLVERS.values()


class GaussTables(NamedTuple):
    """Gauss method of s stages on the unit interval.

    node (s,), a (s, s), a_inverse (s, s), weight (s,) are the usual ones: a[j, k] integrates the k-th Lagrange
    polynomial to node j. `legendre` (s, s) turns values at the nodes into coefficients of shifted Legendre polynomials,
    `monomial` (s + 1, s + 1) turns those into coefficients of powers. They are kept apart because the second holds
    large integers: its product with the first would be rounded, and a smooth function's coefficients are not.

    `variant` and `solver` say which constraints are imposed at the nodes and how they are solved (see `collocation`);
    `correction` (s, s) turns what is left of the constraints into changes of T mu: A^-1, 1 or A^-2 by variant.
    """

    node: np.ndarray
    a: np.ndarray
    a_inverse: np.ndarray
    weight: np.ndarray
    legendre: np.ndarray
    monomial: np.ndarray
    correction: np.ndarray
    variant: int
    solver: int


def gauss_tables(s, variant="index2", solver="auto"):
    """Return the tables of s stages.

    Parameters
    ----------
    s : int
    variant : str
        Of VARIANTS.
    solver : str
        Of SOLVERS, or "auto" for the variant's own (`solver_for`).

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
        (point + 1) / 2, a, inverse, weight / 2, legendre, _shifted_legendre(s), correction, VARIANTS[variant],
        SOLVERS[solver_for(variant, solver)],
    )  # fmt: skip


def solver_for(variant, solver):
    """Return the solver meant by a choice of solver, which may be "auto".

    Raises
    ------
    ConfigError
        If the variant's equations have no such solver: only index1 gives the multipliers as a function of the state.
    """
    if solver == "auto":
        return "fixed-point" if variant == "index1" else "quasi-newton"
    if solver == "fixed-point" and variant != "index1":
        raise ConfigError(
            f'propagator.stage_solver: "fixed-point" does not exist for variant "{variant}", whose multipliers are no '
            'function of the stages; choose "quasi-newton" or "newton", or variant "index1"'
        )
    return solver


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
