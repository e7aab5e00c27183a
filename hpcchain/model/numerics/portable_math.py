"""Sine, cosine, arc sine and logarithm by polynomials (fdlibm's), of NumPy arrays.

Only sums, products, quotients and roots, which every processor rounds alike; libraries' functions may differ between
processors, and a run may go on elsewhere. Each value depends on its own argument alone. Errors are one or two
units of the last digit.
"""

import numpy as np

# fmt: off
_SINE = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
         2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
_COSINE = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
           -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)
_ARCSINE = (1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
            -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05)
_UNDER_ARCSINE = (1.0, -2.40339491173441421878e00, 2.02094576023350569471e00, -6.88283971605453293030e-01,
                  7.70381505559019352791e-02)
_LOGARITHM = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
              1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)
# fmt: on
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17)


def circle(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of angles given in turns, between -1 and 1."""
    quarter = np.rint(4.0 * turns)
    x = (turns - 0.25 * quarter) * (2.0 * np.pi)
    z = x * x
    sine = x + x * z * _polynomial(_SINE, z)
    cosine = 1.0 - (0.5 * z - z * z * _polynomial(_COSINE, z))
    odd = np.remainder(quarter, 2.0) == 1.0
    c, s = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    turn = np.remainder(quarter, 4.0)
    return np.where((turn == 1.0) | (turn == 2.0), -c, c), np.where(turn >= 2.0, -s, s)


def arcsine(x: np.ndarray) -> np.ndarray:
    """Return the angles in [0, pi / 2] whose sines are x, 0 <= x <= 1."""
    large = x > 0.5
    t = np.where(large, 0.5 * (1.0 - x), x * x)
    ratio = t * _polynomial(_ARCSINE, t) / _polynomial(_UNDER_ARCSINE, t)
    root = np.sqrt(t)
    return np.where(large, _HALF_PI[0] - (2.0 * (root + root * ratio) - _HALF_PI[1]), x + x * ratio)


def logarithm(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithms of normal numbers x > 0."""
    mantissa, power = np.frexp(x)
    small = mantissa < np.sqrt(0.5)
    f = np.where(small, 2.0 * mantissa, mantissa) - 1.0
    k = np.where(small, power - 1, power).astype(np.float64)
    s = f / (2.0 + f)
    z, half = s * s, 0.5 * f * f
    return k * _LN2[0] - ((half - (s * (half + z * _polynomial(_LOGARITHM, z)) + k * _LN2[1])) - f)


def _polynomial(coefficients: tuple[float, ...], z: np.ndarray) -> np.ndarray:
    """Return c[0] + c[1] z + c[2] z^2 + ..."""
    value = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * z + coefficient
    return value
