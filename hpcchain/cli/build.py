"""`hpcchain build`: only the initial configuration."""

import argparse
import math

from hpcchain.cli.options import add_command, add_shared, number
from hpcchain.errors import UsageError

FORMATS = ("lammps", "gsd", "pdb", "gro", "extxyz")
"""As in hpcchain.io.tools.configurations, which would load numpy."""
OF_SOURCE = ("format", "frame", "bond_length", "tolerance", "grow")
"""Options that say what is made of the file of --from."""

EPILOG = """\
A start that is grown is made whole by every rank. For more beads than fit there, grow a smaller periodic box and copy
it: with --replicate every rank makes and writes an even part, so what it needs follows from the small box alone.
Molecules are numbered kind after kind, within a kind copy after copy. Velocities are drawn anew for the whole system,
from initial.seed and initial.temperature. The input of the large box goes to stdout:

  hpcchain build small.toml -o start.h5 --replicate 4 4 2 > large.toml
  mpirun -n 32 hpcchain run large.toml

With --from the start is another program's: LAMMPS data, GSD, PDB, GRO or extended XYZ. Molecules are what its bonds
join, made whole by nearest images, of the types that it names. An input says what the file does not, for example the
engine and potentials. GRO and extended XYZ have no bonds: there [[molecule]] tables say what the beads are, one after
another. --set molecule.KEY=VALUE is of all molecules; diameter and mass may go by types. The input of a run goes to
stdout:

  hpcchain build --from melt.data --bond-length 1 --grow -o start.h5 > melt.toml
  hpcchain build --from melt.gsd --set 'molecule.diameter={A=1.0,B=0.8}' -o start.h5 > melt.toml
  hpcchain build soft.toml --from melt.data --set molecule.rigid=false -o start.h5 > melt.toml"""


number_above_0 = number(lambda value: 0.0 < value < math.inf, "is no number above 0")


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "build", execute, "make only the initial configuration of an input file", parallel=True)
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, EPILOG
    parser.add_argument("input", nargs="?", metavar="INPUT.toml", help="not needed with --from")
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
    other = parser.add_argument_group("starts from other programs")
    other.add_argument("--from", dest="source", metavar="FILE", help="take beads and bonds from this file")
    other.add_argument("--format", choices=FORMATS, help="its format, where the name does not say it")
    other.add_argument("--frame", type=int, metavar="N", help="frame, from 0, or from the end (default: -1, the last)")
    other.add_argument(
        "--bond-length",
        type=number_above_0,
        metavar="B",
        help="of all bonds; beads go onto them by the least move; bonds may be off by --tolerance, or 0.1",
    )
    other.add_argument(
        "--tolerance",
        type=number_above_0,
        metavar="T",
        help="bonds whose lengths differ by less, relative, have one, their mean (default: 1e-5; PDB and GRO: 0.005)",
    )
    other.add_argument(
        "--grow", action="store_true", help="beads that overlap begin smaller and grow from where they are"
    )
    add_shared(parser, "--set", "--trust-code")


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
    of_source = {name: getattr(args, name) for name in OF_SOURCE}
    of_source = {name: value for name, value in of_source.items() if value is not None and value is not False}
    if args.source is None and of_source:
        raise UsageError(f"--{next(iter(of_source)).replace('_', '-')} is for a file of another program: give --from")
    if args.source is None and args.input is None:
        raise UsageError("give an input file, or another program's file with --from")
    if args.source is not None and args.replicate is not None:
        raise UsageError("--replicate copies the start of an input, which initial.file may name; not with --from")
    if args.source is None:
        large = api.build(args.input, args.out, copies=args.replicate, **given)
    else:
        from hpcchain.run.starts.start_from_configuration import Source

        grow = of_source.pop("grow", False)
        source = Source(args.source, **{"fmt" if name == "format" else name: of_source[name] for name in of_source})
        large = api.build_from(source, args.out, args.input, grow=grow, **given)
    if args.comm.rank == 0 and (args.source is not None or args.replicate is not None):
        print(large.to_toml(), end="")
    return EXIT_DONE
