"""When a bead meets a wall: along its polynomial, or by the method that moves it."""

import numpy as np

from hpcchain.contact.pair import Pair
from hpcchain.contact.wall import wall_contact
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import struck
from hpcchain.sector.search.solved_contact_time import exact_contact

SLACK = 1.0 + 1e-9


@kernel
def wall_time(s, i, axis, side, limit, stepper):
    """Return how long after its segment's start bead i meets the lower (side 0) or upper wall of an axis, or inf.

    What is later than `limit` is of no interest; `stepper` is that of `search_bead`.
    """
    wall = s.par[L.LOWER_WALL + axis] if side == 0 else s.par[L.UPPER_WALL + axis]
    if wall == np.inf or wall == -np.inf:
        return np.inf
    sign = 1.0 - 2.0 * side
    growth = s.bounds[i, L.RADIUS] * s.par[L.GROWTH_RATE]
    radius = s.bounds[i, L.RADIUS] * s.par[L.GROWTH] + growth * (
        s.starts[i, L.START_TICKS] * s.par[L.TICK] + s.starts[i, L.START_REM]
    )
    gap = sign * (s.starts[i, axis] - wall) - radius
    if stepper is not None:
        gap -= s.timing[s.segment[i, L.MOLECULE], L.SERIES_ERROR]
    if gap > (s.bounds[i, L.SPEED] + growth) * limit * SLACK:
        return np.inf
    code, just_hit = -1 - axis - 3 * side, struck(s.segment, i) == 1
    pair = Pair(i, code, 0.0, 0.0, wall, sign, 0.0, radius, growth, s.bounds[i, L.ACCELERATION], limit, just_hit)
    if stepper is not None:
        return exact_contact(s, pair)
    return wall_contact(s.starts, s.segment, s.series, pair, axis, limit * SLACK)
