"""`hpcchain resume`: continue a run from a checkpoint, to the bits of one that was never stopped."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.cli.options import add_command, add_shared, given
from hpcchain.cli.run import on_ranks_that_pay

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.comm import Single, World


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "resume", execute, "continue from a checkpoint, on any number of ranks", parallel=True)
    parser.add_argument(
        "source",
        metavar="DIR|CHECKPOINT.h5",
        help="a run's directory (its newest whole checkpoint is taken) or one checkpoint; or that of an ensemble "
        "(run --vary): all that is not done",
    )
    add_shared(parser, "--until", "--ranks-per-run", "--wall-limit", "--silence", "--trust-code")
    parser.add_argument("--output", metavar="DIR", help="write there instead of the run's own directory")


def execute(args: argparse.Namespace) -> int:
    """Continue the run on the ranks that pay; return the exit code."""

    def known() -> Config | None:
        from hpcchain.run.alone import stored_input

        return stored_input(Path(args.source))

    def action(comm: Single | World) -> int:
        from hpcchain import api

        return api.resume(args.source, comm=comm, **given(args, "ranks_per_run"))

    return on_ranks_that_pay(args.comm, known, action)
