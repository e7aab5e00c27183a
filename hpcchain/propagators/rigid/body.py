"""A rigid body of beads in free flight: centre of mass straight, its turning that of the free asymmetric top.

Bead j sits at C + e_1 s_j1 + e_2 s_j2 + e_3 s_j3, with e_k the body's principal axes and s_j its coordinates along
them, and has velocity C' + w x (that - C). Beads are points of mass: with S_k = sum m s_k^2 the moments about the axes
are I_1 = S_2 + S_3 and so on. Between contacts (Euler 1758)

    w_1' = w_2 w_3 (S_3 - S_2) / (S_2 + S_3) and cyclic,   e_1' = w_3 e_2 - w_2 e_3 and cyclic,

with w_k = w . e_k, whose solutions are Jacobi's elliptic functions (van Zon and Schofield 2007). Here they are expanded
in time, as the contact search needs them: the right sides are products, so each order follows from those below. A
segment is no longer than such series are exact to round-off. Spheres, symmetric tops and turning near the separatrix
are no special cases: the nearest pole of w(t) in the complex plane is no nearer than 1 / |w|.

The state is put on the body itself, and a contact acts on the body. The fits are done twice, the second time of what
the first leaves: what rounding does to the sums of their weights is the same each time, and would make the energy
drift.

In the tiles three rows of lanes from SITE on hold s_j1, s_j2, s_j3. Of the first tile the rows of bonds' series hold
TURN numbers an order: w_1 ... w_3, then e_1, e_2, e_3.
"""

import math

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import workspace as W
from hpcchain.layout.vectors import ZERO, cross, dot, minus, over, plus, times, unit
from hpcchain.propagators.rigid.rotor import turning_time
from hpcchain.propagators.taylor.graph_molecule import bound_acceleration

SITE = W.FORWARD
TURN = 12
AXIS = 3


@kernel
def body_load(work, offset, tiles, table, at):
    """Copy the beads' coordinates from index `at` of the static tables."""
    for t in range(tiles):
        for k in range(W.ROW):
            work[offset + t * W.TILE + SITE + k] = table[at + t * W.ROW + k]


@inlined
def in_space(axes, a):
    """Return the vector that has these components along the body's axes."""
    return plus(plus(times(a[0], axes[0]), times(a[1], axes[1])), times(a[2], axes[2]))


@inlined
def placed(work, p, axes):
    """Return where the bead whose lane is at p is from the body's centre, with these axes."""
    return in_space(axes, W.vector(work, p + SITE))


@inlined
def by_moments(moments, axes, momentum):
    """Return the angular velocity, along the body's axes, of an angular momentum."""
    return (
        dot(axes[0], momentum) / (moments[1] + moments[2]),
        dot(axes[1], momentum) / (moments[2] + moments[0]),
        dot(axes[2], momentum) / (moments[0] + moments[1]),
    )


@kernel
def body_moments(work, offset, n):
    """Return the body's mass, and its S_1, S_2, S_3 as a tuple [mass], [mass length^2]."""
    mass = first = second = third = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        x, y, z = W.vector(work, p + SITE)
        mass += m
        first, second, third = first + m * x * x, second + m * y * y, third + m * z * z
    return mass, (first, second, third)


@kernel
def _axes_of(work, offset, n):
    """Return the axes that positions say: the means of them weighted by s_1 and s_2, at right angles."""
    start, first, second = W.vector(work, offset + W.COEF), ZERO, ZERO
    for b in range(n):
        p = W.bead_offset(offset, b)
        m, way = 1.0 / work[p + W.INVM], minus(W.vector(work, p + W.COEF), start)
        first = plus(first, times(m * work[p + SITE], way))
        second = plus(second, times(m * work[p + SITE + W.LANES], way))
    first = unit(first)
    second = unit(minus(second, times(dot(first, second), first)))
    return first, second, cross(first, second)


@kernel
def body_frame(work, offset, n, mass, moments):
    """Return the centre and the axes of the body that is nearest to the positions in the tiles, by mass."""
    axes = _axes_of(work, offset, n)
    centre = minus(W.vector(work, offset + W.COEF), placed(work, offset, axes))
    moved = turned = ZERO
    for b in range(n):
        p = W.bead_offset(offset, b)
        place = placed(work, p, axes)
        left = times(1.0 / work[p + W.INVM], minus(minus(W.vector(work, p + W.COEF), centre), place))
        moved = plus(moved, left)
        turned = plus(turned, cross(place, left))
    turn = in_space(axes, by_moments(moments, axes, turned))
    e, f, g = axes
    return plus(centre, over(moved, mass)), (plus(e, cross(turn, e)), plus(f, cross(turn, f)), plus(g, cross(turn, g)))


@kernel
def body_turning(work, offset, n, mass, moments, axes):
    """Return the centre's velocity and the angular velocity along the axes that velocities in the tiles say."""
    speed, turn = W.vector(work, offset + W.COEF + W.ROW), ZERO
    for _ in range(2):
        turning = in_space(axes, turn)
        moved = turned = ZERO
        for b in range(n):
            p = W.bead_offset(offset, b)
            place = placed(work, p, axes)
            left = minus(minus(W.vector(work, p + W.COEF + W.ROW), speed), cross(turning, place))
            left = times(1.0 / work[p + W.INVM], left)
            moved = plus(moved, left)
            turned = plus(turned, cross(place, left))
        turn = plus(turn, by_moments(moments, axes, turned))
        speed = plus(speed, over(moved, mass))
    return speed, turn


@kernel
def body_prepare(work, offset, n):
    """Put positions and velocities on the body: momentum and angular momentum are kept, what bends it vanishes."""
    mass, moments = body_moments(work, offset, n)
    centre, axes = body_frame(work, offset, n, mass, moments)
    speed, turn = body_turning(work, offset, n, mass, moments, axes)
    turning = in_space(axes, turn)
    for b in range(n):
        p = W.bead_offset(offset, b)
        place = placed(work, p, axes)
        W.put_vector(work, p + W.COEF, plus(centre, place))
        W.put_vector(work, p + W.COEF + W.ROW, plus(speed, cross(turning, place)))


@kernel
def body_kick(work, offset, n, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse along n on one bead; return the inverse effective mass.

    It is n / M + (I^-1 (d x n)) x d_j for bead j at d_j from the centre, d being the struck bead's place.
    """
    mass, moments = body_moments(work, offset, n)
    _, axes = body_frame(work, offset, n, mass, moments)
    normal, p = (nx, ny, nz), W.bead_offset(offset, bead)
    turning = in_space(axes, by_moments(moments, axes, cross(placed(work, p, axes), normal)))
    for b in range(n):
        q = W.bead_offset(offset, b)
        W.put_vector(work, q + W.KICK, plus(over(normal, mass), cross(turning, placed(work, q, axes))))
    return dot(normal, W.vector(work, p + W.KICK))


@kernel
def _next_order(work, at, k, fa, fb, fc):
    """Make order k + 1 of the turning from those up to k; return the size of that of the axes."""
    wa = wb = wc = 0.0
    for m in range(k + 1):
        p, q = at + TURN * m, at + TURN * (k - m)
        wa += work[p + 1] * work[q + 2]
        wb += work[p + 2] * work[q]
        wc += work[p] * work[q + 1]
    new = at + TURN * (k + 1)
    work[new] = fa * wa / (k + 1)
    work[new + 1] = fb * wb / (k + 1)
    work[new + 2] = fc * wc / (k + 1)
    largest = 0.0
    for c in range(3):
        ea = eb = ec = 0.0
        for m in range(k + 1):
            p, q = at + TURN * m, at + TURN * (k - m) + AXIS + c
            ea += work[p + 2] * work[q + 3] - work[p + 1] * work[q + 6]
            eb += work[p] * work[q + 6] - work[p + 2] * work[q]
            ec += work[p + 1] * work[q] - work[p] * work[q + 3]
        work[new + AXIS + c] = ea / (k + 1)
        work[new + AXIS + 3 + c] = eb / (k + 1)
        work[new + AXIS + 6 + c] = ec / (k + 1)
        largest = max(largest, abs(ea), abs(eb), abs(ec))
    return largest / (k + 1)


@kernel
def _expand_turning(work, at, factors, h, tolerance):
    """Make the series of the turning from its order 0 until two terms of a velocity in a row are below `tolerance`."""
    # The last order is odd (`workspace`: KMAX). Where the highest is not enough the time is cut. Returns order and
    # time.
    fa, fb, fc = factors
    least = tolerance * _next_order(work, at, 0, fa, fb, fc)
    before = last = 0.0
    power = 1.0
    for k in range(2, W.KMAX + 1):
        power *= h
        before, last = last, _next_order(work, at, k - 1, fa, fb, fc) * k * power
        if k % 2 == 1 and last <= least and before <= least:
            return k, h
    cut = 1.0
    if last > least:
        cut = math.exp(math.log(least / last) / (W.KMAX - 1))
    if before > least:
        cut = min(cut, math.exp(math.log(least / before) / (W.KMAX - 2)))
    return W.KMAX, h * cut


@kernel
def body_series(work, offset, n, h, tolerance):
    """Fill the position coefficients of a body from its rows 0 and 1; return order and length as `chain_series`."""
    mass, moments = body_moments(work, offset, n)
    _, axes = body_frame(work, offset, n, mass, moments)
    _, turn = body_turning(work, offset, n, mass, moments, axes)
    at = offset + W.HIST
    for c in range(3):
        work[at + c] = turn[c]
        for k in range(3):
            work[at + AXIS + 3 * k + c] = axes[k][c]
    a, b, c = moments
    factors = ((c - b) / (b + c), (a - c) / (c + a), (b - a) / (a + b))
    h = turning_time(dot(turn, turn), h)
    order, h = _expand_turning(work, at, factors, h, tolerance)
    for b in range(n):
        p = W.bead_offset(offset, b)
        r, s, t = W.vector(work, p + SITE)
        for k in range(2, order + 1):
            q = at + TURN * k + AXIS
            x = r * work[q] + s * work[q + 3] + t * work[q + 6]
            y = r * work[q + 1] + s * work[q + 4] + t * work[q + 7]
            z = r * work[q + 2] + s * work[q + 5] + t * work[q + 8]
            W.put_vector(work, p + W.COEF + W.ROW * k, (x, y, z))
    bound_acceleration(work, offset, (n + W.LANES - 1) // W.LANES, order, h)
    return order, h
