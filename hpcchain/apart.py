"""Kernels that are compiled once and called by name: what numba does not do by itself.

Numba puts the code of every kernel that is called into the calling one, optimises all of it again and makes machine
code of it again: with kernels that call kernels, ten deep, that is most of the time of compiling. The code of a kernel
`apart` stays where it was compiled. Callers hold only its name, which the linker of the process finds, so it must be
there before they are: numba runs `reload_init` of what it takes from the cache first, and `Needed` is in that. The
name must be the same whoever compiles, so the number that numba gives each function is taken out of it.
"""

from importlib import import_module

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class Needed:
    """A kernel with its types that must be in the process; when called, it is brought there.

    Parameters
    ----------
    function : callable
        The plain function, found by its name in its module.
    types : tuple of numba types
    """

    def __init__(self, function, types):
        self.key = function.__module__, function.__qualname__, types

    def __call__(self):
        """Take the kernel from the cache, or compile it."""
        module, name, types = self.key
        getattr(import_module(module), name).compile(types)

    def __eq__(self, other):
        """Whether it is the same kernel with the same types."""
        return isinstance(other, Needed) and self.key == other.key

    def __hash__(self):
        """Hash of what is compared."""
        return hash(self.key)


class ApartLibrary(JITCodeLibrary):
    """Compiled code of which others get nothing but its names."""

    def _get_module_for_linking(self):
        self._ensure_finalized()
        return llvm.parse_assembly(str(self._codegen._create_empty_module(self.name)))

    def serialize_using_object_code(self):
        """Return what is cached, its own code included."""
        data = self._get_compiled_object(), super()._get_module_for_linking().as_bitcode()
        return self.name, "object", data


class ApartCompiler(Compiler):
    """Compiles to an `ApartLibrary`."""

    def _compile_bytecode(self):
        function = self.state.func_id
        function.unique_id = 0
        self.state.library = ApartLibrary(self.state.targetctx.codegen(), function.func_qualname)
        self.state.library.enable_object_caching()
        result = super()._compile_bytecode()
        result.library._reload_init.add(Needed(function.func, result.signature.args))
        return result


class CachedKernel(CompileResultCacheImpl):
    """How a kernel is taken from the cache: what it needs is handed on to those that will contain it."""

    def rebuild(self, target_context, payload):
        """Return the compiled kernel."""
        result = super().rebuild(target_context, payload)
        result.library._reload_init.update(result.reload_init)
        return result


class CachedApart(CachedKernel):
    """The same for a kernel apart."""

    def __init__(self, function):
        super().__init__(function)
        self.function = function

    def rebuild(self, target_context, payload):
        """Return the compiled kernel."""
        result = super().rebuild(target_context, payload)
        result.library.__class__ = ApartLibrary
        result.library._reload_init.add(Needed(self.function, result.signature.args))
        return result


class KernelCache(FunctionCache):
    """Cache of a kernel."""

    _impl_class = CachedKernel


class ApartCache(FunctionCache):
    """Cache of a kernel apart."""

    _impl_class = CachedApart


def cached(cache):
    """Return a decorator that gives a jitted function its cache; a plain one is left alone."""

    def decorate(jitted):
        if hasattr(jitted, "_cache"):
            jitted._cache = cache(jitted.py_func)
        return jitted

    return decorate
