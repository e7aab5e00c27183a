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
HEADER = ("phase", "min [s]", "avg [s]", "max [s]", "share", "max/avg")
TOTAL = "total"


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


def aligned(rows: list, left: int = 1) -> str:
    """Return rows of texts as lines with the first columns to the left and the others to the right.

    Parameters
    ----------
    rows : list of sequences of str
        The header first; all of one length.
    left : int
        How many columns stand to the left.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def table(phases: dict) -> str:
    """Return the lines of the table.

    Parameters
    ----------
    phases : dict of str -> (min, avg, max)
        Wall seconds over ranks; a "total" is the whole run's, and without one the phases' sum is. A part of a phase,
        "phase: part", stands below it and is not counted again.
    """
    whole = {name: times for name, times in phases.items() if name != TOTAL and WITHIN not in name}
    counted = sum(average for _, average, _ in whole.values())
    total = phases[TOTAL][1] if TOTAL in phases else counted
    rows = []
    for name, times in by_average(whole):
        rows.append(line(name, times, total))
        within = {part: times for part, times in phases.items() if part.startswith(name + WITHIN)}
        rows += [line("  " + part.removeprefix(name + WITHIN), times, total) for part, times in by_average(within)]
    rest = ("rest", "", f"{total - counted:.3f}", "", share(total - counted, total), "")
    last = [rest, line(TOTAL, phases[TOTAL], total)] if TOTAL in phases else []
    return aligned([HEADER, *rows, *last])


def by_average(phases: dict) -> list:
    """Return the (name, times) of phases, those that took longest on average first."""
    return sorted(phases.items(), key=lambda item: -item[1][1])


def line(name: str, times: tuple, total: float) -> tuple[str, ...]:
    """Return a phase's row of the table as texts."""
    imbalance = f"{times[2] / times[1]:.2f}" if times[1] > 0.0 else "-"
    return name, *(f"{seconds:.3f}" for seconds in times), share(times[1], total), imbalance


def share(part: float, total: float) -> str:
    """Return a part as a percentage."""
    return f"{100.0 * part / total:.1f} %" if total > 0.0 else "-"
