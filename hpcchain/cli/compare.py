"""`hpcchain compare`: whether two files hold the same bits."""

import argparse

from hpcchain.cli.options import add_command
from hpcchain.errors import EXIT_DIFFERENT, EXIT_DONE


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "compare", execute, "compare two files or runs bit for bit: exit 0 if equal, 1 if not")
    parser.add_argument("a", metavar="A", help="a file, or a run's directory")
    parser.add_argument("b", metavar="B", help="another of the same kind")
    parser.add_argument(
        "--common", action="store_true", help="compare trajectories or observables only at times that are in both"
    )


def execute(args: argparse.Namespace) -> int:
    """Print the first difference, if there is one; return the exit code."""
    from hpcchain.io.tools.compare import compare

    difference = compare(args.a, args.b, common=args.common)
    print("equal" if difference is None else difference)
    return EXIT_DONE if difference is None else EXIT_DIFFERENT
