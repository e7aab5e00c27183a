"""A point in space in one vector register, as a type that kernels compute with: polynomials of single beads.

It has a fourth lane, which is of no account but where four points are turned into rows of four beads. Everything is
plain IEEE arithmetic, as in `vectors`: `along(p, t, q)` is p t + q with each coordinate rounded once.
"""

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from hpcchain.kernel import inlined, kernel

ir = cgutils.ir
DOUBLE = ir.DoubleType()
INDEX = ir.IntType(32)
WIDTH = 4
VECTOR = ir.VectorType(DOUBLE, WIDTH)
ALIGNMENT = 8


class Point(types.Type):
    """Type of three coordinates."""

    def __init__(self):
        super().__init__(name="Point")


@register_model(Point)
class PointModel(models.PrimitiveModel):
    """Kept in a register, passed by value."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


kind_of_point = Point()


@intrinsic
def point(typing, array, at):
    """Return the four floats array[at : at + 4]."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        value = builder.load(builder.bitcast(builder.gep(data, [args[1]]), VECTOR.as_pointer()))
        value.align = ALIGNMENT
        return value

    return kind_of_point(array, types.intp), generate


@intrinsic
def put(typing, array, at, p):
    """Write all four lanes to array[at : at + 4]."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), VECTOR.as_pointer())
        builder.store(args[2], place).align = ALIGNMENT
        return context.get_dummy_value()

    return types.void(array, types.intp, kind_of_point), generate


@intrinsic
def turned(typing, a, b, c, d):
    """Return the four lanes of four points as four rows: the first lanes, the second ones, and so on."""

    def generate(context, builder, signature, args):
        low = [_shuffle(builder, *args[k : k + 2], [0, 4, 2, 6]) for k in (0, 2)]
        high = [_shuffle(builder, *args[k : k + 2], [1, 5, 3, 7]) for k in (0, 2)]
        halves = ([0, 1, 4, 5], [2, 3, 6, 7])
        rows = [_shuffle(builder, *pair, half) for half in halves for pair in (low, high)]
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(kind_of_point, WIDTH)(*[kind_of_point] * WIDTH), generate


def _shuffle(builder, a, b, lanes):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INDEX, WIDTH), lanes))


@intrinsic
def only(typing, p, count):
    """Return the first lanes, and 0 in those from `count` on."""

    def generate(context, builder, signature, args):
        value, zero = args[0], ir.Constant(DOUBLE, 0.0)
        for lane in range(WIDTH):
            at = ir.Constant(INDEX, lane)
            here = builder.icmp_signed(">", args[1], ir.Constant(args[1].type, lane))
            value = builder.insert_element(value, builder.select(here, builder.extract_element(value, at), zero), at)
        return value

    return kind_of_point(kind_of_point, types.intp), generate


@intrinsic
def everywhere(typing, t):
    """Return the point of which every coordinate is t."""

    def generate(context, builder, signature, args):
        value = builder.insert_element(ir.Constant(VECTOR, None), args[0], ir.Constant(INDEX, 0))
        mask = ir.Constant(ir.VectorType(INDEX, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(value, ir.Constant(VECTOR, None), mask)

    return kind_of_point(types.float64), generate


@intrinsic
def along(typing, p, t, q):
    """Return p t + q by coordinates, rounded once."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f64"), args)

    return kind_of_point(kind_of_point, kind_of_point, kind_of_point), generate


@intrinsic
def coordinates(typing, p):
    """Return a point's three coordinates."""

    def generate(context, builder, signature, args):
        values = [builder.extract_element(args[0], ir.Constant(INDEX, c)) for c in range(3)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.float64, 3)(kind_of_point), generate


if config.DISABLE_JIT:  # rounded twice there: the last bits differ

    def point(array, at):
        """Return four floats of an array."""
        return array[at : at + 4].copy()

    def put(array, at, p):
        """Write four floats to an array."""
        array[at : at + 4] = p

    def turned(a, b, c, d):
        """Return four rows from four columns."""
        return tuple(np.array([a, b, c, d]).T)

    def only(p, count):
        """Return the first lanes, and 0 in the others."""
        return np.where(np.arange(4) < count, p, 0.0)

    def everywhere(t):
        """Return the number, which multiplies every coordinate."""
        return t

    def along(p, t, q):
        """Return p t + q."""
        return p * t + q

    def coordinates(p):
        """Return a point's three coordinates."""
        return p[0], p[1], p[2]


@inlined
def bead_state(series, place, order, t):
    """Return position and velocity (6 floats) of a bead's polynomial at time t after its start."""
    step = everywhere(t)
    p = place + 3 * order
    rate = point(series, p)
    p -= 3
    here = along(rate, step, point(series, p))
    for _ in range(order - 1):
        p -= 3
        rate = along(rate, step, here)
        here = along(here, step, point(series, p))
    x, y, z = coordinates(here)
    u, v, w = coordinates(rate)
    return x, y, z, u, v, w


@kernel
def four_states(series, pa, pb, pc, pd, order, t, count, work, at, row):
    """Write positions and velocities of four beads' polynomials at time t after their start to rows of a tile.

    Parameters
    ----------
    pa, pb, pc, pd : int
        Places of the beads' coefficients in `series`; those from `count` on only have to be valid.
    order : int
    t : float
    count : int
        How many of the beads are wanted; the lanes of the others become 0.
    at : int
        Place of the first bead's x in `work`; y and z follow 8 and 16 behind, the velocity `row` behind.
    """
    step = everywhere(t)
    k = 3 * order
    ra, rb, rc, rd = point(series, pa + k), point(series, pb + k), point(series, pc + k), point(series, pd + k)
    k -= 3
    a = along(ra, step, point(series, pa + k))
    b = along(rb, step, point(series, pb + k))
    c = along(rc, step, point(series, pc + k))
    d = along(rd, step, point(series, pd + k))
    for _ in range(order - 1):
        k -= 3
        ra, rb, rc, rd = along(ra, step, a), along(rb, step, b), along(rc, step, c), along(rd, step, d)
        a = along(a, step, point(series, pa + k))
        b = along(b, step, point(series, pb + k))
        c = along(c, step, point(series, pc + k))
        d = along(d, step, point(series, pd + k))
    _put_rows(work, at, a, b, c, d, count)
    _put_rows(work, at + row, ra, rb, rc, rd, count)


@inlined
def _put_rows(work, at, a, b, c, d, count):
    x, y, z, rest = turned(a, b, c, d)
    if count < 4:
        x, y, z = only(x, count), only(y, count), only(z, count)
    put(work, at, x)
    put(work, at + 8, y)
    put(work, at + 16, z)
