"""Says that the engine is being compiled, when it is: the compile cache is cold or belongs to other sources."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from hpcchain.jit.store import STORE, Store
from hpcchain.sector import sampling
from hpcchain.sector.events import loop
from hpcchain.sector.setup import initialise

LOG = logging.getLogger("hpcchain.compiling")
KERNELS = (initialise.start, initialise.enlist, initialise.search_all, loop.advance, sampling.frame)
POLL_SECONDS = 0.2


class CompilingNotice:
    """Watches the first calls of kernels from a thread of its own; use as a context around them.

    Parameters
    ----------
    kernels : sequence of jitted functions
        The watch ends when all of them are ready.
    store : Store
        The word is said when a kernel is asked for that is not there.
    """

    def __init__(self, kernels: Sequence[object] = KERNELS, store: Store = STORE) -> None:
        self._kernels, self._store = kernels, store
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="compiling-notice", daemon=True)

    def __enter__(self) -> CompilingNotice:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        begin = None
        while not all(getattr(kernel, "signatures", True) for kernel in self._kernels):  # plain functions have none
            if begin is None and self._store.missed:
                begin = time.perf_counter()
                LOG.info(
                    "compiling for this machine, once: a minute or two ('hpcchain warmup --all' does it beforehand)"
                )
            if self._over.wait(POLL_SECONDS):
                return
        if begin is not None:
            LOG.info("compiled after %.0f s", time.perf_counter() - begin)
