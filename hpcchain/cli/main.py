"""The hpcchain command: find the command asked for, parse its options, run it on all ranks, exit with its code."""

from __future__ import annotations

import argparse
import gc
import importlib
import platform
import sys
from typing import TYPE_CHECKING, Any

import hpcchain
from hpcchain.cli import console
from hpcchain.cli.options import Parser, unrecognized
from hpcchain.io.hdf5 import unclosable
from hpcchain.parallel.comm import library as mpi_library
from hpcchain.parallel.comm import world

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World

COMMANDS = (
    "run",
    "resume",
    "build",
    "check",
    "info",
    "compare",
    "export",
    "analyze",
    "perf",
    "paper",
    "template",
    "warmup",
)
ALLOCATIONS = 50_000  # between collections: loading kernels makes a million objects, all of which stay
EPILOG = """\
exit codes: 0 done, 1 compare found a difference, 2 usage, 65 unreadable or damaged file, 70 internal error,
75 stopped early with a checkpoint (resubmit), 78 bad input, 130 interrupted. Signals to a run: USR1, TERM and INT leave
a checkpoint and stop it (75), USR2 leaves a checkpoint in passing; Open MPI's mpirun passes on USR1 and USR2 alone. Job
scripts for Slurm: hpcchain template --job run. Run on N ranks with: mpirun -n N hpcchain run INPUT.toml"""


def main(argv: list | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : list of str, optional
        Stands in for the process's arguments.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    gc.set_threshold(ALLOCATIONS)
    before = unclosable.open_files()
    with unclosable.complaints_muted():
        return unclosable.leave(console.run(lambda comm: dispatch(argv, comm), debug="--debug" in argv), before)


def dispatch(argv: list, comm: Single | World) -> int:
    """Parse the arguments and run the command; one that is not parallel runs on the root rank alone."""
    args, unknown = build_parser(argv).parse_known_args(argv)
    if unknown:
        args.complain(unrecognized(unknown))
    console.configure(comm.rank, comm.size, args.debug, args.log_format)
    if not args.parallel:
        return args.execute(args) if comm.rank == 0 else 0
    args.comm = comm if comm.size > 1 else world()
    return args.execute(args)


def build_parser(argv: list) -> Parser:
    """Return the parser with the command that argv begins with, or with all of them for help and for typos."""
    parser = Parser(prog="hpcchain", description=hpcchain.__doc__, epilog=EPILOG)
    parser.add_argument("--version", action=Version, nargs=0, help="print the versions of all that computes and writes")
    parser.add_argument(
        "--print-completion",
        action=Completion,
        choices=["bash", "zsh", "tcsh"],
        help="print a script for tab completion",
    )
    parser.add_argument("--man", action=ManualPage, nargs=0, help="print a page for man, made of all of this help")
    sub = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in argv[:1] if argv and argv[0] in COMMANDS else COMMANDS:
        importlib.import_module(f"hpcchain.cli.{name}").add_parser(sub)
    return parser


class Completion(argparse.Action):
    """Prints what makes a shell complete commands and options, made by shtab, and ends."""

    def __call__(self, parser: Any, _: Any, values: Any, option: Any = None) -> None:
        """Print the script for the shell `values` and end."""
        from hpcchain.io.tools.configurations import library

        print(library("shtab", option, "completion").complete(parser, shell=values))
        parser.exit()


class ManualPage(argparse.Action):
    """Prints a page for man, made of the help of all commands, and ends."""

    def __call__(self, parser: Any, *_: Any) -> None:
        """Print the page and end."""
        commands = next(one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction))
        helps = {"SH DESCRIPTION": parser, "SH COMMANDS": None} | {f"SS {one.prog}": one for one in commands.values()}
        lines = [f'.TH HPCCHAIN 1 "" "hpcchain {hpcchain.__version__}"', ".SH NAME", f"hpcchain \\- {hpcchain.__doc__}"]
        for heading, one in helps.items():
            text = "" if one is None else one.format_help().replace("\\", "\\e").replace("\n.", "\n\\&.").rstrip()
            lines += [f".{heading}", *([".nf", text, ".fi"] if text else [])]
        print("\n".join(lines))
        parser.exit()


class Version(argparse.Action):
    """Prints the program's version and those of Python, MPI, HDF5 and numba, and ends."""

    def __call__(self, parser: Any, *_: Any) -> None:
        """Print all versions and end."""
        from hpcchain.io.hdf5.files import library
        from hpcchain.io.provenance import cpu_name, version_of

        hdf5, parallel = library()
        print(f"hpcchain {hpcchain.__version__}")
        print(f"Python {platform.python_version()}, numpy {version_of('numpy')}")
        print(f"numba {version_of('numba')}, llvmlite {version_of('llvmlite')}, for {cpu_name()}")
        print(f"MPI {mpi_library()}, mpi4py {version_of('mpi4py')}")
        print(f"HDF5 {hdf5}, {'parallel' if parallel else 'serial: one rank only'}, h5py {version_of('h5py')}")
        parser.exit()
