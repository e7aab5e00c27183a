"""`hpcchain export`: files for viewers."""

import argparse

from hpcchain.cli.options import add_command


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "export", execute, "write a trajectory or checkpoint for OVITO and other viewers")
    parser.add_argument("file", metavar="DIR|FILE.h5", help="a run's directory, trajectory.h5 or a checkpoint")
    parser.add_argument("--to", required=True, choices=["gsd", "extxyz"], help="the format")
    parser.add_argument(
        "-o",
        dest="out",
        metavar="OUT",
        required=True,
        help="the file to write; replaces an earlier export, nothing else",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    from hpcchain.io.tools.export import export

    export(args.file, args.to, args.out)
    return 0
