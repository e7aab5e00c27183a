"""A rigid rod in free flight: any number of beads on a line, centre of mass straight, axis turning uniformly.

With s_j the coordinate of bead j from the centre of mass along the axis u, all beads are at C + s_j u and have velocity
C' + s_j u', u' across u. Distance constraints between neighbours do not hold a straight line: nothing pulls a bead back
that leaves it sideways. So the state is put on the line itself. A contact acts on the body, with mass M = sum m and
inertia I = sum m s^2 (docs/theory/numerics.md, A rod as a hard molecule).

Under rattle it moves in steps instead (`rod_steps`), with the projection and the impulse given here.

In the tiles a rod's SITE lanes, those of the squared bond lengths in a chain, hold s_j.
"""

import math

from hpcchain.jit.decorators import kernel
from hpcchain.layout import workspace as W
from hpcchain.propagators.rigid.rotor import last_turn, turning_time

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
    centre, slope : six floats
        Components of the row at the centre of mass and per unit of s.
    """
    p = W.bead_offset(offset, n - 1)
    s0 = work[offset + SITE]
    x0, y0, z0 = W.vector(work, offset + at)
    apart = work[p + SITE] - s0
    dx = (work[p + at] - x0) / apart
    dy = (work[p + at + W.LANES] - y0) / apart
    dz = (work[p + at + 2 * W.LANES] - z0) / apart
    mass = 0.0
    first = 0.0
    second = 0.0
    mx = my = mz = 0.0
    sx = sy = sz = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b)
        m = 1.0 / work[p + W.INVM]
        s = work[p + SITE]
        x = work[p + at] - x0 - (s - s0) * dx
        y = work[p + at + W.LANES] - y0 - (s - s0) * dy
        z = work[p + at + 2 * W.LANES] - z0 - (s - s0) * dz
        mass += m
        first += m * s
        second += m * s * s
        mx += m * x
        my += m * y
        mz += m * z
        sx += m * s * x
        sy += m * s * y
        sz += m * s * z
    mx /= mass
    my /= mass
    mz /= mass
    x0 += mx - s0 * dx
    y0 += my - s0 * dy
    z0 += mz - s0 * dz
    dx += (sx - first * mx) / second
    dy += (sy - first * my) / second
    dz += (sz - first * mz) / second
    return mass, second, x0, y0, z0, dx, dy, dz


@kernel
def rod_prepare(work, offset, n):
    """Put positions and velocities on the rod: momentum and angular momentum are kept, sideways errors vanish.

    Returns the axis, a unit vector, and its rate (3 numbers each).
    """
    _, _, cx, cy, cz, ux, uy, uz = rod_line(work, offset, n, W.COEF)
    _, _, vx, vy, vz, wx, wy, wz = rod_line(work, offset, n, W.COEF + W.ROW)
    norm = math.sqrt(ux * ux + uy * uy + uz * uz)
    ux /= norm
    uy /= norm
    uz /= norm
    along = wx * ux + wy * uy + wz * uz
    wx -= along * ux
    wy -= along * uy
    wz -= along * uz
    for b in range(n):
        p = W.bead_offset(offset, b)
        s = work[p + SITE]
        W.put_vector(work, p + W.COEF, cx + s * ux, cy + s * uy, cz + s * uz)
        W.put_vector(work, p + W.COEF + W.ROW, vx + s * wx, vy + s * wy, vz + s * wz)
    return (ux, uy, uz), (wx, wy, wz)


@kernel
def rod_kick(work, offset, n, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse along n on one bead; return the inverse effective mass.

    It is n / M + s_j (s / I) (n - (u . n) u) for bead j, s being the struck bead's coordinate.
    """
    mass, inertia, _, _, _, ux, uy, uz = rod_line(work, offset, n, W.COEF)
    p = W.bead_offset(offset, bead)
    lever = work[p + SITE] / inertia
    along = (ux * nx + uy * ny + uz * nz) / (ux * ux + uy * uy + uz * uz)
    wx = lever * (nx - along * ux)
    wy = lever * (ny - along * uy)
    wz = lever * (nz - along * uz)
    for b in range(n):
        q = W.bead_offset(offset, b)
        s = work[q + SITE]
        W.put_vector(work, q + W.KICK, nx / mass + s * wx, ny / mass + s * wy, nz / mass + s * wz)
    return nx * work[p + W.KICK] + ny * work[p + W.KICK + W.LANES] + nz * work[p + W.KICK + 2 * W.LANES]


@kernel
def rod_turning(work, offset, n):
    """Return the axis u and its rate u' (six components) of the rod in the tiles, and w^2."""
    _, _, _, _, _, ux, uy, uz = rod_line(work, offset, n, W.COEF)
    _, _, _, _, _, wx, wy, wz = rod_line(work, offset, n, W.COEF + W.ROW)
    omega2 = (wx * wx + wy * wy + wz * wz) / (ux * ux + uy * uy + uz * uz)
    return ux, uy, uz, wx, wy, wz, omega2


@kernel
def rod_series(work, offset, n, h, tolerance):
    """Fill the position coefficients of a rod from its rows 0 and 1, as `rotor_series` does of a dimer.

    Returns
    -------
    order : int
        Highest coefficient.
    h : float
        Length of the segment [time], at most what was asked.
    """
    ux, uy, uz, wx, wy, wz, omega2 = rod_turning(work, offset, n)
    h = turning_time(omega2, h)
    phase = math.sqrt(omega2)
    even = 1.0
    odd = 1.0
    order = 1
    for k in range(2, W.KMAX + 1):
        if k % 2 == 0:
            even *= -omega2 / (k * (k - 1))
            x, y, z = even * ux, even * uy, even * uz
        else:
            odd *= -omega2 / (k * (k - 1))
            x, y, z = odd * wx, odd * wy, odd * wz
        for b in range(n):
            p = W.bead_offset(offset, b)
            s = work[p + SITE]
            W.put_vector(work, p + W.COEF + W.ROW * k, s * x, s * y, s * z)
        order = k
        if k % 2 == 1 and last_turn(k, even, odd, h, phase, tolerance):
            break
    for b in range(n):
        p = W.bead_offset(offset, b)
        W.put_vector(work, p + W.BOUND, omega2 * abs(work[p + SITE]), 0.0, 0.0)
    return order, h
