"""The mixed box on MPI ranks, through the program: the files of one rank, whatever windows, sectors and stops."""

import shutil
import tempfile
from pathlib import Path

import pytest

from hpcchain import api
from hpcchain.errors import EXIT_DONE
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, read_perf
from hpcchain.io.checkpoint.store import newest_valid
from hpcchain.io.tools.compare import compare
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.observe.timers import WITHIN
from hpcchain.parallel.comm import Single, World, world
from hpcchain.parallel.windows import PHASES
from tests.support.mixtures import mixed_input
from tests.support.outputs import frames_in
from tests.support.run_folders import difference, leftovers, log_rows, write_input

pytestmark = pytest.mark.mpi

END = 1.2
OUTPUT = {"frame_every": 0.2, "report_every": 0.2, "checkpoint_every": 0.5, "events": True}


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture(scope="module")
def place(comm):
    """One folder for all ranks, with an input, its start, and its run on one rank in `whole`."""
    folder = Path(comm.bcast(tempfile.mkdtemp(prefix="windows_mpi_") if comm.rank == 0 else None))
    if comm.rank == 0:
        grow = write_input(folder / "grow.toml", mixed_input(run={"end_time": END}, output=OUTPUT))
        api.build(grow, folder / "start.h5", comm=Single())
        initial = {"method": "file", "file": "start.h5"}
        tables = mixed_input(run={"end_time": END}, output=OUTPUT) | {"initial": initial}
        write_input(folder / "in.toml", tables)
        assert api.run(folder / "in.toml", output=folder / "whole", comm=Single()) == EXIT_DONE
    comm.barrier()
    yield folder
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


def of_root(comm, look):
    """Return on every rank what the root finds."""
    return comm.bcast(look() if comm.rank == 0 else None)


def resume(comm, folder, until, ranks):
    """Go on with a run on the first `ranks` ranks."""
    part = comm.mpi.Split(comm.rank >= ranks, comm.rank)
    if comm.rank < ranks:
        some = Single() if ranks == 1 else World(part)
        assert api.resume(folder, until=until, comm=some) == EXIT_DONE
    part.Free()
    comm.barrier()


def same(comm, folder, place):
    """Require the files of one rank, and nothing left over."""
    assert of_root(comm, lambda: difference(folder, place / "whole")) is None
    assert of_root(comm, lambda: leftovers(folder)) == []


def test_the_run_is_long_enough_to_differ(comm, place):
    assert of_root(comm, lambda: log_rows(place / "whole")[-1]["events"]) > 500


@pytest.fixture(scope="module")
def ordinary(comm, place):
    """The folder of a run on all ranks with everything left to the program."""
    assert api.run(place / "in.toml", output=place / "ordinary", comm=comm) == EXIT_DONE
    return place / "ordinary"


def test_ranks_leave_no_trace(comm, place, ordinary):
    same(comm, ordinary, place)
    last = of_root(comm, lambda: log_rows(ordinary)[-1])
    assert comm.size == 1 or (last["passes_per_window"] > 1.0 and last["ghosts_per_owned"] > 0.0)


@pytest.mark.parametrize("window", [0.013, 0.1])
def test_windows_leave_no_trace(comm, place, window):
    folder = place / f"window-{window}"
    overrides = [f"run.window={window}"]
    assert api.run(place / "in.toml", output=folder, overrides=overrides, comm=comm) == EXIT_DONE
    same(comm, folder, place)


def test_sectors_leave_no_trace(comm, place):
    for number, sectors in enumerate(([comm.size, 1, 1], [1, 1, comm.size])):
        folder = place / f"sectors-{number}"
        overrides = [f"run.sectors={sectors}", "run.window=0.05"]
        assert api.run(place / "in.toml", output=folder, overrides=overrides, comm=comm) == EXIT_DONE
        same(comm, folder, place)


def test_stops_and_other_ranks_leave_no_trace(comm, place):
    folder = place / "pieces"
    assert api.run(place / "in.toml", output=folder, until=0.2345678, comm=comm) == EXIT_DONE
    resume(comm, folder, 0.4000001, 1)
    resume(comm, folder, 0.87, 2)
    resume(comm, folder, END, comm.size)
    same(comm, folder, place)


def test_a_start_that_is_grown_leaves_no_trace(comm, place):
    api.build(place / "grow.toml", place / "other.h5", comm=comm)
    assert of_root(comm, lambda: compare(place / "start.h5", place / "other.h5")) is None


def test_nothing_overlaps_and_energy_and_momentum_hold(comm, place, ordinary):
    """Without regard to the run on one rank."""
    rows = of_root(comm, lambda: log_rows(ordinary))
    assert all(abs(row["energy_error"]) < 1e-11 for row in rows)
    assert all(abs(row["momentum"]) < 1e-9 for row in rows)
    assert of_root(comm, lambda: overlaps(place, ordinary)) == []


def overlaps(place, folder):
    """Return the overlapping pairs in any frame of a run."""
    system = read_checkpoint(place / "start.h5").system
    with frames_in(folder / "trajectory.h5") as found:
        frames = [[found.table(name, k) for name in ("position", "image")] for k in range(len(found))]
    whole = [position + image * system.box.size for position, image in frames]
    pairs = [bead_overlap(system.box, system.topology.whole(), position, 1e-10) for position in whole]
    assert len(pairs) > 5
    return [pair for pair in pairs if pair is not None]


@pytest.mark.parametrize("sectors", ["all", "auto"])
def test_the_parts_of_a_run_add_up_to_its_time(place, comm, sectors):
    """Whether all ranks work in windows, or one has all molecules and the others sleep."""
    folder = place / f"parts-{sectors}"
    assert api.run(place / "in.toml", output=folder, overrides=[f"run.sectors={sectors}"], comm=comm) == EXIT_DONE
    perf = of_root(comm, lambda: read_perf(newest_valid(folder / "checkpoints")[0]))
    parts = {name.partition(WITHIN)[2]: times for name, times in perf.items() if name.startswith(f"events{WITHIN}")}
    if sectors == "all":
        assert set(parts) == {name.replace("_", " ") for name in PHASES}
        assert parts["waiting"][1] > 0.0 and parts["computing"][0] > 0.0
    else:
        assert {"at work", "asleep"} <= set(parts)
    events, counted = perf["events"][1], sum(average for _, average, _ in parts.values())
    assert counted <= events and events - counted <= 0.2 + 0.05 * events  # other programs may hold the processor
