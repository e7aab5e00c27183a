"""Runs that have not joined all of their output, as those that go on or were killed."""

import numpy as np

from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from tests.support.io_samples import event_rows, system_of

FRAMES, PARTS = 3, 3


def write_part(folder, system, index, counters):
    """Write a part of FRAMES frames, reports and events; return the counters after it."""
    writer = PartWriter(folder / "parts", index, None, system.topology, counters, log_events=True)
    beads = system.topology.beads
    for k in range(index * FRAMES, (index + 1) * FRAMES):
        numbers = np.arange(3.0 * beads).reshape(beads, 3) + 1000.0 * k
        writer.frame(k, float(k), numbers, -numbers, numbers.astype(np.int64))
        writer.report({"temperature": 1.5 * k}, k, float(k))
        writer.events(event_rows(*map(np.array, ([k + 0.5], [0], [[0, 3]], [1.0]))))
    writer.close()
    return writer.counters


def run_folder(folder, joined):
    """Write a run of PARTS parts, of which so many have been joined, as a resumed run would have; return its folder."""
    system, counters = system_of([2, 4]), {}
    (folder / "parts").mkdir(parents=True)
    (folder / "checkpoints").mkdir()
    for index in range(PARTS):
        counters = write_part(folder, system, index, counters)
        if index + 1 == joined:
            assemble(folder, None, system.topology, system.box, counters)
    write_checkpoint(folder / "checkpoints" / f"ckpt-{9.0:022.12f}.h5", None, system, 9.0, {}, "")
    return folder
