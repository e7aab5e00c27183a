"""`python -m hpcchain` is the hpcchain command."""

import os
import signal
import sys
from typing import NoReturn

from hpcchain.parallel.signals import remember_from_the_start


def main() -> int:
    """Run the command line and return its exit code; signals are remembered before the slow imports."""
    remember_from_the_start(sys.argv[1:])
    try:
        from hpcchain.cli.main import main as command_line

        return command_line()
    except KeyboardInterrupt:  # while modules load or MPI starts: the command itself knows what to do with it
        _leave_at_once()


def _leave_at_once() -> NoReturn:
    """End the process without a word to MPI, which would wait for ranks that wait for this one; launchers end those."""
    print("hpcchain: interrupted before it began", file=sys.stderr, flush=True)
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
