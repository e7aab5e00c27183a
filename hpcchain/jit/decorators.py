"""How kernels are compiled: one decision for all of them.

Kernels are cached, never use fastmath, and work on arrays that their callers own. They neither make nor keep arrays,
so numba's reference counting is switched off: its atomic operations, a pair for each view of an array, cost more than
the arithmetic on small molecules. The few that make arrays are `allocating`. Division is as the processor does it: what
has no value becomes infinite or not a number, which the engine looks for where it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from hpcchain.jit.outlined import Kept, Kernel

# Short loops over the lanes of a tile are unrolled before LLVM's loop vectoriser sees them; this packs them again.
numba.config.SLP_VECTORIZE = True

OPTIONS = {"error_model": "numpy", "_nrt": False, "forceinline": False}  # else what `inlined` ones call would be, too


def kernel(function: Callable) -> Any:
    """Compile a function, whose code goes into that of the kernels that call it, or is called there if it is long."""
    return _compiled(Kernel, function, OPTIONS, False)


def outlined(function: Callable) -> Any:
    """Compile a large function once, whoever calls it (`hpcchain.jit.outlined`): nothing of it is inlined."""
    return _compiled(Kernel, function, OPTIONS, True)


def concurrent(function: Callable) -> Any:
    """Compile a function during which other threads may run: it does not keep Python's lock."""
    return _compiled(Kernel, function, {"nogil": True, **OPTIONS}, False)


def inlined(function: Callable) -> Any:
    """Compile a function, whose code goes into that of the kernels that call it, at each call."""
    return _compiled(Kernel, function, {**OPTIONS, "forceinline": True}, False)


def allocating(function: Callable) -> Any:
    """Compile a function that makes arrays."""
    return _compiled(Kept, function, {})


def _compiled(kind: type, function: Callable, options: dict, *more: bool) -> Any:
    return function if numba.config.DISABLE_JIT else kind(function, {"nopython": True, **options}, *more)
