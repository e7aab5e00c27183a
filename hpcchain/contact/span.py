"""Two beads on the common span of their segments: for how long, and how near they come on straight lines."""

import numpy as np

from hpcchain.contact.pair import NOISE
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start, start_time
from hpcchain.layout.segment_bits import length_of, radii_of, same_start, series_error_of, struck

LACKING = -1.0
SLACK = 1.0 + 1e-9


@inlined
def common_span(s, i, r, newer, limit):
    """Return r's lag, where on either segment both exist, for how long, and how much of that is of interest [time]."""
    lag = since_start(s, r, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM])
    if lag >= 0.0:
        ti = 0.0
        tj = lag
    else:
        ti = -lag
        tj = 0.0
    horizon = limit - ti
    until = min(length_of(s, i) - ti, length_of(s, r) - tj)
    if until < horizon:
        horizon = until
    if newer >= 0:
        known = since_start(s, r, s.starts[newer, L.START_TICKS], s.starts[newer, L.START_REM])
        horizon = min(horizon, known - tj + s.par[L.SIMULTANEOUS])
    return lag, ti, tj, until, horizon


@inlined
def separation_on_lines(s, i, r, ti, tj, fi, fj):
    """Return separation (3), its rate (3) and image shift (3) of straight lines at times on either segment.

    Or of parabolas, of beads that have `fallen` for times fi and fj. One of the times ti and tj is 0: of the bead whose
    segment begins with the common span. Of the common acceleration what differs in age is left.
    """
    rx = (s.starts[i, L.X] + s.starts[i, L.VX] * ti) - (s.starts[r, L.X] + s.starts[r, L.VX] * tj)
    ry = (s.starts[i, L.Y] + s.starts[i, L.VY] * ti) - (s.starts[r, L.Y] + s.starts[r, L.VY] * tj)
    rz = (s.starts[i, L.Z] + s.starts[i, L.VZ] * ti) - (s.starts[r, L.Z] + s.starts[r, L.VZ] * tj)
    ux = s.starts[i, L.VX] - s.starts[r, L.VX]
    uy = s.starts[i, L.VY] - s.starts[r, L.VY]
    uz = s.starts[i, L.VZ] - s.starts[r, L.VZ]
    if s.extended is not None:
        gx, gy, gz = s.par[L.GRAVITY], s.par[L.GRAVITY + L.Y], s.par[L.GRAVITY + L.Z]
        older = fi - fj
        half = 0.5 * (fi * fi - fj * fj)
        rx, ry, rz = rx + gx * half, ry + gy * half, rz + gz * half
        ux, uy, uz = ux + gx * older, uy + gy * older, uz + gz * older
    sx = -s.par[L.SIZE] * np.rint(rx * s.par[L.INVERSE])
    sy = -s.par[L.SIZE + L.Y] * np.rint(ry * s.par[L.INVERSE + L.Y])
    sz = -s.par[L.SIZE + L.Z] * np.rint(rz * s.par[L.INVERSE + L.Z])
    return rx + sx, ry + sy, rz + sz, ux, uy, uz, sx, sy, sz


@kernel
def closest_of_lines(s, i, r, off_i, off_j):
    """Return how near the straight lines come at least if the beads touch before these times on their segments."""
    sigma = radii_of(s, i, r)
    closest = sigma * s.par[L.GROWTH] + 0.5 * (
        s.bounds[i, L.ACCELERATION] * off_i * off_i + s.bounds[r, L.ACCELERATION] * off_j * off_j
    )
    if s.stepper is not None:
        closest += series_error_of(s, s.segment[i, L.MOLECULE]) + series_error_of(s, s.segment[r, L.MOLECULE])
    growing = s.par[L.GROWTH_RATE]
    if growing != 0.0:
        closest += sigma * growing * (start_time(s, i) + off_i)
    return closest


@kernel
def least_square(rr, rv, uu, horizon):
    """Return the least |r + u t|^2 of times t up to a horizon, of r.r, r.u and u.u [length^2]."""
    least = rr
    if rv < 0.0:
        if -rv < horizon * uu:
            least -= rv * rv / uu
        else:
            least += horizon * (2.0 * rv + horizon * uu)
    return least


@kernel
def just_hit(s, i, r, lag, rv):
    """Whether both segments began with one contact of the two beads, and what r.u is left of it is round-off."""
    same = lag == 0.0 and same_start(s.segment, i, r) and struck(s.segment, i) == 1
    sigma = radii_of(s, i, r)
    if same and rv < -NOISE * sigma * (s.bounds[i, L.SPEED] + s.bounds[r, L.SPEED]):
        same = False
    return same


@kernel
def contact_distance(s, i, r, lag):
    """Return the distance at which beads touch, where their common span begins [length], and its rate."""
    sigma = radii_of(s, i, r)
    distance = sigma * s.par[L.GROWTH]
    growth = 0.0
    growing = s.par[L.GROWTH_RATE]
    if growing != 0.0:
        late = i if lag >= 0.0 else r
        distance = sigma * (s.par[L.GROWTH] + growing * start_time(s, late))
        growth = sigma * growing
    return distance, growth
