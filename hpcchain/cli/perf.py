"""`hpcchain perf`: where a run's time went, and what solving for its steps took."""

import argparse
from pathlib import Path

from hpcchain.cli.options import add_command
from hpcchain.errors import DataError
from hpcchain.observe.timers import aligned, table


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(
        sub,
        "perf",
        execute,
        "show where a run's time went, per phase over its ranks, and what solving for its steps took",
    )
    parser.add_argument(
        "source",
        metavar="DIR|CHECKPOINT.h5",
        help="a run's directory (its newest whole checkpoint is taken) or one checkpoint",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the tables; return the exit code."""
    from hpcchain.io.checkpoint.checkpoint import read_perf, read_progress
    from hpcchain.run.totals import solving

    path = checkpoint_of(Path(args.source))
    phases = read_perf(path)
    if not phases:
        raise DataError(f"{path}: holds no timings; they are written by 'hpcchain run', not by 'build'")
    print(f"{path}: wall seconds by phase, over ranks")
    print(table(phases))
    solved = solving(read_progress(path).counters)
    if any(solved.values()):
        print(f"\n{of_solving(solved)}")
    return 0


def checkpoint_of(source: Path) -> Path:
    """Return a checkpoint's path: the source itself if it is a file, else the newest whole one of the run directory.

    Raises
    ------
    DataError
        When there is none.
    """
    from hpcchain.io.checkpoint.store import newest_valid
    from hpcchain.io.output.lineage import CHECKPOINTS

    if source.is_file():
        return source
    if not source.is_dir():
        raise DataError(f"{source}: no such file or directory; name a run's output directory or a checkpoint")
    path, refused = newest_valid(source / CHECKPOINTS)
    if path is None:
        why = "".join(f"\n  {bad}: {reason}" for bad, reason in refused)
        raise DataError(f"{source}: has no whole checkpoint in its folder checkpoints{why}")
    return path


def of_solving(solved: dict) -> str:
    """Return the lines of the table of steps and iterations, from `hpcchain.run.totals.solving`."""
    texts = {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in solved.items()}
    rows = [(name.replace("_", " "), "-" if text == "None" else text) for name, text in texts.items()]
    return aligned([("on all ranks", "number"), *rows])
