"""Where two beads that are within a distance leave it, and what a step of their potential does to their velocities.

The times are found as those of contacts are (`contact.pair`), of the outward root of |r(s)|^2 = d^2: steps that cannot
pass it, by a bound of how fast d^2 - |r|^2 can bend. At a step of height D the rate of separation u changes so that
the energy is kept, u'^2 = u^2 - 2 D / m with m the effective mass 1 / (n . y) of any bond graph
(docs/theory/impulses.md); where that is not positive the beads are turned back, u' = -u (Alder & Wainwright 1959).
"""

import math

import numpy as np

from hpcchain.contact.pair import JUST_HIT, LEAST_STEP, MOST_STEPS, NOISE, TOUCHING, curve
from hpcchain.jit.decorators import kernel


@kernel
def straight_exit(rx, ry, rz, vx, vy, vz, d, least):
    """Return when two beads in straight flight, within distance d, are as far apart as that; inf if never.

    Parameters
    ----------
    rx, ry, rz, vx, vy, vz : float
        Separation [length] and its rate [length / time].
    d : float
        [length]
    least : float
        Rate of separation that is round-off [length / time].
    """
    a = vx * vx + vy * vy + vz * vz
    b = rx * vx + ry * vy + rz * vz
    c = rx * rx + ry * ry + rz * rz - d * d
    if a == 0.0:
        return np.inf
    if c >= -TOUCHING * d * d and b > least * d:
        return 0.0
    root = math.sqrt(max(b * b - a * c, 0.0))
    return -c / (b + root) if b > 0.0 else (-b + root) / a


@kernel
def curved_exit(mol, starts, segment, series, pair, limit):
    """Return when two beads on curved paths, within a distance, are as far apart as that, or inf.

    See `contact.pair.curved_contact`; f(s) = d^2 - |r(s)|^2 bends by at most 2 (v^2 + d a), with v and a bounds of the
    relative speed and acceleration.
    """
    i, j, ti, tj, sx, sy, sz, d, growth, acceleration, until, just_hit = pair
    s = 0.0
    big = 0.0
    speed = 0.0
    touching = (JUST_HIT if just_hit else TOUCHING) * d * d
    for step in range(MOST_STEPS):
        xi, yi, zi, ui, vi, wi = curve(mol, starts, segment, series, i, ti + s)
        xj, yj, zj, uj, vj, wj = curve(mol, starts, segment, series, j, tj + s)
        rx = (xi - xj) + sx
        ry = (yi - yj) + sy
        rz = (zi - zj) + sz
        ux = ui - uj
        uy = vi - vj
        uz = wi - wj
        f = d * d - (rx * rx + ry * ry + rz * rz)
        slope = -2.0 * (rx * ux + ry * uy + rz * uz)
        if step == 0:
            speed = math.sqrt(ux * ux + uy * uy + uz * uz) + acceleration * until
            big = 2.0 * (speed * speed + (d + speed * until) * acceleration)
            if just_hit and f <= touching and slope > -2.0 * NOISE * d * speed:
                slope = max(slope, 0.0)
                f = 0.0
        if f <= (touching if step == 0 else TOUCHING * d * d) and slope < 0.0:
            return max(s - f / slope, 0.0) if step else s
        f = max(f, 0.0)
        if big <= 0.0:
            return np.inf
        root = math.sqrt(slope * slope + 2.0 * big * f)
        ds = 2.0 * f / (root - slope) if slope < 0.0 else (slope + root) / big
        s += max(ds, LEAST_STEP * d / (speed + LEAST_STEP)) if f <= touching else max(ds, 1e-16 * (ti + tj + s))
        if s > limit:
            return np.inf
    return s


@kernel
def step_impulse(rate, height, inverse_mass):
    """Return the impulse of a step of a potential, above 0 where it drives the beads apart, and whether it is crossed.

    Parameters
    ----------
    rate : float
        Rate of separation, below 0 where the beads approach [length / time].
    height : float
        By how much the potential is higher beyond the step [mass length^2 / time^2]; inf: nothing crosses it.
    inverse_mass : float
        n . y [1 / mass].
    """
    left = rate * rate - 2.0 * height * inverse_mass
    if left > 0.0:
        return -2.0 * height / (rate + math.copysign(math.sqrt(left), rate)), True
    return -2.0 * rate / inverse_mass, False
