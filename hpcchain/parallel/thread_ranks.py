"""Many ranks in one process: the windowed engine's exchange between threads.

For tests on any number of ranks, and to compile what several ranks need; kernels do not run side by side.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from hpcchain.parallel.activity import Activity
from hpcchain.parallel.agreement import Ranks


class Hub:
    """Where the threads of one run meet."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self.slots: list[Any] = [None] * size
        self.notes = [deque() for _ in range(size)]
        self.subsets: dict[int, Hub] = {}

    def subset(self, ranks: int) -> Hub:
        """Return where the first so many of the threads meet."""
        return self.subsets.setdefault(ranks, Hub(ranks))

    def abort(self) -> None:
        """Let no rank wait any longer."""
        self.barrier.abort()
        for subset in self.subsets.values():
            subset.abort()


class ThreadExchange(Ranks):
    """One thread's side of what `exchange.Exchange` is between processes; the same methods."""

    def __init__(self, hub: Hub, rank: int) -> None:
        self.hub, self.rank, self.size = hub, rank, hub.size
        self.activity = Activity()

    def subset(self, ranks: int) -> ThreadExchange | None:
        if ranks == self.size:
            return self
        if self.rank == 0:
            self.hub.subset(ranks)
        self.allgather(None)
        return ThreadExchange(self.hub.subset(ranks), self.rank) if self.rank < ranks else None

    def send_note(self, rank: int, note: Any) -> None:
        self.hub.notes[rank].append((self.rank, note))

    def heard(self, rank: int | None = None) -> Any:
        if self.hub.barrier.broken:
            raise threading.BrokenBarrierError
        notes = self.hub.notes[self.rank]
        if not notes or (rank is not None and notes[0][0] != rank):
            return None
        return notes.popleft()[1]

    def allgather(self, value: Any) -> list:
        self.hub.slots[self.rank] = value
        self.hub.barrier.wait()
        values = list(self.hub.slots)
        self.hub.barrier.wait()
        return values

    def maximum(self, values: np.ndarray, asleep: bool = False) -> np.ndarray:
        return np.max(self.allgather(values.copy()), axis=0)

    def total(self, values: np.ndarray) -> np.ndarray:
        return np.sum(self.allgather(values.copy()), axis=0)

    def exchange_known(self, outgoing: dict, sources: list, asleep: bool = False) -> dict:
        every = self.allgather({rank: rows.copy() for rank, rows in outgoing.items()})  # a sender may use it anew
        return {rank: every[rank][self.rank].copy() for rank in sources}

    def exchange_unknown(self, outgoing: dict) -> dict:
        every = self.allgather(outgoing)
        return {rank: rows[self.rank].copy() for rank, rows in enumerate(every) if self.rank in rows}


def on_ranks(size: int, body: Callable) -> list:
    """Return [body(exchange) for each rank], run together; the first failure is raised."""
    hub = Hub(size)
    results, failures = [None] * size, []

    def one(rank: int) -> None:
        try:
            results[rank] = body(ThreadExchange(hub, rank))
        except BaseException as reason:  # noqa: BLE001  # whatever it is, the others must not wait for this rank
            if not isinstance(reason, threading.BrokenBarrierError):
                failures.append(reason)
            hub.abort()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
