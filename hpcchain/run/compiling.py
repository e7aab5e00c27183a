"""Says that the engine is being compiled, when it is: the compile cache is cold or belongs to other sources."""

from __future__ import annotations

import logging
import threading
import time

from hpcchain.jit.store import STORE
from hpcchain.sector import sampling
from hpcchain.sector.events import loop
from hpcchain.sector.setup import initialise

LOG = logging.getLogger("hpcchain.compiling")
KERNELS = (initialise.start, initialise.enlist, initialise.search_all, loop.advance, sampling.frame)
POLL_SECONDS = 0.2


class CompilingNotice:
    """Watches the first calls of `KERNELS` from a thread of its own, until all are ready; use as a context around them.

    The word is said when a kernel is asked for that is not in the store.
    """

    def __init__(self) -> None:
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
        while not all(getattr(kernel, "signatures", True) for kernel in KERNELS):  # plain functions have none
            if begin is None and STORE.missed:
                begin = time.perf_counter()
                LOG.info(
                    "compiling for this machine, once: one to four minutes ('hpcchain warmup' does it beforehand, with "
                    "--all for what few runs use, too)"
                )
            if self._over.wait(POLL_SECONDS):
                return
        if begin is not None:
            LOG.info("compiled after %.0f s", time.perf_counter() - begin)
