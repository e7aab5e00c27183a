"""`hpcchain warmup`: fill the compile cache of this node, so that runs need not compile."""

import argparse
import time

from hpcchain.cli.options import add_command


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "warmup", execute, "fill this node's compile cache, once before the ranks start")
    parser.add_argument("--all", action="store_true", help="also kernels that few runs use")
    parser.add_argument("--prune", action="store_true", help="first remove the caches of other versions of the program")


def execute(args: argparse.Namespace) -> int:
    """Compile what is not in the cache; return the exit code."""
    from hpcchain.run import warming

    begin = time.perf_counter()
    if args.prune:
        found = warming.prune()
        if not found:
            print("no caches of other versions are there")
        for folder, size in found:
            went = "stays, since a process uses it" if size is None else f"removed, {size / 1e6:.0f} MB"
            print(f"{folder}: {went}")
    if warming.kept(args.all):
        print(f"the compile cache has all: {warming.kept(args.all)} kernels in {warming.STORE.path}")
    else:
        warming.warmup(args.all)
        print(f"compile cache ready after {time.perf_counter() - begin:.1f} s: {warming.STORE.path}")
    if not (args.all or warming.kept(every=True)):
        print(warming.LEFT_OUT)
    return 0
