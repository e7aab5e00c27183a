"""Ask the processor for memory that is wanted soon: it changes nothing but when data arrive."""

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from hpcchain.kernel import inlined

BYTE = ir.IntType(8).as_pointer()
INT32 = ir.IntType(32)


@intrinsic
def prefetch(typing, array, row):
    """Ask for the two cache lines that begin with a row of an array with two axes."""

    def generate(context, builder, signature, args):
        kind = signature.args[0]
        data = make_array(kind)(context, builder, args[0])
        stride = builder.extract_value(data.strides, 0)
        start = builder.gep(builder.bitcast(data.data, BYTE), [builder.mul(args[1], stride)])
        kind_of_call = ir.FunctionType(ir.VoidType(), [BYTE, INT32, INT32, INT32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [BYTE], fnty=kind_of_call)
        for line in (0, 64):
            builder.call(call, [builder.gep(start, [INT32(line)]), INT32(0), INT32(3), INT32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@inlined
def ask_for_beads(s, first, n):
    """Ask for what a new segment of the molecule with these beads will read and write."""
    for i in range(first, first + n):
        prefetch(s.line, i)
    for i in range(first, first + n, 2):
        prefetch(s.seg, i)
    for i in range(first, first + n, 3):
        prefetch(s.what, i)
    for i in range(first, first + n, 4):
        prefetch(s.centre, i)
    for i in range(first, first + n, 8):
        prefetch(s.when, i)
        prefetch(s.swept, i)
        prefetch(s.row, i)


if config.DISABLE_JIT:

    def prefetch(array, row):
        """Do nothing."""
