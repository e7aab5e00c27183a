"""The earliest contact of two beads on the common span of their segments.

A pair's separation is taken to the nearest image once, where both segments exist; f(s) = |r(s)|^2 - d(s)^2 with
r the separation and d the contact distance, which may grow. Everything is a function of the two segments and of
constants of the run, in a form that is exactly antisymmetric in the beads: so it does not matter which is searched.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import series_begin, series_order
from hpcchain.propagators.bead_polynomials import bead_state

TOUCHING = 2e-14
JUST_HIT = 1e-11
LEAST_STEP = 1e-8
MOST_STEPS = 100000
NOISE = 1e-10
REST = 1e-14  # of both speeds: what rounding may leave of a rate of approach


class Pair(NamedTuple):
    """Two beads on the common span of their segments, or a bead and a wall.

    Attributes
    ----------
    i, j : int
        Rows of the beads; of a wall its code, below 0.
    ti, tj : float
        Where the common span starts on each bead's segment [time].
    sx, sy, sz : float
        Image shift, added to x_i - x_j [length]; of a wall its place in `sx`, its side in `sy`: +1 for the lower wall
        (gap = x - place - distance), -1 for the upper.
    distance, growth : float
        Contact distance, or the bead's radius, at the start of the span [length] and its rate [length / time].
    acceleration : float
        Bound of the relative acceleration [length / time^2].
    until : float
        Length of the common span [time].
    just_hit : bool
        Both beads took part in the contact, at this very time, that began their segments.
        A rate of approach above NOISE of the speed is then another contact, not round-off.
    """

    i: int
    j: int
    ti: float
    tj: float
    sx: float
    sy: float
    sz: float
    distance: float
    growth: float
    acceleration: float
    until: float
    just_hit: bool


@inlined
def curve(s, i, t):
    """Return position and velocity (6 floats) of bead i at time t after its segment's start."""
    order = series_order(s.segment, i)
    if order > 1:
        return bead_state(s.starts, i, s.series, series_begin(s.mol, s.segment, i), order, t)
    x, y, z = s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z]
    u, v, w = s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ]
    if order == L.FALLING:
        gx, gy, gz = s.par[L.GRAVITY] * t, s.par[L.GRAVITY + L.Y] * t, s.par[L.GRAVITY + L.Z] * t
        x, y, z = x + (u + 0.5 * gx) * t, y + (v + 0.5 * gy) * t, z + (w + 0.5 * gz) * t
        return x, y, z, u + gx, v + gy, w + gz
    return x + u * t, y + v * t, z + w * t, u, v, w


@kernel
def straight_contact(rx, ry, rz, vx, vy, vz, d, growth, least, just_hit):
    """Return when two beads in straight flight touch: the first root of |r + v s|^2 = (d + growth s)^2, or inf.

    Parameters
    ----------
    rx, ry, rz, vx, vy, vz : float
        Separation [length] and its rate [length / time].
    d, growth : float
        Contact distance [length] and its rate [length / time].
    least : float
        Beads that touch and approach more slowly rest on one another: it is round-off [length / time].
    just_hit : bool
        Both beads took part in the contact, at this very time, that began their segments.
        A rate of approach above NOISE of the speed is then another contact, not round-off.
    """
    a = vx * vx + vy * vy + vz * vz - growth * growth
    b = rx * vx + ry * vy + rz * vz - d * growth
    if b >= 0.0 and a >= 0.0:
        return np.inf
    c = rx * rx + ry * ry + rz * rz - d * d
    if c <= TOUCHING * d * d or (just_hit and c <= JUST_HIT * d * d):
        if b < -least * d and not (just_hit and b > -NOISE * d * math.sqrt(vx * vx + vy * vy + vz * vz)):
            return 0.0
        if a < 0.0 and b > 0.0:
            return -2.0 * b / a
        return np.inf
    disc = b * b - a * c
    if disc < 0.0:
        return np.inf
    if b < 0.0:
        return c / (-b + math.sqrt(disc))
    return (b + math.sqrt(disc)) / -a


@inlined
def relative_state(s, pair, t):
    """Return the separation of a Pair and its rate (6 floats) at a time t of the common span."""
    xi, yi, zi, ui, vi, wi = curve(s, pair.i, pair.ti + t)
    xj, yj, zj, uj, vj, wj = curve(s, pair.j, pair.tj + t)
    return (xi - xj) + pair.sx, (yi - yj) + pair.sy, (zi - zj) + pair.sz, ui - uj, vi - vj, wi - wj


@inlined
def step_to_root(f, slope, bend):
    """Return the time in which what is f >= 0 and changes at a rate `slope` can first vanish; f'' >= -bend < 0."""
    root = math.sqrt(slope * slope + 2.0 * bend * f)
    return 2.0 * f / (root - slope) if slope < 0.0 else (slope + root) / bend


@kernel
def curved_contact(s, pair, limit):
    """Return when two beads on curved paths touch, or inf (`_curved_root`)."""
    return _curved_root(s, pair, limit, False)


@kernel
def curved_exit(s, pair, limit):
    """Return when two beads on curved paths, within a distance that stays, are as far apart as that, or inf."""
    return _curved_root(s, pair, limit, True)


@inlined
def _curved_root(s, pair, limit, outward):
    """Return when two beads on curved paths are at their distance, coming from beyond it or from inside, or inf.

    Each step is the time in which f = |r|^2 - d^2, or its negative, falling from f with slope f' and curvature at least
    -M, can first vanish (docs/theory/contact_times.md, Roots that cannot be passed). M depends on the two whole
    segments only; `limit` [time] merely ends the search early.
    """
    d, growth, acceleration, until, just_hit = pair.distance, pair.growth, pair.acceleration, pair.until, pair.just_hit
    t = 0.0
    big = 0.0
    last = 0.0
    touching = (JUST_HIT if just_hit else TOUCHING) * d * d
    for step in range(MOST_STEPS):
        rx, ry, rz, ux, uy, uz = relative_state(s, pair, t)
        rr = rx * rx + ry * ry + rz * rz
        width = d + growth * t
        f = rr - width * width
        slope = 2.0 * (rx * ux + ry * uy + rz * uz - width * growth)
        if outward:
            f, slope = -f, -slope
        if step == 0:
            speed = math.sqrt(ux * ux + uy * uy + uz * uz) + acceleration * until
            big = 2.0 * (math.sqrt(rr) + speed * until) * acceleration + 2.0 * growth * growth
            if outward:
                big = 2.0 * (speed * speed + (d + speed * until) * acceleration)
            if just_hit and f <= touching and slope > -2.0 * NOISE * d * speed:
                slope = max(slope, 0.0)
                f = 0.0
        if f <= (touching if step == 0 else TOUCHING * d * d) and slope < 0.0:
            root = t - f / slope
            return root if step and root > last else t  # inside a widened distance, a pair that parts and turns back
        last = t
        f = max(f, 0.0)
        if big <= 0.0:
            return np.inf
        ds = step_to_root(f, slope, big)
        t += (
            max(ds, LEAST_STEP * d / (speed + LEAST_STEP))
            if f <= touching
            else max(ds, 1e-16 * (pair.ti + pair.tj + t))
        )
        if t > limit:
            return np.inf
    return t
