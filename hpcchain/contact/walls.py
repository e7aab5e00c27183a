"""Walls, also those that move or have shapes: where they are, their normals, when a bead's surface meets them.

A wall is a row of `walls` (`layout.arrays`) and has the code -1 - row. A side moves along its normal; a sphere or a
cylinder about its axis encloses the beads, and moves by a radius that shrinks. Their surfaces may also move along
themselves. Besides its velocity a wall may have a swing: it is displaced by amplitude times sin(2 pi time / period).
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.contact.pair import JUST_HIT, LEAST_STEP, MOST_STEPS, NOISE, TOUCHING, curve, step_to_root
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import time_of_event
from hpcchain.layout.segment_bits import length_of


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


@inlined
def across(pair, x, y, z):
    """Return that component of a vector that is at right angles to the side of the box that a Pair has."""
    axis = (-1 - pair.j) % L.AXES
    return x if axis == L.X else (y if axis == L.Y else z)


@kernel
def wall_contact(s, pair, swing, limit):
    """Return when a bead touches a side of the box, by steps that cannot pass the contact, or inf.

    `pair` is a `contact.pair.Pair` of a bead and a wall, whose acceleration is that of both but for the swing; `swing`
    is the wall's Swing from the start of their common span on; `limit` [time] the length of the search.
    """
    wall, side, radius, growth, just_hit = pair.sx, pair.sy, pair.distance, pair.growth, pair.just_hit
    acceleration = pair.acceleration + abs(swing.amplitude) * swing.angular**2
    t = 0.0
    last = 0.0
    for step in range(MOST_STEPS):
        x, y, z, u, v, w = curve(s, pair.i, pair.ti + t)
        speed = math.sqrt(u * u + v * v + w * w)
        x, u = across(pair, x, y, z), across(pair, u, v, w)
        gap = side * (x - wall) - radius - growth * t
        slope = side * u - growth
        clear = 0.0
        if swing.amplitude != 0.0:
            clear = time_clear(gap - abs(swing.amplitude), slope, pair.acceleration)
            gap -= swing.amplitude * math.sin(swing.angle + swing.angular * t)
            slope -= swing.amplitude * swing.angular * math.cos(swing.angle + swing.angular * t)
        if step == 0 and just_hit and slope > -NOISE * speed and abs(gap) < 10 * TOUCHING * (radius + abs(wall)):
            slope = max(slope, 0.0)
            gap = 0.0
        touching = TOUCHING * (radius + 0.1 * abs(wall))
        if gap <= touching and slope < 0.0:
            root = t - gap / slope
            return root if step and root > last else t  # inside a widened distance, a bead that leaves and turns back
        last = t
        gap = max(gap, 0.0)
        if acceleration <= 0.0:
            return t - gap / slope if slope < 0.0 and t - gap / slope <= limit else np.inf
        dt = max(step_to_root(gap, slope, acceleration), clear)
        least = LEAST_STEP * math.sqrt(radius / acceleration) if gap <= touching else 1e-16 * (pair.ti + t)
        t += max(dt, least)
        if t > limit:
            return np.inf
    return t


@inlined
def sense_of(number):
    """Return +1 for a lower side of the box, -1 for an upper one: the sign of its normal's component."""
    return 1.0 if number < L.AXES else -1.0


@inlined
def swing_from(s, number, time):
    """Return the Swing towards the inside of the wall in row `number`, from a time on."""
    period = s.walls[number, L.WALL_PERIOD]
    if period == 0.0:
        return at_rest()
    angular = 2.0 * math.pi / period
    return Swing(s.walls[number, L.WALL_AMPLITUDE], angular, angular * (time % period))


@inlined
def travel_of(s, number, time):
    """Return how far the wall in row `number` has moved towards the inside by a time [length]."""
    travel = s.walls[number, L.WALL_VELOCITY] * time
    swing = swing_from(s, number, time)
    return travel + swing.amplitude * math.sin(swing.angle) if swing.amplitude != 0.0 else travel


@inlined
def wall_velocity(s, code):
    """Return how fast the wall with this code moves towards the inside, at the event at hand [length / time]."""
    velocity = s.walls[-1 - code, L.WALL_VELOCITY]
    swing = swing_from(s, -1 - code, time_of_event(s))
    return velocity + swing.amplitude * swing.angular * math.cos(swing.angle) if swing.amplitude != 0.0 else velocity


@kernel
def sliding_of(s, code, c):
    """Return component c of a wall's velocity along itself, at the event at hand [length / time]."""
    swing = swing_from(s, -1 - code, time_of_event(s))
    shaking = s.walls[-1 - code, L.WALL_SHAKING + c] * swing.angular * math.cos(swing.angle)
    return s.walls[-1 - code, L.WALL_SLIDING + c] + shaking


@inlined
def surface_of_wall(s, code, n, c):
    """Return component c of the velocity of a wall's surface where its normal is n, at the event at hand."""
    return wall_velocity(s, code) * n[c] + sliding_of(s, code, c)


@inlined
def is_thermal(s, partner):
    """Whether a contact's partner is a wall that gives beads new velocities; called where laws are extended alone."""
    return partner < 0 and s.walls[-1 - min(partner, -1), L.WALL_TEMPERATURE] > 0.0


@inlined
def inward(s, number, x, y, z):
    """Return the vector from a place to the centre of a wall's shape, at right angles to a cylinder's axis."""
    rx = s.walls[number, L.WALL_CENTRE] - x
    ry = s.walls[number, L.WALL_CENTRE + L.Y] - y
    rz = s.walls[number, L.WALL_CENTRE + L.Z] - z
    if s.walls[number, L.WALL_SORT] == L.CYLINDER:
        axis = s.walls[number, L.WALL_AXIS]
        return 0.0 if axis == 0.0 else rx, 0.0 if axis == 1.0 else ry, 0.0 if axis == 2.0 else rz
    return rx, ry, rz


@kernel
def normal_of(s, number, x, y, z, n):
    """Write the unit normal, into the inside, of a wall at a bead's place to n; the centre of a shape has none: 0."""
    n[:] = 0.0
    if number < L.SIDES:
        n[number % L.AXES] = sense_of(number)
        return
    rx, ry, rz = inward(s, number, x, y, z)
    r = math.sqrt(rx * rx + ry * ry + rz * rz)
    if r > 0.0:
        n[0] = rx / r
        n[1] = ry / r
        n[2] = rz / r


@kernel
def gap_of(s, number, x, y, z, time):
    """Return the distance of a place from a wall at a time [length]."""
    if number < L.SIDES:
        p = x if number % L.AXES == 0 else (y if number % L.AXES == 1 else z)
        return sense_of(number) * (p - (s.walls[number, L.WALL_PLACE] + sense_of(number) * travel_of(s, number, time)))
    rx, ry, rz = inward(s, number, x, y, z)
    place = s.walls[number, L.WALL_PLACE] - travel_of(s, number, time)
    return place - math.sqrt(rx * rx + ry * ry + rz * rz)


@kernel
def wall_gap(s, number, x, y, z):
    """Return the distance of a place from a wall at the event at hand [length]; inf where that side has none."""
    if s.walls[number, L.WALL_SORT] == L.NO_WALL:
        return np.inf
    return gap_of(s, number, x, y, z, time_of_event(s))


@kernel
def wall_normal(s, number, x, y, z, n):
    """Write the unit normal of a wall at a place to n; return how fast the wall comes along it [length / time]."""
    normal_of(s, number, x, y, z, n)
    return wall_velocity(s, -1 - number)


@kernel
def shape_contact(s, i, number, free, rate, swing, acceleration, limit, just_hit):
    """Return when bead i's centre is as far from the centre of a shape as it can be, or inf.

    f = (free + rate t)^2 - r^2, r being the distance of the centres, is positive inside. Straight flight in a shape
    without a swing is solved for; else steps are taken that cannot pass a root, as in `contact.pair.curved_contact`.

    Parameters
    ----------
    s : Sector
    i, number : int
        Row of the bead, row of the wall.
    free, rate : float
        The shape's radius, had it no swing, less the bead's, at the segment's start [length]; its rate [length / time].
    swing : Swing
        Of the shape, from the segment's start on.
    acceleration : float
        Bound of the bead's [length / time^2].
    limit : float
        Length of the search [time].
    just_hit : bool
        Whether the bead was struck at its segment's start: then a contact there is that one.
    """
    far = abs(s.walls[number, L.WALL_CENTRE]) + abs(s.walls[number, L.WALL_CENTRE + L.Y])
    far += abs(s.walls[number, L.WALL_CENTRE + L.Z])
    touching = TOUCHING * free * (free + 0.1 * far)
    if acceleration == 0.0 and swing.amplitude == 0.0:
        return _straight_shape(s, i, number, free, rate, touching, limit, just_hit)
    swinging = abs(swing.amplitude) * swing.angular**2
    widest = free + max(rate, 0.0) * length_of(s, i) + abs(swing.amplitude)  # not `limit`, which is of the search alone
    least = 2.0 * (s.bounds[i, L.SPEED] ** 2 + widest * acceleration)
    big = least + 2.0 * widest * swinging
    t = 0.0
    last = 0.0
    for step in range(MOST_STEPS):
        x, y, z, u, v, w = curve(s, i, t)
        rx, ry, rz = inward(s, number, x, y, z)
        radius, pace = free + rate * t, rate
        clear = 0.0
        if swing.amplitude != 0.0:
            inner = max(radius - abs(swing.amplitude), 0.0)
            square = rx * rx + ry * ry + rz * rz
            clear = time_clear(inner * inner - square, 2.0 * (inner * pace + (rx * u + ry * v + rz * w)), least)
            radius -= swing.amplitude * math.sin(swing.angle + swing.angular * t)
            pace -= swing.amplitude * swing.angular * math.cos(swing.angle + swing.angular * t)
        f = radius * radius - (rx * rx + ry * ry + rz * rz)
        slope = 2.0 * (radius * pace + (rx * u + ry * v + rz * w))
        if step == 0 and just_hit and abs(f) < JUST_HIT * free * (free + far):
            if slope > -2.0 * NOISE * free * s.bounds[i, L.SPEED]:
                slope = max(slope, 0.0)
                f = 0.0
        if f <= touching and slope < 0.0:
            root = t - f / slope
            return root if step and root > last else t
        last = t
        f = max(f, 0.0)
        dt = max(step_to_root(f, slope, big), clear)
        t += max(dt, LEAST_STEP * free / (s.bounds[i, L.SPEED] + LEAST_STEP)) if f <= touching else max(dt, 1e-16 * t)
        if t > limit:
            return np.inf
    return t


@inlined
def _straight_shape(s, i, number, free, rate, touching, limit, just_hit):
    """Return `shape_contact` of straight flight: the later root, as the beads are inside."""
    rx, ry, rz = inward(s, number, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z])
    u, v, w = s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ]
    if s.walls[number, L.WALL_SORT] == L.CYLINDER:
        axis = s.walls[number, L.WALL_AXIS]
        u = 0.0 if axis == 0.0 else u
        v = 0.0 if axis == 1.0 else v
        w = 0.0 if axis == 2.0 else w
    a = u * u + v * v + w * w - rate * rate
    b = -(rx * u + ry * v + rz * w) - free * rate
    c = rx * rx + ry * ry + rz * rz - free * free
    speed = math.sqrt(u * u + v * v + w * w)
    if just_hit and abs(c) < JUST_HIT * free * (free + abs(free)) and b < NOISE * free * speed:
        if b >= 0.0:
            return np.inf
        return -2.0 * b / a if a > 0.0 else np.inf
    if c >= -touching and b > 0.0:
        return 0.0
    square = b * b - a * c
    if square < 0.0:
        return np.inf
    root = math.sqrt(square)
    time = np.inf
    if b > 0.0:
        time = -c / (b + root)
    elif a > 0.0:
        time = (root - b) / a
    return time if time <= limit else np.inf
