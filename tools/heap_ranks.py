#!/usr/bin/env python3
"""Run a heap of chains from its start to rest, or a hopper until it is empty, on 1 to 4 ranks, and compare the bits.

    tools/heap_ranks.py heap --output DIR [--beads 10000] [--layers 10] [--ranks 1,2,3,4] [--end 8]
    tools/heap_ranks.py hopper --output DIR [--beads 10000] [--end 20]     chains through a funnel of fixed beads

The input is that of `hpcchain template heap`, enlarged: chains of 5, friction 0.5, walls on all sides, of which the
four upright ones have no friction, so that the floor carries all of the weight. Restitution is 0 unless --restitution
says another. Chains start on a lattice, shifted at random.

All ranks have beads, also where fewer would be as fast. Each number of ranks has a folder DIR/ranks-N. A run that has
come to its end is kept, one that has not is resumed: the command may be given again. Each is compared with the first,
bit for bit (`hpcchain compare`).

Printed are wall seconds of the commands (not of runs that were there), and whether runs are equal. Then, of the first,
at each report: root mean square velocity, and which part of the weight the floor has carried since the report before;
at its end the same of velocities about their mean, of their vertical parts, and of the surfaces by spins, and for a
hopper how many beads are above its outlet. The exit code is 1 when runs differ.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import environment
import numpy as np

sys.path.insert(0, str(environment.ROOT))

from hpcchain.config.load import config_from_table  # noqa: E402
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, read_progress  # noqa: E402
from hpcchain.io.checkpoint.store import list_checkpoints  # noqa: E402
from hpcchain.io.output.run_output import read_reports, run_output  # noqa: E402
from hpcchain.layout import arrays as L  # noqa: E402
from tests.support.launching import clean_environment, mpirun, run_hpcchain  # noqa: E402

CHAIN, PITCH, GRAVITY = 5, 1.05, 1.0
OUTLET, SLOPE, DEPTH = 6.5, np.pi / 4.0, 12.0
"""Half the width of a hopper's outlet, its slope, and how high the outlet is above the floor."""
SHIFT, CLEAR = 0.4, 0.55
"""By how much each other layer of the lattice is shifted across, and how far its centres are from walls."""
UPRIGHT = ("x-", "x+", "y-", "y+")


def funnel(width):
    """Return the (n, 3) centres of a funnel's fixed beads: squares, each higher and wider than the one below."""
    rings, half, height = [], OUTLET, DEPTH
    while half < 0.5 * width - CLEAR:
        side = np.linspace(-half, half, int(2.0 * half / PITCH) + 1)
        edge, last = np.full(len(side) - 1, half), side[:-1]
        ring = np.concatenate(
            [np.column_stack(two) for two in ((last, -edge), (edge, last), (-last, edge), (-edge, -last))]
        )
        rings.append(np.column_stack([ring + 0.5 * width, np.full(len(ring), height)]))
        half, height = half + PITCH * np.cos(SLOPE), height + PITCH * np.sin(SLOPE)
    return np.concatenate(rings)


def lattice(beads, side, deep, low, width, fixed):
    """Return (n, 3) centres of chains along x, layer by layer from `low` on, clear of fixed beads."""
    rng, chains, layer = np.random.default_rng(1), [], 0
    while len(chains) * CHAIN < beads:
        y, x = np.meshgrid(np.arange(deep), np.arange(side), indexing="ij")
        place = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)]) * PITCH + [CLEAR, CLEAR, 0.0]
        place[:, 2] = low + layer * PITCH
        shift = rng.uniform(-0.02, 0.02, (len(place) // CHAIN, 3)) + (layer % 2) * np.array([SHIFT, SHIFT, 0.0])
        place = (place.reshape(-1, CHAIN, 3) + 0.03 + np.maximum(shift, 0.0)[:, None]).reshape(-1, 3)
        if len(fixed):
            out = np.abs(place[:, :2] - 0.5 * width).max(axis=1) - OUTLET
            above = (place[:, 2] - DEPTH) * np.cos(SLOPE) - out * np.sin(SLOPE)
            clear = ((above > 1.1) & (place[:, 2] > DEPTH + 1.1)).reshape(-1, CHAIN).all(axis=1)
        else:
            clear = np.ones(len(place) // CHAIN, dtype=bool)
        chains += list(place.reshape(-1, CHAIN, 3)[clear])
        layer += 1
    return np.concatenate(chains[: beads // CHAIN])


def config_of(given):
    """Return the Config of a heap or a hopper."""
    side = max(round((given.beads / given.layers) ** 0.5 / CHAIN), 1) * CHAIN
    width = round((side - 1) * PITCH + SHIFT + 0.1 + 2.0 * CLEAR, 6)
    fixed = funnel(width) if given.kind == "hopper" else np.zeros((0, 3))
    low = DEPTH + 1.2 if len(fixed) else CLEAR + given.drop
    place = lattice(given.beads, side, side, low, width, fixed)
    chains = {"kind": "chain", "beads": CHAIN, "bond_length": PITCH, "count": len(place) // CHAIN}
    molecules = [chains | {"positions": place.tolist(), "velocities": np.zeros_like(place).tolist()}]
    if len(fixed):
        still = {"positions": fixed.tolist(), "velocities": np.zeros_like(fixed).tolist(), "fixed": [0]}
        molecules.append({"kind": "monomer", "count": len(fixed)} | still)
    smooth = [{"types": ["A", wall], "friction": 0.0} for wall in UPRIGHT]
    tables = {
        "box": {"size": [width, width, float(np.ceil(place[:, 2].max() + 2.0))], "boundary": ["wall"] * 3},
        "molecule": molecules,
        "initial": {"method": "explicit"},
        "external": {"gravity": [0.0, 0.0, -GRAVITY]},
        "contact": {"restitution": given.restitution, "friction": given.friction, "pair": smooth},
        "propagator": {"tolerance": given.tolerance},
        "run": {"engine": "steps", "end_time": given.end},
        "steps": {"step": given.step, "integrator": "contact"},
        "output": {"frame_every": given.every, "report_every": given.every, "checkpoint_every": given.every},
    }
    return config_from_table(tables, given.kind)


def reached(folder):
    """Return the time of a run's newest checkpoint, None where there is none."""
    known = list_checkpoints(folder / "checkpoints")
    return read_progress(known[0][1])[0] if known else None


def run(folder, ranks, end):
    """Run an input on so many ranks to its end, or from where it has come to; return the wall seconds that took."""
    if reached(folder / f"ranks-{ranks}") == end:
        return 0.0
    words = [*(mpirun(ranks) if ranks > 1 else []), sys.executable, "-m", "hpcchain", "run", "in.toml"]
    words += ["--output", f"ranks-{ranks}", "--resume", "auto", "--set", f"run.sectors=[{ranks}, 1, 1]"]
    begin = time.monotonic()
    subprocess.run(words, cwd=folder, env=clean_environment(), check=True)
    return time.monotonic() - begin


def print_parts(folder, given):
    """Print what has become of a run's beads."""
    reports = read_reports(run_output(folder))
    system = read_checkpoint(list_checkpoints(folder / "checkpoints")[0][1]).system
    free = ~system.topology.whole().fixed
    size, beads = system.box.size, int(free.sum())
    print("   time  rms velocity  floor's load over weight")
    _, times, kinetic = reports["kinetic_energy"]
    pressure = reports["wall_pressure"][2][:, 2]
    for t, energy, push in zip(times, kinetic, pressure, strict=True):
        load = 2.0 * push * size[0] * size[1] / (beads * GRAVITY)
        print(f"{t:7.2f} {np.sqrt(2.0 * energy / beads):13.2e} {load:12.5f}")
    velocity = system.state.velocity[free]
    spin = system.state.extra[free, L.SPIN : L.SPIN + 3]
    rms = [np.sqrt(np.mean(np.sum(v**2, axis=1))) for v in (velocity - velocity.mean(axis=0), 0.5 * spin)]
    vertical = np.sqrt(np.mean(velocity[:, 2] ** 2))
    print(f"end: {beads} beads, rms {rms[0]:.1e} about the mean, {vertical:.1e} up or down, {rms[1]:.1e} by spins")
    if given.kind == "hopper":
        height = system.state.position[free, 2]
        print(f"{np.count_nonzero(height > DEPTH)} beads above the outlet")


def main():
    """Write the input, run, compare, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["heap", "hopper"])
    parser.add_argument("--output", required=True, help="folder of the runs")
    parser.add_argument("--beads", type=int, default=10_000)
    parser.add_argument("--layers", type=int, default=10, help="of the heap's lattice, about")
    parser.add_argument("--drop", type=float, default=0.0, help="of the heap's lattice above the floor")
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument("--end", type=float, default=8.0, help="simulated time")
    parser.add_argument("--every", type=float, default=0.5, help="simulated time between reports and checkpoints")
    parser.add_argument("--step", type=float, default=0.02)
    parser.add_argument("--tolerance", type=float, default=1e-3, help="residual")
    parser.add_argument("--restitution", type=float, default=0.0)
    parser.add_argument("--friction", type=float, default=0.5)
    given = parser.parse_args()
    folder, ranks = Path(given.output), [int(text) for text in given.ranks.split(",")]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.toml").write_text(config_of(given).to_toml())
    print(f"{round(given.end / given.step)} steps of {given.step:g}, residual {given.tolerance:g}", flush=True)
    equal = True
    for number in ranks:
        took, same = run(folder, number, given.end), True
        if number != ranks[0]:
            done = run_hpcchain(["compare", f"ranks-{ranks[0]}", f"ranks-{number}"], folder, timeout=3600.0)
            same = done.returncode == 0
            print(done.stdout.strip() or done.stderr.strip())
        equal &= same
        verdict = "" if number == ranks[0] else f", {'equal' if same else 'NOT EQUAL'}"
        print(f"{number} ranks: {took:.0f} s{verdict}", flush=True)
    print_parts(folder / f"ranks-{ranks[0]}", given)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
