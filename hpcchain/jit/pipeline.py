"""Numba's pipeline as kernels go through it: indices count from the start, and compiling is quicker.

But for indices of arrays, nothing here changes the code that comes out. Numba works an inlined function out afresh at
each call of it, with all that it calls. It puts in what is called only with an option that is not taken, and drops it
again. It compares its flags field by field whenever it looks for the type of an operation. And Python looks through all
of its objects for unused ones again and again. Each of these costs 5 % or more
(`docs/developer/decisions/017-inner-parts-of-numba.md`).
"""

import gc
import threading
from contextlib import contextmanager

from llvmlite.ir import Constant
from numba.core import ir, types
from numba.core.analysis import dead_branch_prune
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.inline_closurecall import InlineWorker
from numba.core.ir_utils import build_definitions, get_definition, guard, simplify_CFG
from numba.core.postproc import PostProcessor
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj

from hpcchain.jit.struct import HandedType

OBJECTS = 100_000, 50, 100  # new ones before Python looks for unused ones; 700, 10, 10 cost a twentieth of compiling


@contextmanager
def seldom_collected():
    """Let Python look for unused objects seldom: compiling makes millions that are used to its end."""
    usual = gc.get_threshold()
    gc.set_threshold(*OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class _InThread(threading.local):
    """What one thread does; several may compile at once."""

    kernels = 0  # that are being compiled, one for the sake of the other


_in_thread = _InThread()
_from_either_end = arrayobj.fix_integer_index


def _fixed_index(context, builder, kind, index, size):
    """Return an index as numba's address of an entry takes it; see `counted_from_the_start`."""
    if _in_thread.kernels == 0 or isinstance(index, Constant):
        return _from_either_end(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


arrayobj.fix_integer_index = _fixed_index


@contextmanager
def counted_from_the_start():
    """Let indices that kernels find count from the start alone: below 0 not from the end, as they do in Python.

    Numba has each index of each access looked at for that: three operations before the address is known. Kernels find
    none below 0; with NUMBA_BOUNDSCHECK=1 one that is raises IndexError. Those that are written as numbers, as in
    `a[-1]`, mean what they do in Python, and so do all indices of what is compiled by numba's own pipeline.
    """
    _in_thread.kernels += 1
    try:
        yield
    finally:
        _in_thread.kernels -= 1


def leave_out_options(function, kinds):
    """Leave out the branches on options (`jit.struct`) that a structure is not given.

    Numba leaves out the branches on an argument that is None. An option is an attribute of an argument, which is
    replaced by None here. Else all that only runs with the option would be compiled for those without it, too.

    Parameters
    ----------
    function : numba's form of a function, before types are known
    kinds : tuple of numba types
        Of its arguments.
    """
    for block in function.blocks.values():
        for assign in block.find_insts(ir.Assign):
            if _is_none(function, kinds, assign.value):
                assign.value = ir.Const(None, assign.loc)
    function._definitions = build_definitions(function.blocks)
    dead_branch_prune(function, kinds)


def _is_none(function, kinds, value):
    """Whether a value is an option, not taken, of a structure that is an argument of a function."""
    if not (isinstance(value, ir.Expr) and value.op == "getattr"):
        return False
    owner = guard(get_definition, function, value.value)
    kind = kinds[owner.index] if isinstance(owner, ir.Arg) else None
    return isinstance(kind, HandedType) and kind.options.get(value.attr) is False


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


class Inliner(InlineWorker):
    """Puts inlined functions into their callers; each is worked out once, and copied for each call."""

    _worked_out = {}

    def __init__(self, state, flags):
        super().__init__(state.typingctx, state.targetctx, state.locals, state.pipeline, flags)
        self._compiler_pipeline = _without_inlining

    def run_untyped_passes(self, func, enable_ssa=False):
        """Return numba's form of a function, before types are known; callers copy it.

        What it calls is not in it. Numba puts that in first, so what is called n deep is copied n times.
        """
        if (func, enable_ssa) not in self._worked_out:
            self._worked_out[func, enable_ssa] = super().run_untyped_passes(func, enable_ssa)
        return self._worked_out[func, enable_ssa]


def _without_inlining(state):
    """Return numba's passes before types are known, but for the one that puts inlined functions in."""
    manager = DefaultPassBuilder.define_untyped_pipeline(state)
    manager.passes = [one for one in manager.passes if one[0] is not InlineInlinables]
    return manager


@register_pass(mutates_CFG=True, analysis_only=False)
class Inline(InlineInlinables):
    """Numba's pass for inlined functions, with an `Inliner`."""

    _name = "inline_once_worked_out"

    def run_pass(self, state):
        """Put all inlined functions into a function, and those that they call in turn."""
        # Flags of its own: numba changes them when it works a function out. A kernel's name is made of its flags; it
        # must not depend on what happened to be worked out already.
        inliner = Inliner(state, KernelFlags(state.flags))
        changed = False
        while self._put_in_those_called(state, inliner):
            changed = True
        if changed:
            PostProcessor(state.func_ir).run()
            state.func_ir.blocks = simplify_CFG(state.func_ir.blocks)
        return True

    def _put_in_those_called(self, state, inliner):
        """Put in the inlined functions that are called, not yet what they call; return whether there were any."""
        leave_out_options(state.func_ir, state.args)  # first, so that nothing is put in that would be dropped
        changed = False
        waiting = list(state.func_ir.blocks.values())
        while waiting:
            block, new = waiting.pop(), []
            if any(
                guard(self._do_work, state, new, block, index, assign.value, inliner) for index, assign in _calls(block)
            ):
                changed = True
                waiting.append(new[0][1])  # what follows the call
        return changed


def _calls(block):
    """Return where in a block functions are called, and those lines."""
    return [
        (index, line)
        for index, line in enumerate(block.body)
        if getattr(getattr(line, "value", None), "op", None) == "call"
    ]


class KernelCompiler(Compiler):
    """Numba's compiler with `Inline` in place of its own pass."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, KernelFlags(flags), locals)

    def compile_extra(self, func):
        """Compile a function."""
        with seldom_collected(), counted_from_the_start():
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return numba's pipeline, changed."""
        (pipeline,) = super().define_pipelines()
        pipeline.passes = [(Inline if one is InlineInlinables else one, text) for one, text in pipeline.passes]
        pipeline.finalize()
        return [pipeline]
