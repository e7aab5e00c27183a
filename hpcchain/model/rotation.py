"""Free rotation of spheres, a pure function of time: q(t) = exp(w t / 2) q(0).

A smooth contact exerts no torque and a sphere's moment of inertia is the same about every axis, so its angular velocity
w never changes. Quaternions are (w, x, y, z) and take a sphere's own axes to those of the box; w is in the box's axes.

Leyendecker et al. 2012's null-space step of length h keeps the momentum J w from node to node. It is J sin(theta) / h
of a step that turns the directors by theta. So theta = arcsin(h |w|), and the discrete energy is J (1 - cos theta) /
h^2. Between nodes a sphere turns at the step's uniform rate theta / h, which makes it a rotation at that rate for all
times.

Turns are counted in twice the working precision and whole ones dropped, so an orientation is as exact after 1e12 turns
as after one.
"""

import numpy as np

from hpcchain.model.numerics import double_double
from hpcchain.model.numerics.portable_math import arcsine, circle

HALF_TURN = (np.array(0.07957747154594767), np.array(-4.9196691687956215e-18))
"""1 / (4 pi), double-double: from an angle to turns of the quaternion: one when the sphere has made two."""


class Rotation:
    """Spheres that turn freely.

    Parameters
    ----------
    orientation : (n, 4) float64 array
        Unit quaternions at time 0.
    velocity : (n, 3) float64 array
        Angular velocities [1 / time].
    step : (n,) float64 array
        Length of the null-space step, 0 for exact rotation [time].
    """

    def __init__(self, orientation: np.ndarray, velocity: np.ndarray, step: np.ndarray) -> None:
        speed = double_double.length(velocity)
        turning = speed[0] > 0.0
        self._start = orientation
        self._axis = np.divide(velocity, speed[0][:, None], out=np.zeros_like(velocity), where=turning[:, None])
        self._rate = double_double.multiply(turning_rate(speed, step), HALF_TURN)

    def at(self, time: float | np.ndarray) -> np.ndarray:
        """Return the (n, 4) unit quaternions at a time, or at one for each sphere [time]."""
        time = np.asarray(time, dtype=np.float64)
        high, low = double_double.product(self._rate[0], time)
        turns = _fraction(_fraction(high) + (_fraction(low) + _fraction(self._rate[1] * time)))
        cosine, sine = circle(turns)
        return times(np.column_stack([cosine, self._axis * sine[:, None]]), self._start)


def turning_rate(speed: double_double.Number, step: np.ndarray) -> double_double.Number:
    """Return the double-double rates at which spheres turn [1 / time].

    Parameters
    ----------
    speed : double-double (n,) float64 arrays
        Angular speeds |w| [1 / time].
    step : (n,) float64 array
        See `Rotation`.
    """
    high, low = (part.copy() for part in speed)
    stepped = step > 0.0
    h = step[stepped]
    high[stepped], low[stepped] = double_double.quotient(angle_per_step(h * high[stepped]), h)
    return high, low


def angle_per_step(product: np.ndarray) -> np.ndarray:
    """Return the angles by which null-space steps turn spheres, from step times angular speed, below 1.

    The momentum of a step's directors, E sum(d x d') / h with E = J / 2 (Leyendecker et al. 2012, 4.1), is J sin(theta)
    / h.
    """
    return arcsine(product)


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products of quaternions (n, 4)."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a.T, b.T
    return np.column_stack(
        [
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
            a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
        ]
    )


def unit(quaternions: np.ndarray) -> np.ndarray:
    """Return quaternions (n, 4) brought to length 1."""
    w, x, y, z = quaternions.T
    return quaternions / np.sqrt((w * w + x * x) + (y * y + z * z))[:, None]


def _fraction(turns: np.ndarray) -> np.ndarray:
    return turns - np.rint(turns)
