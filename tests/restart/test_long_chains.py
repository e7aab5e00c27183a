"""Runs whose long chains move in stretches: restarts and ranks leave no trace, files have what they say."""

import h5py
import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.long_chains import united
from hpcchain.sector.serial import Engine
from tests.support.outputs import frames_in
from tests.support.run_folders import EVERY, command, difference, resume_here, run_here, write_input
from tests.support.spoilt import spoil

END = 1.0
TABLES = {
    "box": {"size": [9.0, 9.0, 9.0], "boundary": ["periodic", "wall", "periodic"]},
    "molecule": [{"kind": "chain", "beads": 105, "count": 2}, {"kind": "chain", "beads": 9, "count": 5}],
    "propagator": {"stretches": 100},
    "contact": {"restitution": 0.95},
    "run": {"end_time": END, "sectors": "auto"},
    "output": {"events": True, "frame_every": 0.25, "report_every": 0.25, "checkpoint_every": 0.5},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run in one piece, and its input."""
    folder = tmp_path_factory.mktemp("long")
    path = write_input(folder / "in.toml", TABLES)
    return run_here(path, folder / "a"), path


def newest(folder):
    """Return the path of a run's last checkpoint."""
    return list_checkpoints(folder / "checkpoints")[0][1]


def test_a_restart_leaves_no_trace(whole, tmp_path):
    folder, path = whole
    other = run_here(path, tmp_path / "b", until=0.13)
    for until in (0.31, 0.77, END):
        resume_here(other, until=until)
    assert difference(folder, other, EVERY) is None
    states = [read_checkpoint(newest(one)).system.state for one in (folder, other)]
    for name in states[0].ARRAYS:
        np.testing.assert_array_equal(*(getattr(state, name) for state in states))
    assert states[0].parts.shape[1] == W.PART_COLUMNS


def test_ranks_leave_no_trace(whole, tmp_path):
    folder, path = whole
    settings = ["--set", 'run.sectors="all"', "--set", "run.end_time=0.4"]
    command(["run", path, "--output", tmp_path / "b", *settings], tmp_path, ranks=3)
    command(["resume", tmp_path / "b", "--until", END], tmp_path, ranks=2)
    assert difference(folder, tmp_path / "b", EVERY) is None


LAWS = TABLES | {
    "contact": {"restitution": 0.95, "tangential_restitution": 0.4},
    "external": {"gravity": [0.0, 0.1, -0.5]},
    "potential": [{"name": "steps", "types": ["A", "A"], "distances": [1.1, 1.4], "energies": [-0.5, 0.2]}],
    "thermostat": {"name": "andersen", "temperature": 1.2, "rate": 1.0},
    "wall": [{"side": "y-", "temperature": 1.5, "velocity": 0.01}],
}


@pytest.mark.long
def test_a_restart_under_laws_leaves_no_trace(tmp_path):
    """Beads carry spins, draws and wells, parts their series: a checkpoint has both. No other test has its kernels."""
    path = write_input(tmp_path / "in.toml", LAWS)
    one = run_here(path, tmp_path / "a")
    other = run_here(path, tmp_path / "b", until=0.13)
    for until in (0.52, END):
        resume_here(other, until=until)
    assert difference(one, other, EVERY) is None
    command(["resume", one, "--until", 1.2], tmp_path, ranks=2)
    resume_here(other, until=1.2)
    assert difference(one, other, EVERY) is None


def test_molecules_are_whole_in_frames(whole):
    """Beads that are bonded are a bond apart as they stand in the file, whatever images their parts have."""
    folder, _ = whole
    with frames_in(folder / "trajectory.h5") as file:
        for number in range(len(file)):
            x = file.table("position", number)[:210].reshape(2, 105, 3)
            bond = np.sqrt((np.diff(x, axis=1) ** 2).sum(axis=2))
            np.testing.assert_allclose(bond, 1.0, rtol=0, atol=1e-12)


def test_a_checkpoint_says_where_all_beads_are_at_its_time(whole):
    folder, _ = whole
    found = read_checkpoint(newest(folder))
    engine = Engine(found.system)
    x, v, image = engine.frame(found.time)
    state, own = united(found.system, found.time).state, found.system.state.parts[:, W.PART_ORDER] > 0.0
    assert np.count_nonzero(own) == 210
    rows = engine.ids[own[engine.ids]]
    at = np.argsort(engine.ids)[rows]
    size = found.system.box.size
    np.testing.assert_allclose(
        state.position[rows] + state.image[rows] * size, x[at] + image[at] * size, rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(state.velocity[rows], v[at], rtol=0, atol=1e-12)
    whole_chains = state.position[:210].reshape(2, 105, 3)
    np.testing.assert_allclose(np.linalg.norm(np.diff(whole_chains, axis=1), axis=2), 1.0, rtol=0, atol=1e-12)


def test_another_run_starts_from_its_beads(whole, tmp_path):
    folder, path = whole
    found = newest(folder)
    for stretches in ("100", "0"):
        settings = ('initial.method="file"', f'initial.file="{found}"', f"propagator.stretches={stretches}")
        other = run_here(path, tmp_path / stretches, until=0.1, settings=settings)
        with frames_in(other / "trajectory.h5") as after, frames_in(folder / "trajectory.h5") as before:
            places = [after.table("position", 0), before.table("position", len(before) - 1)]
        np.testing.assert_allclose(*places, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "setting, word",
    [
        ({"propagator": {"stretches": 100, "name": "collocation", "step": 0.1}}, "propagator.stretches"),
        ({"propagator": {"stretches": 1.5}}, 'propagator.stretches: 1.5 is not a whole number; or give "auto"'),
        (
            {"propagator": {"stretches": 100}, "run": {"end_time": 1.0, "engine": "steps"}, "steps": {"step": 0.01}},
            'means nothing for run.engine "steps"',
        ),
    ],
)
def test_what_does_not_go_with_them_is_said(tmp_path, setting, word):
    path = write_input(tmp_path / "in.toml", TABLES | setting)
    with pytest.raises(ConfigError, match=word):
        load_config(path)


def test_only_files_of_divided_chains_have_a_table_of_parts(whole, tmp_path):
    path = write_input(
        tmp_path / "in.toml", TABLES | {"propagator": {"stretches": 0}, "run": {"end_time": 0.1, "sectors": "auto"}}
    )
    with h5py.File(newest(run_here(path, tmp_path / "a"))) as file:
        assert "parts" not in file["state"]
    with h5py.File(newest(whole[0])) as file:
        assert "parts" in file["state"]


def changed(rows, columns, change):
    """Return a change of a file's `state/parts`, of some beads (in chains: 0 ... 209) and columns."""

    def apply(file):
        table = file["state/parts"][()]
        table[rows, columns] = change(table[rows, columns])
        file["state/parts"][...] = table

    return apply


WRONG = {
    "not a number": (changed(7, W.PART_SERIES + 3, lambda x: np.nan), "finite"),
    "huge": (changed(7, W.PART_SERIES + 3, lambda x: 1e300), "bond"),
    "infinite": (changed(7, W.PART_SPEED, lambda x: np.inf), "finite"),
    "of a short chain": (changed(212, W.PART_SERIES, lambda x: 1.0), "not divided"),
    "one bead's length": (changed(7, W.PART_LENGTH, lambda x: 2.0 * x), "other beads"),
    "an order beyond the highest": (changed(slice(0, 16), W.PART_ORDER, lambda x: x + 100.0), "order"),
    "half an order": (changed(slice(0, 16), W.PART_ORDER, lambda x: x - 0.5), "order"),
    "a lower order": (changed(slice(0, 16), W.PART_ORDER, lambda x: x - 1.0), "behind its order"),
    "no length": (changed(slice(0, 16), W.PART_LENGTH, lambda x: 0.0), "length"),
    "over long ago": (changed(slice(16, 32), W.PART_LENGTH, lambda x: 1e-9), "ended"),
    "a negative bound": (changed(3, W.PART_ACCELERATION, lambda x: -x), "acceleration"),
    "too slow a bound": (changed(3, W.PART_SPEED, lambda x: 1e-3 * x), "speed"),
    "another path": (changed(15, W.PART_SERIES, lambda x: x + 1.0), "bond"),
    "another centre": (changed(slice(0, 105), W.PART_CENTRE, lambda x: x + 0.1), "centre"),
    "two centres": (changed(slice(0, 16), W.PART_CENTRE, lambda x: x + 1e-9), "centre"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parts_are_refused(whole, tmp_path, name):
    change, word = WRONG[name]
    path = spoil(newest(whole[0]), tmp_path / "ckpt.h5", change)
    with pytest.raises(DataError, match=word) as said:
        read_checkpoint(path)
    assert "ckpt.h5: state/parts: " in str(said.value)


@pytest.mark.parametrize("columns", [None, 5, 1000])
def test_a_file_without_parts_is_refused(whole, tmp_path, columns):
    def change(file):
        del file["state/parts"]
        if columns is not None:
            file["state/parts"] = np.zeros((255, columns))

    path = spoil(newest(whole[0]), tmp_path / "ckpt.h5", change)
    with pytest.raises(DataError, match="parts"):
        read_checkpoint(path)


def test_parts_of_whole_chains_are_refused(whole, tmp_path):
    def change(file):
        text = file["config_toml"][()].tobytes().replace(b"stretches = 100", b"stretches = 0")
        del file["config_toml"]
        file["config_toml"] = np.frombuffer(text, np.uint8)

    path = spoil(newest(whole[0]), tmp_path / "ckpt.h5", change)
    with pytest.raises(DataError, match="divides no chain"):
        read_checkpoint(path)
