"""Runs whose beads spin: restarts leave no trace, files have what they say, other runs start from them."""

import h5py
import numpy as np
import pytest

from hpcchain import api
from hpcchain.parallel.comm import Single
from tests.support.outputs import frames_in, read_events
from tests.support.run_folders import EVERY, difference, resume_here, run_here, write_input

TABLES = {
    "box": {"size": [4.0, 4.0, 4.0], "boundary": ["wall", "periodic", "periodic"]},
    "molecule": [
        {
            "name": "A",
            "kind": "monomer",
            "count": 4,
            "moment": 0.2,
            "directors": True,
            "orientations": [[1, 0, 0, 0], [0.6, 0.8, 0, 0], [0.6, 0, 0, 0.8], [0, 0, 1, 0]],
            "positions": [[1, 1, 1], [2.5, 1, 1], [1, 2.5, 1], [1, 1, 2.5]],
            "velocities": [[1, 0.2, 0], [-1, 0, 0.1], [0.3, -1, 0.5], [0, 0.2, -1]],
            "angular_velocities": [[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 0, 0]],
        },
        {
            "name": "B",
            "kind": "chain",
            "beads": 2,
            "types": ["H", "P"],
            "positions": [[3, 3, 2.5], [3, 3, 3.5]],
            "velocities": [[-1, 0, 0], [-1, 0, 0]],
        },
    ],
    "initial": {"method": "explicit"},
    "contact": {"tangential_restitution": -1.0},
    "contact.pair": [
        {"types": ["A", "x-"], "restitution": 0.9},
        {"types": ["A", "P"], "restitution": 0.8, "contact_time": 0.01},
    ],
    "run": {"end_time": 3.0},
    "output": {"events": True, "frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1.0},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run in one piece, and its input."""
    folder = tmp_path_factory.mktemp("rough")
    path = write_input(folder / "in.toml", TABLES)
    return run_here(path, folder / "a"), path


def test_a_restart_leaves_no_trace(whole, tmp_path):
    folder, path = whole
    other = run_here(path, tmp_path / "b", until=1.3)
    resume_here(other, until=3.0)
    assert difference(folder, other, EVERY) is None


def test_frames_events_and_reports_have_the_spins(whole):
    folder, _ = whole
    with frames_in(folder / "trajectory.h5") as found:
        assert found.fixed.names == ["A", "H", "P"]
        assert found.table("angular_velocity", 0)[:4].tolist() == TABLES["molecule"][0]["angular_velocities"]
        assert np.allclose(found.fixed.moment_of_inertia, [0.2] * 4 + [0.1] * 2)
        last = found.table("angular_velocity", len(found) - 1)
        first, end = (found.table("orientation", k) for k in (0, len(found) - 1))
        assert first[:4].tolist() == TABLES["molecule"][0]["orientations"]
        assert np.all(end[4:] == [1, 0, 0, 0])
        moved = end[:4] - first[:4]
        assert np.all(np.linalg.norm(moved, axis=1) > 0.01)
        turning = 0.5 * np.sum(found.fixed.moment_of_inertia[:, None] * last**2)
    events = read_events(folder / "events.h5")
    assert len(events) > 5
    assert np.abs(events["tangential"]).max() > 0.1
    walls = events[events["kind"] == 1]
    assert np.all(walls["tangential"][:, 0] == 0.0)  # walls are along x
    with h5py.File(folder / "observables.h5") as file:
        energy, kinetic = file["rotational_energy/value"][...], file["kinetic_energy/value"][...]
        assert abs(energy[-1] - turning) < 1e-14
        assert np.allclose(file["rotational_temperature/value"][...], 2.0 * energy / 18.0)
    assert np.all(np.diff(energy + kinetic) < 1e-13)  # e_t = -1 keeps it, e_n of pairs does not


def test_a_start_from_a_checkpoint_keeps_the_spins(whole, tmp_path):
    folder, _ = whole
    source = sorted((folder / "checkpoints").glob("*.h5"))[-1]
    tables = {"initial": {"method": "file", "file": str(source)}, "contact": TABLES["contact"]}
    given = ("positions", "velocities", "angular_velocities", "orientations")
    tables["molecule"] = [{key: kind[key] for key in kind if key not in given} for kind in TABLES["molecule"]]
    tables |= {"box": TABLES["box"], "run": {"end_time": 0.0}, "output": {"frame_every": 1.0}}
    found = run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "c")
    with frames_in(found / "trajectory.h5") as frames, frames_in(folder / "trajectory.h5") as before:
        spins, orientations = (
            (frames.table(name, 0), before.table(name, len(before) - 1)) for name in ("angular_velocity", "orientation")
        )
        assert np.array_equal(*spins)
        np.testing.assert_allclose(*orientations, atol=1e-15)


def test_a_start_that_is_built_has_the_spins_of_its_input(whole, tmp_path):
    folder, path = whole
    api.build(path, tmp_path / "s.h5", comm=Single())
    tables = TABLES | {"initial": {"method": "file", "file": str(tmp_path / "s.h5")}}
    given = ("positions", "velocities", "angular_velocities", "orientations")
    tables["molecule"] = [{key: kind[key] for key in kind if key not in given} for kind in TABLES["molecule"]]
    other = run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "d")
    assert difference(folder, other, ("trajectory", "events")) is None
