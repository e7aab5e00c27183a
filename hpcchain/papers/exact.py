"""The exact motion of Leyendecker et al. 2012's trimer: contacts at t_k = first + (k - 1) period.

sqrt(6) (E(150°) - E(45°)) and sqrt(6) (E(150°) - E(30°)), E the incomplete elliptic integral of the second kind of
parameter m = 2/3; the integrand is smooth, so that Gauss's rule of 40 points gives all digits.
"""

import numpy as np


def elliptic(low: float, high: float) -> float | np.ndarray:
    """Return the integral of sqrt(1 - (2/3) sin^2) between two angles in degrees."""
    point, weight = np.polynomial.legendre.leggauss(40)
    low, high = np.deg2rad([low, high])
    angle = 0.5 * (low + high) + 0.5 * (high - low) * point
    return 0.5 * (high - low) * weight @ np.sqrt(1.0 - 2.0 / 3.0 * np.sin(angle) ** 2)


EXACT_FIRST = float(np.sqrt(6.0) * elliptic(45.0, 150.0))
EXACT_PERIOD = float(np.sqrt(6.0) * elliptic(30.0, 150.0))
