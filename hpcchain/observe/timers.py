"""Wall seconds per phase of a run, for the table at the end and in every checkpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World

WITHIN = ": "
"""What stands between a phase and a part of it in the part's name."""


class Timers:
    """Named stop watches.

    Attributes
    ----------
    seconds : dict of str -> float
        Wall seconds of this rank by phase.
    """

    def __init__(self) -> None:
        self.seconds = {}
        self.begin = time.perf_counter()
        self.cpu = time.process_time()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time spent inside towards a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @property
    def wall(self) -> float:
        """Wall seconds since the start."""
        return time.perf_counter() - self.begin

    def table(self, comm: Single | World, parts: dict | None = None) -> dict:
        """Return dict of phase -> (min, avg, max) wall seconds over ranks; collective.

        Parameters
        ----------
        comm : Single or World
        parts : dict of str -> float, optional
            This rank's wall seconds in parts of phases, named "phase: part".
        """
        own = dict(self.seconds, total=self.wall, **(parts or {}))
        every = comm.allgather(own)
        names = {name for rank in every for name in rank}
        columns = {name: [rank.get(name, 0.0) for rank in every] for name in names}
        rows = {name: (min(v), sum(v) / len(v), max(v)) for name, v in columns.items()}
        return dict(sorted(rows.items(), key=lambda item: (-item[1][2], item[0])))


def lines(table: dict) -> list:
    """Return the lines of a table of phases for the log: wall seconds over ranks, and the share of the whole.

    Parameters
    ----------
    table : dict of phase -> (min, avg, max)
        See `Timers.table`; has a "total".
    """
    whole = table["total"][1]
    width = max(len(name) for name in table)
    rows = [f"{'phase':<{width}}  {'min [s]':>9} {'avg [s]':>9} {'max [s]':>9}   share"]
    for name, (least, average, most) in table.items():
        share = 100.0 * average / whole if whole > 0.0 else 0.0
        rows.append(f"{name:<{width}}  {least:9.3f} {average:9.3f} {most:9.3f}  {share:5.1f} %")
    return rows
