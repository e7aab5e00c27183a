"""`hpcchain export`: files for viewers and other programs, and pictures."""

import argparse

from hpcchain.cli.options import add_command
from hpcchain.errors import UsageError

COLORS = ("auto", "molecule", "type")
"""As in hpcchain.io.tools.picture, which would load numpy."""


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(
        sub, "export", execute, "write a trajectory or checkpoint for OVITO, LAMMPS and others, or a picture"
    )
    parser.add_argument("file", metavar="DIR|FILE.h5", help="a run's directory, trajectory.h5 or a checkpoint")
    parser.add_argument(
        "--to",
        required=True,
        choices=["gsd", "extxyz", "lammps", "pdb", "png"],
        help="the format: gsd and extxyz have all frames, lammps (data), pdb and png (a picture) one",
    )
    parser.add_argument(
        "-o",
        dest="out",
        metavar="OUT",
        required=True,
        help="the file to write; replaces an earlier export, nothing else",
    )
    parser.add_argument("--frame", type=int, metavar="N", help="the one frame, from 0 (default: -1, the last)")
    parser.add_argument("--color", choices=COLORS, help="what beads of one color of a picture have in common")
    parser.add_argument("--width", type=int, metavar="PIXELS", help="of a picture (default: 900)")


def execute(args: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    from hpcchain.io.tools.export import export
    from hpcchain.io.tools.picture import Look

    given = {name: getattr(args, name) for name in ("frame", "color", "width") if getattr(args, name) is not None}
    if args.frame is not None and args.to in ("gsd", "extxyz"):
        raise UsageError(f"--frame chooses one frame, and {args.to} has all: it goes with --to lammps, pdb or png")
    looks = [name for name in given if name != "frame"]
    if looks and args.to != "png":
        raise UsageError(f"--{looks[0]} says how a picture looks: it goes with --to png")
    export(args.file, args.to, args.out, Look(**given))
    return 0
