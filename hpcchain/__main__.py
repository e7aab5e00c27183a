"""`python -m hpcchain` is the hpcchain command."""

import sys

from hpcchain.run.guards.signals import remember_from_the_start


def main() -> int:
    """Run the command line and return its exit code; signals are remembered before the slow imports."""
    remember_from_the_start(sys.argv[1:])
    from hpcchain.cli.main import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
