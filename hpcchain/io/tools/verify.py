"""Whether every file of a run directory is whole, and from which checkpoint the run would go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from hpcchain.config.keys.values import counted
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_outline, read_progress
from hpcchain.io.checkpoint.layout import COUNTED
from hpcchain.io.checkpoint.store import list_checkpoints, newest_valid
from hpcchain.io.output.lineage import CHECKPOINTS, GROWTH, PARTS, FileHead
from hpcchain.io.output.recoverable_output import output_in, recoverable_counts, sound
from hpcchain.io.tools.inspect import info

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.io.output.recoverable_output import Output


def verify(path: Path) -> list[str]:
    """Check every byte of a run directory's files, or of one file; return a line for each file.

    Parameters
    ----------
    path : path
        A directory in which no run is going on, or one of our files.

    Raises
    ------
    DataError
        When something is missing, foreign or damaged: the message names the first such file, says how many there are,
        and from which checkpoint the run can go on all the same.
    """
    path = Path(path)
    if not path.is_dir():
        return info(path).splitlines()
    output = output_in(path)
    checkpoints = list_checkpoints(path / CHECKPOINTS)
    newest, refused = newest_valid(path / CHECKPOINTS, None, lambda counters: recoverable_counts(output, counters))
    seen = {newest, *(path for path, _ in refused)}
    older = [path for _, path in checkpoints if path not in seen]
    problems = [str(problem) for problem in output.problems()] + [why for _, why in refused]
    problems += _damaged([newest, *older] if newest else older)
    problems += _forgotten(path, newest, output)
    if problems:
        usable = newest and not any(problem.startswith(f"{newest}:") for problem in problems)
        way = f"the run can go on from {newest}" if usable else "no checkpoint can be gone on from"
        more = f", the first of {len(problems)} problems" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}; {way}")
    if not checkpoints and not any(output.files.values()):
        if (path / GROWTH).is_file():
            return [f"{GROWTH}: whole, a start that is still growing: {info(path / GROWTH).splitlines()[-1]}"]
        raise DataError(f"{path}: no run's directory: it has neither checkpoints nor output files")
    lines = [_line(f"{kind}.h5", sound(head)) for kind, head in output.files.items() if head is not None]
    lines += [_line(f"{PARTS}/{head.path.name}", head) for head in (sound(head) for _, head in output.parts)]
    if newest:
        lines.append(f"{CHECKPOINTS}/{newest.name}: whole, the newest of {len(checkpoints)}")
    return lines + [f"{CHECKPOINTS}/{path.name}: whole" for path in older]


def _forgotten(path: Path, newest: Path | None, output: Output) -> list[str]:
    """Return that a checkpoint leads on without the rows that it counts, where all of them are gone."""
    counters = {} if newest is None else read_progress(newest).counters
    if newest is None or recoverable_counts(output, counters)["reports"] == counters.get("reports", 0):
        return []
    frames, events, reports = (counted(cast("int", counters[name]), name[:-1]) for name in COUNTED)
    return [
        f"{path}: nothing is there of the {frames}, {reports} and {events} that {newest.name} counts, neither parts "
        "nor output files; they would be missing from the output"
    ]


def _damaged(checkpoints: list[Path]) -> list[str]:
    """Return what is wrong with checkpoints, for those that are not whole."""
    problems = []
    for path in checkpoints:
        try:
            read_outline(path)
        except DataError as error:
            problems.append(str(error))
    return problems


def _line(name: str, head: FileHead | PartHead) -> str:
    rows = counted(head.rows, "row") if isinstance(head, FileHead) else counted(head.count("frames"), "frame")
    return f"{name}: whole, {rows}"
