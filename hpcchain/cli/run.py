"""`hpcchain run`: from an input file to trajectories and checkpoints."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hpcchain.cli.options import add_command, add_limits, add_set, add_trust, add_until
from hpcchain.cli.ranks import on_ranks_that_pay

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.comm import Single, World


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "run", execute, "run an input file and write its output directory", parallel=True)
    parser.add_argument("input", metavar="INPUT.toml", help="the input file ('hpcchain template' prints one)")
    parser.add_argument("--output", metavar="DIR", help="write there instead of output.directory")
    add_until(parser)
    add_set(parser)
    parser.add_argument(
        "--resume",
        choices=["auto"],
        help="auto: continue from the newest whole checkpoint in the output directory if there is one",
    )
    add_limits(parser)
    add_trust(parser)


def execute(args: argparse.Namespace) -> int:
    """Run the input on the ranks that pay; return the exit code."""

    def known() -> Config | None:
        from hpcchain.run.alone import given_input

        return given_input(args.input, args.overrides)

    def action(comm: Single | World) -> int:
        from hpcchain import api

        return api.run(
            args.input,
            output=args.output,
            until=args.until,
            overrides=args.overrides,
            resume=args.resume,
            comm=comm,
            wall_limit=args.wall_limit,
            silence=args.silence,
            trust_code=args.trust_code,
        )

    return on_ranks_that_pay(args.comm, known, action)
