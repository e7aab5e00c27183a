"""One box of mixed molecules: when and how often anything is written, cells, lists and restarts leave no trace."""

import numpy as np
import pytest

from hpcchain.io.output.trajectory import read_trajectory
from tests.support.mixtures import mixed_input
from tests.support.outputs import read_events, read_observables
from tests.support.run_folders import (
    command,
    difference,
    frame_times,
    leftovers,
    log_rows,
    resume_here,
    run_here,
    tables,
    write_input,
)

END = 6.0
OUTPUT = {"frame_every": 0.5, "report_every": 1.0, "checkpoint_every": 2.0, "events": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the start of the box, an input that begins there, and its uninterrupted run in `whole`."""
    folder = tmp_path_factory.mktemp("identity")
    tables = mixed_input(run={"end_time": END}, output=OUTPUT)
    command(["build", write_input(folder / "grow.toml", tables), "-o", folder / "start.h5"], folder)
    tables["initial"] = {"method": "file", "file": "start.h5"}
    write_input(folder / "in.toml", tables)
    command(["run", "in.toml", "--output", "whole"], folder)
    return folder


def run(place, name, *settings):
    """Run the input to a folder of its own with other settings; return the folder."""
    return run_here(place / "in.toml", place / name, settings=settings)


def test_the_box_is_what_it_should_be(place):
    """Enough contacts, of every kind with every other, for a difference in one bit to show."""
    table = read_events(place / "whole" / "events.h5")
    found = read_trajectory(place / "whole" / "trajectory.h5")
    fraction = np.sum(np.pi / 6.0 * found.diameter**3) / np.prod(found.edges)
    largest = np.bincount(found.molecule).max()
    assert len(table) > 3000 and largest == 40
    assert abs(fraction - 0.25) < 1e-9
    assert np.all(np.diff(table["time"]) >= 0.0) and 0.0 < table["time"][0] and table["time"][-1] <= END


def test_the_start_from_a_file_is_the_start_itself(place):
    run_here(place / "grow.toml", place / "grown")
    assert difference(place / "whole", place / "grown", ("trajectory", "events", "observables")) is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("rare", ["output.frame_every=1.5", "output.report_every=50", "output.checkpoint_every=100"]),
        ("odd", ["output.frame_every=0.3", "output.report_every=0.07", "output.checkpoint_every=0.9"]),
    ],
)
def test_output_times_leave_no_trace(place, name, settings):
    folder = run(place, name, *settings)
    common = set(frame_times(folder)) & set(frame_times(place / "whole"))
    assert common >= {0.0, 1.5, 3.0, 4.5, 6.0}
    assert difference(folder, place / "whole", ("trajectory",), common=True) is None
    assert difference(folder, place / "whole", ("events",)) is None


@pytest.mark.parametrize(("cell", "shell"), [('"auto"', 0.05), (3.0, 0.4), (1.5, 1.2)])
def test_cells_and_neighbour_lists_leave_no_trace(place, cell, shell):
    folder = run(place, f"lists-{shell}", f"run.cell_size={cell}", f"run.list_shell={shell}")
    assert difference(folder, place / "whole") is None


def test_stopped_and_resumed_at_three_odd_times(place):
    command(["run", "in.toml", "--output", "pieces", "--until", "0.7310001"], place)
    for until in ("2.6449", "4.0000000001", str(END)):
        command(["resume", "pieces", "--until", until], place)
    folder = place / "pieces"
    assert difference(folder, place / "whole") is None
    assert frame_times(folder) == frame_times(place / "whole") == np.arange(0.0, END + 0.1, 0.5).tolist()
    assert leftovers(folder) == []
    assert same_reports(folder, place / "whole")


def test_random_numbers_go_on_where_the_seed_is_zero(tmp_path):
    """A checkpoint says how many random numbers beads have drawn, whatever the seed."""
    thermal = {"name": "andersen", "temperature": 1.0, "rate": 1.0}
    path = write_input(tmp_path / "in.toml", tables(initial={"seed": 0}) | {"thermostat": thermal})
    run_here(path, tmp_path / "whole")
    run_here(path, tmp_path / "pieces", until=2.2)
    resume_here(tmp_path / "pieces", until=4.0)
    assert difference(tmp_path / "pieces", tmp_path / "whole") is None


def same_reports(a, b):
    """Whether two runs report the same; a sum over contacts that was taken in two pieces may end in other last bits."""
    ours, theirs = read_observables(a / "observables.h5"), read_observables(b / "observables.h5")
    exact = [name for name in ours if name != "pressure"]
    same = ours.keys() == theirs.keys() and all(
        np.array_equal(x, y, equal_nan=True) for name in exact for x, y in zip(ours[name], theirs[name], strict=True)
    )
    columns = ("time", "events", "contacts", "wall_contacts", "energy", "energy_error")
    logs = [[[row[name] for name in columns] for row in log_rows(folder)] for folder in (a, b)]
    close = np.allclose(ours["pressure"][2], theirs["pressure"][2], rtol=1e-12, atol=0.0, equal_nan=True)
    return same and close and logs[0] == logs[1]


def test_the_command_finds_them_equal_and_a_changed_bit(place):
    copy = place / "copy.h5"
    copy.write_bytes((place / "whole" / "trajectory.h5").read_bytes())
    command(["compare", "whole/trajectory.h5", "copy.h5"], place)
    import h5py

    from hpcchain.io.hdf5.seal import seal

    with h5py.File(copy, "r+") as file:
        value = file["particles/trajectory/velocity/value"]
        value[-1, -1, 2] = np.nextafter(value[-1, -1, 2], 9.0)
    command(["compare", "whole/trajectory.h5", "copy.h5"], place, code=65)
    seal(copy)
    command(["compare", "whole/trajectory.h5", "copy.h5"], place, code=1)
