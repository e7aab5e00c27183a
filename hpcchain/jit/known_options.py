"""Branches on options of a structure (`jit.struct`) that is not given them are left out before types are found.

Numba leaves out the branches on an argument that is None. An option is an attribute of an argument: where it is not
taken, this pass writes None in its place, so that numba sees it. Else all that only runs with the option would be
compiled for those without it, too, and be dropped at the very end.
"""

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions, get_definition, guard

from hpcchain.jit.struct import HandedType


@register_pass(mutates_CFG=False, analysis_only=False)
class KnownOptions(FunctionPass):
    """Write None for options that a structure is not given."""

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


def _is_none(function, types, value):
    """Whether a value is an option, not taken, of a structure that is an argument of a function."""
    if not (isinstance(value, ir.Expr) and value.op == "getattr"):
        return False
    owner = guard(get_definition, function, value.value)
    kind = types[owner.index] if isinstance(owner, ir.Arg) else None
    return isinstance(kind, HandedType) and kind.options.get(value.attr) is False
