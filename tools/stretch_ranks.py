#!/usr/bin/env python3
"""Measure what long chains in stretches cost on several ranks: a rank's processor time, next to that of one rank alone.

    mpirun -n 4 tools/stretch_ranks.py start.h5 --begin 0.005 --end 0.012 --window 0.0003 0.0006 [--whole]

start.h5 is a start with long chains (`hpcchain build INPUT.toml -o start.h5`, larger ones by --replicate), whose input
has them move in stretches. It is carried to --begin, which is not counted, and on to --end: by one rank alone,
then by all ranks in windows of each length, as long as the program chooses without --window. Printed are contacts,
seconds of processor time (of ranks in windows the mean, without waiting), wall seconds, passes, what is done again,
ghosts by owned beads, and bytes that a rank sends in a window. --whole moves chains as wholes.
"""

import argparse
import sys
import time
from dataclasses import replace

import environment

sys.path.insert(0, str(environment.ROOT))

from mpi4py import MPI  # noqa: E402

from hpcchain.io.checkpoint.checkpoint import read_checkpoint  # noqa: E402
from hpcchain.model.molecules.long_chains import divides_any, whole_chains  # noqa: E402
from hpcchain.parallel.comm import World  # noqa: E402
from hpcchain.parallel.windows import WindowedEngine  # noqa: E402
from hpcchain.sector.serial import Engine  # noqa: E402

SHOWN = ("passes_per_window", "redone", "ghosts_per_owned", "bytes_per_window")


def alone(system, begin, end):
    """Return the contacts between two times, and one rank's processor seconds for them."""
    engine = Engine(system)
    engine.advance(begin)
    contacts, clock = engine.counters["contacts"], time.process_time()
    engine.advance(end)
    return engine.counters["contacts"] - contacts, time.process_time() - clock


def together(system, world, begin, end, window):
    """Return ranks' mean processor seconds in windows, wall seconds, and what is SHOWN; collective."""
    engine = WindowedEngine(system, world.exchange, window=window)
    engine.advance(begin)
    engine.window_report()
    world.barrier()
    before, clock = engine.statistics.processor, time.perf_counter()
    engine.advance(end)
    spent = world.allgather(engine.statistics.processor - before)
    wall, report = time.perf_counter() - clock, engine.window_report()
    return sum(spent) / len(spent), wall, [report[name] for name in SHOWN]


def main():
    """Print a line for one rank, and one for each length of windows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", metavar="start.h5")
    parser.add_argument("--begin", type=float, required=True)
    parser.add_argument("--end", type=float, required=True)
    parser.add_argument("--window", type=float, nargs="*", default=[None])
    parser.add_argument("--whole", action="store_true")
    args = parser.parse_args()
    world, system = World(MPI.COMM_WORLD), read_checkpoint(args.start).system
    if args.whole:
        system = replace(system, physics=whole_chains(system.physics))
    elif not divides_any(system.topology, system.physics):
        parser.error(f"{args.start}: no chain is divided: its input needs propagator.stretches = 100")
    if world.rank == 0:
        contacts, seconds = alone(system, args.begin, args.end)
        print(f"one rank: {contacts} contacts, {seconds:.3f} s", flush=True)
    for window in args.window:
        seconds, wall, shown = together(system, world, args.begin, args.end, window)
        if world.rank == 0:
            words = ", ".join(f"{name} {value:.4g}" for name, value in zip(SHOWN, shown, strict=True))
            length = "chosen" if window is None else f"{window:g}"
            print(f"{world.size} ranks, window {length}: {seconds:.3f} s, wall {wall:.3f} s; {words}", flush=True)


if __name__ == "__main__":
    main()
