"""Starts of which each rank reads a part: the bits, and the messages, of one rank that reads the whole."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.model.starts.start import build_physics
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel import slabs
from hpcchain.parallel.comm import Single, world
from hpcchain.run.engines import freedom_of
from hpcchain.run.starts.start_from_file import system_from_file
from tests.support.io_samples import same_state, same_topology

pytestmark = pytest.mark.mpi

TEXT = """
[box]
size = [30.0, 30.0, 30.0]
boundary = ["periodic", "wall", "periodic"]
[[molecule]]
kind = "monomer"
count = 40
[[molecule]]
kind = "chain"
beads = 4
count = 12
mass = {mass}
[initial]
method = "file"
file = "{file}.h5"
[run]
end_time = 1.0
sectors = "all"
"""
WRONG = {  # bead -> where to put it: another bead's place, and how far from it
    "long": ({87: (87, (0.1, 0.0, 0.0))}, "beads 86 and 87 are 1.1 apart"),
    "inside": ({0: (84, (0.3, 0.0, 0.0))}, "beads 0 and 84 overlap: their distance 0.3 "),
    "image": ({0: (84, (0.4, 0.0, 30.0))}, "beads 0 and 84 overlap: their distance 0.4 "),
    "wall": ({bead: (bead, (0.0, -0.8, 0.0)) for bead in range(40, 44)}, "bead 40 reaches 0.3 into a wall of axis 1"),
}


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture
def folder(comm, monkeypatch):
    """One folder for all ranks, with starts of 88 beads; blocks are small, so that every rank reads some of them."""
    monkeypatch.setattr(slabs, "BLOCK", 8)
    name = Path(comm.bcast(tempfile.mkdtemp(prefix="parts_mpi_") if comm.rank == 0 else None))
    if comm.rank == 0:
        for start in ("start", *WRONG):
            write_start(name, start, WRONG.get(start, ({}, ""))[0])
        (name / "heavy.toml").write_text(TEXT.format(mass=3.0, file="start"))
    comm.barrier()
    yield name
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(name)


def write_start(folder, name, moved):
    """Write an input and its start: single beads in one layer, straight chains in another, some beads moved."""
    (folder / f"{name}.toml").write_text(TEXT.format(mass=2.0, file=name))
    config = load_config(folder / f"{name}.toml")
    composition = build_composition(config)
    topology = composition.whole()
    single = [(3.0 * (k % 9) + 1.0, 3.0 * (k // 9) + 1.0, 1.0) for k in range(40)]
    chains = [(7.0 * (k % 4) + b + 1.0, 3.0 * (k // 4) + 1.0, 5.0) for k in range(12) for b in range(4)]
    position = np.array(single + chains)
    for bead, (other, shift) in moved.items():
        position[bead] = position[other] + shift
    velocity = np.random.default_rng(1).normal(size=(52, 3))[topology.molecule_of_bead]
    physics = build_physics(config, topology, velocity)
    system = System(build_box(config.box), composition, State.at_time_zero(position, velocity), physics)
    write_checkpoint(folder / f"{name}.h5", None, system, 0.0, {}, config)


def test_the_parts_are_the_whole(comm, folder):
    config = load_config(folder / "start.toml")
    whole, part = system_from_file(config), system_from_file(config, comm)
    assert part.physics == whole.physics and freedom_of(part, comm) == freedom_of(whole, Single())
    if comm.size == 1:
        return
    assert 0 < len(part.held) < 52
    assert same_topology(part.topology.whole(), whole.topology.whole())
    ids = part.topology.beads_of(part.held)
    assert same_state(part.state, State(**{name: getattr(whole.state, name)[ids] for name in State.ARRAYS}))


@pytest.mark.parametrize("name", [*WRONG, "heavy"])
def test_an_impossible_start_is_refused_on_all_ranks_in_the_words_of_one(comm, folder, name):
    """Beads and rows are named by their numbers in the whole, which no rank has."""
    config, said = load_config(folder / f"{name}.toml"), []
    for ranks in (Single(), comm):
        with pytest.raises(DataError if name in WRONG else ConfigError) as refused:
            system_from_file(config, ranks)
        said.append(str(refused.value))
    words = WRONG[name][1] if name in WRONG else "molecule.mass: differs from the start file"
    assert said[0] == said[1] and words in said[0]
