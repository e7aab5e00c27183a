"""`hpcchain build`: only the initial configuration."""

import argparse

from hpcchain.cli.options import add_command, add_set, add_trust

EPILOG = """\
A start that is grown is made whole by every rank. For more beads than fit there, grow a smaller periodic box and copy
it: with --replicate every rank makes and writes an even part, so what it needs follows from the small box alone.
Molecules are numbered kind after kind, within a kind copy after copy. Velocities are drawn anew for the whole system,
from initial.seed and initial.temperature. The input of the large box goes to stdout:

  hpcchain build small.toml -o start.h5 --replicate 4 4 2 > large.toml
  mpirun -n 32 hpcchain run large.toml"""


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "build", execute, "make only the initial configuration of an input file", parallel=True)
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, EPILOG
    parser.add_argument("input", metavar="INPUT.toml")
    parser.add_argument(
        "-o",
        dest="out",
        metavar="START.h5",
        required=True,
        help='for [initial] method = "file"; replaces an earlier start file, nothing else',
    )
    parser.add_argument(
        "--replicate",
        nargs=3,
        type=copies,
        metavar=("NX", "NY", "NZ"),
        help="so many copies of it along each axis, several along periodic ones only; prints the input "
        "of the large box",
    )
    add_set(parser)
    add_trust(parser)


def copies(text: str) -> int:
    """Return a number of copies from an option's text.

    Raises
    ------
    argparse.ArgumentTypeError
        When it is no whole number above 0.
    """
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 10**9):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of copies: give a whole number, at least 1")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    """Build the start on all ranks; return the exit code."""
    from hpcchain import api
    from hpcchain.errors import EXIT_DONE

    given = {"overrides": args.overrides, "comm": args.comm, "trust_code": args.trust_code}
    if args.replicate is None:
        return api.build(args.input, args.out, **given)
    large = api.replicate(args.input, args.out, args.replicate, **given)
    if args.comm.rank == 0:
        print(large.to_toml(), end="")
    return EXIT_DONE
