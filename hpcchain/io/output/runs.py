"""runs.csv, the table of an ensemble: which runs there are, how far each is, and how it ended."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import atomic
from hpcchain.io.hdf5.collective import translated

NAME = "runs.csv"
WAITING, RUNNING, STOPPED, DONE, FAILED = STATES = ("waiting", "running", "stopped", "done", "failed")
COLUMNS = ("state", "code", "ranks", "began", "ended", "seconds", "message")
"""Behind the run's name and the keys that vary."""
MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Row:
    """One run of an ensemble.

    Attributes
    ----------
    run : str
        Its folder in the ensemble's.
    settings : dict of key -> value
        What it has of its own, as `--set` takes it.
    state : str
        One of STATES.
    code, ranks : int or None
        Its last exit code, and how many ranks it last had.
    began, ended : str
        When it first began and last ended.
    seconds : float
        Wall seconds that it took so far, in all its attempts.
    message : str
        Why it failed.
    """

    run: str
    settings: dict[str, str]
    state: str = WAITING
    code: int | None = None
    ranks: int | None = None
    began: str = ""
    ended: str = ""
    seconds: float = 0.0
    message: str = ""


def is_ensemble(folder: Path | str) -> bool:
    """Return whether a folder has a table of runs."""
    return (Path(folder) / NAME).is_file()


def read_runs(folder: Path | str) -> list[Row]:
    """Return the rows of an ensemble's table.

    Raises
    ------
    DataError
        Where it is missing, or not one that this program writes.
    """
    path = Path(folder) / NAME
    with translated(path, "reading"):
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8")
        try:
            lines = list(csv.reader(io.StringIO(text, newline="")))
        except csv.Error as reason:
            raise DataError(f"{path}: is no table: {reason}; restore it") from reason
        header = lines[0] if lines else []
        keys = header[1 : -len(COLUMNS)]
        foreign = header[:1] != ["run"] or tuple(header[-len(COLUMNS) :]) != COLUMNS or not keys
        if len(text) > MOST_BYTES or foreign or len(lines) < 2:
            raise DataError(f"{path}: is no table of runs that this program writes; restore it, or name the runs alone")
        for number, line in enumerate(lines[1:], 2):
            own = line[:1] not in ([""], ["."], [".."]) and line[:1] == [Path(*line[:1]).name]  # one below this folder
            if not own or len(line) != len(header) or line[1 + len(keys)] not in STATES:
                raise DataError(f"{path}: line {number} is no row of a table of runs; restore it, or remove the line")
        return [_row(line, keys) for line in lines[1:]]


def _row(line: list[str], keys: list[str]) -> Row:
    state, code, ranks, began, ended, seconds, message = line[1 + len(keys) :]
    numbers = (int(code) if code else None, int(ranks) if ranks else None)
    settings = dict(zip(keys, line[1:], strict=False))
    return Row(line[0], settings, state, *numbers, began, ended, float(seconds or 0.0), message)


def write_runs(folder: Path | str, rows: list[Row]) -> None:
    """Write an ensemble's table, which appears complete or not at all; not collective."""
    path = Path(folder) / NAME
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", *rows[0].settings, *COLUMNS])
    for row in rows:
        times = row.began, row.ended, f"{row.seconds:.1f}", row.message
        writer.writerow([row.run, *row.settings.values(), row.state, row.code, row.ranks, *times])
    with translated(path, "writing"):
        atomic.write_text(path, text.getvalue())


def note_row(folder: Path | str, row: Row) -> None:
    """Put one row into the table as it is on disk: the last word of a rank that ends all others."""
    write_runs(folder, [row if other.run == row.run else other for other in read_runs(folder)])
