"""Runs that have not joined all of their output, as those that go on or were killed."""

import numpy as np

from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.events import TANGENTIAL
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting
from tests.support.io_samples import event_rows, input_for, system_of

FRAMES, PARTS = 3, 3


def write_part(folder, system, index, counters, rough=False):
    """Write a part of FRAMES frames, reports and events, maybe of rough beads; return the counters after it."""
    writer = PartWriter(folder / "parts", index, None, system.topology, counters, log_events=True)
    beads = system.topology.beads
    for k in range(index * FRAMES, (index + 1) * FRAMES):
        numbers = np.arange(3.0 * beads).reshape(beads, 3) + 1000.0 * k
        spins = {"angular_velocity": numbers} if rough else {}
        writer.frame(float(k), numbers, -numbers, numbers.astype(np.int64), **spins)
        writer.report({"temperature": 1.5 * k}, float(k))
        rows = event_rows(*map(np.array, ([k + 0.5], [0], [[0, 3]], [1.0])))
        if rough:
            rows, smooth = np.full(1, k, dtype=TANGENTIAL), rows
            rows[[*smooth.dtype.names]] = smooth
        writer.events(rows)
    writer.close()
    return writer.counters


def run_folder(folder, joined, rough=False):
    """Write a run of PARTS parts, of which so many have been joined, as a resumed run would have; return its folder."""
    system, counters = system_of([2, 4]), {}
    (folder / "parts").mkdir(parents=True)
    (folder / "checkpoints").mkdir()
    for index in range(PARTS):
        counters = write_part(folder, system, index, counters, rough)
        if index + 1 == joined:
            lasting = Lasting(system.topology, system.box)
            if rough:
                constant = {"moment_of_inertia": np.ones(system.topology.beads)}
                lasting = lasting._replace(constant=constant, turning=["angular_velocity"])
            assemble(folder, None, lasting, counters)
    write_checkpoint(folder / "checkpoints" / f"ckpt-{9.0:022.12f}.h5", None, system, 9.0, {}, input_for(system))
    return folder
