#!/usr/bin/env python3
"""Measure which combinations of base and energy of the engine of steps hold the energy of a few beads in a box.

    tools/energy_walk.py [--kinds beads,chain,rod,rigid] [--bases verlet,midpoint] [--steps 0.01,0.005]
                         [--starts 6] [--time 60]

A molecule of four beads (three in a rod) and four single beads, or eight single ones, in a box of walls: Lennard-Jones
of depth 2, a spring to a centre, temperature 12. Printed for each combination: the walk, which is by how much the mean
of H over the last tenth of a run is off that over the first tenth, rms over starts, and the band, which is H's standard
deviation about the mean in the first tenth, rms over starts. The manual's table in docs/guide/steps.md is made by it.
"""

import argparse
import tempfile
from pathlib import Path

import environment  # noqa: F401  # first: it may hand over to the project's own Python
import numpy as np

from hpcchain.config import load_config
from hpcchain.model.starts.start import build_system
from hpcchain.steps.engine import SteppedEngine

CENTER = [3.0, 2.5, 3.2]
FREE = [[1.0, 4.5, 1.5], [4.8, 4.6, 4.4], [1.2, 1.0, 4.9], [4.9, 1.1, 1.0]]
ZIGZAG = [[-0.9, -0.25, 0.1], [-0.3, 0.25, -0.1], [0.3, -0.25, 0.1], [0.9, 0.25, -0.1]]
LINE = [[-0.8, 0.0, 0.0], [0.0, 0.0, 0.0], [0.8, 0.0, 0.0]]
MASSES = [1.0, 2.0, 1.0, 3.0]
MOLECULES = {
    "beads": ("monomer", ZIGZAG, ""),
    "chain": ("chain", ZIGZAG, "beads = 4\nbond_length = {bond}"),
    "rod": ("rod", LINE, "beads = 3\nbond_length = 0.8"),
    "rigid": ("rigid", ZIGZAG, "sites = {sites}"),
}
INPUT = """[box]
size = [6.0, 6.0, 6.0]
boundary = ["wall", "wall", "wall"]
[[molecule]]
name = "A"
kind = "{kind}"
{keys}
count = {count}
diameter = 0.6
mass = {mass}
positions = {positions}
[[molecule]]
name = "B"
kind = "monomer"
count = 4
diameter = 0.6
positions = {free}
[[potential]]
name = "lennard-jones"
epsilon = 2.0
sigma = 0.56
cutoff = 9.0
shift = false
[[potential]]
name = "center"
stiffness = 9.0
center = {center}
[initial]
method = "explicit"
temperature = 12.0
seed = {seed}
[run]
engine = "steps"
end_time = {end}
[steps]
step = {step}
base = "{base}"
energy = "{energy}"
"""


def system_of(name, base, energy, step, seed, end):
    """Return the system of one start."""
    kind, shape, keys = MOLECULES[name]
    places = np.array(shape) + CENTER
    many = name == "beads"
    bond = float(np.linalg.norm(places[1] - places[0]))
    text = INPUT.format(
        kind=kind,
        keys=keys.format(bond=bond, sites=shape),
        count=len(shape) if many else 1,
        mass=1.0 if many or name == "rod" else MASSES,
        positions=places.tolist(),
        free=FREE,
        center=CENTER,
        seed=seed,
        end=end,
        step=step,
        base=base,
        energy=energy,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.toml"
        path.write_text(text, encoding="utf-8")
        return build_system(load_config(path))


def energies(system, step, end):
    """Return H, kinetic and potential, after each step of a run."""
    engine, mass = SteppedEngine(system, skin=1.0), system.topology.whole().mass
    found = []
    for k in range(1, round(end / step) + 1):
        engine.advance(round(k * step, 9))
        found.append(0.5 * mass @ np.sum(engine.frame(engine.time)[1] ** 2, axis=1) + engine.energies()[:, 0].sum())
    return np.array(found)


def measure(name, base, energy, step, starts, end):
    """Return the walk and the band, rms over starts."""
    walks, bands = [], []
    for seed in range(2, 2 + starts):
        found = energies(system_of(name, base, energy, step, seed, end), step, end)
        tenth = len(found) // 10
        walks.append(found[-tenth:].mean() - found[:tenth].mean())
        bands.append(found[:tenth].std())
    return tuple(np.sqrt(np.mean(np.square(values))) for values in (walks, bands))


def main():
    """Print a line for each combination."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="beads,chain,rod,rigid")
    parser.add_argument("--bases", default="verlet,midpoint")
    parser.add_argument("--steps", default="0.01,0.005")
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--time", type=float, default=60.0)
    given = parser.parse_args()
    steps = [float(step) for step in given.steps.split(",")]
    for name in given.kinds.split(","):
        for base in given.bases.split(","):
            for energy in ("H", "H2"):
                found = [measure(name, base, energy, step, given.starts, given.time) for step in steps]
                cells = [
                    f"{step}: walk {walk:.4f}, band {band:.3f}" for step, (walk, band) in zip(steps, found, strict=True)
                ]
                print(f"{name:6s} {base:9s} {energy:3s} " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
