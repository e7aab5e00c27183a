"""How beads that contacts make spin turn: their axes go round at a constant rate from one change of spin to the next.

A bead's orientation is the unit quaternion q that takes its own axes to those of the box; with w the angular velocity
in the box's axes q(t) = exp(w t / 2) q(0), exact for any time (`model.rotation`). It is kept as of the time of the last
change of w, so nothing is rounded in between.
"""

import math

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import time_span


@kernel
def turn(s, i):
    """Turn bead i to NOW, in runs that have orientations: its spin is about to change."""
    if s.par[L.TURNS] == 0.0:
        return
    half = 0.5 * time_span(
        s.par[L.NOW], s.par[L.NOW_REM], s.extra[i, L.TURNED], s.extra[i, L.TURNED_REM], s.par[L.TICK]
    )
    s.extra[i, L.TURNED] = s.par[L.NOW]
    s.extra[i, L.TURNED_REM] = s.par[L.NOW_REM]
    x = half * s.extra[i, L.SPIN]
    y = half * s.extra[i, L.SPIN + L.Y]
    z = half * s.extra[i, L.SPIN + L.Z]
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return
    c = math.cos(angle)
    f = math.sin(angle) / angle
    x, y, z = f * x, f * y, f * z
    a = s.extra[i, L.ORIENTATION]
    b = s.extra[i, L.ORIENTATION_X]
    d = s.extra[i, L.ORIENTATION_X + L.Y]
    e = s.extra[i, L.ORIENTATION_X + L.Z]
    p = c * a - x * b - y * d - z * e
    u = c * b + x * a + y * e - z * d
    v = c * d - x * e + y * a + z * b
    w = c * e + x * d - y * b + z * a
    size = math.sqrt((p * p + u * u) + (v * v + w * w))
    s.extra[i, L.ORIENTATION] = p / size
    s.extra[i, L.ORIENTATION_X] = u / size
    s.extra[i, L.ORIENTATION_X + L.Y] = v / size
    s.extra[i, L.ORIENTATION_X + L.Z] = w / size
