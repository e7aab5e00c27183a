"""Every capability of both engines with a rank that sleeps: two ranks of three have molecules, all write the files.

What all ranks do together they must decide from what all know: a rank without beads has other arrays than the others.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

from hpcchain import api
from hpcchain.config.demands.capabilities import CAPABILITIES
from hpcchain.parallel.comm import Single, world
from tests.physics.test_capabilities import table_of
from tests.support.launching import logging_restored
from tests.support.run_folders import checkpoint_times, difference, log_rows
from tests.support.stepped import toml

pytestmark = pytest.mark.mpi

AT_WORK, HALF, END = 2, 0.2, 0.4
OUTPUT = {"frame_every": 0.1, "report_every": 0.1, "checkpoint_every": 0.1, "events": True, "keep_checkpoints": 9}
STEPS = {"engine": "steps", "end_time": END, "sectors": [AT_WORK, 1, 1]}
LJ = {"name": "lennard-jones", "epsilon": 1.0, "sigma": 1.0, "cutoff": 2.0}
IN_STEPS = {
    "walls that move": {"wall": [{"side": "z-", "velocity": 0.2}]},
    "walls with shapes": {"wall": [{"shape": "sphere", "center": [4.0, 4.0, 4.0], "radius": 5.5}]},
    "walls with coefficients": {"wall": [{"side": "z-", "restitution": 0.5}]},
    "restitution": {"contact": {"restitution": 0.9}},
    "one after another": {"contact": {"restitution": 0.9, "simultaneous": "moreau"}},
    "gravity": {"external": {"gravity": [0.2, 0.0, -1.0]}},
    "andersen": {"thermostat": {"name": "andersen", "temperature": 1.5, "rate": 1.0}},
    "langevin": {"thermostat": {"name": "langevin", "temperature": 1.5, "damping": 1.0}},
    "fixed beads": {"molecule": {"fixed": [0]}},
    "fixed beads that move": {"molecule": {"fixed": [0], "fixed_velocity": [0.1, 0.0, -0.2]}},
    "potentials": {"potential": [LJ]},
    "soft beads": {"potential": [LJ], "molecule": {"hard": False}},
    "midpoint": {"potential": [LJ], "steps": {"base": "midpoint"}},
    "friction": {"contact": {"friction": 0.5}, "steps": {"integrator": "contact"}},
    "friction and walls that move": {
        "contact": {"friction": 0.5, "restitution": 0.5},
        "steps": {"integrator": "contact"},
        "wall": [{"side": "z-", "velocity": 0.2}],
    },
}
"""Name -> tables of an input of the engine of steps, of "molecule" keys of the first kind."""
SHORT = ("walls that move", 'potential, name "steps"')
"""What of all is not long."""


def in_steps(name):
    """Return the input of a capability of the engine of steps."""
    given = dict(IN_STEPS[name])
    keys = given.pop("molecule", {})
    kind = "monomer" if "fixed_velocity" in keys else "chain"
    table = table_of(next(one for one in CAPABILITIES if one.key == "external.gravity"), "taylor", kind)
    del table["external"], table["propagator"]
    if "hard" in keys or any("shape" in wall for wall in given.get("wall", ())):
        table["box"]["boundary"] = ["open"] * 3
    table["molecule"][0] |= keys
    if "hard" in keys:
        table["molecule"][1]["hard"] = False
    return table | given | {"run": STEPS, "steps": {"step": 0.005} | given.get("steps", {})}


def of_events(one):
    """Return the input of a capability of the engine of events."""
    kind = next(kind for kind in ("chain", "monomer") if kind in one.works["taylor"])
    return table_of(one, "taylor", kind) | {"run": {"end_time": END, "sectors": [AT_WORK, 1, 1]}}


def stretches():
    """Return the input of a long chain, whose stretches have segments of their own."""
    molecule = [{"kind": "chain", "beads": 120, "count": 1}, {"kind": "monomer", "count": 4}]
    return {
        "box": {"size": [14.0] * 3},
        "molecule": molecule,
        "propagator": {"stretches": 100},
        "run": {"end_time": END, "sectors": [AT_WORK, 1, 1]},
    }


INPUTS = (
    {f"steps: {name}": lambda name=name: in_steps(name) for name in IN_STEPS}
    | {f"events: {one.key}": lambda one=one: of_events(one) for one in CAPABILITIES}
    | {"events: stretches": stretches}
)


@pytest.fixture(scope="module")
def comm():
    """Return the ranks, the first three of them if there are more."""
    found = world()
    if found.size < 3:
        pytest.skip("needs three ranks, of which one sleeps")
    return found


@pytest.fixture
def folder(comm):
    """Return one folder for all ranks."""
    found = Path(comm.bcast(tempfile.mkdtemp(prefix="asleep_") if comm.rank == 0 else None))
    yield found
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(found)


def cases():
    return [
        pytest.param(name, marks=() if name.split(": ")[1] in SHORT else pytest.mark.long, id=name) for name in INPUTS
    ]


@pytest.mark.parametrize("name", cases())
def test_a_rank_sleeps(comm, folder, name):
    """A run and its resume leave the bits of one rank."""
    path = folder / "in.toml"
    if comm.rank == 0:
        path.write_text(toml(INPUTS[name]() | {"output": OUTPUT}))
    comm.barrier()
    with logging_restored("hpcchain"):
        assert api.run(path, output=folder / "some", until=HALF, comm=comm) == 0
        assert api.resume(folder / "some", until=END, comm=comm) == 0
        if comm.rank == 0:
            assert api.run(path, output=folder / "one", comm=Single()) == 0
    comm.barrier()
    if comm.rank == 0:
        assert log_rows(folder / "some")[-1]["ranks_at_work"] == AT_WORK
        assert len(checkpoint_times(folder / "some")) == len(checkpoint_times(folder / "one"))
        assert difference(folder / "some", folder / "one") is None
    comm.barrier()
