"""`hpcchain build`: only the initial configuration."""

from hpcchain.cli.options import add_command, add_set


def add_parser(sub):
    """Declare the command's options."""
    parser = add_command(sub, "build", execute, "make only the initial configuration of an input file", parallel=True)
    parser.add_argument("input", metavar="INPUT.toml")
    parser.add_argument("-o", dest="out", metavar="START.h5", required=True, help="for [initial] method = \"file\"")
    add_set(parser)


def execute(args):
    """Build the start on all ranks; return the exit code."""
    from hpcchain import simulation

    return simulation.build(args.input, args.out, overrides=args.overrides, comm=args.comm)
