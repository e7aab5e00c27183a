"""What windows have cost a rank so far, and over all ranks, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.decomposition.balance import imbalance

if TYPE_CHECKING:
    from hpcchain.parallel.exchange import Exchange

COUNTED = ("windows", "passes", "undone", "messages", "floats")
WORK = ("computing", "packing", "setting_right", "finishing")
PHASES = ("computing", "packing", "setting_right", "waiting", "finishing", "regrouping", "steering")
"""Waiting is for messages and agreement in a window, steering all that the other phases leave."""


class WindowStatistics:
    """Counts of what windows have done, and the time of their phases.

    Attributes
    ----------
    counts : dict of str -> int
        COUNTED; floats are those of messages.
    seconds : dict of str -> float
        PHASES; they add up to the time in `whole` [wall seconds].
    processor : float
        Seconds of the processor for a rank's own WORK, whatever else its processor had to do.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.processor = 0.0

    @contextmanager
    def spent(self, phase: str) -> Iterator[None]:
        """Add the time of the body to a phase."""
        start, processor = perf_counter(), thread_time()
        try:
            yield
        finally:
            self.seconds[phase] += perf_counter() - start
            if phase in WORK:
                self.processor += thread_time() - processor

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Add to steering what of the body's time is in no other phase."""
        start, before = perf_counter(), sum(self.seconds.values())
        try:
            yield
        finally:
            self.seconds["steering"] += perf_counter() - start - (sum(self.seconds.values()) - before)

    def sent(self, outgoing: dict) -> None:
        """Count messages, rank -> floats."""
        self.counts["messages"] += len(outgoing)
        self.counts["floats"] += sum(map(len, outgoing.values()))

    def report(self, comm: Exchange, sizes: dict, cost: float) -> dict:
        """Return what windows have cost so far over all ranks, name -> number; collective.

        Parameters
        ----------
        comm : Exchange
        sizes : dict of str -> int
            Of this rank: segments, restored, owned, ghosts.
        cost : float
            Of this rank since the last report, in any unit; the imbalance is the greatest over the mean.
        """
        every = comm.allgather(self.counts | sizes | self.seconds | {"cost": cost})
        total = {name: sum(one[name] for one in every) for name in every[0]}
        ranks, windows = len(every), max(self.counts["windows"], 1)
        return {
            "passes_per_window": self.counts["passes"] / windows,
            "windows_undone": self.counts["undone"],
            "redone": total["restored"] / max(total["segments"], 1),
            "ghosts_per_owned": total["ghosts"] / total["owned"],
            "messages_per_window": total["messages"] / windows / ranks,
            "bytes_per_window": 8.0 * total["floats"] / windows / ranks,
            "imbalance": imbalance(np.array([one["cost"] for one in every])),
            "seconds": {phase: spread([one[phase] for one in every]) for phase in PHASES},
        }


def spread(values: list) -> list:
    """Return least, mean and greatest of the ranks' numbers."""
    return [min(values), sum(values) / len(values), max(values)]
