"""LAMMPS's own bead-spring chains on the same numbers of ranks in the same box: for `tools/scaling peers`.

Chains of ten beads as Kremer and Grest have them (1990): a Lennard-Jones repulsion cut at its minimum, FENE bonds,
steps of 0.005 and a Langevin thermostat while they settle. A number density stands in for the packing fraction of hard
beads of diameter 1. They start on a lattice, and steps are limited while they settle.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

STEP, CHAIN, SETTLE = 0.005, 10, 4000
SCRIPT = """units lj
atom_style bond
special_bonds fene
read_data {data}
pair_style lj/cut 1.122462
pair_modify shift yes
pair_coeff 1 1 1.0 1.0
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
neighbor 0.4 bin
neigh_modify every 1 delay 0 check yes
fix 1 all nve/limit 0.05
fix 2 all langevin 1.0 1.0 1.0 48279
timestep {step}
thermo 100000
run {settle}
unfix 1
unfix 2
fix 1 all nve
run {settle}
run {steps}
"""


def program(command):
    """Return the words that start LAMMPS, None where there is no such program."""
    words = shlex.split(command)
    return words if words and shutil.which(words[0]) else None


def write_start(path, beads, fraction):
    """Write chains on the places of a lattice that fills the box, each along a line of it, as LAMMPS reads them."""
    side = (beads * np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    chains = beads // CHAIN
    rows = int(np.ceil(np.sqrt(chains / max(int(side / CHAIN), 1))))
    along = max(int(np.ceil(chains / rows**2)), 1)
    number = np.arange(chains)
    place = np.column_stack(
        [number % along * side / along, number // along % rows * side / rows, number // along // rows * side / rows]
    )
    x = np.repeat(place, CHAIN, axis=0)
    x[:, 0] += np.tile(np.arange(CHAIN) * min(0.97, side / along / CHAIN), chains)
    x %= side
    v = np.random.default_rng(1).normal(size=x.shape)
    lines = ["chains", "", f"{len(x)} atoms", f"{chains * (CHAIN - 1)} bonds", "1 atom types", "1 bond types", ""]
    lines += [f"0 {side} {axis}lo {axis}hi" for axis in "xyz"] + ["", "Masses", "", "1 1.0", "", "Atoms # bond", ""]
    lines += [f"{k + 1} {k // CHAIN + 1} 1 {a:.9g} {b:.9g} {c:.9g}" for k, (a, b, c) in enumerate(x.tolist())]
    lines += ["", "Velocities", "", *(f"{k + 1} {a:.9g} {b:.9g} {c:.9g}" for k, (a, b, c) in enumerate(v.tolist()))]
    first = [k for k in range(len(x)) if k % CHAIN != CHAIN - 1]
    lines += ["", "Bonds", "", *(f"{b + 1} 1 {k + 1} {k + 2}" for b, k in enumerate(first)), ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def seconds(words, launcher, ranks, beads, fraction, steps):
    """Return the seconds of LAMMPS's last run on a number of ranks.

    Raises
    ------
    SystemExit
        With what LAMMPS said, where it fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_start(folder / "data", beads, fraction)
        script = SCRIPT.format(data=folder / "data", step=STEP, settle=SETTLE, steps=steps)
        (folder / "in").write_text(script, encoding="utf-8")
        start = shlex.split(launcher.replace("{ranks}", str(ranks))) if ranks > 1 else []
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_COMM", "PMIX", "PRTE"))}
        done = subprocess.run(
            [*start, *words, "-in", str(folder / "in"), "-log", "none"],
            capture_output=True,
            text=True,
            env=clean,
            check=False,
        )
        loops = [line.split() for line in done.stdout.splitlines() if line.startswith("Loop time of")]
        if len(loops) != 3:
            raise SystemExit(f"LAMMPS failed: {done.stdout[-800:]} {done.stderr[-800:]}")
        return float(loops[-1][3])
