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

import os
import pickle
from functools import cache
from hashlib import sha256
from importlib import import_module
from inspect import getfile
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.types import Dispatcher, unliteral

from hpcchain.jit.pipeline import KernelCompiler
from hpcchain.jit.store import STORE, key_of, place_of


class Needed(NamedTuple):
    """An outlined kernel, with its types, that must be in the process; when called, it is brought there.

    Attributes
    ----------
    module, name : str
        Where the plain function is found.
    types : tuple of numba types
    """

    module: str
    name: str
    types: tuple

    def __call__(self):
        """Take the kernel from the cache, or compile it."""
        getattr(import_module(self.module), self.name).inner.compile(self.types)


class Library(JITCodeLibrary):
    """Code of a function; `needed` are the outlined kernels that are named in it."""

    needed: frozenset = frozenset()

    def add_linking_library(self, library):
        """Take a library's code, and what that needs."""
        super().add_linking_library(library)
        self.needed |= getattr(library, "needed", self.needed)


class InnerLibrary(Library):
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


class InlinedLibrary(InnerLibrary):
    """Code that is optimised where it is put in, as part of what is there."""

    def _optimize_final_module(self):
        """Leave it as it is."""


class OutlinedLibrary(Library):
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


class OwnCompiler(Compiler):
    """Numba's compiler, with a `Library`."""

    library = Library

    def _compile_bytecode(self):
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        result = super()._compile_bytecode()
        result.reload_init.extend(result.library.needed)
        return result


class EntryCompiler(KernelCompiler, OwnCompiler):
    """Compiles a kernel for Python."""

    def _compile_bytecode(self):
        result = super()._compile_bytecode()
        set_environments(result)
        return result


class InnerCompiler(KernelCompiler, OwnCompiler):
    """Compiles a kernel for its callers."""

    library = InnerLibrary

    def _compile_bytecode(self):
        state = self.state
        if state.flags.forceinline:
            self.library = InlinedLibrary
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = state.flags.no_compile = True
        result = super()._compile_bytecode()
        result.library.finalize()
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
        result.library.needed |= {Needed(function.modname, function.func_qualname, result.signature.args)}
        set_environments(result)
        return result


def set_environments(result):
    """Let machine code find the environments of the functions that it contains, as numba does for cached code."""
    for environment in result._find_referenced_environments():
        result.library.codegen.set_env(environment.env_name, environment)


@cache
def digest_of(path, changed, size):
    """Return the digest of a file, which is read once for each state that it has had."""
    return sha256(Path(path).read_bytes()).hexdigest()


class KernelCache:
    """How a compiled function is kept in the store and taken from there: a cache as numba calls it.

    Parameters
    ----------
    function : callable
    """

    cache_path = str(STORE.path)

    def __init__(self, function):
        self.function, self._flushed = function, False

    def flush(self):
        """Take nothing from the store any more."""
        self._flushed = True

    def load_overload(self, sig, target_context):
        """Return a compiled function, or None when it has to be compiled: by this process, others wait for it."""
        if self._flushed:
            return None
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        data = STORE.load(key)
        if data is None:
            STORE.missed = True
            STORE.wait_for(place_of(key))
            data = STORE.load(key)
        return None if data is None else self.rebuild(target_context, *pickle.loads(data))

    def save_overload(self, sig, data):
        """Keep a compiled function, unless its code has addresses of this process."""
        if not data.library.has_dynamic_globals:
            STORE.save(self._key(sig, data.codegen), dumps(data._reduce()))

    def rebuild(self, target_context, *kept):
        """Return the compiled function made of what was kept; what it needs is handed on to those that contain it."""
        result = CompileResult._rebuild(target_context, *kept)
        result.library.__class__, result.library.needed = Library, frozenset(result.reload_init)
        return result

    def _key(self, sig, codegen):
        """Return what decides the code: the function, its file and what it holds, types, versions and processor."""
        function, path = self.function, getfile(self.function)
        found = os.stat(path)
        file = digest_of(path, found.st_mtime_ns, found.st_size)
        held = dumps(tuple(cell.cell_contents for cell in function.__closure__ or ()))
        name = type(self).__name__, function.__module__, function.__qualname__, function.__code__.co_firstlineno
        versions = numba.__version__, llvmlite.__version__, numba.config.BOUNDSCHECK
        return key_of(*name, file, function.__code__.co_code, held, sig, *versions, *codegen.magic_tuple())


class InnerCache(KernelCache):
    """The same of a kernel for its callers."""

    library = InnerLibrary

    def rebuild(self, target_context, *kept):
        """Return the compiled kernel."""
        state, fndesc, environment, signature, objectmode, lifted, annotation, reload_init, referenced = kept
        for bring in reload_init:
            bring()
        library = self.library.restored(target_context.codegen(), state)
        library.needed = frozenset(reload_init)
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


class OutlinedCache(InnerCache):
    """The same of an outlined kernel."""

    library = OutlinedLibrary

    def rebuild(self, target_context, *kept):
        """Return the compiled kernel."""
        result = super().rebuild(target_context, *kept)
        result.library.needed |= {Needed(self.function.__module__, self.function.__qualname__, result.signature.args)}
        for environment in result.referenced_envs:
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class Kept(CPUDispatcher):
    """A function that is compiled where the store has no code of it.

    Parameters
    ----------
    function : callable
    options : dict
        Numba's options.
    pipeline : type
        Numba's compiler, or a kind of it.
    kept : type
        Its cache.
    """

    def __init__(self, function, options, pipeline=OwnCompiler, kept=KernelCache):
        super().__init__(function, targetoptions=options, pipeline_class=pipeline)
        self._cache = kept(function)

    def compile(self, sig):
        """Return the function's entry for these types; see numba."""
        with global_compiler_lock, STORE.releasing():
            return super().compile(sig)


class Inner(Kept):
    """A kernel as other kernels call it; Python cannot."""

    def add_overload(self, result):
        """Keep a compiled kernel."""
        self.overloads[tuple(result.signature.args)] = result

    def get_call_template(self, args, kws):
        """Return how a call is done: the kernel is the same whatever number a caller has written."""
        return super().get_call_template(map(unliteral, args), {name: unliteral(one) for name, one in kws.items()})


class Kernel(Kept):
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
        super().__init__(function, options, EntryCompiler)
        self.inner = Inner(
            function, options, *((OutlinedCompiler, OutlinedCache) if outlined else (InnerCompiler, InnerCache))
        )

    @property
    def _numba_type_(self):
        return Dispatcher(self.inner)
