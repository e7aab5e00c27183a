"""Programs that users would pick instead, from a start of ours: for `tools/bench --peers` and `tools/rigid_peers`.

All have one core, kT = 1, and the beads' places. LAMMPS moves them as bead-spring chains (Kremer and Grest 1990: FENE
bonds, a Lennard-Jones repulsion cut at its minimum, steps of 0.01). GROMACS (LINCS of order 4, one iteration) and
OpenMM (CCMA to 1e-6) have the same repulsion and hold the bonds, with steps of 0.005. None of them has hard spheres.
What is timed is the processor time of a long run less that of a short one, so that reading and setting up drop out.
"""

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

CUTOFF = 2.0 ** (1.0 / 6.0)
BUFFER = 0.4
"""Of neighbour lists: GROMACS takes none by itself where nothing keeps the temperature."""
SHORT = 500
"""Steps of the short run."""

LAMMPS = """units lj
atom_style bond
special_bonds fene
read_data data
pair_style lj/cut {cutoff}
pair_modify shift yes
pair_coeff 1 1 1.0 1.0
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
neighbor {buffer} bin
neigh_modify every 1 delay 0 check yes
timestep 0.01
thermo 100000
fix 1 all nve/limit 0.05
fix 2 all langevin 1.0 1.0 1.0 48279
run 500
unfix 1
unfix 2
fix 1 all nve
run {steps}
"""
GROMACS = """integrator = md
dt = 0.005
nsteps = {steps}
cutoff-scheme = Verlet
nstlist = 10
verlet-buffer-tolerance = -1
rlist = {list_radius}
coulombtype = cutoff
vdwtype = cut-off
vdw-modifier = potential-shift
rvdw = {cutoff}
rcoulomb = {cutoff}
constraints = none
constraint-algorithm = lincs
lincs-order = 4
lincs-iter = 1
tcoupl = no
nstenergy = {steps}
nstlog = {steps}
nstcalcenergy = 100
comm-mode = linear
"""
OPENMM = """import sys
import numpy as np
import openmm as mm

given, steps = np.load("start.npz"), int(sys.argv[1])
x, v, side, length = given["x"], given["v"], float(given["side"]), int(given["length"])
system = mm.System()
system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*(side * row)) for row in np.eye(3)))
force = mm.CustomNonbondedForce("4 * (r^-12 - r^-6) + 1")
force.setNonbondedMethod(force.CutoffPeriodic)
force.setCutoffDistance({cutoff})
for k in range(len(x)):
    system.addParticle(1.0)
    force.addParticle([])
for k in range(len(x) - 1):
    if k % length != length - 1:
        system.addConstraint(k, k + 1, 1.0)
        force.addExclusion(k, k + 1)
system.addForce(force)
integrator = mm.VerletIntegrator(0.005)
integrator.setConstraintTolerance(1e-6)
context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CPU"), {{"Threads": "1"}})
context.setPositions(x)
context.applyConstraints(1e-6)
context.setVelocities(v)
context.applyVelocityConstraints(1e-6)
integrator.step(steps)
assert np.all(np.isfinite(context.getState(getPositions=True).getPositions(asNumpy=True)._value))
"""


def lammps(folder, start, steps):
    """Prepare a run of LAMMPS; return the command, or None where it is not installed."""
    program = shutil.which("lmp") or shutil.which("lmp_serial")
    if program is None:
        return None
    x, v, side, length = start
    first = [k for k in range(len(x)) if k % length != length - 1]
    lines = ["chains", "", f"{len(x)} atoms", f"{len(first)} bonds", "1 atom types", "1 bond types", ""]
    lines += [f"0 {side} {axis}lo {axis}hi" for axis in "xyz"] + ["", "Masses", "", "1 1.0", "", "Atoms # bond", ""]
    lines += [f"{k + 1} {k // length + 1} 1 {a!r} {b!r} {c!r}" for k, (a, b, c) in enumerate((x % side).tolist())]
    lines += ["", "Velocities", "", *(f"{k + 1} {a!r} {b!r} {c!r}" for k, (a, b, c) in enumerate(v.tolist()))]
    lines += ["", "Bonds", "", *(f"{b + 1} 1 {k + 1} {k + 2}" for b, k in enumerate(first))] if first else []
    (folder / "data").write_text("\n".join([*lines, ""]), encoding="utf-8")
    text = LAMMPS.format(cutoff=CUTOFF, buffer=BUFFER, steps=steps)
    if not first:
        text = "\n".join(line for line in text.splitlines() if "bond_" not in line) + "\n"
    (folder / "in").write_text(text, encoding="utf-8")
    return [program, "-in", "in", "-log", "none"]


def gromacs(folder, start, steps):
    """Prepare a run of GROMACS, which writes md.log; return the command, or None where it is not installed.

    Raises
    ------
    SystemExit
        When GROMACS does not take its input.
    """
    program = shutil.which("gmx")
    if program is None:
        return None
    x, v, side, length = start
    edges = np.broadcast_to(side, 3).tolist()
    rows = [
        f"{k // length % 100000 + 1:5d}{'CHN':<5}{'B':>5}{(k + 1) % 100000:5d}"
        + "".join(f"{value:13.8f}" for value in a)
        + "".join(f"{value:13.9f}" for value in b)
        for k, (a, b) in enumerate(zip((x % side).tolist(), v.tolist(), strict=True))
    ]
    (folder / "conf.gro").write_text("\n".join(["chains", str(len(x)), *rows, " ".join(map(str, edges)), ""]))
    beads = "\n".join(f"{k + 1} B 1 CHN B {k + 1} 0.0 1.0" for k in range(length))
    bonds = "\n".join(f"{k + 1} {k + 2} 1 1.0" for k in range(length - 1))
    topology = f"""[ defaults ]
        1 1 no 1.0 1.0
        [ atomtypes ]
        B 1 1.0 0.0 A 4.0 4.0
        [ moleculetype ]
        chain 1
        [ atoms ]
        {beads}
        [ constraints ]
        {bonds}
        [ system ]
        chains
        [ molecules ]
        chain {len(x) // length}
        """
    (folder / "topol.top").write_text("\n".join(line.strip() for line in topology.splitlines()), encoding="utf-8")
    text = GROMACS.format(steps=steps, cutoff=CUTOFF, list_radius=CUTOFF + BUFFER)
    (folder / "grompp.mdp").write_text(text, encoding="utf-8")
    call = [program, "-quiet", "grompp", "-maxwarn", "5"]
    made = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"GROMACS does not take its input: {made.stderr[-800:]}")
    return [program, "-quiet", "mdrun", "-nt", "1", "-pin", "off", "-noconfout"]


def openmm(folder, start, steps):
    """Prepare a run of OpenMM; return the command, or None where it is not installed."""
    if importlib.util.find_spec("openmm") is None:
        return None
    x, v, side, length = start
    np.savez(folder / "start.npz", x=x, v=v, side=side, length=length)
    (folder / "run.py").write_text(textwrap.dedent(OPENMM).format(cutoff=CUTOFF), encoding="utf-8")
    return [sys.executable, "run.py", str(steps)]


PEERS = {"LAMMPS FENE": (lammps, 0.01), "GROMACS LINCS": (gromacs, 0.005), "OpenMM CCMA": (openmm, 0.005)}
"""Name -> what prepares a run, and its step [tau]."""


def speed(name, start, steps):
    """Return the beads times simulated time that a program does in a second of its processor; None if not installed.

    Parameters
    ----------
    name : str
        One of PEERS.
    start : tuple
        Places and velocities (n, 3), edge of the box, beads of a chain. GROMACS also takes three edges.
    steps : int
        Of the long run, beyond those of the short one.

    Raises
    ------
    SystemExit
        With what the program said, where it fails.
    """
    prepare, step = PEERS[name]
    spent = []
    for number in (SHORT, SHORT + steps):
        with tempfile.TemporaryDirectory() as place:
            command = prepare(Path(place), start, number)
            if command is None:
                return None
            spent.append(processor_seconds(command, place, name))
    return len(start[0]) * steps * step / (spent[1] - spent[0])


def processor_seconds(command, folder, name):
    """Return the processor seconds of a command on one thread.

    Raises
    ------
    SystemExit
        With what the command said, where it fails.
    """
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{name} failed: {done.stdout[-800:]} {done.stderr[-800:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
