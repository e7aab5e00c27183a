"""What the commands share: the parser class, option types, how a command is declared, and tables for stdout."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import Any

from hpcchain.errors import UsageError

WALL_TIME = re.compile(r"(?:(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,12}(?:\.\d*)?)")

SILENCE = 900.0
"""Wall seconds; compiling on a slow machine is silent, too."""
LEAST_SILENCE, MOST_SILENCE = 0.01, 1e8


class Parser(argparse.ArgumentParser):
    """A parser that raises its complaints, so that one rank prints them; options are never abbreviated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)  # type: ignore[misc]

    def error(self, message: str) -> None:
        """Raise a UsageError with the usage line."""
        usage = " ".join(self.format_usage().split())
        raise UsageError(f"{message}\n{usage}\nsee '{self.prog} --help'")


def add_command(
    sub: argparse._SubParsersAction, name: str, execute: Callable, summary: str, parallel: bool = False
) -> Parser:
    """Declare a command and return its parser.

    Parameters
    ----------
    sub : argparse subparsers
    name, summary : str
        The command and its line in `hpcchain --help`.
    execute : callable
        Takes the parsed arguments (with `comm`, the ranks) and returns an exit code.
    parallel : bool
        Whether all ranks take part; other commands run on the root rank alone.
    """
    parser = sub.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("--debug", action="store_true", help="print the traceback of a failure, and debug log lines")
    parser.add_argument(
        "--log-format",
        choices=["short", "full"],
        help="begin log lines with the time of day alone, or with date, part, rank and level, too (default: short on a "
        "terminal, full in files)",
    )
    parser.set_defaults(execute=execute, parallel=parallel, complain=parser.error)
    return parser


ELSEWHERE = {
    "--output DIR": ("-o", "--out", "--outdir", "--output-dir", "-d", "--directory", "--prefix", "-deffnm"),
    "--resume auto": ("--restart", "--continue", "-cpi", "-r", "-restart"),
    "--set KEY.SUB=VALUE": ("-var", "-v", "-D", "--var", "--param", "--override"),
    "--until T": ("--steps", "--nsteps", "-nsteps", "--time", "--end-time", "--duration"),
    "hpcchain check": ("--dry-run", "--validate", "--check", "-skiprun"),
    "mpirun -n N hpcchain": ("-n", "-np", "--np", "--ranks", "--nprocs", "-ntmpi", "--processes", "-p"),
}
"""What takes the place of options that other programs have."""


def unrecognized(arguments: list[str]) -> str:
    """Return the complaint about arguments that a command does not have, with what was meant; they may name a key."""
    from hpcchain.config.keys.schema import KEYS

    option = arguments[0].partition("=")[0]
    name = option.lstrip("-").replace("-", "_")
    found = [f"--set {key.path}=VALUE" for key in KEYS if name in (key.name, key.path) and option.startswith("--")]
    found = [ours for ours, theirs in ELSEWHERE.items() if option in theirs] or found
    return f"unrecognized arguments: {' '.join(arguments)}" + (f"; use {' or '.join(found)}" if found else "")


def number_in(text: str) -> float:
    """Return the number that a text is, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number(good: Callable[[float], bool], wanted: str) -> Callable[[str], float]:
    """Return a type of options: numbers that are good; of another text it says that it is not the one wanted."""

    def read(text: str) -> float:
        value = number_in(text)
        if not good(value):
            raise argparse.ArgumentTypeError(f"{text!r} {wanted}")
        return value

    return read


finite_time = number(
    lambda value: 0.0 <= value < math.inf, "is not a simulated time: give a finite number that is not negative"
)
silence_seconds = number(
    lambda value: value == 0.0 or LEAST_SILENCE <= value <= MOST_SILENCE,
    f"is not a wall time: give {LEAST_SILENCE} to {MOST_SILENCE:.0e} seconds, or 0 for never",
)


def wall_seconds(text: str) -> float:
    """Return the seconds of a wall time: a number of them, MM:SS, HH:MM:SS, or D-HH:MM:SS as Slurm writes it.

    Raises
    ------
    argparse.ArgumentTypeError
        When the text is none of these, or no time is left by it.
    """
    found = WALL_TIME.fullmatch(text)
    days, hours, minutes, seconds = found.groups(default="0") if found else ("0",) * 4
    total = 86400.0 * int(days) + 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds)
    if not total > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a wall time: give seconds, MM:SS, HH:MM:SS or D-HH:MM:SS")
    return total


SHARED: dict[str, dict[str, Any]] = {
    "--until": {
        "type": finite_time,
        "metavar": "T",
        "help": "simulated time to stop at; takes the place of run.end_time, also for `resume` later",
    },
    "--set": {
        "dest": "overrides",
        "action": "append",
        "default": [],
        "metavar": "KEY.SUB=VALUE",
        "help": "replace a value of the input file, for example --set run.end_time=10; may be repeated",
    },
    "--ranks-per-run": {
        "type": int,
        "metavar": "N",
        "help": "ranks of each run of an ensemble (default: as many as the cost model says pay)",
    },
    "--wall-limit": {
        "type": wall_seconds,
        "metavar": "TIME",
        "help": "stop with a checkpoint and exit code 75 before this wall time is used up (seconds or "
        "[D-]HH:MM:SS); the end of a Slurm job (SLURM_JOB_END_TIME) is heeded without it",
    },
    "--silence": {
        "type": silence_seconds,
        "default": SILENCE,
        "metavar": "SECONDS",
        "help": "when nothing has moved for so long, say which rank waits for which, details in "
        f"OUTPUT/stuck; 0: never (default {SILENCE:.0f})",
    },
    "--trust-code": {
        "action": "store_true",
        "help": "run the Python files of potentials (potential.file) although other users could have changed them, or "
        "the checkpoint that names them",
    },
}
"""Options that several commands have; values of --set are kept as text for the input's own checks."""


def add_shared(parser: Parser, *options: str) -> None:
    """Add some of SHARED to a parser."""
    for option in options:
        parser.add_argument(option, **SHARED[option])


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return what options of these names say, and those that runs have in common."""
    return {name: getattr(args, name) for name in (*names, "output", "until", "wall_limit", "silence", "trust_code")}
