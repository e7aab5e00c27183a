"""The folder of checkpoints: names, the newest that can be trusted, and how many are kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_progress
from hpcchain.io.hdf5 import atomic
from hpcchain.io.hdf5.collective import root_does

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

Requirement = Callable[[dict[str, object]], object]
"""Of a checkpoint's counters; raises DataError, on every rank, when it cannot be used for a reason of its own."""
PATTERN = re.compile(r"ckpt-(\d{9,}\.\d{12})\.h5")


def checkpoint_name(time: float) -> str:
    """Return the file name of a checkpoint.

    The name has 12 decimals, so that names sort by time (below 1e9) and differ for times further apart than an event
    takes to resolve; the exact time is inside.

    Parameters
    ----------
    time : float
        [time], not negative.
    """
    return f"ckpt-{time:022.12f}.h5"


def list_checkpoints(folder: Path) -> list[tuple[float, Path]]:
    """Return (time in the name, path) of the checkpoints in a folder, the latest first; files only, none opened."""
    return [(time, path) for time, path, is_file in _named(folder) if is_file]


def _named(folder: Path) -> list[tuple[float, Path, bool]]:
    """Return (time in the name, path, whether it is a file) of all that has a checkpoint's name, the latest first."""
    folder = Path(folder)
    names = [(PATTERN.fullmatch(path.name), path) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(((float(match.group(1)), path, path.is_file()) for match, path in names if match), reverse=True)


def newest_valid(
    folder: Path, comm: Communicator | None = None, require: Requirement | None = None
) -> tuple[Path | None, list[tuple[Path, str]]]:
    """Find the latest checkpoint that is whole; collective.

    Returns
    -------
    path : Path or None
        None when there is none.
    refused : list of (Path, str)
        Later checkpoints that were passed over, and why.
    """
    candidates = root_does(comm, folder, "listing checkpoints", lambda: _named(folder))
    refused: list[tuple[Path, str]] = []
    for _, path, is_file in candidates:
        problem = _problem(path, comm, require) if is_file else f"{path}: not a file, or a link to none"
        if problem is None:
            return path, refused
        refused.append((path, problem))
    return None, refused


def prune(folder: Path, keep: int, comm: Communicator | None = None) -> None:
    """Remove all but the latest `keep` checkpoints, of which one stays in any case, and leftovers of killed runs."""
    candidates = root_does(comm, folder, "listing checkpoints", lambda: list_checkpoints(folder))
    old = [path for _, path in candidates[max(keep, 1) :]]
    atomic.remove(old[::-1], comm)
    atomic.remove_leftovers(folder, comm)


def _problem(path: Path, comm: Communicator | None, require: Requirement | None) -> str | None:
    """Return why a checkpoint cannot be used, or None."""
    try:
        time, counters = read_progress(path, comm)
    except DataError as error:
        return str(error)
    try:
        if require is not None:
            require(counters)
    except DataError as error:
        return f"{path}: {error}"
    return None if checkpoint_name(time) == path.name else f"{path}: holds time {time!r}; it was renamed"
