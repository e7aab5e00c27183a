"""Numba's pipeline as kernels go through it: what it does again and again for one result is done once.

But for indices of arrays, nothing here changes the code that comes out. With some three hundred kernels that call each
other, numba spends a third of its time on six things: it works out an inlined function afresh at each call of it; it
copies the function, what that calls included, twice, and all its names once for each of its blocks; it puts in what is
called only with an option that is not taken (`KnownOptions`), and drops it again; it compares its flags field by field
whenever it looks for the type of an operation; it finds that type among a dozen candidates although it found it a
moment ago; and Python looks through all of its objects for unused ones again and again.
"""

import copy
import gc
import operator
import threading
from contextlib import contextmanager
from inspect import isbuiltin

from llvmlite.ir import Constant
from numba.core import ir, types
from numba.core.analysis import dead_branch_prune
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.inline_closurecall import InlineWorker
from numba.core.ir_utils import build_definitions, get_definition, guard, simplify_CFG
from numba.core.postproc import PostProcessor
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import InlineInlinables
from numba.np import arrayobj

from hpcchain.jit.struct import HandedType


@register_pass(mutates_CFG=False, analysis_only=False)
class KnownOptions(FunctionPass):
    """Write None for options (`jit.struct`) that a structure is not given, so that branches on them are left out.

    Numba leaves out the branches on an argument that is None. An option is an attribute of an argument. Else all that
    only runs with the option would be compiled for those without it, too, and be dropped at the very end.
    """

    _name = "known_options"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        """Return whether anything was written."""
        function, changed = state.func_ir, False
        for block in function.blocks.values():
            for assign in block.find_insts(ir.Assign):
                if _is_none(function, state.args, assign.value):
                    assign.value, changed = ir.Const(None, assign.loc), True
        if changed:
            function._definitions = build_definitions(function.blocks)
        return changed


def _is_none(function, kinds, value):
    """Whether a value is an option, not taken, of a structure that is an argument of a function."""
    if not (isinstance(value, ir.Expr) and value.op == "getattr"):
        return False
    owner = guard(get_definition, function, value.value)
    kind = kinds[owner.index] if isinstance(owner, ir.Arg) else None
    return isinstance(kind, HandedType) and kind.options.get(value.attr) is False


OBJECTS = 100_000, 50, 100  # new ones before Python looks for unused ones; 700, 10, 10 cost a tenth of compiling


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


class FlagsInForce(Flags):
    """Flags that nobody may change, of which all equal ones are one object: they are compared by identity."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class KernelFlags(Flags):
    """Flags of a kernel; numba puts a copy in force."""

    _in_force = {}

    def copy(self):
        """Return the flags in force with these values."""
        return self._in_force.setdefault(self.summary(), FlagsInForce(self))


class Inliner(InlineWorker):
    """Puts inlined functions into their callers; each is worked out once, and copied once for each call."""

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

    def inline_ir(self, caller_ir, block, i, callee_ir, callee_freevars, arg_typs=None):
        """Put a function into its caller. Numba's copies of each block, made one by one, are the block itself."""
        callee = callee_ir.copy()
        callee.blocks = copy.deepcopy(callee_ir.blocks)
        for own in callee.blocks.values():
            own.__deepcopy__ = lambda memo, own=own: own
        result = super().inline_ir(caller_ir, block, i, callee, callee_freevars, arg_typs)
        for own in caller_ir.blocks.values():
            own.__dict__.pop("__deepcopy__", None)
        return result


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
        # Branches on options that are not taken are left out first: nothing is put in that would be dropped at the end.
        KnownOptions().run_pass(state)
        dead_branch_prune(state.func_ir, state.args)
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


class Remembering:
    """A typing context that remembers the types of operations on numbers and arrays.

    Parameters
    ----------
    context : numba's typing context
    """

    _operations = frozenset(filter(isbuiltin, vars(operator).values())) | {bool, range}
    _known = {}

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_function_type(self, func, args, kws):
        """Return the signature of a call."""
        plain = isinstance(func, types.Function) and func.typing_key in self._operations and not kws
        if not plain or not all(map(_is_plain, args)):
            return self._context.resolve_function_type(func, args, kws)
        if (func, args) not in self._known:
            self._known[func, args] = self._context.resolve_function_type(func, args, kws)
        return self._known[func, args]


def _is_plain(kind):
    """Whether operations on a type are numba's own, and the same for all who compile."""
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_plain, kind))
    return isinstance(kind, types.Number | types.Boolean | types.Array | types.SliceType)


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(NopythonTypeInference):
    """Numba's pass that finds types, with a context that remembers."""

    _name = "infer_types_once_found"

    def run_pass(self, state):
        """Find the types of a function's variables."""
        context, state.typingctx = state.typingctx, Remembering(state.typingctx)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class KernelCompiler(Compiler):
    """Numba's compiler with these passes, and with the one for options."""

    _own = {InlineInlinables: Inline, NopythonTypeInference: InferTypes}

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, KernelFlags(flags), locals)

    def compile_extra(self, func):
        """Compile a function."""
        with seldom_collected(), counted_from_the_start():
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return numba's pipeline with these passes in place of its own."""
        (pipeline,) = super().define_pipelines()
        pipeline.passes = [(self._own.get(one, one), text) for one, text in pipeline.passes]
        pipeline.add_pass_after(KnownOptions, Inline)
        pipeline.finalize()
        return [pipeline]
