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
from hpcchain.jit.simd import splat_four as everywhere
from hpcchain.jit.simd import store as put
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
def bead_state(series, begin, order, t):
    """Return position and velocity (6 floats) of a bead's polynomial at time t after its start."""
    step = everywhere(t)
    p = begin + 3 * order
    rate = point(series, p)
    p -= 3
    here = fma(rate, step, point(series, p))
    for _ in range(order - 1):
        p -= 3
        rate = fma(rate, step, here)
        here = fma(here, step, point(series, p))
    x, y, z = coordinates(here)
    u, v, w = coordinates(rate)
    return x, y, z, u, v, w


@kernel
def four_states(series, pa, pb, pc, pd, order, t, count, work, at, row):
    """Write positions and velocities of four beads' polynomials at time t after their start to rows of a tile.

    Parameters
    ----------
    pa, pb, pc, pd : int
        Where the beads' coefficients begin in `series`; those from `count` on only have to be valid.
    order : int
    t : float
    count : int
        How many of the beads are wanted; the lanes of the others become 0.
    at : int
        Index of the first bead's x in `work`; y and z follow 8 and 16 behind, the velocity `row` behind.
    """
    step = everywhere(t)
    k = 3 * order
    ra, rb, rc, rd = point(series, pa + k), point(series, pb + k), point(series, pc + k), point(series, pd + k)
    k -= 3
    a = fma(ra, step, point(series, pa + k))
    b = fma(rb, step, point(series, pb + k))
    c = fma(rc, step, point(series, pc + k))
    d = fma(rd, step, point(series, pd + k))
    for _ in range(order - 1):
        k -= 3
        ra, rb, rc, rd = fma(ra, step, a), fma(rb, step, b), fma(rc, step, c), fma(rd, step, d)
        a = fma(a, step, point(series, pa + k))
        b = fma(b, step, point(series, pb + k))
        c = fma(c, step, point(series, pc + k))
        d = fma(d, step, point(series, pd + k))
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
