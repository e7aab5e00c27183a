"""`hpcchain run`: from an input file to trajectories and checkpoints."""

import argparse

from hpcchain.cli.options import add_command, add_limits, add_set, add_until


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


def execute(args: argparse.Namespace) -> int:
    """Run the input on all ranks; return the exit code."""
    from hpcchain import api

    return api.run(
        args.input,
        output=args.output,
        until=args.until,
        overrides=args.overrides,
        resume=args.resume,
        comm=args.comm,
        wall_limit=args.wall_limit,
        silence=args.silence,
    )
