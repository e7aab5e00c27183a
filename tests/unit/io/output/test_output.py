"""Parts and the files made of them: trajectory, observables, event log; kills and resumes leave no trace."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from hpcchain.errors import DataError, EngineError
from hpcchain.io.hdf5 import atomic
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.events import EVENT
from hpcchain.io.output.parts import PartWriter, list_parts, read_head, remove_from
from hpcchain.io.output.trajectory import VECTORS, Lasting, read_trajectory
from hpcchain.io.tools.compare import compare
from tests.support.io_samples import events_between, frame_of, system_of
from tests.support.outputs import frames_in, read_events, read_observables

LENGTHS = [1, 3, 5, 2]
BEADS = 11
NONE = {"frames": 0, "events": 0, "reports": 0}


@pytest.fixture
def system():
    return system_of(LENGTHS)


def write_part(run_dir, system, index, start=None, frames=2, events=15, log_events=True):
    """Write part `index` of a run with so many frames, reports and events in each unit of time."""
    (run_dir / "parts").mkdir(parents=True, exist_ok=True)
    writer = PartWriter(run_dir / "parts", index, None, system.topology, start, log_events)
    for number in range(frames):
        count = index * frames + number
        writer.frame(index + number / frames, *frame_of(BEADS, count))
        writer.report({"energy": count / 3, "momentum": np.arange(3.0) + count}, index + number / frames)
    table = events_between(index, index + 1, events, seed=index)
    writer.events(table[: events // 2])
    writer.events(table[events // 2 :])
    writer.close()
    return writer.counters


def write_parts(run_dir, system, first, last, start=None, **options):
    """Write several parts; return the counters of the checkpoint after each."""
    counters = [start or NONE]
    for index in range(first, last):
        counters.append(write_part(run_dir, system, index, counters[-1], **options))
    return counters[1:]


def finish(run_dir, system, counters):
    assemble(run_dir, None, Lasting(system.topology, system.box), counters)


def whole_run(run_dir, system, parts=4):
    finish(run_dir, system, write_parts(run_dir, system, 0, parts)[-1])
    return run_dir


def same_files(a, b):
    return [compare(a / f"{name}.h5", b / f"{name}.h5") for name in ("trajectory", "observables", "events")]


def test_everything_put_out_is_in_the_files(tmp_path, system):
    run = whole_run(tmp_path / "run", system)
    with frames_in(run / "trajectory.h5") as found:
        assert found.time.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]
        assert found.step.tolist() == list(range(8))
        for number in range(8):
            for name, expected in zip(VECTORS, frame_of(BEADS, number), strict=True):
                stored = found.table(name, number)
                assert stored.dtype == expected.dtype and stored.tobytes() == expected.tobytes()
        assert np.array_equal(found.fixed.bonds, system.topology.whole().bonds)
        assert found.fixed.periodic.tolist() == [True, False, False]
    series = read_observables(run / "observables.h5")
    assert series["energy"][2].tolist() == [count / 3 for count in range(8)]
    assert series["momentum"][2].shape == (8, 3)
    assert list_parts(run / "parts") == []


def test_events_are_in_the_order_of_time_and_beads(tmp_path, system):
    table = read_events(whole_run(tmp_path / "run", system) / "events.h5")
    given = np.concatenate([events_between(index, index + 1, 15, seed=index) for index in range(4)])
    keys = [(row["time"], *row["bead"].tolist()) for row in table]
    assert keys == sorted(keys)
    assert len(set(table["time"])) < len(table)
    assert sorted(map(bytes, table)) == sorted(map(bytes, given))


@pytest.mark.parametrize("stops", [(1,), (3,), (1, 2, 3), (4,)])
def test_stopped_and_resumed_runs_make_the_same_files(tmp_path, system, stops):
    whole = whole_run(tmp_path / "whole", system)
    counters, done = NONE, 0
    for stop in (*stops, 4):
        counters = (write_parts(tmp_path / "run", system, done, stop, counters) or [counters])[-1]
        finish(tmp_path / "run", system, counters)
        done = stop
    assert same_files(whole, tmp_path / "run") == [None] * 3


def test_going_back_to_an_older_checkpoint_drops_later_rows(tmp_path, system):
    whole = whole_run(tmp_path / "whole", system)
    counters = write_parts(tmp_path / "run", system, 0, 3)
    finish(tmp_path / "run", system, counters[-1])
    finish(tmp_path / "run", system, counters[0])
    assert len(read_events(tmp_path / "run" / "events.h5")) == counters[0]["events"]
    again = write_parts(tmp_path / "run", system, 1, 4, counters[0])
    finish(tmp_path / "run", system, again[-1])
    assert same_files(whole, tmp_path / "run") == [None] * 3


@pytest.mark.parametrize("moment", range(9))
def test_killed_while_assembling_and_called_again_ends_in_the_same_files(tmp_path, system, moment, monkeypatch):
    whole = whole_run(tmp_path / "whole", system)
    run = tmp_path / "run"
    early = write_parts(run, system, 0, 1)[-1]
    finish(run, system, early)
    late = write_parts(run, system, 1, 4, early)[-1]

    class Killed(BaseException):
        pass

    calls = []

    def dying(action):
        def act(*arguments, **options):
            calls.append(action)
            if len(calls) > moment:
                raise Killed
            return action(*arguments, **options)

        return act

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_rename", dying(atomic._rename))
        patch.setattr(Path, "unlink", dying(Path.unlink))
        patch.setattr(atomic, "discard", lambda *arguments: None)
        with pytest.raises(Killed):
            finish(run, system, late)
    finish(run, system, late)
    assert same_files(whole, run) == [None] * 3
    assert list_parts(run / "parts") == []


def test_a_missing_part_is_noticed_before_anything_changes(tmp_path, system):
    counters = write_parts(tmp_path, system, 0, 3)[-1]
    (tmp_path / "parts" / "part-000001.h5").unlink()
    with pytest.raises(DataError, match="part-000002.h5.*a part is missing"):
        finish(tmp_path, system, counters)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["parts"]


def test_counters_that_the_parts_do_not_reach_are_refused(tmp_path, system):
    counters = write_parts(tmp_path, system, 0, 2)[-1]
    with pytest.raises(DataError, match="ends at 4 frames, .* where 5 frames, .* a part is missing"):
        finish(tmp_path, system, counters | {"frames": 5})


def test_an_earlier_file_that_is_too_short_is_refused(tmp_path, system):
    counters = write_parts(tmp_path, system, 0, 1)
    finish(tmp_path, system, counters[0])
    more = write_parts(tmp_path, system, 1, 2, {name: 100 for name in NONE})
    with pytest.raises(DataError, match="trajectory.h5: has 2 rows where 100 are counted on"):
        finish(tmp_path, system, more[-1])


def test_without_an_earlier_file_that_has_rows_nothing_is_joined(tmp_path, system):
    counters = write_parts(tmp_path, system, 2, 3, {"frames": 4, "events": 30, "reports": 4})
    with pytest.raises(DataError, match="trajectory.h5: nothing is there of 4 frames before part-000002.h5"):
        finish(tmp_path, system, counters[-1])
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_no_event_log_is_made_unless_asked_for(tmp_path, system):
    finish(tmp_path / "a", system, write_parts(tmp_path / "a", system, 0, 1, events=0, log_events=False)[-1])
    finish(tmp_path / "b", system, write_parts(tmp_path / "b", system, 0, 1, events=0, log_events=True)[-1])
    assert not (tmp_path / "a" / "events.h5").exists()
    assert len(read_events(tmp_path / "b" / "events.h5")) == 0


def test_a_part_that_was_never_closed_is_a_leftover(tmp_path, system):
    counters = write_parts(tmp_path, system, 0, 2)[-1]
    writer = PartWriter(tmp_path / "parts", 2, None, system.topology, counters)
    writer.frame(2.0, *frame_of(BEADS, 4))
    killed = shutil.copy(atomic.temporary(writer.path), tmp_path / "copy")
    writer.abort()
    shutil.move(killed, atomic.temporary(writer.path))
    assert [index for index, _ in list_parts(tmp_path / "parts")] == [0, 1]
    remove_from(tmp_path / "parts", 1)
    assert [p.name for p in (tmp_path / "parts").iterdir()] == ["part-000000.h5"]


def test_a_part_says_what_it_covers(tmp_path, system):
    counters = write_parts(tmp_path, system, 0, 2)
    head = read_head(list_parts(tmp_path / "parts")[1][1])
    totals = [{name: count[name] for name in NONE} for count in counters]
    assert (head.index, head.start, head.end, head.count("events")) == (1, *totals, 15)
    assert [head.after, head.seal] == [count["part_seal"] for count in counters]


def test_reports_with_other_names_are_refused(tmp_path, system):
    writer = PartWriter(tmp_path, 0, None, system.topology)
    writer.report({"energy": 1.0}, 0.0)
    with pytest.raises(EngineError, match="time 1.0"):
        writer.report({"pressure": 1.0}, 1.0)
    writer.abort()
    assert not list(tmp_path.iterdir())


def test_an_observable_that_begins_later_keeps_its_rows(tmp_path, system):
    counters = [NONE]
    for index, names in enumerate((("a",), ("a", "b"), ("a", "b"))):
        (tmp_path / "parts").mkdir(exist_ok=True)
        writer = PartWriter(tmp_path / "parts", index, None, system.topology, counters[-1])
        writer.report({name: float(index) for name in names}, float(index))
        writer.close()
        counters.append(writer.counters)
        finish(tmp_path, system, counters[-1])
    series = read_observables(tmp_path / "observables.h5")
    assert series["a"][2].tolist() == [0, 1, 2]
    assert series["b"][2].tolist() == [1, 2]
    finish(tmp_path, system, counters[2])
    assert read_observables(tmp_path / "observables.h5")["b"][2].tolist() == [1]


def test_no_output_at_all_makes_files_without_rows(tmp_path, system):
    finish(tmp_path, system, write_parts(tmp_path, system, 0, 1, frames=0, events=0)[-1])
    assert len(read_trajectory(tmp_path / "trajectory.h5")) == 0
    assert read_observables(tmp_path / "observables.h5") == {}


def test_the_layout_is_h5md(tmp_path, system):
    with h5py.File(whole_run(tmp_path, system) / "trajectory.h5") as file:
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert file["h5md/creator"].attrs["name"] and file["h5md/author"].attrs["name"]
        group = file["particles/trajectory"]
        assert group["box"].attrs["boundary"].tolist() == [b"periodic", b"none", b"none"]
        assert group["box"].attrs["dimension"] == 3
        assert group["box/edges/value"][...].tolist() == [[7.0, 8.0, 9.1]] * 8
        for name in ("velocity", "image", "box/edges"):
            assert group[f"{name}/time"] == group["position/time"]
            assert group[f"{name}/step"] == group["position/step"]
        assert group["id"][...].tolist() == list(range(BEADS))
        assert group["species"][...].tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]
        assert group["mass"].shape == (BEADS,)
        assert file[file["connectivity/bonds"].attrs["particles_group"]] == group
        assert file["parameters/vmd_structure/bond_from"][0] == system.topology.whole().bonds[0, 0] + 1
        assert file["parameters/vmd_structure/bond_to"][-1] == system.topology.whole().bonds[-1, 1] + 1
        units = []
        file.visititems(lambda name, node: units.extend(a for a in node.attrs if a == "unit"))
        assert units == []


def test_mdanalysis_opens_the_trajectory(tmp_path, system):
    mda = pytest.importorskip("MDAnalysis")
    path = whole_run(tmp_path, system) / "trajectory.h5"
    universe = mda.Universe.empty(BEADS, trajectory=False)
    universe.load_new(str(path), format="H5MD", convert_units=False)
    assert len(universe.trajectory) == 8
    for number, frame in enumerate(universe.trajectory):
        position, velocity, _ = frame_of(BEADS, number)
        assert np.array_equal(frame.positions, position.astype(np.float32))
        assert np.array_equal(frame.velocities, velocity.astype(np.float32))
        assert frame.time == number / 2
        assert frame.dimensions.tolist() == np.float32([7.0, 8.0, 9.1, 90, 90, 90]).tolist()
    universe.trajectory.close()


def test_the_event_log_has_the_promised_columns(tmp_path, system):
    with h5py.File(whole_run(tmp_path, system) / "events.h5") as file:
        types = {name: (node.dtype, node.shape[1:]) for name, node in file["events"].items()}
    assert types == {
        "time": (np.dtype("f8"), ()),
        "kind": (np.dtype("u1"), ()),
        "bead": (np.dtype("i8"), (2,)),
        "impulse": (np.dtype("f8"), ()),
    }
    assert set(types) == set(EVENT.names)
