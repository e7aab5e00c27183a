"""Eight float64 in one vector register, or four in half of one, as types that kernels compute with.

The lanes of a tile (`workspace`) are loaded, shifted and multiplied as a whole, so machine code does not depend on what
a compiler's vectoriser makes of loops. Four are for a point in space (`bead_polynomials`). Everything is plain IEEE
arithmetic: `fma(a, b, c)` is a b + c rounded once, on every processor; one without registers this wide does the same
in parts. Offsets are in floats and need not be aligned.
"""

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from hpcchain.jit.simd_plain import LANES

ir = cgutils.ir
DOUBLE = ir.DoubleType()
BYTE = ir.IntType(8).as_pointer()
INDEX = ir.IntType(32)
ALIGNMENT = 8


class Lanes(types.Type):
    """Type of a vector of that many floats."""

    def __init__(self, width):
        super().__init__(name=f"Lanes({width})")
        self.width = width


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Kept in a register, passed by value."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, _vector(kind.width))


class Truths(types.Type):
    """Type of a vector of that many truths."""

    def __init__(self, width):
        super().__init__(name=f"Truths({width})")
        self.width = width


@register_model(Truths)
class TruthsModel(models.PrimitiveModel):
    """Kept in a register, passed by value."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.width))


def _vector(width):
    return ir.VectorType(DOUBLE, width)


HALF = LANES // 2
eight, four = Lanes(LANES), Lanes(HALF)


def _address(context, builder, kind, array, index, width):
    """Return a pointer to the vector at an index of a float64 array."""
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _vector(width).as_pointer())


def _read(context, builder, signature, args):
    """Return the vector at an index (the second argument) of an array (the first)."""
    address = _address(context, builder, signature.args[0], args[0], args[1], signature.return_type.width)
    value = builder.load(address)
    value.align = ALIGNMENT
    return value


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
        table = make_array(signature.args[0])(context, builder, args[0])
        start = builder.bitcast(table.data, BYTE)
        start = builder.gep(start, [builder.mul(args[1], builder.extract_value(table.strides, 0))])
        start = builder.gep(builder.bitcast(start, DOUBLE.as_pointer()), [args[2]])
        value = builder.load(builder.bitcast(start, _vector(HALF).as_pointer()))
        value.align = ALIGNMENT
        return value

    return four(table, types.intp, types.intp), generate


@intrinsic
def ways_from(typing, table, row, place):
    """Return the ways from the four 32-bit whole numbers of a table's row to another, round the end where shorter."""

    def generate(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        whole = ir.VectorType(ir.IntType(32), HALF)
        start = builder.gep(data, [builder.mul(args[1], ir.Constant(args[1].type, HALF))])
        row = builder.load(builder.bitcast(start, whole.as_pointer()))
        row.align = ALIGNMENT
        place = _insert(builder, ir.Constant(whole, None), builder.trunc(args[2], ir.IntType(32)), 0)
        return builder.sitofp(builder.sub(_shuffle(builder, place, None, [0] * HALF), row), _vector(HALF))

    return four(table, types.intp, types.int64), generate


@intrinsic
def store(typing, work, at, value):
    """Write a vector's floats to an array from work[at] on."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1], signature.args[2].width)
        builder.store(args[2], address).align = ALIGNMENT
        return context.get_dummy_value()

    return types.void(work, types.intp, value), generate


def _operation(name):
    """Return an intrinsic of two vectors, lane by lane."""

    @intrinsic
    def operation(typing, a, b):
        return a(a, a), lambda context, builder, signature, args: getattr(builder, name)(*args)

    return operation


def _call(name):
    """Return a call of one of the compiler's own functions of vectors."""

    def generate(context, builder, signature, args):
        width = signature.return_type.width
        kind = ir.FunctionType(_vector(width), [_vector(width)] * len(args))
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{width}f64"), args)

    return generate


add = _operation("fadd")
sub = _operation("fsub")
mul = _operation("fmul")
div = _operation("fdiv")


@intrinsic
def fma(typing, a, b, c):
    """Return a b + c, rounded once."""
    return a(a, a, a), _call("fma")


@intrinsic
def size(typing, a):
    """Return the absolute values."""
    return a(a), _call("fabs")


@intrinsic
def root(typing, a):
    """Return the square roots."""
    return a(a), _call("sqrt")


@intrinsic
def nearest_whole(typing, a):
    """Return the nearest whole numbers."""
    return a(a), _call("rint")


@intrinsic
def larger(typing, a, b):
    """Return the larger of each two lanes; b where one is not a number."""

    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, a), generate


def _comparison(kind, relation):
    """Return an intrinsic that compares two vectors lane by lane."""

    @intrinsic
    def comparison(typing, a, b):
        def generate(context, builder, signature, args):
            return getattr(builder, f"fcmp_{kind}")(relation, *args)

        return Truths(a.width)(a, a), generate

    return comparison


# Of what is not a number none is true but `unlike`.
above, at_most, unlike = _comparison("ordered", ">"), _comparison("ordered", "<="), _comparison("unordered", "!=")
both, either = _operation("and_"), _operation("or_")


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
    """Return a vector of nothing but the first argument."""
    width = signature.return_type.width
    return _shuffle(builder, _insert(builder, ir.Constant(_vector(width), None), args[0], 0), None, [0] * width)


@intrinsic
def splat(typing, x):
    """Return a vector of eight times x."""
    return eight(types.float64), _spread


@intrinsic
def splat_four(typing, x):
    """Return a vector of four times x."""
    return four(types.float64), _spread


@intrinsic
def one_hot(typing, lane):
    """Return 1 in one lane and 0 in the others, or zeros for a lane outside."""

    def generate(context, builder, signature, args):
        value = ir.Constant(_vector(LANES), None)
        for i in range(LANES):
            here = builder.icmp_signed("==", args[0], ir.Constant(args[0].type, i))
            value = _insert(builder, value, builder.uitofp(here, DOUBLE), i)
        return value

    return eight(types.intp), generate


@intrinsic
def pack(typing, a, b, c, d, e, f, g, h):
    """Return the vector of eight numbers."""

    def generate(context, builder, signature, args):
        value = ir.Constant(_vector(LANES), None)
        for i, x in enumerate(args):
            value = _insert(builder, value, x, i)
        return value

    return eight(*[types.float64] * LANES), generate


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


def _pick(lanes):
    """Return an intrinsic that picks lanes of one vector of eight."""

    @intrinsic
    def pick(typing, a):
        return eight(eight), lambda context, builder, signature, args: _shuffle(builder, args[0], None, lanes)

    return pick


def _join(start):
    """Return an intrinsic that takes consecutive lanes, from number `start` on, of two vectors laid end to end."""

    @intrinsic
    def join(typing, a, b):
        def generate(context, builder, signature, args):
            return _shuffle(builder, *args, range(start, start + LANES))

        return eight(eight, eight), generate

    return join


first_everywhere = _pick([0] * LANES)
last_everywhere = _pick([LANES - 1] * LANES)
# after_s(before, a): lane l is lane l - s of a; ahead_s(a, behind): lane l is lane l + s of a.
after_1, after_2, after_4 = (_join(LANES - shift) for shift in (1, 2, 4))
ahead_1, ahead_2, ahead_4 = (_join(shift) for shift in (1, 2, 4))

if config.DISABLE_JIT:
    from hpcchain.jit.simd_plain import *  # noqa: F403
