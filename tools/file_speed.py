#!/usr/bin/env python3
"""Measure checkpoints, written and read back by all ranks, next to plain parallel h5py of the same bytes.

    mpirun -n 2 tools/file_speed.py start.h5 [--repeat 3]

start.h5 is any checkpoint or start. Its molecules are dealt to the ranks at random, as far from the file's order as
sectors ever get; then a checkpoint is written next to start.h5 and read again with all its checks. The plain file has
as many bytes, written in one piece a rank and synced, and read. Both are removed. Printed are the best wall seconds of
each and the quotients, plain by ours.
"""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import environment

sys.path.insert(0, str(environment.ROOT))

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402

from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint  # noqa: E402
from hpcchain.model.system import State  # noqa: E402
from hpcchain.parallel import slabs  # noqa: E402


def dealt(found, comm):
    """Return a part of a system's molecules, drawn at random, and the global numbers of its beads; collective."""
    topology, state = found.system.topology, found.system.state
    owner = np.random.default_rng(1).integers(comm.size, size=topology.molecules)
    mine = np.flatnonzero(owner == comm.rank)
    np.random.default_rng(comm.rank).shuffle(mine)
    ids, rows = topology.beads_of(mine), topology.beads_of(found.system.held)
    arrays = {name: getattr(state, name) for name in State.ARRAYS}
    arrays = slabs.everywhere(comm, slabs.sorted_slabs(comm, topology.beads, rows, arrays))
    arrays = {name: every.take(ids, axis=0) for name, every in arrays.items()}
    return replace(found.system, state=State(**arrays), held=mine), ids


def seconds(comm, action):
    """Return the wall seconds that all ranks need for something."""
    comm.Barrier()
    begin = time.perf_counter()
    action()
    comm.Barrier()
    return time.perf_counter() - begin


def write_plainly(comm, path, part):
    """Write a rank's part of a dataset, and sync it."""
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        rows = file.create_dataset("rows", (len(part) * comm.size,), dtype=part.dtype)
        with rows.collective:
            rows[comm.rank * len(part) : (comm.rank + 1) * len(part)] = part
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def read_plainly(comm, path, length):
    """Read a rank's part of it."""
    with h5py.File(path, "r", driver="mpio", comm=comm) as file, file["rows"].collective:
        file["rows"][comm.rank * length : (comm.rank + 1) * length]


def main():
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", type=Path, metavar="START")
    parser.add_argument("--repeat", type=int, default=3, help="times that each is done")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        sys.exit("file_speed.py: start it on two ranks or more (mpirun -n 2)")
    found = read_checkpoint(args.start, comm, part=True)
    system, ids = dealt(found, comm)
    ours, plain = (args.start.with_name(f"file-speed-{name}.h5") for name in ("ours", "plain"))
    length = os.path.getsize(args.start) // 8 // comm.size
    part = np.random.default_rng(comm.rank).random(length)
    rows = {
        "write": (
            lambda: write_checkpoint(ours, comm, system, found.time, found.counters, found.config, ids=ids),
            lambda: write_plainly(comm, plain, part),
        ),
        "read": (lambda: read_checkpoint(ours, comm, part=True), lambda: read_plainly(comm, plain, length)),
    }
    best = {}
    for _ in range(max(args.repeat, 1)):
        for name, actions in rows.items():
            taken = [seconds(comm, action) for action in actions]
            best[name] = [min(pair) for pair in zip(taken, best.get(name, taken), strict=True)]
        if comm.rank == 0:
            for path in (ours, plain):
                path.unlink()
    best["both"] = [sum(pair) for pair in zip(*best.values(), strict=True)]
    if comm.rank == 0:
        size = 8 * length * comm.size / 1e9
        print(f"{found.system.topology.beads} beads, {size:.3g} GB, {comm.size} ranks, best of {args.repeat}")
        print("| | checkpoint [s] | plain h5py [s] | quotient |\n|---|---|---|---|")
        for name, (mine, other) in best.items():
            print(f"| {name} | {mine:.2f} | {other:.2f} | {other / mine:.2f} |")


if __name__ == "__main__":
    main()
