"""What two threads need to read what the other one writes: loads that acquire, stores that release, and fences.

An entry that is loaded so, or stored so, is read and written as a whole. What a thread has written before it stores an
entry, another that has loaded that entry sees. They are LLVM's atomic instructions: on x86-64 plain loads and stores
around which the compiler moves nothing; other processors have instructions for them.
"""

import platform
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

WORD = ir.IntType(64)
BYTES = 8
WAITING = {"x86_64": ("llvm.x86.sse2.pause", ()), "AMD64": ("llvm.x86.sse2.pause", ())}
"""By name of a processor: the instruction that lets a loop wait without hurry, and its arguments."""
WAITING |= {name: ("llvm.aarch64.hint", (1,)) for name in ("aarch64", "arm64")}


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    """Return a pointer to the word in a row and column of an array of 64-bit numbers; of one axis the column is 0."""
    held = make_array(kind)(context, builder, array)
    strides = [builder.extract_value(held.strides, axis) for axis in range(kind.ndim)]
    way = builder.mul(row, strides[0])
    if kind.ndim == 2:
        way = builder.add(way, builder.mul(column, strides[1]))
    first = builder.bitcast(held.data, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(first, [way]), WORD.as_pointer())


@intrinsic
def load_acquire(typing, array, row, column):
    """Return an entry of an array of one or two axes; what is read afterwards is at least as new."""

    def write(context, builder, signature, args):
        word = builder.load_atomic(_place(context, builder, signature.args[0], *args), "acquire", BYTES)
        return builder.bitcast(word, context.get_value_type(signature.return_type))

    return array.dtype(array, types.intp, types.intp), write


@intrinsic
def store_release(typing, array, row, column, value):
    """Write an entry of an array of one or two axes; what reads it finds all that was written before."""

    def write(context, builder, signature, args):
        kind, array, row, column, value = signature.args[0], *args
        word = builder.bitcast(context.cast(builder, value, signature.args[3], kind.dtype), WORD)
        builder.store_atomic(word, _place(context, builder, kind, array, row, column), "release", BYTES)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, array.dtype), write


def _fence(order: str) -> Any:
    """Return what writes a fence of an order."""

    def write(context, builder, signature, args):
        builder.fence(order)
        return context.get_dummy_value()

    return types.void(), write


@intrinsic
def fence_acquire(typing):
    """Keep what is read, or written, afterwards behind what has been read."""
    return _fence("acquire")


@intrinsic
def fence_release(typing):
    """Keep what is written afterwards behind what has been read and written."""
    return _fence("release")


@intrinsic
def fence_full(typing):
    """Keep what is read and written afterwards behind what has been read and written."""
    return _fence("seq_cst")


@intrinsic
def pause(typing):
    """Wait a moment, as a loop that only looks should."""

    def write(context, builder, signature, args):
        if platform.machine() in WAITING:
            name, given = WAITING[platform.machine()]
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(given))
            function = builder.module.declare_intrinsic(name, fnty=kind)
            builder.call(function, [ir.IntType(32)(each) for each in given])
        return context.get_dummy_value()

    return types.void(), write


if config.DISABLE_JIT:

    def load_acquire(array: Any, row: int, column: int) -> Any:
        """Return an entry."""
        return array[row, column] if array.ndim == 2 else array[row]

    def store_release(array: Any, row: int, column: int, value: Any) -> None:
        """Write an entry."""
        array[(row, column) if array.ndim == 2 else row] = value

    def fence_acquire() -> None:
        """Do nothing: plain Python has one thread."""

    fence_release = fence_full = pause = fence_acquire
