"""Polynomials of single beads: a point in space is four lanes (`simd`), of which the fourth is of no account.

But where four points are turned into rows of four beads, it is one of these rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.jit.simd import HALF, fma, four
from hpcchain.jit.simd import load_four as point
from hpcchain.jit.simd import load_row as start_point
from hpcchain.jit.simd import splat_four as everywhere
from hpcchain.jit.simd import store as put
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

if TYPE_CHECKING:
    from hpcchain.jit.simd import Lanes

ir = cgutils.ir
DOUBLE = ir.DoubleType()
INDEX = ir.IntType(32)


@intrinsic
def turned(typing, a, b, c, d):
    """Return the four lanes of four points as four rows: the first lanes, the second ones, and so on."""

    def generate(context, builder, signature, args):
        low = [_shuffle(builder, *args[k : k + 2], [0, 4, 2, 6]) for k in (0, 2)]
        high = [_shuffle(builder, *args[k : k + 2], [1, 5, 3, 7]) for k in (0, 2)]
        halves = ([0, 1, 4, 5], [2, 3, 6, 7])
        rows = [_shuffle(builder, *pair, half) for half in halves for pair in (low, high)]
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(four, HALF)(*[four] * HALF), generate


def _shuffle(builder: Any, a: Any, b: Any, lanes: list) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INDEX, HALF), lanes))


@intrinsic
def only(typing, p, count):
    """Return the first lanes, and 0 in those from `count` on."""

    def generate(context, builder, signature, args):
        value, zero = args[0], ir.Constant(DOUBLE, 0.0)
        for lane in range(HALF):
            at = ir.Constant(INDEX, lane)
            here = builder.icmp_signed(">", args[1], ir.Constant(args[1].type, lane))
            value = builder.insert_element(value, builder.select(here, builder.extract_element(value, at), zero), at)
        return value

    return four(four, types.intp), generate


@intrinsic
def coordinates(typing, p):
    """Return a point's three coordinates."""

    def generate(context, builder, signature, args):
        values = [builder.extract_element(args[0], ir.Constant(INDEX, c)) for c in range(3)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.float64, 3)(four), generate


if config.DISABLE_JIT:  # rounded twice there: the last bits differ

    def turned(a: Any, b: Any, c: Any, d: Any) -> Any:
        """Return four rows from four columns."""
        return tuple(np.array([a, b, c, d]).T)

    def only(p: Lanes, count: int) -> Any:
        """Return the first lanes, and 0 in the others."""
        return np.where(np.arange(4) < count, p, 0.0)

    def coordinates(p: Lanes) -> Any:
        """Return a point's three coordinates."""
        return p[0], p[1], p[2]


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
