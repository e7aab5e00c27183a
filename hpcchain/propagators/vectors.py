"""Eight float64 in one vector register, as a type that kernels compute with.

The lanes of a tile (`lanes`) are loaded, shifted and multiplied as a whole, so machine code does not depend on what a
compiler's vectoriser makes of loops. Everything is plain IEEE arithmetic: `fma(a, b, c)` is a b + c rounded once, on
every processor; one without registers this wide does the same in parts. Offsets are in floats and need not be aligned.
"""

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from hpcchain.propagators.lanes import LANES

ir = cgutils.ir
DOUBLE = ir.DoubleType()
INDEX = ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, LANES)
ALIGNMENT = 8


class Eight(types.Type):
    """Type of such a vector."""

    def __init__(self):
        super().__init__(name="Eight")


@register_model(Eight)
class EightModel(models.PrimitiveModel):
    """Kept in a register, passed by value."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


eight = Eight()


def _place(context, builder, kind, array, index):
    """Return a pointer to the vector at an index of a float64 array."""
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


@intrinsic
def load(typing, work, at):
    """Return the eight floats work[at : at + 8]."""

    def generate(context, builder, signature, args):
        value = builder.load(_place(context, builder, signature.args[0], args[0], args[1]))
        value.align = ALIGNMENT
        return value

    return eight(work, types.intp), generate


@intrinsic
def store(typing, work, at, value):
    """Write a vector to work[at : at + 8]."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _place(context, builder, signature.args[0], args[0], args[1])).align = ALIGNMENT
        return context.get_dummy_value()

    return types.void(work, types.intp, eight), generate


def _operation(name):
    """Return an intrinsic of two vectors, lane by lane."""

    @intrinsic
    def operation(typing, a, b):
        return eight(eight, eight), lambda context, builder, signature, args: getattr(builder, name)(*args)

    return operation


def _call(name, count):
    """Return a call of one of the compiler's own functions of `count` vectors."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(VECTOR, [VECTOR] * count)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64"), args)

    return generate


add = _operation("fadd")
sub = _operation("fsub")
mul = _operation("fmul")
div = _operation("fdiv")


@intrinsic
def fma(typing, a, b, c):
    """Return a b + c, rounded once."""
    return eight(eight, eight, eight), _call("fma", 3)


@intrinsic
def size(typing, a):
    """Return the absolute values."""
    return eight(eight), _call("fabs", 1)


@intrinsic
def larger(typing, a, b):
    """Return the larger of each two lanes; b where one is not a number."""

    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return eight(eight, eight), generate


@intrinsic
def splat(typing, x):
    """Return a vector of eight times x."""

    def generate(context, builder, signature, args):
        return _shuffle(builder, _insert(builder, ir.Constant(VECTOR, None), args[0], 0), None, [0] * LANES)

    return eight(types.float64), generate


@intrinsic
def one_hot(typing, lane):
    """Return 1 in one lane and 0 in the others, or zeros for a lane outside."""

    def generate(context, builder, signature, args):
        value = ir.Constant(VECTOR, None)
        for i in range(LANES):
            here = builder.icmp_signed("==", args[0], ir.Constant(args[0].type, i))
            value = _insert(builder, value, builder.uitofp(here, DOUBLE), i)
        return value

    return eight(types.intp), generate


@intrinsic
def pack(typing, a, b, c, d, e, f, g, h):
    """Return the vector of eight numbers."""

    def generate(context, builder, signature, args):
        value = ir.Constant(VECTOR, None)
        for i, x in enumerate(args):
            value = _insert(builder, value, x, i)
        return value

    return eight(*[types.float64] * LANES), generate


@intrinsic
def largest(typing, a):
    """Return the largest lane."""

    def generate(context, builder, signature, args):
        value = args[0]
        for step in (4, 2, 1):
            other = _shuffle(builder, value, value, [(i + step) % LANES for i in range(LANES)])
            value = builder.select(builder.fcmp_ordered(">", value, other), value, other)
        return builder.extract_element(value, ir.Constant(INDEX, 0))

    return types.float64(eight), generate


def _insert(builder, vector, x, lane):
    return builder.insert_element(vector, x, ir.Constant(INDEX, lane))


def _shuffle(builder, a, b, lanes):
    mask = ir.Constant(ir.VectorType(INDEX, len(lanes)), lanes)
    return builder.shuffle_vector(a, ir.Constant(VECTOR, None) if b is None else b, mask)


def _pick(lanes):
    """Return an intrinsic that picks lanes of one vector."""

    @intrinsic
    def pick(typing, a):
        return eight(eight), lambda context, builder, signature, args: _shuffle(builder, args[0], None, lanes)

    return pick


def _join(start):
    """Return an intrinsic that takes eight consecutive lanes from two vectors laid end to end."""
    lanes = list(range(start, start + LANES))

    @intrinsic
    def join(typing, a, b):
        return eight(eight, eight), lambda context, builder, signature, args: _shuffle(builder, *args, lanes)

    return join


first_everywhere = _pick([0] * LANES)
last_everywhere = _pick([LANES - 1] * LANES)
# after_s(before, a): lane l is lane l - s of a; ahead_s(a, behind): lane l is lane l + s of a.
after_1, after_2, after_4 = (_join(LANES - step) for step in (1, 2, 4))
ahead_1, ahead_2, ahead_4 = (_join(step) for step in (1, 2, 4))

if config.DISABLE_JIT:
    from hpcchain.propagators.vectors_plain import *  # noqa: F403
