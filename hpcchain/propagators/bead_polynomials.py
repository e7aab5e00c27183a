"""Polynomials of single beads: a point in space is four lanes (`simd`), of which the fourth is of no account.

But where four points are turned into rows of four beads, it is one of these rows.
"""

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.jit.simd import coordinates, fma, only, turned
from hpcchain.jit.simd import load_four as point
from hpcchain.jit.simd import load_row as start_point
from hpcchain.jit.simd import splat_four as everywhere
from hpcchain.jit.simd import store as put
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W


@inlined
def bead_state(starts, i, series, begin, order, t):
    """Return position and velocity (6 floats) of bead i's polynomial, of order 2 or more, at time t after its start."""
    step = everywhere(t)
    p = begin + 3 * (order - W.FIRST_TERM)
    rate = point(series, p)
    if order > W.FIRST_TERM:
        p -= 3
        here = fma(rate, step, point(series, p))
        for _ in range(order - W.FIRST_TERM - 1):
            p -= 3
            rate = fma(rate, step, here)
            here = fma(here, step, point(series, p))
        rate = fma(rate, step, here)
        here = fma(here, step, start_point(starts, i, L.VX))
    else:
        here = fma(rate, step, start_point(starts, i, L.VX))
    rate = fma(rate, step, here)
    here = fma(here, step, start_point(starts, i, L.X))
    x, y, z = coordinates(here)
    u, v, w = coordinates(rate)
    return x, y, z, u, v, w


@kernel
def four_states(starts, i, series, begin, size, order, t, count, work, at, row):
    """Write positions and velocities of four beads' polynomials at time t after their start to rows of a tile.

    Parameters
    ----------
    i : int
        Row of the first bead in `starts`.
    begin, size : int
        Where its coefficients begin in `series`, and how far behind those of the next one do.
    order : int
    t : float
    count : int
        How many of the beads are wanted, at least one; the lanes of the others become 0.
    at : int
        Index of the first bead's x in `work`; y and z follow 8 and 16 behind, the velocity `row` behind.
    """
    step = everywhere(t)
    j, k, m = i + min(1, count - 1), i + min(2, count - 1), i + min(3, count - 1)
    va, vb = start_point(starts, i, L.VX), start_point(starts, j, L.VX)
    vc, vd = start_point(starts, k, L.VX), start_point(starts, m, L.VX)
    ra, rb, rc, rd, a, b, c, d = va, vb, vc, vd, va, vb, vc, vd
    if order >= W.FIRST_TERM:
        p = begin + 3 * (order - W.FIRST_TERM)
        q, r, s = p + (j - i) * size, p + (k - i) * size, p + (m - i) * size
        ra, rb, rc, rd = point(series, p), point(series, q), point(series, r), point(series, s)
        if order > W.FIRST_TERM:
            p, q, r, s = p - 3, q - 3, r - 3, s - 3
            a, b = fma(ra, step, point(series, p)), fma(rb, step, point(series, q))
            c, d = fma(rc, step, point(series, r)), fma(rd, step, point(series, s))
            for _ in range(order - W.FIRST_TERM - 1):
                p, q, r, s = p - 3, q - 3, r - 3, s - 3
                ra, rb, rc, rd = fma(ra, step, a), fma(rb, step, b), fma(rc, step, c), fma(rd, step, d)
                a, b = fma(a, step, point(series, p)), fma(b, step, point(series, q))
                c, d = fma(c, step, point(series, r)), fma(d, step, point(series, s))
            ra, rb, rc, rd = fma(ra, step, a), fma(rb, step, b), fma(rc, step, c), fma(rd, step, d)
            a, b, c, d = fma(a, step, va), fma(b, step, vb), fma(c, step, vc), fma(d, step, vd)
        else:
            a, b, c, d = fma(ra, step, va), fma(rb, step, vb), fma(rc, step, vc), fma(rd, step, vd)
        ra, rb, rc, rd = fma(ra, step, a), fma(rb, step, b), fma(rc, step, c), fma(rd, step, d)
    a, b = fma(a, step, start_point(starts, i, L.X)), fma(b, step, start_point(starts, j, L.X))
    c, d = fma(c, step, start_point(starts, k, L.X)), fma(d, step, start_point(starts, m, L.X))
    _put_rows(work, at, a, b, c, d, count)
    _put_rows(work, at + row, ra, rb, rc, rd, count)


@inlined
def _put_rows(work, at, a, b, c, d, count):
    x, y, z, rest = turned(a, b, c, d)
    if count < 4:
        x, y, z = only(x, count), only(y, count), only(z, count)
    put(work, at, x)
    put(work, at + W.LANES, y)
    put(work, at + 2 * W.LANES, z)
