"""Numba's pipeline as kernels go through it: indices count from the start, and compiling is quicker.

But for indices of arrays, nothing here changes the code that comes out. Numba compiles what is called only with an
option that is not taken. It compares its flags field by field whenever it looks for the type of an operation. And
Python looks through all of its objects for unused ones again and again. Each of these costs 5 % or more
(`docs/developer/decisions/017-inner-parts-of-numba.md`).
"""

import gc
from contextlib import contextmanager

from llvmlite.ir import Constant
from numba.core import ir, types
from numba.core.analysis import dead_branch_prune
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj

from hpcchain.jit.struct import HandedType

OBJECTS = 100_000, 50, 100  # new ones before Python looks for unused ones; 700, 10, 10 cost a twentieth of compiling
from_either_end = arrayobj.fix_integer_index


def from_the_start(context, builder, kind, index, size):
    """Return an index as numba's address of an entry takes it, which counts from the start alone.

    Numba has each index of each access looked at, for those below 0 that count from the end in Python: three operations
    before the address is known. Kernels find none below 0; with NUMBA_BOUNDSCHECK=1 one that is raises IndexError.
    Those that are written as numbers, as in `a[-1]`, mean what they do in Python.
    """
    if isinstance(index, Constant):
        return from_either_end(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


@contextmanager
def compiling():
    """While a kernel is compiled, which one thread does at a time, let its indices count `from_the_start`.

    Python looks for unused objects seldom meanwhile: compiling makes millions that are used to its end.
    """
    collected, indices = gc.get_threshold(), arrayobj.fix_integer_index
    gc.set_threshold(*OBJECTS)
    arrayobj.fix_integer_index = from_the_start
    try:
        yield
    finally:
        arrayobj.fix_integer_index = indices
        gc.set_threshold(*collected)


def settle_options(function, kinds):
    """Leave out the branches that the options of a structure (`jit.struct`) do not take.

    Numba leaves out the branches on what is None, or a number. An option is an attribute of an argument, which is
    replaced by what it is here. Else all would be compiled that only runs with the option, or without it.

    Parameters
    ----------
    function : numba's form of a function, before types are known
    kinds : tuple of numba types
        Of its arguments.
    """
    for block in function.blocks.values():
        for assign in block.find_insts(ir.Assign):
            options = _options_of(function, kinds, assign.value)
            if options is not None:
                assign.value = ir.Const(True if options[assign.value.attr] else None, assign.loc)
    function._definitions = build_definitions(function.blocks)
    dead_branch_prune(function, kinds)


def _options_of(function, kinds, value):
    """Return the options of the structure that is an argument, if a value is one of them; else None."""
    if not (isinstance(value, ir.Expr) and value.op == "getattr"):
        return None
    owner = guard(get_definition, function, value.value)
    kind = kinds[owner.index] if isinstance(owner, ir.Arg) else None
    return kind.options if isinstance(kind, HandedType) and value.attr in kind.options else None


class FlagsInForce(Flags):
    """Flags that must not change, of which all equal ones are one object: they are compared by identity."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class KernelFlags(Flags):
    """Flags of a kernel; numba puts a copy in force, by which it looks up the type of each operation."""

    _in_force = {}

    def copy(self):
        """Return the flags in force with these values."""
        return self._in_force.setdefault(self.summary(), FlagsInForce(self))


@register_pass(mutates_CFG=True, analysis_only=False)
class SettleOptions(InlineInlinables):
    """Leaves out what the options of structures do not take, before types are known."""

    _name = "settle_options"

    def run_pass(self, state):
        """Change a function; see `settle_options`."""
        settle_options(state.func_ir, state.args)
        return True


class KernelCompiler(Compiler):
    """Numba's compiler, with `SettleOptions` in place of the pass that would put functions into others."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, KernelFlags(flags), locals)

    def compile_extra(self, func):
        """Compile a function."""
        with compiling():
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return numba's pipeline, changed."""
        (pipeline,) = super().define_pipelines()
        pipeline.passes = [(SettleOptions if one is InlineInlinables else one, text) for one, text in pipeline.passes]
        pipeline.finalize()
        return [pipeline]
