"""Four neighbours at a time: which of them are near, by their places in 32-bit fractions of the box.

Rows of four int32, x, y, z and one more, fill a vector register by fours. No branch is needed whose outcome no
processor can foresee. Where lists are made, the arithmetic is that of one at a time, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from hpcchain.jit import simd
from hpcchain.layout import arrays as L

INT, LONG, REAL, SINGLE = ir.IntType(32), ir.IntType(64), ir.DoubleType(), ir.FloatType()
SINGLES, REALS = ir.VectorType(SINGLE, 16), ir.VectorType(REAL, 8)
FOUR = range(4)
WIDER = 1.0 + 2.0**-19  # what single precision may round of a distance, several times over


def _splat(builder: Any, values: list, lanes: int) -> Any:
    """Return a vector whose lanes are these values, over and over."""
    vector = ir.Constant(ir.VectorType(values[0].type, lanes), ir.Undefined)
    for lane in range(len(values)):
        vector = builder.insert_element(vector, values[lane], INT(lane))
    return _shuffle(builder, vector, vector, [lane % len(values) for lane in range(lanes)])


def _shuffle(builder: Any, a: Any, b: Any, lanes: list) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT, len(lanes)), lanes))


def _address(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """Return the address of a row of four int32."""
    data = make_array(kind)(context, builder, array).data
    return builder.gep(data, [builder.mul(row, LONG(4))])


def _own(builder: Any, values: tuple) -> Any:
    """Return a point's coordinates (int64) and 0, for four rows."""
    return _splat(builder, [*(builder.trunc(value, INT) for value in values), INT(0)], 16)


@intrinsic
def broad_phase_rows(typing, rows, a, b, c, d, count, px, py, pz, own, sx, sy, sz, back):
    """Find which of the first `count` of rows a, b, c, d a bead may meet (`broad_phase.within_sweep`).

    Of row k bit 4 k of the result is set. Distances are compared in single precision, in units of `SWEPT_UNIT`, and
    with more than that rounds: some that are just too far count as near. All operations are within the four lanes of a
    row, which take less time than those that bring lanes of several rows together.

    Many parameters, since lanes of registers cannot be handed on in an array.
    """

    def generate(context, builder, signature, args):
        array, a, b, c, d, count, px, py, pz, own, sx, sy, sz, back = args
        row = ir.VectorType(INT, 4).as_pointer()
        four = []
        for j in (a, b, c, d):
            four.append(builder.load(builder.bitcast(_address(context, builder, signature.args[0], array, j), row)))
            four[-1].align = 4
        eight = [_shuffle(builder, *four[k : k + 2], list(range(8))) for k in (0, 2)]
        four = _shuffle(builder, *eight, list(range(16)))
        apart = builder.sitofp(builder.sub(_own(builder, (px, py, pz)), four), SINGLES)
        scale = [*(builder.fptrunc(value, SINGLE) for value in (sx, sy, sz)), SINGLE(0.0)]
        square = builder.fmul(apart, _splat(builder, scale, 16))
        square = builder.fmul(square, square)
        for lanes in ([1, 0, 3, 2], [2, 3, 0, 1]):
            square = builder.fadd(square, _within_rows(builder, square, lanes))
        radii = _within_rows(builder, apart, [3, 3, 3, 3])  # below 0
        far = builder.fsub(_splat(builder, [builder.sitofp(own, SINGLE)], 16), radii)
        far = builder.fadd(far, _splat(builder, [builder.fptrunc(back, SINGLE)], 16))
        far = builder.fmul(far, _splat(builder, [SINGLE(WIDER)], 16))
        endless = builder.fcmp_ordered("<=", radii, _splat(builder, [SINGLE(-float(L.UNBOUNDED + 1))], 16))
        met = builder.or_(builder.fcmp_ordered("<=", square, builder.fmul(far, far)), endless)
        bits = builder.zext(builder.bitcast(met, ir.IntType(16)), LONG)
        there = builder.select(builder.icmp_signed("<", count, LONG(4)), count, LONG(4))
        there = builder.sub(builder.shl(LONG(1), builder.mul(there, LONG(4))), LONG(1))
        return builder.and_(builder.and_(bits, LONG(0x1111)), there)

    numbers = [types.int64] * 9 + [types.float64] * 4
    return types.int64(rows, *numbers), generate


def _within_rows(builder: Any, values: Any, lanes: list) -> Any:
    """Return sixteen lanes of which each row of four is put into the same other order."""
    return _shuffle(builder, values, values, [4 * k + lane for k in FOUR for lane in lanes])


@intrinsic
def eight_flights(typing, flight, neighbour, first, count):
    """Return the eight columns of `flight`, as float64, of the beads in up to `count` entries of `neighbour`.

    Lanes from `count` on are the last bead's once more.
    """

    def generate(context, builder, signature, args):
        rows = make_array(signature.args[0])(context, builder, args[0])
        listed = make_array(signature.args[1])(context, builder, args[1]).data
        last, other = builder.sub(args[3], LONG(1)), []
        for k in range(8):
            at = builder.select(builder.icmp_signed("<", last, LONG(k)), last, LONG(k))
            j = builder.load(builder.gep(listed, [builder.add(args[2], at)]))
            other.append(_flight(builder, rows, builder.sext(j, LONG)))
        columns = [builder.fpext(column, REALS) for column in _transposed(builder, other)]
        return context.make_tuple(builder, signature.return_type, columns)

    return types.UniTuple(simd.eight, 8)(flight, neighbour, types.intp, types.intp), generate


def _flight(builder: Any, flight: Any, bead: Any) -> Any:
    """Return the eight float32 of a bead's row."""
    row = builder.mul(bead, builder.extract_value(flight.strides, 0))
    row = builder.gep(builder.bitcast(flight.data, ir.IntType(8).as_pointer()), [row])
    values = builder.load(builder.bitcast(row, ir.VectorType(SINGLE, 8).as_pointer()))
    values.align = 4
    return values


def _transposed(builder: Any, rows: list) -> list:
    """Return the eight columns of eight rows of eight."""
    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    pairs = [[_shuffle(builder, *rows[k : k + 2], lanes) for k in range(0, 8, 2)] for lanes in (low, high)]
    low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    fours = [
        [_shuffle(builder, *half[k : k + 2], lanes) for k in range(0, 4, 2)] for half in pairs for lanes in (low, high)
    ]
    low, high = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
    return [_shuffle(builder, *four, lanes) for lanes in (low, high) for four in fours]


if config.DISABLE_JIT:

    def eight_flights(flight: np.ndarray, neighbour: np.ndarray, first: Any, count: Any) -> tuple:
        """Return the columns of up to eight flights."""
        return tuple(flight[neighbour[first + np.minimum(np.arange(8), count - 1)]].T.astype(np.float64))

    def _square(px: Any, py: Any, pz: Any, row: Any, sx: Any, sy: Any, sz: Any) -> Any:
        apart = ((int(p) - int(q) + 2**31) % 2**32 - 2**31 for p, q in zip((px, py, pz), row[:3], strict=True))
        dx, dy, dz = map(np.int32, apart)
        return (sx * dx) ** 2 + (sy * dy) ** 2 + (sz * dz) ** 2

    def broad_phase_rows(
        rows: np.ndarray,
        a: Any,
        b: Any,
        c: Any,
        d: Any,
        count: int,
        px: Any,
        py: Any,
        pz: Any,
        own: Any,
        sx: Any,
        sy: Any,
        sz: Any,
        back: Any,
    ) -> Any:
        """Find which rows may be met, as bits 0, 4, 8 and 12.

        Many parameters, since lanes of registers cannot be handed on in an array.
        """
        bits = 0
        for k, j in enumerate((a, b, c, d)[: min(count, 4)]):
            far = WIDER * (int(own) + int(rows[j, L.SWEPT_RADIUS]) + back)
            met = rows[j, L.SWEPT_RADIUS] == L.UNBOUNDED or _square(px, py, pz, rows[j], sx, sy, sz) <= far * far
            bits |= int(met) << 4 * k
        return bits
