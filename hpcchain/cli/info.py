"""`hpcchain info`: what is in a file, and where it came from."""

from hpcchain.cli.options import add_command


def add_parser(sub):
    """Declare the command's options."""
    parser = add_command(sub, "info", execute, "say what is in a file and where it came from")
    parser.add_argument("file", metavar="FILE.h5")


def execute(args):
    """Print the description; return the exit code."""
    from hpcchain.io.inspect import info

    print(info(args.file))
    return 0
