"""Eight float64 in one vector register, or four in half of one, or sixteen float32, as types that kernels compute with.

The lanes of a tile (`workspace`) are loaded, shifted and multiplied as a whole, so machine code does not depend on what
a compiler's vectoriser makes of loops. Four are for a point in space (`bead_polynomials`). Sixteen are four rows of
four, for looks that need no more than single precision (`broad_phase`). Everything is plain IEEE
arithmetic: `fma(a, b, c)` is a b + c rounded once, on every processor; one without registers this wide does the same
in parts. Offsets are in floats and need not be aligned.
"""

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from hpcchain.jit.simd_plain import LANES

ir = cgutils.ir
DOUBLE, SINGLE = ir.DoubleType(), ir.FloatType()
BYTE = ir.IntType(8).as_pointer()
INDEX = ir.IntType(32)
ALIGNMENT = 8


class Lanes(types.Type):
    """Type of a vector of that many floats, or of truths, which have one bit."""

    def __init__(self, width, bits=64):
        super().__init__(name=f"Lanes({width} of {bits})")
        self.width, self.bits = width, bits

    @property
    def vector(self):
        """As the compiler has it."""
        return ir.VectorType({64: DOUBLE, 32: SINGLE, 1: ir.IntType(1)}[self.bits], self.width)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Kept in a register, passed by value."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


HALF = LANES // 2
eight, four, sixteen = Lanes(LANES), Lanes(HALF), Lanes(2 * LANES, 32)
FOUR_WHOLE = ir.VectorType(INDEX, HALF)


def _loaded(builder, place, vector, alignment=ALIGNMENT):
    """Return the vector at a place, which need not be aligned as a whole."""
    value = builder.load(builder.bitcast(place, vector.as_pointer()))
    value.align = alignment
    return value


def _row(builder, table, row):
    """Return where a table's row begins."""
    return builder.gep(builder.bitcast(table.data, BYTE), [builder.mul(row, builder.extract_value(table.strides, 0))])


def _entry(context, builder, kind, array, index):
    """Return where an entry of an array of one axis is."""
    return builder.gep(make_array(kind)(context, builder, array).data, [index])


def _read(context, builder, signature, args):
    """Return the vector at an index (the second argument) of an array (the first)."""
    return _loaded(builder, _entry(context, builder, signature.args[0], *args), signature.return_type.vector)


@intrinsic
def load(typing, work, at):
    """Return the eight floats work[at : at + 8]."""
    return eight(work, types.intp), _read


@intrinsic
def load_four(typing, work, at):
    """Return the four floats work[at : at + 4]."""
    return four(work, types.intp), _read


@intrinsic
def load_row(typing, table, row, column):
    """Return the four floats of a table's row from a column on."""

    def generate(context, builder, signature, args):
        start = _row(builder, make_array(signature.args[0])(context, builder, args[0]), args[1])
        return _loaded(builder, builder.gep(builder.bitcast(start, DOUBLE.as_pointer()), [args[2]]), four.vector)

    return four(table, types.intp, types.intp), generate


@intrinsic
def ways_from(typing, table, row, place):
    """Return the ways from the four 32-bit whole numbers of a table's row to another, round the end where shorter."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        place = _shuffle(builder, _four_whole(builder, args[2:]), None, [0] * HALF)
        return builder.sitofp(builder.sub(place, _whole_row(builder, data, args[1])), four.vector)

    return four(table, types.intp, types.int64), generate


@intrinsic
def ways_from_rows(typing, table, a, b, c, d, x, y, z):
    """Return the ways from four rows of four 32-bit whole numbers to (x, y, z, 0), round the end where shorter."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        rows = [_whole_row(builder, data, at) for at in args[1:5]]
        rows = [_shuffle(builder, *rows[k : k + 2], range(LANES)) for k in (0, 2)]
        place = _shuffle(builder, _four_whole(builder, args[5:]), None, [0, 1, 2, 3] * 4)
        return builder.sitofp(builder.sub(place, _shuffle(builder, *rows, range(2 * LANES))), sixteen.vector)

    return sixteen(table, *[types.intp] * 4, *[types.int64] * 3), generate


def _whole_row(builder, data, row):
    """Return a row of four 32-bit whole numbers."""
    return _loaded(builder, builder.gep(data, [builder.mul(row, ir.Constant(row.type, HALF))]), FOUR_WHOLE)


def _four_whole(builder, values):
    """Return up to four whole numbers in 32 bits, and 0 behind them."""
    vector = ir.Constant(FOUR_WHOLE, None)
    for k, value in enumerate(values):
        vector = _insert(builder, vector, builder.trunc(value, INDEX), k)
    return vector


@intrinsic
def columns(typing, table, listed, first, count):
    """Return the eight columns, as float64, of the rows of single precision that up to `count` entries of a list name.

    Lanes from `count` on are the last row's once more.
    """

    def generate(context, builder, signature, args):
        table = make_array(signature.args[0])(context, builder, args[0])
        entries = make_array(signature.args[1])(context, builder, args[1]).data
        last, rows = builder.sub(args[3], ir.Constant(args[3].type, 1)), []
        for k in range(LANES):
            at = ir.Constant(last.type, k)
            at = builder.select(builder.icmp_signed("<", last, at), last, at)
            row = builder.load(builder.gep(entries, [builder.add(args[2], at)]))
            start = _row(builder, table, builder.sext(row, args[2].type))
            rows.append(_loaded(builder, start, ir.VectorType(SINGLE, LANES), 4))
        values = [builder.fpext(column, eight.vector) for column in _transposed(builder, rows)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(eight, LANES)(table, listed, types.intp, types.intp), generate


def _transposed(builder, rows):
    """Return the eight columns of eight rows of eight."""
    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    pairs = [[_shuffle(builder, *rows[k : k + 2], lanes) for k in range(0, 8, 2)] for lanes in (low, high)]
    low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    fours = [
        [_shuffle(builder, *half[k : k + 2], lanes) for k in range(0, 4, 2)] for half in pairs for lanes in (low, high)
    ]
    low, high = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
    return [_shuffle(builder, *four, lanes) for lanes in (low, high) for four in fours]


@intrinsic
def store(typing, work, at, value):
    """Write a vector's floats to an array from work[at] on."""

    def generate(context, builder, signature, args):
        place = _entry(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], builder.bitcast(place, args[2].type.as_pointer())).align = ALIGNMENT
        return context.get_dummy_value()

    return types.void(work, types.intp, value), generate


def _operation(act):
    """Return an intrinsic of two vectors, lane by lane, of what an IRBuilder does with them."""

    @intrinsic
    def operation(typing, a, b):
        return a(a, a), lambda context, builder, signature, args: act(builder, *args)

    return operation


def _call(name):
    """Return a call of one of the compiler's own functions of vectors."""

    def generate(context, builder, signature, args):
        vector = signature.return_type.vector
        kind = ir.FunctionType(vector, [vector] * len(args))
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{vector.count}f64")
        return builder.call(function, args)

    return generate


add, sub = _operation(ir.IRBuilder.fadd), _operation(ir.IRBuilder.fsub)
mul, div = _operation(ir.IRBuilder.fmul), _operation(ir.IRBuilder.fdiv)
larger = _operation(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
"""The larger of each two lanes; b where one is not a number."""


@intrinsic
def fma(typing, a, b, c):
    """Return a b + c, rounded once."""
    return a(a, a, a), _call("fma")


@intrinsic
def size(typing, a):
    """Return the absolute values."""
    return a(a), _call("fabs")


@intrinsic
def nearest_whole(typing, a):
    """Return the nearest whole numbers."""
    return a(a), _call("rint")


def _comparison(kind, relation):
    """Return an intrinsic that compares two vectors lane by lane."""

    @intrinsic
    def comparison(typing, a, b):
        def generate(context, builder, signature, args):
            return getattr(builder, f"fcmp_{kind}")(relation, *args)

        return Lanes(a.width, 1)(a, a), generate

    return comparison


# Of what is not a number none is true but `unlike`.
above, at_most, unlike = _comparison("ordered", ">"), _comparison("ordered", "<="), _comparison("unordered", "!=")
both, either = _operation(ir.IRBuilder.and_), _operation(ir.IRBuilder.or_)


@intrinsic
def where(typing, truths, a, b):
    """Return the lanes of a where a truth is true, else those of b."""
    return a(truths, a, a), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def as_bits(typing, truths):
    """Return truths as the lowest bits of an int64, the first lane's the lowest."""

    def generate(context, builder, signature, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(truths.width)), ir.IntType(64))

    return types.int64(truths), generate


def _spread(context, builder, signature, args):
    """Return a vector of the arguments, over and over, rounded to what its elements are."""
    kind = signature.return_type.vector
    vector = ir.Constant(kind, None)
    for k, x in enumerate(args):
        vector = _insert(builder, vector, x if x.type == kind.element else builder.fptrunc(x, kind.element), k)
    return _shuffle(builder, vector, None, [k % len(args) for k in range(kind.count)])


def _times(kind):
    """Return an intrinsic that makes a vector of one number in all lanes."""

    @intrinsic
    def times(typing, x):
        return kind(types.float64), _spread

    return times


splat, splat_four, splat_single = _times(eight), _times(four), _times(sixteen)


@intrinsic
def in_rows(typing, a, b, c, d):
    """Return four rows of the same four numbers, in single precision."""
    return sixteen(*[types.float64] * HALF), _spread


@intrinsic
def one_hot(typing, lane):
    """Return 1 in one lane and 0 in the others, or zeros for a lane outside."""

    def generate(context, builder, signature, args):
        value = ir.Constant(eight.vector, None)
        for i in range(LANES):
            here = builder.icmp_signed("==", args[0], ir.Constant(args[0].type, i))
            value = _insert(builder, value, builder.uitofp(here, DOUBLE), i)
        return value

    return eight(types.intp), generate


@intrinsic
def pack(typing, a, b, c, d, e, f, g, h):
    """Return the vector of eight numbers."""
    return eight(*[types.float64] * LANES), _spread


@intrinsic
def turned(typing, a, b, c, d):
    """Return the four lanes of four vectors as four rows: the first lanes, the second ones, and so on."""

    def generate(context, builder, signature, args):
        low = [_shuffle(builder, *args[k : k + 2], [0, 4, 2, 6]) for k in (0, 2)]
        high = [_shuffle(builder, *args[k : k + 2], [1, 5, 3, 7]) for k in (0, 2)]
        halves = ([0, 1, 4, 5], [2, 3, 6, 7])
        rows = [_shuffle(builder, *pair, half) for half in halves for pair in (low, high)]
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(four, HALF)(*[four] * HALF), generate


@intrinsic
def only(typing, p, count):
    """Return the first of four lanes, and 0 in those from `count` on."""

    def generate(context, builder, signature, args):
        value, zero = args[0], ir.Constant(DOUBLE, 0.0)
        for lane in range(HALF):
            at = ir.Constant(INDEX, lane)
            here = builder.icmp_signed(">", args[1], ir.Constant(args[1].type, lane))
            value = _insert(builder, value, builder.select(here, builder.extract_element(value, at), zero), lane)
        return value

    return four(four, types.intp), generate


@intrinsic
def coordinates(typing, p):
    """Return the first three lanes of four."""

    def generate(context, builder, signature, args):
        values = [builder.extract_element(args[0], ir.Constant(INDEX, c)) for c in range(3)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.float64, 3)(four), generate


@intrinsic
def largest(typing, a):
    """Return the largest lane."""

    def generate(context, builder, signature, args):
        value = args[0]
        for shift in (4, 2, 1):
            other = _shuffle(builder, value, None, [(i + shift) % LANES for i in range(LANES)])
            value = builder.select(builder.fcmp_ordered(">", value, other), value, other)
        return builder.extract_element(value, ir.Constant(INDEX, 0))

    return types.float64(eight), generate


def _insert(builder, vector, x, lane):
    return builder.insert_element(vector, x, ir.Constant(INDEX, lane))


def _shuffle(builder, a, b, lanes):
    mask = ir.Constant(ir.VectorType(INDEX, len(lanes)), list(lanes))
    return builder.shuffle_vector(a, ir.Constant(a.type, None) if b is None else b, mask)


def _pick(kind, lanes):
    """Return an intrinsic that picks lanes of one vector."""

    @intrinsic
    def pick(typing, a):
        return kind(kind), lambda context, builder, signature, args: _shuffle(builder, args[0], None, lanes)

    return pick


def _join(start):
    """Return an intrinsic that takes consecutive lanes, from number `start` on, of two vectors laid end to end."""

    @intrinsic
    def join(typing, a, b):
        def generate(context, builder, signature, args):
            return _shuffle(builder, *args, range(start, start + LANES))

        return eight(eight, eight), generate

    return join


first_everywhere = _pick(eight, [0] * LANES)
last_everywhere = _pick(eight, [LANES - 1] * LANES)
# Within rows of four: each two lanes change places, the first two with the last two, the last is everywhere.
pairs_turned, halves_turned, last_of_rows = (
    _pick(sixteen, [row + lane for row in range(0, 2 * LANES, HALF) for lane in order])
    for order in ([1, 0, 3, 2], [2, 3, 0, 1], [3, 3, 3, 3])
)
# after_s(before, a): lane l is lane l - s of a; ahead_s(a, behind): lane l is lane l + s of a.
after_1, after_2, after_4 = (_join(LANES - shift) for shift in (1, 2, 4))
ahead_1, ahead_2, ahead_4 = (_join(shift) for shift in (1, 2, 4))

if config.DISABLE_JIT:
    from hpcchain.jit.simd_plain import *  # noqa: F403
