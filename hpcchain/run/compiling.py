"""Says that the engine is being compiled, when it is: the compile cache is cold or belongs to other sources."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hpcchain.sector import sampling
from hpcchain.sector.events import loop
from hpcchain.sector.setup import initialise

if TYPE_CHECKING:
    from hpcchain.jit.outlined import Kernel

LOG = logging.getLogger("hpcchain.compiling")
KERNELS = (initialise.start, initialise.enlist, initialise.search_all, loop.advance, sampling.frame)
PACKAGE = "hpcchain."
POLL_SECONDS = 0.2


class CompilingNotice:
    """Watches the first calls of kernels from a thread of its own; use as a context around them.

    Parameters
    ----------
    kernels : sequence of jitted functions
        The watch ends when all of them are ready.
    watched : callable, optional
        Returns the functions of which one that is not in the cache is worth a word; default: all of the program's.
    """

    def __init__(self, kernels: list | tuple = KERNELS, watched: Callable | None = None) -> None:
        self._kernels = kernels
        self._watched = watched or jitted_functions
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="compiling-notice", daemon=True)

    def __enter__(self) -> CompilingNotice:
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        begin = None
        while not all(is_ready(kernel) for kernel in self._kernels):
            if begin is None and any(was_missed(kernel) for kernel in self._watched()):
                begin = time.perf_counter()
                LOG.info("compiling for this machine, once: a minute or two ('hpcchain warmup' does it beforehand)")
            if self._over.wait(POLL_SECONDS):
                return
        if begin is not None:
            LOG.info("compiled after %.0f s", time.perf_counter() - begin)


def jitted_functions() -> list:
    """Return the jitted functions of all modules of the program that are loaded."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE)]
    values = [value for module in modules for value in list(vars(module).values()) if not isinstance(value, type)]
    return [value for value in values if hasattr(value, "signatures")]


def is_ready(kernel: Kernel) -> bool:
    """Return whether a jitted function has machine code; a plain one always is ready."""
    return bool(getattr(kernel, "signatures", True))


def was_missed(kernel: Any) -> bool:
    """Return whether a jitted function was not found in the compile cache."""
    stats = getattr(kernel, "stats", None)
    return stats is not None and sum(stats.cache_misses.values()) > 0
