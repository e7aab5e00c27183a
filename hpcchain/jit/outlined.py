"""How kernels that call each other are compiled: what numba does for every function, done for those that need it.

Numba gives every compiled function a wrapper for Python, one for C, and machine code of its own, then puts its code
into that of every function that calls it, ten deep, and optimises all of it again each time. With some three hundred
kernels that is most of the time of compiling. Here a kernel has two sides:

- `Kernel`, what Python calls: compiled when Python does call it, which for most kernels it never does;
- `Kernel.inner`, what other kernels call: it has no wrappers. An ordinary one has no machine code either, only what
  goes into its callers. The code of an `outlined` one stays where it was compiled, and callers hold only its name,
  which the linker of the process finds; so it must be there before they are. Numba runs `reload_init` of what it
  takes from the cache first, and `Needed` is in that. The name must be the same whoever compiles, so the number that
  numba gives each function is taken out of it.
"""

from importlib import import_module

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.registry import CPUDispatcher
from numba.core.types import Dispatcher

from hpcchain.jit.pipeline import KernelCompiler


class Needed:
    """An outlined kernel, with its types, that must be in the process; when called, it is brought there.

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
        getattr(import_module(module), name).inner.compile(types)

    def __eq__(self, other):
        """Whether it is the same kernel with the same types."""
        return isinstance(other, Needed) and self.key == other.key

    def __hash__(self):
        """Hash of what is compared."""
        return hash(self.key)


class InnerLibrary(JITCodeLibrary):
    """Optimised code that goes into that of others; there is no machine code of it."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self):
        """Return what is cached: the code for others."""
        return self.name, self._get_module_for_linking().as_bitcode()

    @classmethod
    def restored(cls, codegen, state):
        """Return a library made of what was cached."""
        name, bitcode = state
        library = cls(codegen, name)
        library._final_module = library._shared_module = llvm.parse_bitcode(bitcode)
        library._finalized = True
        return library


class OutlinedLibrary(JITCodeLibrary):
    """Machine code of which others get nothing but its names."""

    def _get_module_for_linking(self):
        self._ensure_finalized()
        return llvm.parse_assembly(str(self._codegen._create_empty_module(self.name)))

    def serialize_using_object_code(self):
        """Return what is cached, its own code included."""
        data = self._get_compiled_object(), super()._get_module_for_linking().as_bitcode()
        return self.name, "object", data

    @classmethod
    def restored(cls, codegen, state):
        """Return a library made of what was cached."""
        library = codegen.unserialize_library(state)
        library.__class__ = cls
        return library


class Entry:
    """Stands where numba keeps a function's callable, by which it finds the code of one that Python cannot call."""


class InnerCompiler(KernelCompiler):
    """Compiles a kernel for its callers."""

    library = InnerLibrary

    def _compile_bytecode(self):
        state = self.state
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = state.flags.no_compile = True
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        result = super()._compile_bytecode()
        result.library.finalize()
        result.reload_init.extend(result.library._reload_init)
        result = result._replace(entry_point=Entry())
        state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class OutlinedCompiler(InnerCompiler):
    """Compiles a kernel that has its own machine code."""

    library = OutlinedLibrary

    def _compile_bytecode(self):
        function = self.state.func_id
        function.unique_id = 0
        result = super()._compile_bytecode()
        result.library._reload_init.add(Needed(function.func, result.signature.args))
        set_environments(result)
        return result


class EntryCompiler(KernelCompiler):
    """Compiles a kernel for Python."""

    def _compile_bytecode(self):
        result = super()._compile_bytecode()
        set_environments(result)
        return result


def set_environments(result):
    """Let machine code find the environments of the functions that it contains, as numba does for cached code."""
    for environment in result._find_referenced_environments():
        result.library.codegen.set_env(environment.env_name, environment)


class CachedInner(CompileResultCacheImpl):
    """What is cached of a kernel for its callers, and how it is taken from there."""

    library = InnerLibrary

    def __init__(self, function):
        super().__init__(function)
        self.function = function

    def get_filename_base(self, fullname, abiflags):
        """Return how the files' names begin: beside those of the kernel for Python."""
        return super().get_filename_base(f"{self.library.__name__}.{fullname}", abiflags)

    def rebuild(self, target_context, payload):
        """Return the compiled kernel; what it needs is handed on to those that will contain it."""
        state, fndesc, environment, signature, objectmode, lifted, annotation, reload_init, referenced = payload
        for bring in reload_init:
            bring()
        library = self.library.restored(target_context.codegen(), state)
        library._reload_init.update(reload_init)
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=Entry(),
            fndesc=fndesc,
            type_annotation=annotation,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            reload_init=reload_init,
            referenced_envs=referenced,
        )


class CachedOutlined(CachedInner):
    """The same for an outlined kernel."""

    library = OutlinedLibrary

    def rebuild(self, target_context, payload):
        """Return the compiled kernel."""
        result = super().rebuild(target_context, payload)
        result.library._reload_init.add(Needed(self.function, result.signature.args))
        for environment in result.referenced_envs:
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class InnerCache(FunctionCache):
    """Cache of a kernel for its callers."""

    _impl_class = CachedInner


class OutlinedCache(FunctionCache):
    """Cache of an outlined kernel."""

    _impl_class = CachedOutlined


class Inner(CPUDispatcher):
    """A kernel as other kernels call it; Python cannot."""

    def add_overload(self, result):
        """Keep a compiled kernel."""
        self.overloads[tuple(result.signature.args)] = result


class Kernel(CPUDispatcher):
    """A kernel as Python calls it.

    Parameters
    ----------
    function : callable
    options : dict
        Numba's options.
    outlined : bool
        Whether its code has its own machine code.

    Attributes
    ----------
    inner : Inner
        The same for kernels that call it.
    """

    def __init__(self, function, options, outlined):
        super().__init__(function, targetoptions=options, pipeline_class=EntryCompiler)
        self._cache = FunctionCache(function)
        self.inner = Inner(
            function, targetoptions=options, pipeline_class=OutlinedCompiler if outlined else InnerCompiler
        )
        self.inner._cache = (OutlinedCache if outlined else InnerCache)(function)

    @property
    def _numba_type_(self):
        return Dispatcher(self.inner)
