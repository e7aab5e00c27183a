#!/usr/bin/env python3
"""Compare the speed of two source trees in turns, on one core: a process of each goes on by as much, again and again.

    tools/turns.py OLD [--case NAME ...] [--contacts N] [--repeat R] [--launches L] [--cpu K] [--parts] [--threads K]
                       [--ranks N] [--folder DIR]

OLD is another checkout of this project. A case (those of `tools/bench`) starts in both from one input. Each tree makes
its own start of it, since trees read no files of other formats. A turn is N contacts of one tree and the same N of the
other, and every second turn begins with the other. So quotients stay the same where the machine changes its speed.
Processes of one code differ by some percent, each throughout its life: so each tree is started L times. Printed are the
quotient of speeds, this tree's over OLD's, its median and quartiles over all turns, then microseconds by contact,
medians, and the best of bead tau per CPU-second.

Kernels of OLD are compiled when they are not in the cache (some minutes: `hpcchain warmup` in OLD does it beforehand).
With --parts chains of 24 beads and more move in stretches here, and as wholes in OLD, which may be this tree. With
--threads K this tree may have a second thread, on processor K (`run.threads = "auto"`). With --ranks N both trees have
windows on N ranks, on as many processors from that of --cpu downwards. With either times are wall
time. With both all ranks share the processor of --cpu, of this tree the first one has a second thread on K, and times
are processor time of the first rank's work. With --folder starts are kept there, and found.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import environment  # noqa: F401  # first: it may hand over to the project's own Python
import numpy as np
from bench_cases import CASES, duration_of, input_of

HERE = Path(__file__).resolve().parents[1]
LEAST = 24  # beads of the shortest chain that can move in stretches
WORKER = """
import json, os, sys, time
cpus, thread = json.loads(sys.argv[2])
ranks = int(sys.argv[4])
if ranks > 1:
    from mpi4py import MPI
    cpus = [cpus[MPI.COMM_WORLD.rank % len(cpus)]]
os.sched_setaffinity(0, cpus)
clock = getattr(time, sys.argv[3], None) or (lambda: engine.statistics.processor)
more = {}
if thread is not None and (ranks == 1 or MPI.COMM_WORLD.rank == 0):
    more = {"threads": "auto" if ranks == 1 else 2}
    from threading import Thread
    from hpcchain.sector.ahead import helper
    def placed(target, **given):
        return Thread(target=lambda *args: (os.sched_setaffinity(0, [thread]), target(*args)), **given)
    helper.Thread = placed
from hpcchain.config import load_config
try:
    from hpcchain.run.starts.start_from_file import system_from_file
except ImportError:  # trees before starts had a folder
    from hpcchain.run.start_from_file import system_from_file
system = system_from_file(load_config(sys.argv[1]))
first, beads = True, len(system.state.position)
if ranks > 1:
    from hpcchain.parallel.comm import world
    from hpcchain.parallel.windows import WindowedEngine
    comm = world()
    engine, first = WindowedEngine(system, comm.exchange, **more), comm.rank == 0
else:
    from hpcchain.sector.serial import Engine
    engine = Engine(system, **more)

def heard():
    # the next time, 0 at the end; ranks sleep while they wait, since the other tree is at work
    time_now = float(sys.stdin.readline() or 0) if first else 0.0
    if ranks > 1:
        words = bytearray(repr(time_now).encode().ljust(32))
        request = MPI.COMM_WORLD.Ibcast(words)
        while not request.Test():
            time.sleep(0.05)
        time_now = float(words.decode())
    return time_now

if first:
    print(beads, flush=True)
while until := heard():
    if ranks > 1:
        MPI.COMM_WORLD.Barrier()
    before, began = engine.counters["contacts"], clock()
    engine.advance(until)
    if ranks > 1:
        MPI.COMM_WORLD.Barrier()
    spent, done = clock() - began, engine.counters["contacts"] - before
    if ranks > 1:
        done = MPI.COMM_WORLD.allreduce(done)  # which rank has how many depends on the time that ranks take
    if first:
        print(json.dumps([done, spent]), flush=True)
"""


class Tree:
    """A process that runs a case with the code of a tree.

    Parameters
    ----------
    root : path
        The tree.
    start : path
        Input file.
    cpus : list of int
        Processors of its ranks.
    clock : str
        The function of `time` that measures a turn, or "processor": seconds of its own work in windows.
    ranks : int
    thread : int, optional
        Processor that second threads may run on.
    """

    def __init__(self, root, start, cpus, clock, ranks, thread=None):
        launcher = ["mpirun", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        command = [*launcher, sys.executable, "-c", WORKER, str(start), json.dumps([cpus, thread]), clock, str(ranks)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root, env=environment_of(root))

    @cached_property
    def beads(self):
        """How many beads its system has; the process says so once it is ready."""
        return int(self._answer())

    def _answer(self):
        if not (line := self.process.stdout.readline()):
            raise SystemExit(f"the process of {self.process.args[-1]} has ended: what it said is above")
        return line

    def advance(self, time):
        """Go on to a time; return the contacts until then and the seconds that they took."""
        self.process.stdin.write(f"{time!r}\n")
        self.process.stdin.flush()
        return json.loads(self._answer())

    def end(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def environment_of(root):
    """Return the environment in which a tree's code is found."""
    return {**os.environ, "PYTHONPATH": str(root)}


def start_of(name, root, folder, more=""):
    """Have a tree make a case's start in a folder of its own; return the input that begins there, with more keys."""
    text, copies = input_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    made, grown, begun = (folder / f"{name}{ending}" for ending in (".h5", ".toml", ".begun.toml"))
    grown.write_text(text, encoding="utf-8")
    whole, _ = input_of(name, copies=copies)
    begun.write_text(f'{whole}[initial]\nmethod = "file"\nfile = "{made}"\n{more}', encoding="utf-8")
    if made.exists():
        require(root, ["check", begun], f"{made} is no start for {root}: remove it, or name another --folder")
    else:
        copy = ["--replicate", *[copies] * 3] if copies > 1 else []
        require(root, ["build", grown, "-o", made, *copy], f"{root} makes no start of {grown}")
    return begun


def require(root, words, failure):
    """Have a tree do a command of hpcchain; end with a message, after the tree's own, if it cannot."""
    command = [sys.executable, "-m", "hpcchain", *map(str, words)]
    if subprocess.run(command, cwd=root, env=environment_of(root), stdout=subprocess.DEVNULL).returncode:
        raise SystemExit(failure)


def turns(trees, name, contacts, repeat):
    """Let trees take turns; return beads times time of a turn, and of each turn [contacts, seconds] of every tree.

    Every second turn goes through them backwards. The trees are ended.
    """
    beads = [tree.beads for tree in trees]  # all are ready now
    duration, rows = duration_of(name, contacts, beads[0]), []
    for k in range(repeat + 1):
        order = range(len(trees)) if k % 2 else reversed(range(len(trees)))
        row = {which: trees[which].advance((k + 1) * duration) for which in order}
        rows.append([row[which] for which in range(len(trees))])
    for tree in trees:
        tree.end()
    return beads[0] * duration, rows[1:]  # in the first, lists and segments' lengths settle


def both(old, inputs, args):
    """Start a case in both trees and return these."""
    alone, both = args.threads is None and args.ranks == 1, args.threads is not None and args.ranks > 1
    clock = "process_time" if alone else "processor" if both else "perf_counter"
    cpus = [args.cpu - k for k in range(args.ranks if args.threads is None else 1)]
    given = zip((old, HERE), inputs, (None, args.threads), strict=True)
    return [Tree(root, start, cpus, clock, args.ranks, thread) for root, start, thread in given]


def quartiles_of(quotients):
    """Return the median and the quartiles as text."""
    low, middle, high = np.percentile(quotients, [25, 50, 75])
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def compare(name, old, folder, args):
    """Measure a case and print its row."""
    keys = [f"[propagator]\nstretches = {beads}\n" if args.parts else "" for beads in (0, LEAST)]
    inputs, rows = [start_of(name, old, folder / "old", keys[0]), start_of(name, HERE, folder / "new", keys[1])], []
    for _ in range(args.launches):
        carried, found = turns(both(old, inputs, args), name, args.contacts, args.repeat)
        rows += found
    quotients = [before[1] / now[1] for before, now in rows]
    micro = [statistics.median(1e6 * row[k][1] / max(row[k][0], 1) for row in rows) for k in (0, 1)]
    best = [carried / min(row[k][1] for row in rows) for k in (0, 1)]
    print(
        f"| {name} | {quartiles_of(quotients)} | {micro[0]:.3g}, {micro[1]:.3g} | {best[0]:.3g}, {best[1]:.3g} |",
        flush=True,
    )


def main():
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("--case", nargs="+", choices=sorted(CASES), default=["chains-10-0.3"], metavar="NAME")
    parser.add_argument("--contacts", type=int, default=20000, help="contacts to aim for in a turn")
    parser.add_argument("--repeat", type=int, default=6, help="turns of each start")
    parser.add_argument("--launches", type=int, default=3, help="starts of each tree")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the core to run on")
    parser.add_argument("--parts", action="store_true", help="chains move in stretches in this tree, as wholes in OLD")
    parser.add_argument("--threads", type=int, metavar="K", help="the core that this tree may have a second thread on")
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="both trees run on so many ranks")
    parser.add_argument("--folder", type=Path, help="where starts are kept")
    args = parser.parse_args()
    old = args.old.resolve()
    if not (old / "hpcchain").is_dir():
        parser.error(f"{args.old} is no checkout of this project")
    print("| case | new by old speed | µs by contact, old and new | best bead tau / CPU-s, old and new |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in args.case:
            compare(name, old, folder, args)


if __name__ == "__main__":
    main()
