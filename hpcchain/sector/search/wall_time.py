"""When a bead meets a wall: along its polynomial, or by the method that moves it."""

import numpy as np

from hpcchain.contact.pair import Pair
from hpcchain.contact.span import SLACK
from hpcchain.contact.wall import at_rest, wall_contact
from hpcchain.contact.walls import gap_of, sense_of, shape_contact, swing_from
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import start_time
from hpcchain.layout.segment_bits import radius_of, series_error_of, struck
from hpcchain.sector.search.solved_contact_time import exact_contact


@kernel
def wall_time(s, i, axis, side, limit, stepper):
    """Return how long after its segment's start bead i meets the lower (side 0) or upper wall of an axis, or inf.

    What is later than `limit` is of no interest; `stepper` is that of `search_bead`.
    """
    wall = s.par[L.LOWER_WALL + axis] if side == 0 else s.par[L.UPPER_WALL + axis]
    if wall == np.inf or wall == -np.inf:
        return np.inf
    sign = 1.0 - 2.0 * side
    growth = radius_of(s.radius, i) * s.par[L.GROWTH_RATE]
    radius = radius_of(s.radius, i) * s.par[L.GROWTH] + growth * start_time(s, i)
    swing = at_rest()
    if s.extended is not None:
        number = axis + L.AXES * side
        wall = s.walls[number, L.WALL_PLACE] + sense_of(number) * s.walls[number, L.WALL_VELOCITY] * start_time(s, i)
        growth += s.walls[number, L.WALL_VELOCITY]
        swing = swing_from(s, number, start_time(s, i))
    gap = sign * (s.starts[i, axis] - wall) - radius
    if stepper is not None:
        gap -= series_error_of(s, s.segment[i, L.MOLECULE])
    if gap - abs(swing.amplitude) > max(s.bounds[i, L.SPEED] + growth, 0.0) * limit * SLACK:
        return np.inf
    code, just_hit = -1 - axis - 3 * side, struck(s.segment, i) == 1
    acceleration = s.bounds[i, L.ACCELERATION]
    if s.extended is not None:
        acceleration += abs(s.par[L.GRAVITY + axis])
    pair = Pair(i, code, 0.0, 0.0, wall, sign, 0.0, radius, growth, acceleration, limit, just_hit)
    if stepper is not None:
        if swing.amplitude == 0.0:  # all that meets one with a swing flies exactly
            return exact_contact(s, pair)
    return wall_contact(s.mol, s.starts, s.segment, s.series, pair, swing, axis, limit * SLACK)


@kernel
def shape_time(s, i, number, limit):
    """Return how long after its segment's start bead i meets the wall with a shape in row `number`, or inf.

    What is later than `limit` is of no interest.
    """
    time = start_time(s, i)
    growth = radius_of(s.radius, i) * s.par[L.GROWTH_RATE]
    radius = radius_of(s.radius, i) * s.par[L.GROWTH] + growth * time
    rate = -growth - s.walls[number, L.WALL_VELOCITY]
    free = s.walls[number, L.WALL_PLACE] - s.walls[number, L.WALL_VELOCITY] * time - radius
    swing = swing_from(s, number, time)
    swinging = abs(swing.amplitude) * swing.angular
    gap = gap_of(s, number, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], time) - radius
    if gap > (s.bounds[i, L.SPEED] - rate + swinging) * limit * SLACK:
        return np.inf
    acceleration = s.bounds[i, L.ACCELERATION] + s.par[L.FALL]
    return shape_contact(s, i, number, free, rate, swing, acceleration, limit * SLACK, struck(s.segment, i) == 1)
