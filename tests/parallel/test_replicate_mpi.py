"""Copies of a start made on ranks: the bits, the runs and the messages of one rank."""

import shutil
import tempfile
from pathlib import Path

import h5py
import pytest

from hpcchain import api
from hpcchain.config import load_config
from hpcchain.errors import EXIT_DONE, ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.tools.compare import compare
from hpcchain.model.starts import replicate_system
from hpcchain.model.starts.start import build_system
from hpcchain.parallel import slabs
from hpcchain.parallel.comm import Single, world
from hpcchain.parallel.signals import Stopped
from hpcchain.run.starts import replicate
from hpcchain.run.starts.replicate import enlarged
from tests.support.copied import longer, mixed, turning
from tests.support.mixtures import mixed_input
from tests.support.run_folders import difference, run_here, write_input

pytestmark = pytest.mark.mpi

NUMBERS = (2, 1, 3)
FILE = {"initial": {"method": "file", "file": "one.h5", "temperature": 1.7, "seed": 5}}
SOURCES = {
    "explicit": mixed(),
    "file": mixed() | FILE | {"molecule": []},
    "grow": mixed_input(initial={"temperature": 1.7}, run={"end_time": 1.0}),
    "longer": longer("rod"),
    "apart": mixed(pitch=1.02),
    "turning": turning(),
    "too fast": turning(0.15),
}


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture(scope="module")
def place(comm):
    """One folder for all ranks, with the inputs, and the start that one of them names."""
    folder = Path(comm.bcast(tempfile.mkdtemp(prefix="replicate_mpi_") if comm.rank == 0 else None))
    if comm.rank == 0:
        for name, tables in SOURCES.items():
            write_input(folder / f"{name}.toml", tables)
        api.build(folder / "explicit.toml", folder / "one.h5", comm=Single())
        (_, last), *_ = list_checkpoints(run_here(folder / "apart.toml", folder / "run") / "checkpoints")
        initial = FILE["initial"] | {"file": str(last)}
        write_input(folder / "checkpoint.toml", SOURCES["file"] | {"initial": initial})
    comm.barrier()
    yield folder
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


@pytest.fixture
def blocks(monkeypatch):
    """Small ones, so that each rank has many, and molecules of which two ranks have a part."""
    monkeypatch.setattr(slabs, "BLOCK", 8)
    monkeypatch.setattr(replicate, "BLOCKS", 2)
    monkeypatch.setattr(replicate_system, "UNIT", 9)


@pytest.mark.parametrize("name", ["explicit", "grow", "longer", "turning"])
def test_the_bits_are_those_of_one_rank(comm, place, blocks, name):
    several, one = place / f"{name}-several.h5", place / f"{name}-one.h5"
    api.build(place / f"{name}.toml", several, copies=NUMBERS, comm=comm)
    if comm.rank == 0:
        api.build(place / f"{name}.toml", one, copies=NUMBERS, comm=Single())
        assert compare(several, one) is None
        assert sums(several) == sums(one)
    comm.barrier()


def sums(path):
    """Return the bytes of a file's checksums, by name."""
    found = {}
    with h5py.File(path) as file:
        file["checksum"].visititems(
            lambda name, node: found.update({name: node[...].tobytes()}) if isinstance(node, h5py.Dataset) else None
        )
    return found


def test_a_source_in_a_file_is_read_in_parts(comm, place):
    """With blocks of the size that the source was written with."""
    api.build(place / "file.toml", place / "of-file.h5", copies=NUMBERS, comm=comm)
    api.build(place / "explicit.toml", place / "at-once.h5", copies=NUMBERS, comm=comm)
    if comm.rank == 0:
        assert compare(place / "of-file.h5", place / "at-once.h5") is None
    comm.barrier()


def test_a_runs_checkpoint_is_a_source(comm, place):
    api.build(place / "checkpoint.toml", place / "of-run.h5", copies=NUMBERS, comm=comm)
    if comm.rank == 0:
        api.build(place / "checkpoint.toml", place / "of-run-one.h5", copies=NUMBERS, comm=Single())
        assert compare(place / "of-run.h5", place / "of-run-one.h5") is None
    comm.barrier()


@pytest.mark.parametrize("name", ["apart", "turning"])
def test_a_run_of_copies_is_that_of_one_rank(comm, place, name):
    start, several, whole = place / f"{name}.h5", place / f"{name}-several", place / f"{name}-whole"
    large = api.build(place / f"{name}.toml", start, copies=NUMBERS, comm=comm)
    if comm.rank == 0:
        (place / f"{name}-large.toml").write_text(large.to_toml())
    comm.barrier()
    assert api.run(place / f"{name}-large.toml", output=several, comm=comm) == EXIT_DONE
    if comm.rank == 0:
        assert api.run(place / f"{name}-large.toml", output=whole, comm=Single()) == EXIT_DONE
        assert difference(several, whole, ("trajectory", "events", "observables")) is None
        assert read_checkpoint(start).config.to_toml() == large.to_toml()
    comm.barrier()


@pytest.mark.parametrize(
    ("name", "words", "error", "said"),
    [
        ("explicit", ['box.boundary=["wall","periodic","periodic"]'], UsageError, "axis 0"),
        ("file", ["initial.file=none.h5"], DataError, "none.h5"),
        ("too fast", [], ConfigError, "too fast.toml: propagator.step: 0.15 is too long for how fast bead"),
    ],
)
def test_what_cannot_be_is_refused_on_all_ranks(comm, place, name, words, error, said):
    with pytest.raises(error, match=said):
        api.build(place / f"{name}.toml", place / "no.h5", words, comm, copies=NUMBERS)
    comm.barrier()
    assert not list(place.glob("no.h5*"))


@pytest.mark.parametrize(("looks", "more"), [(0, 0), (1, -1), (1, 1)])
def test_one_rank_that_is_stopped_stops_all(comm, place, blocks, looks, more):
    """At once, while sums are taken, while the file is written."""
    config = load_config(place / "explicit.toml")
    large, system = enlarged(config, NUMBERS, place / "no.h5"), build_system(config)
    after = looks * len(list(slabs.pieces(large.beads, comm.mpi, replicate.BLOCKS))) + more
    calls = []

    def pause():
        calls.append(1)
        return comm.rank == comm.size - 1 and len(calls) > after

    with pytest.raises(Stopped):
        replicate.write_copies(place / "no.h5", large, system, NUMBERS, comm, pause)
    assert len(calls) == after + 1
    comm.barrier()
    assert not list(place.glob("no.h5*"))
