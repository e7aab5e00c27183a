"""A rigid rod in free flight: any number of beads on a line, centre of mass straight, axis turning uniformly.

With s_j the coordinate of bead j from the centre of mass along the axis u, all beads are at C + s_j u and have velocity
C' + s_j u', u' across u. Distance constraints between neighbours do not hold a straight line: nothing pulls a bead back
that leaves it sideways. So the state is put on the line itself. A contact acts on the body, with mass M = sum m and
inertia I = sum m s^2 (docs/theory/numerics.md, A rod as a hard molecule).

Under rattle it moves in steps instead (`rod_steps`), with the projection and the impulse given here.

In the tiles a rod's SITE lanes, those of the squared bond lengths in a chain, hold s_j.
"""

from hpcchain.jit.decorators import kernel
from hpcchain.layout import workspace as W
from hpcchain.layout.vectors import ZERO, dot, minus, over, plus, times, unit
from hpcchain.propagators.rigid.rotor import bound_turning, turning_series

SITE = W.LEN2


@kernel
def rod_line(work, offset, n, at):
    """Fit a straight line to the n bead rows at `at`, weighted by mass: row_j ~ centre + s_j slope.

    The slope is that between the end beads, whose distance is exact (`sites`), plus the fit of what is left, which is
    round-off. Rounding in the sums of the weights is the same each time, and would make the rate of turning drift (50
    beads: energy by 1e-15 a segment).

    Returns
    -------
    mass, inertia : float
        M [mass] and I [mass length^2].
    centre, slope : vectors
        The row at the centre of mass, and per unit of s.
    """
    p, s0 = W.bead_offset(offset, n - 1), work[offset + SITE]
    start = W.vector(work, offset + at)
    slope = over(minus(W.vector(work, p + at), start), work[p + SITE] - s0)
    mass = first = second = 0.0
    mean = moment = ZERO
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        s = work[p + SITE]
        left = minus(minus(W.vector(work, p + at), start), times(s - s0, slope))
        mass += m
        first += m * s
        second += m * s * s
        mean = plus(mean, times(m, left))
        moment = plus(moment, times(m * s, left))
    mean = over(mean, mass)
    centre = plus(start, minus(mean, times(s0, slope)))
    return mass, second, centre, plus(slope, over(minus(moment, times(first, mean)), second))


@kernel
def rod_turning(work, offset, n):
    """Return the axis u and its rate u' of the rod in the tiles, and w^2, w = |u'|."""
    _, _, _, axis = rod_line(work, offset, n, W.COEF)
    _, _, _, rate = rod_line(work, offset, n, W.COEF + W.ROW)
    return axis, rate, dot(rate, rate) / dot(axis, axis)


@kernel
def rod_prepare(work, offset, n):
    """Put positions and velocities on the rod: momentum and angular momentum are kept, sideways errors vanish.

    Returns the axis, a unit vector, and its rate.
    """
    _, _, centre, axis = rod_line(work, offset, n, W.COEF)
    _, _, speed, rate = rod_line(work, offset, n, W.COEF + W.ROW)
    axis = unit(axis)
    rate = minus(rate, times(dot(rate, axis), axis))
    for b in range(n):
        p = W.bead_offset(offset, b)
        s = work[p + SITE]
        W.put_vector(work, p + W.COEF, plus(centre, times(s, axis)))
        W.put_vector(work, p + W.COEF + W.ROW, plus(speed, times(s, rate)))
    return axis, rate


@kernel
def rod_kick(work, offset, n, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse along n on one bead; return the inverse effective mass.

    It is n / M + s_j (s / I) (n - (u . n) u) for bead j, s being the struck bead's coordinate.
    """
    mass, inertia, _, axis = rod_line(work, offset, n, W.COEF)
    normal, p = (nx, ny, nz), W.bead_offset(offset, bead)
    turning = times(work[p + SITE] / inertia, minus(normal, times(dot(axis, normal) / dot(axis, axis), axis)))
    for b in range(n):
        q = W.bead_offset(offset, b)
        W.put_vector(work, q + W.KICK, plus(over(normal, mass), times(work[q + SITE], turning)))
    return dot(normal, W.vector(work, p + W.KICK))


@kernel
def rod_series(work, offset, n, h, tolerance):
    """Fill the position coefficients of a rod from its rows 0 and 1; return order and length as `chain_series`."""
    axis, rate, _ = rod_turning(work, offset, n)
    order, h, omega2 = turning_series(work, offset, n, SITE, axis, rate, h, tolerance)
    bound_turning(work, offset, n, SITE, omega2)
    return order, h
