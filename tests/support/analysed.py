"""Runs made by hand, of which every figure is known, for the tests of the analysis."""

from dataclasses import replace

import numpy as np

from hpcchain.cli.analyze import GROUPS
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting
from hpcchain.model.system import PERIODIC, Box
from tests.support.compositions import composition_of
from tests.support.io_samples import chains, event_rows, system_of


def tables_of(text):
    """Return {(table, row): {column: text}} of what `hpcchain analyze` prints of one run."""
    found, header = {}, []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in GROUPS:
            header = words
        elif words and len(words) == len(header):
            found.setdefault((header[0], words[0]), {}).update(zip(header[1:], words[1:], strict=True))
        else:
            header = []
    return found


def write_run(
    folder,
    lengths,
    position,
    velocity=None,
    edge=50.0,
    events=None,
    reports=None,
    times=None,
    image=None,
    boundary=PERIODIC,
):
    """Write a finished run of chains in a cube; return its folder.

    Parameters
    ----------
    lengths : list of int
        Beads of each molecule.
    position, velocity : (F, N, 3) arrays
        Velocities default to 0.
    events : (time, kind, bead, impulse) columns, optional
    reports : list of dict, optional
        One a frame; a constant temperature without it.
    times, image : arrays, optional
        0, 1, ... and 0 without them.
    """
    box = Box(np.full(3, edge), np.zeros(3), np.full(3, boundary, dtype=np.int8))
    system = replace(system_of([2]), topology=composition_of(chains(lengths)), box=box, state=None)
    (folder / "parts").mkdir(parents=True)
    writer = PartWriter(folder / "parts", 0, None, system.topology, log_events=events is not None)
    velocity = np.zeros_like(position) if velocity is None else velocity
    image = np.zeros(position.shape, dtype=np.int64) if image is None else image
    times = np.arange(len(position), dtype=float) if times is None else times
    for k in range(len(position)):
        writer.frame(float(times[k]), position[k], velocity[k], image[k])
        writer.report(reports[k] if reports else {"temperature": 1.0}, float(times[k]))
    if events is not None:
        writer.events(event_rows(*map(np.asarray, events)))
    writer.close()
    assemble(folder, None, Lasting(system.topology, system.box), writer.counters)
    return folder


def free_chains(seed, frames, molecules, beads):
    """Return (frames, molecules, beads, 3) freely jointed chains of bonds of length 1, each frame anew."""
    rng = np.random.default_rng(seed)
    bonds = rng.normal(size=(frames, molecules, beads - 1, 3))
    bonds /= np.linalg.norm(bonds, axis=-1, keepdims=True)
    start = np.zeros((frames, molecules, 1, 3))
    return np.concatenate([start, np.cumsum(bonds, axis=2)], axis=2)


def rotating_chains(seed, molecules, beads, cosine):
    """Return (molecules, beads, 3) freely rotating chains: each bond at the same angle to the one before it."""
    rng = np.random.default_rng(seed)
    found, direction = np.zeros((molecules, beads, 3)), rng.normal(size=(molecules, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    for bead in range(1, beads):
        if bead > 1:
            other = rng.normal(size=(molecules, 3))
            other -= np.sum(other * direction, axis=1, keepdims=True) * direction
            other /= np.linalg.norm(other, axis=1, keepdims=True)
            direction = cosine * direction + np.sqrt(1.0 - cosine**2) * other
        found[:, bead] = found[:, bead - 1] + direction
    return found
