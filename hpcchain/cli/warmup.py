"""`hpcchain warmup`: fill the compile cache of this node, so that a run's ranks do not each compile."""

import argparse
import time
from typing import Any

from hpcchain.cli.options import add_command


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    add_command(sub, "warmup", execute, "fill this node's compile cache, once before the ranks start")


def execute(_: tuple) -> Any:
    """Compile what is not in the cache; return the exit code."""
    from hpcchain import api

    begin = time.perf_counter()
    api.warmup()
    print(f"compile cache ready after {time.perf_counter() - begin:.1f} s")
    return 0
