"""Exact sums of floating-point numbers: no bit depends on who adds what in which order."""

from fractions import Fraction
from typing import Any

import numpy as np

DIGITS, HALF = 53, 27
MOST = 1 << 26
"""Numbers taken at once: so many halves of their digits are added in a float64 without rounding."""


def exact_sum(values: np.ndarray) -> Any:
    """Return the sum of an array of finite float64, of any shape, as a Fraction; its float is the nearest one."""
    values = np.ravel(values)
    return sum((_sum(values[begin : begin + MOST]) for begin in range(0, len(values), MOST)), Fraction(0))


def _sum(values: np.ndarray) -> Any:
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, DIGITS).astype(np.int64)
    low, total = int(exponent.min()), 0
    for part, above in ((digits >> HALF, HALF), (digits & ((1 << HALF) - 1), 0)):
        sums = np.bincount(exponent - low, weights=part)
        total += sum(int(one) << (above + digit) for digit, one in enumerate(sums.tolist()) if one)
    return total * Fraction(2) ** (low - DIGITS)
