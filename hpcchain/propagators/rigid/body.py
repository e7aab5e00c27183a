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
def cross(ax, ay, az, bx, by, bz):
    """Return a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inlined
def in_space(axes, a, b, c):
    """Return the vector that has these components along the body's axes."""
    return (
        a * axes[0] + b * axes[3] + c * axes[6],
        a * axes[1] + b * axes[4] + c * axes[7],
        a * axes[2] + b * axes[5] + c * axes[8],
    )


@inlined
def placed(work, p, axes):
    """Return where the bead whose lane is at p is from the body's centre, with these axes (9)."""
    a, b, c = W.vector(work, p + SITE)
    return in_space(axes, a, b, c)


@inlined
def by_moments(moments, axes, lx, ly, lz):
    """Return the angular velocity (3), along the body's axes, of an angular momentum."""
    return (
        (axes[0] * lx + axes[1] * ly + axes[2] * lz) / (moments[1] + moments[2]),
        (axes[3] * lx + axes[4] * ly + axes[5] * lz) / (moments[2] + moments[0]),
        (axes[6] * lx + axes[7] * ly + axes[8] * lz) / (moments[0] + moments[1]),
    )


@kernel
def body_moments(work, offset, n):
    """Return the body's mass, and its S_1, S_2, S_3 as a tuple [mass], [mass length^2]."""
    mass = 0.0
    first = second = third = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        mass += m
        first += m * work[p + SITE] * work[p + SITE]
        second += m * work[p + SITE + W.LANES] * work[p + SITE + W.LANES]
        third += m * work[p + SITE + 2 * W.LANES] * work[p + SITE + 2 * W.LANES]
    return mass, (first, second, third)


@kernel
def _axes_of(work, offset, n):
    """Return the axes (9) that positions say: the means of them weighted by s_1 and s_2, at right angles."""
    x0, y0, z0 = W.vector(work, offset + W.COEF)
    ax = ay = az = 0.0
    bx = by = bz = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        x = work[p + W.COEF] - x0
        y = work[p + W.COEF + W.LANES] - y0
        z = work[p + W.COEF + 2 * W.LANES] - z0
        first, second = m * work[p + SITE], m * work[p + SITE + W.LANES]
        ax += first * x
        ay += first * y
        az += first * z
        bx += second * x
        by += second * y
        bz += second * z
    size = math.sqrt(ax * ax + ay * ay + az * az)
    ax /= size
    ay /= size
    az /= size
    along = ax * bx + ay * by + az * bz
    bx -= along * ax
    by -= along * ay
    bz -= along * az
    size = math.sqrt(bx * bx + by * by + bz * bz)
    bx /= size
    by /= size
    bz /= size
    cx, cy, cz = cross(ax, ay, az, bx, by, bz)
    return ax, ay, az, bx, by, bz, cx, cy, cz


@kernel
def body_frame(work, offset, n, mass, moments):
    """Return the centre (3) and axes (9) of the body that is nearest to the positions in the tiles, by mass."""
    axes = _axes_of(work, offset, n)
    dx, dy, dz = placed(work, offset, axes)
    cx = work[offset + W.COEF] - dx
    cy = work[offset + W.COEF + W.LANES] - dy
    cz = work[offset + W.COEF + 2 * W.LANES] - dz
    mx = my = mz = 0.0
    lx = ly = lz = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        dx, dy, dz = placed(work, p, axes)
        x = m * (work[p + W.COEF] - cx - dx)
        y = m * (work[p + W.COEF + W.LANES] - cy - dy)
        z = m * (work[p + W.COEF + 2 * W.LANES] - cz - dz)
        mx += x
        my += y
        mz += z
        ux, uy, uz = cross(dx, dy, dz, x, y, z)
        lx += ux
        ly += uy
        lz += uz
    u, v, w = by_moments(moments, axes, lx, ly, lz)
    ux, uy, uz = in_space(axes, u, v, w)
    ax, ay, az = cross(ux, uy, uz, axes[0], axes[1], axes[2])
    bx, by, bz = cross(ux, uy, uz, axes[3], axes[4], axes[5])
    gx, gy, gz = cross(ux, uy, uz, axes[6], axes[7], axes[8])
    return (cx + mx / mass, cy + my / mass, cz + mz / mass), (
        axes[0] + ax,
        axes[1] + ay,
        axes[2] + az,
        axes[3] + bx,
        axes[4] + by,
        axes[5] + bz,
        axes[6] + gx,
        axes[7] + gy,
        axes[8] + gz,
    )


@kernel
def body_turning(work, offset, n, mass, moments, axes):
    """Return the centre's velocity (3) and the angular velocity along the axes (3) that velocities in the tiles say."""
    q = offset + W.COEF + W.ROW
    vx, vy, vz = W.vector(work, q)
    u = v = w = 0.0
    for _ in range(2):
        wx, wy, wz = in_space(axes, u, v, w)
        mx = my = mz = 0.0
        lx = ly = lz = 0.0
        for b in range(n):
            p = W.bead_offset(offset, b)
            q = p + W.COEF + W.ROW
            m = 1.0 / work[p + W.INVM]
            dx, dy, dz = placed(work, p, axes)
            tx, ty, tz = cross(wx, wy, wz, dx, dy, dz)
            x = m * (work[q] - vx - tx)
            y = m * (work[q + W.LANES] - vy - ty)
            z = m * (work[q + 2 * W.LANES] - vz - tz)
            mx += x
            my += y
            mz += z
            tx, ty, tz = cross(dx, dy, dz, x, y, z)
            lx += tx
            ly += ty
            lz += tz
        du, dv, dw = by_moments(moments, axes, lx, ly, lz)
        u += du
        v += dv
        w += dw
        vx += mx / mass
        vy += my / mass
        vz += mz / mass
    return (vx, vy, vz), (u, v, w)


@kernel
def body_prepare(work, offset, n):
    """Put positions and velocities on the body: momentum and angular momentum are kept, what bends it vanishes."""
    mass, moments = body_moments(work, offset, n)
    centre, axes = body_frame(work, offset, n, mass, moments)
    speed, turn = body_turning(work, offset, n, mass, moments, axes)
    wx, wy, wz = in_space(axes, turn[0], turn[1], turn[2])
    for b in range(n):
        p = W.bead_offset(offset, b)
        dx, dy, dz = placed(work, p, axes)
        W.put_vector(work, p + W.COEF, centre[0] + dx, centre[1] + dy, centre[2] + dz)
        ux, uy, uz = cross(wx, wy, wz, dx, dy, dz)
        W.put_vector(work, p + W.COEF + W.ROW, speed[0] + ux, speed[1] + uy, speed[2] + uz)


@kernel
def body_kick(work, offset, n, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse along n on one bead; return the inverse effective mass.

    It is n / M + (I^-1 (d x n)) x d_j for bead j at d_j from the centre, d being the struck bead's place.
    """
    mass, moments = body_moments(work, offset, n)
    _, axes = body_frame(work, offset, n, mass, moments)
    p = W.bead_offset(offset, bead)
    dx, dy, dz = placed(work, p, axes)
    lx, ly, lz = cross(dx, dy, dz, nx, ny, nz)
    u, v, w = by_moments(moments, axes, lx, ly, lz)
    wx, wy, wz = in_space(axes, u, v, w)
    for b in range(n):
        q = W.bead_offset(offset, b)
        dx, dy, dz = placed(work, q, axes)
        tx, ty, tz = cross(wx, wy, wz, dx, dy, dz)
        W.put_vector(work, q + W.KICK, nx / mass + tx, ny / mass + ty, nz / mass + tz)
    return nx * work[p + W.KICK] + ny * work[p + W.KICK + W.LANES] + nz * work[p + W.KICK + 2 * W.LANES]


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
    for c in range(9):
        work[at + AXIS + c] = axes[c]
    a, b, c = moments
    factors = ((c - b) / (b + c), (a - c) / (c + a), (b - a) / (a + b))
    h = turning_time(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2], h)
    order, h = _expand_turning(work, at, factors, h, tolerance)
    for b in range(n):
        p = W.bead_offset(offset, b)
        r, s, t = W.vector(work, p + SITE)
        for k in range(2, order + 1):
            q = at + TURN * k + AXIS
            x = r * work[q] + s * work[q + 3] + t * work[q + 6]
            y = r * work[q + 1] + s * work[q + 4] + t * work[q + 7]
            z = r * work[q + 2] + s * work[q + 5] + t * work[q + 8]
            W.put_vector(work, p + W.COEF + W.ROW * k, x, y, z)
    bound_acceleration(work, offset, (n + W.LANES - 1) // W.LANES, order, h)
    return order, h
