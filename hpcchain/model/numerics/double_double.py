"""Numbers of twice the precision, as unevaluated sums (high, low) of two float64, low below half a unit of high.

Only sums, products, quotients and roots that every processor rounds alike, so the bits are the same everywhere.
Dekker, A floating-point technique for extending the available precision (1971); no overflow below 1e300.
"""

import numpy as np

_SPLIT = 2.0**27 + 1.0

Number = tuple[np.ndarray, np.ndarray]
"""High and low parts, arrays of one shape."""


def total(a: np.ndarray, b: np.ndarray) -> Number:
    """Return the exact sum of two numbers."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


def product(a: np.ndarray, b: np.ndarray) -> Number:
    """Return the exact product of two numbers."""
    high = a * b
    (a0, a1), (b0, b1) = _halves(a), _halves(b)
    return high, ((a0 * b0 - high) + a0 * b1 + a1 * b0) + a1 * b1


def _halves(a: np.ndarray) -> Number:
    wide = _SPLIT * a
    upper = wide - (wide - a)
    return upper, a - upper


def add(x: Number, y: Number) -> Number:
    """Return the sum of two double-double numbers of one sign."""
    high, low = total(x[0], y[0])
    return total(high, low + (x[1] + y[1]))


def multiply(x: Number, y: Number) -> Number:
    """Return the product of two double-double numbers."""
    high, low = product(x[0], y[0])
    return total(high, low + (x[0] * y[1] + x[1] * y[0]))


def quotient(a: np.ndarray, b: np.ndarray) -> Number:
    """Return a / b of two numbers."""
    high = a / b
    back, rest = product(high, b)
    return total(high, ((a - back) - rest) / b)


def length(vectors: np.ndarray) -> Number:
    """Return the double-double lengths of vectors (n, 3)."""
    squares = [product(column, column) for column in vectors.T]
    high, low = add(add(squares[0], squares[1]), squares[2])
    root = np.sqrt(high)
    back, rest = product(root, root)
    more = ((high - back) - rest) + low
    return total(root, np.divide(more, 2.0 * root, out=np.zeros_like(root), where=root > 0.0))
