"""Says that the engine is being compiled, when it is: the compile cache is cold or belongs to other sources."""

import logging
import threading
import time

from hpcchain.sector import loop

LOG = logging.getLogger("hpcchain.run")
KERNELS = (loop.start, loop.enlist, loop.search_all, loop.advance, loop.frame)
POLL_SECONDS = 0.1


class CompilingNotice:
    """Watches the first calls of kernels from a thread of its own; use as a context around them.

    Parameters
    ----------
    kernels : sequence of jitted functions
        The watch ends when all of them are ready.
    """

    def __init__(self, kernels=KERNELS):
        self._kernels = kernels
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="compiling-notice", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._over.set()
        self._thread.join()

    def _watch(self):
        begin = None
        while not all(is_ready(kernel) for kernel in self._kernels):
            if begin is None and any(was_missed(kernel) for kernel in self._kernels):
                begin = time.perf_counter()
                LOG.info("compiling for this machine: once, up to two minutes ('hpcchain warmup' does it beforehand)")
            if self._over.wait(POLL_SECONDS):
                return
        if begin is not None:
            LOG.info("compiled after %.0f s", time.perf_counter() - begin)


def is_ready(kernel):
    """Return whether a jitted function has machine code; a plain one always is ready."""
    return bool(getattr(kernel, "signatures", True))


def was_missed(kernel):
    """Return whether a jitted function was not found in the compile cache."""
    stats = getattr(kernel, "stats", None)
    return stats is not None and sum(stats.cache_misses.values()) > 0
