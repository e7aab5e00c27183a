"""`hpcchain info`: what is in a file, and where it came from."""

import argparse
from pathlib import Path

from hpcchain.cli.options import add_command
from hpcchain.config.keys.values import counted
from hpcchain.observe.timers import aligned


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "info", execute, "say what is in a run or a file, and where it came from")
    parser.add_argument("file", metavar="DIR|FILE.h5", help="a run's directory, that of many, or any file of a run")
    parser.add_argument(
        "--conditions",
        action="store_true",
        help="of a checkpoint, also the condition numbers of the matrices by which its steps and contacts are solved",
    )


def execute(args: argparse.Namespace) -> int:
    """Print the description; return the exit code."""
    from hpcchain.cli.perf import checkpoint_of
    from hpcchain.io.output.runs import is_ensemble
    from hpcchain.io.tools.inspect import info

    if is_ensemble(args.file):
        print(table_of(args.file))
        return 0
    facts = info(args.file)
    more = f"\n\n{conditions(checkpoint_of(Path(args.file)))}" if args.conditions else ""
    print(facts + more)
    return 0


def table_of(folder: str) -> str:
    """Return the table of an ensemble's runs, and how many are in which state."""
    from hpcchain.io.output.runs import STATES, read_runs
    from hpcchain.observe.runlog import duration

    rows = read_runs(folder)
    states = [row.state for row in rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    cells = [(row.run, row.state, "-" if row.code is None else str(row.code), duration(row.seconds)) for row in rows]
    return (
        f"{folder}: {counted(len(rows), 'run')}, {counts}\n\n{aligned([('run', 'state', 'code', 'time'), *cells], 2)}"
    )


def conditions(path: Path) -> str:
    """Return the table of condition numbers of a checkpoint; raises DataError for another file."""
    from hpcchain.io.checkpoint.checkpoint import read_checkpoint
    from hpcchain.model.molecules.long_chains import united
    from hpcchain.observe.condition_numbers import condition_numbers

    found = read_checkpoint(path)
    rows = [
        (name, matrix, str(count), f"{mean:.4g}", f"{most:.4g}")
        for name, matrix, count, mean, most in condition_numbers(united(found.system, found.time))
    ]
    return aligned([("condition numbers", "matrix", "molecules", "mean", "most"), *rows])
