"""When a bead's surface touches a hard wall at right angles to an axis."""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.contact.pair import LEAST_STEP, MOST_STEPS, NOISE, TOUCHING, curve, step_to_root
from hpcchain.jit.decorators import inlined, kernel


class Swing(NamedTuple):
    """A wall's displacement towards the inside: amplitude times the sine of angle + angular t.

    Attributes
    ----------
    amplitude : float
        [length].
    angular : float
        2 pi / period [1 / time].
    angle : float
        At t = 0.
    """

    amplitude: float
    angular: float
    angle: float


@inlined
def at_rest():
    """Return the Swing of a wall that has none."""
    return Swing(0.0, 0.0, 0.0)


@inlined
def time_clear(f, slope, bend):
    """Return how long what is f, and changes as in `step_to_root`, stays above 0: 0 where it is not, inf for ever.

    With f the distance from the farthest that a wall swings to: until then the swing, however fast, needs no look.
    """
    if f <= 0.0:
        return 0.0
    return step_to_root(f, slope, bend) if bend > 0.0 or slope < 0.0 else np.inf


@kernel
def wall_contact(mol, starts, segment, series, pair, swing, axis, limit):
    """Return when a bead touches a wall at right angles to an axis, by steps that cannot pass the contact, or inf.

    `pair` is a `contact.pair.Pair` of a bead and a wall, whose acceleration is that of both but for the swing; `swing`
    is the wall's Swing from the start of their common span on; `limit` [time] the length of the search.
    """
    i, t, wall, side, radius = pair.i, pair.ti, pair.sx, pair.sy, pair.distance
    growth, just_hit = pair.growth, pair.just_hit
    acceleration = pair.acceleration + abs(swing.amplitude) * swing.angular**2
    s = 0.0
    last = 0.0
    for step in range(MOST_STEPS):
        x, y, z, u, v, w = curve(mol, starts, segment, series, i, t + s)
        speed = math.sqrt(u * u + v * v + w * w)
        if axis == 1:
            x = y
            u = v
        elif axis == 2:
            x = z
            u = w
        gap = side * (x - wall) - radius - growth * s
        slope = side * u - growth
        clear = 0.0
        if swing.amplitude != 0.0:
            clear = time_clear(gap - abs(swing.amplitude), slope, pair.acceleration)
            gap -= swing.amplitude * math.sin(swing.angle + swing.angular * s)
            slope -= swing.amplitude * swing.angular * math.cos(swing.angle + swing.angular * s)
        if step == 0 and just_hit and slope > -NOISE * speed and abs(gap) < 10 * TOUCHING * (radius + abs(wall)):
            slope = max(slope, 0.0)
            gap = 0.0
        touching = TOUCHING * (radius + 0.1 * abs(wall))
        if gap <= touching and slope < 0.0:
            root = s - gap / slope
            return root if step and root > last else s  # inside a widened distance, a bead that leaves and turns back
        last = s
        gap = max(gap, 0.0)
        if acceleration <= 0.0:
            return s - gap / slope if slope < 0.0 and s - gap / slope <= limit else np.inf
        ds = max(step_to_root(gap, slope, acceleration), clear)
        s += max(ds, LEAST_STEP * math.sqrt(radius / acceleration)) if gap <= touching else max(ds, 1e-16 * (t + s))
        if s > limit:
            return np.inf
    return s
