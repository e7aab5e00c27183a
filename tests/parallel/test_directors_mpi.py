"""Spheres with directors on any number of ranks: files, observables and runs are those of one rank."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcchain import api
from hpcchain.config import load_config
from hpcchain.errors import EXIT_DONE, ConfigError, DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import atomic
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.tools.compare import compare
from hpcchain.model.directors import Table
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import physics_with
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel import slabs
from hpcchain.parallel.comm import Single, world
from hpcchain.run import controller
from hpcchain.run.orientations import rotation_of, turning_of
from hpcchain.run.starts.start_from_file import directors_from, read_start
from tests.support.io_samples import frame_of, state_of
from tests.support.mixtures import WITH_DIRECTORS, to_toml
from tests.support.run_folders import difference, write_input

pytestmark = pytest.mark.mpi

TABLES = WITH_DIRECTORS | {
    "run": {"end_time": 1.5, "sectors": "all"},
    "output": {"frame_every": 0.25, "report_every": 0.5, "checkpoint_every": 0.5},
}
FROM_FILE = TABLES | {"initial": {"method": "file", "file": "start.h5"}}
"""With a start that no input says."""
EVERY = ("trajectory", "observables")


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture
def folder(comm):
    """Return one folder for all ranks."""
    name = comm.bcast(tempfile.mkdtemp(prefix="directors_mpi_") if comm.rank == 0 else None)
    yield Path(name)
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(name)


@pytest.fixture(params=[4, 4096])
def block(request, monkeypatch):
    """Small blocks give every rank a slab; whole ones leave ranks without."""
    monkeypatch.setattr(slabs, "BLOCK", request.param)
    monkeypatch.setattr(controller, "BLOCK", request.param)
    return request.param


def config_in(comm, folder, tables=TABLES, name="in.toml"):
    """Return the checked input of tables."""
    comm.barrier()  # no rank reads any more what was written before
    if comm.rank == 0:
        (folder / name).write_text(to_toml(tables))
    comm.barrier()
    return load_config(folder / name)


def system_in(comm, folder, random):
    """Return the whole System of TABLES with made-up places, and random directors or a table of them."""
    config = config_in(comm, folder)
    composition = build_composition(config)
    topology = composition.whole()
    directors = build_directors(config)
    if not random:
        directors = replace(directors, table=Table(0, *directors.start(composition, 0, topology.beads)))
    physics = physics_with(config, 2.0**-7)
    state = state_of(topology)
    place = np.arange(topology.beads) - topology.first_bead[topology.molecule_of_bead]
    state.position = 3.0 + place[:, None] * np.array([1.0, 0.0, 0.0])
    state.velocity = state.velocity[topology.first_bead[topology.molecule_of_bead]]
    state.in_contact[:] = 0
    return System(build_box(config.box), composition, state, physics, directors=directors)


def dealt(comm, system):
    """Return what this rank has of a system, molecules dealt out, and its beads' ids; of a table its slab alone."""
    ids = np.flatnonzero(system.topology.whole().molecule_of_bead % comm.size == comm.rank)[::-1]
    state = State(**{name: getattr(system.state, name)[ids] for name in State.ARRAYS})
    low, high = slabs.slab(system.topology.beads, comm.mpi)
    return replace(system, state=state, directors=system.directors.part(low, high)), ids


@pytest.mark.parametrize("random", [False, True])
def test_checkpoints_do_not_depend_on_the_ranks(comm, folder, block, random):
    system = system_in(comm, folder, random)
    part, ids = dealt(comm, system)
    config = config_in(comm, folder, FROM_FILE, "of_file.toml")
    write_checkpoint(folder / "p.h5", comm.mpi, part, 1.5, {}, config, ids=ids)
    if comm.rank == 0:
        write_checkpoint(folder / "s.h5", None, system, 1.5, {}, config)
        assert compare(folder / "s.h5", folder / "p.h5") is None
    comm.barrier()
    low, high = slabs.slab(system.topology.beads, comm.mpi)
    for path in (folder / "p.h5", folder / "s.h5"):
        for found in (read_checkpoint(path, comm.mpi, part) for part in (True, False)):
            table = found.system.directors.table
            assert (table is None) == random
            if table is not None:
                mine = system.directors.table.rows(low, high)
                assert table.rows(low, high).orientation.tobytes() == mine.orientation.tobytes()
                assert table.rows(low, high).angular_velocity.tobytes() == mine.angular_velocity.tobytes()


def test_a_bad_row_on_one_rank_is_everyones_error(comm, folder, block):
    system = system_in(comm, folder, False)
    table = system.directors.table
    table.orientation[60, 2] = np.nan  # in the last rank's slab when blocks are small
    write_checkpoint(folder / "p.h5", comm.mpi, system, 1.5, {}, config_in(comm, folder, FROM_FILE, "of_file.toml"))
    for part in (True, False):
        with pytest.raises(DataError, match="an orientation is no unit quaternion"):
            read_checkpoint(folder / "p.h5", comm.mpi, part)


@pytest.mark.parametrize("random", [False, True])
def test_orientations_and_observables_do_not_depend_on_the_ranks(comm, folder, block, random):
    system = system_in(comm, folder, random)
    composition = system.topology
    alone, ours = (turning_of(system.directors, composition, mpi) for mpi in (None, comm.mpi))
    for time in (0.0, 0.3, 1e7):
        found = np.concatenate(comm.allgather(ours.orientation(time)))
        assert found.tobytes() == alone.orientation(time).tobytes()
    found = rotation_of(ours, comm.mpi)
    for name, value in rotation_of(alone, None).items():
        assert np.asarray(found[name]).tobytes() == np.asarray(value).tobytes()


def test_a_sphere_too_fast_on_one_rank_is_everyones_error(comm, folder, block):
    system = system_in(comm, folder, False)
    system.directors.table.angular_velocity[61] = [60.0, 0.0, 0.0]
    with pytest.raises(ConfigError, match="how fast bead 61 spins"):
        turning_of(system.directors, system.topology, comm.mpi)


def put_out(comm, folder, system):
    """Write two frames and assemble them, on the ranks of a communicator or alone (None)."""
    turning = turning_of(system.directors, system.topology, comm)
    for path in (folder, folder / "parts"):
        atomic.make_folder(path, comm)
    writer = PartWriter(folder / "parts", 0, comm, system.topology, {"part_seal": ""})
    for number in range(2):
        orientation = turning.orientation(number / 2)
        low, high = slabs.slab(system.topology.beads, comm)
        frame = (array[low:high] for array in frame_of(system.topology.beads, number))
        writer.frame(number / 2, *frame, orientation=orientation)
    writer.close()
    constant = {"angular_velocity": turning.velocity, "moment_of_inertia": turning.moment}
    lasting = Lasting(system.topology, system.box, constant, ["orientation"])
    assemble(folder, comm, lasting, writer.counters)


def test_the_trajectory_does_not_depend_on_the_ranks(comm, folder, block):
    system = system_in(comm, folder, True)
    put_out(comm.mpi, folder / "p", system)
    if comm.rank == 0:
        put_out(None, folder / "s", system)
        assert compare(folder / "s" / "trajectory.h5", folder / "p" / "trajectory.h5") is None
    comm.barrier()


def test_a_start_from_a_checkpoint_goes_on_on_any_ranks(comm, folder, block):
    """The table of orientations at its time, slab by slab, is that of one rank."""
    system = system_in(comm, folder, True)
    write_checkpoint(folder / "c.h5", comm.mpi, system, 1.5, {}, config_in(comm, folder))
    config = config_in(comm, folder, TABLES | {"initial": {"method": "file", "file": str(folder / "c.h5")}}, "on.toml")
    mine = directors_from(config, *read_start(config, comm.mpi), comm.mpi).table
    whole = directors_from(config, *read_start(config), None).table
    assert np.concatenate(comm.allgather(mine.orientation)).tobytes() == whole.orientation.tobytes()
    assert np.concatenate(comm.allgather(mine.angular_velocity)).tobytes() == whole.angular_velocity.tobytes()
    other = [dict(kind) for kind in TABLES["molecule"]]
    other[3]["moment"] = 0.31  # the last rank's alone, when blocks are small
    config = replace(config_in(comm, folder, TABLES | {"molecule": other}, "other.toml"), initial=config.initial)
    with pytest.raises(ConfigError, match="molecule.moment: bead 54 has moment of inertia 0.31"):
        directors_from(config, *read_start(config, comm.mpi), comm.mpi)


def test_runs_on_ranks_are_those_of_one(comm, folder, block):
    """All together, with slabs on every rank when blocks are small: run, stop, go on, start from a checkpoint."""
    one, all_ranks = Single(), comm
    if comm.rank == 0:
        assert api.run(write_input(folder / "in.toml", TABLES), output=folder / "whole", comm=one) == EXIT_DONE
    comm.barrier()
    run = api.run(folder / "in.toml", output=folder / "ranks", until=0.8, comm=all_ranks)
    assert run == EXIT_DONE and api.resume(folder / "ranks", until=1.5, comm=all_ranks) == EXIT_DONE
    assert comm.bcast(comm.rank or difference(folder / "ranks", folder / "whole", EVERY)) is None
    start = list_checkpoints(folder / "whole" / "checkpoints")[0][1]
    if comm.rank == 0:
        tables = {
            "box": TABLES["box"],
            "initial": {"method": "file", "file": str(start)},
            "run": {"end_time": 0.5, "sectors": "all"},
        }
        assert api.run(write_input(folder / "on.toml", tables), output=folder / "one", comm=one) == EXIT_DONE
    comm.barrier()
    assert api.run(folder / "on.toml", output=folder / "several", comm=all_ranks) == EXIT_DONE
    assert comm.bcast(comm.rank or difference(folder / "several", folder / "one", EVERY)) is None
