"""`hpcchain resume`: continue a run from a checkpoint, to the bits of one that was never stopped."""

import argparse

from hpcchain.cli.options import add_command, add_limits, add_until


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "resume", execute, "continue from a checkpoint, on any number of ranks", parallel=True)
    parser.add_argument(
        "source",
        metavar="DIR|CHECKPOINT.h5",
        help="a run's directory (its newest whole checkpoint is taken) or one checkpoint",
    )
    add_until(parser)
    add_limits(parser)
    parser.add_argument("--output", metavar="DIR", help="write there instead of the run's own directory")


def execute(args: argparse.Namespace) -> int:
    """Continue the run on all ranks; return the exit code."""
    from hpcchain import api

    return api.resume(
        args.source,
        until=args.until,
        output=args.output,
        comm=args.comm,
        wall_limit=args.wall_limit,
        silence=args.silence,
    )
