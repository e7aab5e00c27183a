"""`python -m hpcchain` is the hpcchain command."""

import sys

from hpcchain.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
