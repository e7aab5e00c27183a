"""Starts made of other programs' files on ranks: the bits and the messages of one rank."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from hpcchain import api
from hpcchain.errors import ConfigError, DataError
from hpcchain.io.tools.compare import compare
from hpcchain.parallel.comm import Single, world
from hpcchain.run.starts.start_from_configuration import Source
from tests.support.other_formats import write_data, zigzag

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture(scope="module")
def place(comm):
    """One folder for all ranks, with LAMMPS data in which beads overlap."""
    folder = Path(comm.bcast(tempfile.mkdtemp(prefix="configuration_mpi_") if comm.rank == 0 else None))
    if comm.rank == 0:
        position, bonds = zigzag(8, 3, 0.98, noise=0.01)
        write_data(folder / "apart.data", position, bonds)
        write_data(folder / "close.data", np.concatenate([position, position[-1:] + [0.0, 0.0, 0.5]]), bonds)
    comm.barrier()
    yield folder
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


@pytest.mark.parametrize(("name", "grow"), [("apart", False), ("close", True)])
def test_the_bits_are_those_of_one_rank(comm, place, name, grow):
    source, more = Source(place / f"{name}.data", bond_length=1.0), ("molecule.diameter=0.8",)
    config = api.build_from(source, place / f"{name}-several.h5", None, more, grow, comm)
    assert config.molecules[0].bond_length == 1.0
    if comm.rank == 0:
        api.build_from(source, place / f"{name}-one.h5", None, more, grow, Single())
        assert compare(place / f"{name}-several.h5", place / f"{name}-one.h5") is None
    comm.barrier()


def test_what_is_wrong_every_rank_says(comm, place):
    with pytest.raises(ConfigError, match=r"beads 24 \(1\) and 25 \(1\) of the file overlap"):
        api.build_from(Source(place / "close.data"), place / "none.h5", comm=comm)
    with pytest.raises(DataError, match="none.data: cannot be read"):
        api.build_from(Source(place / "none.data"), place / "none.h5", comm=comm)
    comm.barrier()
    assert not (place / "none.h5").exists()
