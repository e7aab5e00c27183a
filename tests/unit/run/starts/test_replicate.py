"""`hpcchain build --replicate`: what it writes, prints and refuses, from any kind of start, in memory that is flat."""

import gc
import tracemalloc

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.tools.compare import compare
from hpcchain.io.tools.inspect import info
from hpcchain.model.starts import replicate_system
from hpcchain.model.starts.given import check_start
from hpcchain.model.starts.replicate_system import Copies, Thermal
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import build_system
from hpcchain.parallel import slabs
from hpcchain.parallel.comm import Single
from hpcchain.parallel.signals import Stopped
from hpcchain.run.starts import replicate
from hpcchain.run.starts.replicate import enlarged
from hpcchain.run.starts.start_from_file import system_from_file
from tests.support.copied import SIZE, longer, mixed, turning
from tests.support.run_folders import write_input


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let small boxes have many blocks, units and stretches."""
    monkeypatch.setattr(slabs, "BLOCK", 8)
    monkeypatch.setattr(replicate, "BLOCKS", 2)
    monkeypatch.setattr(replicate_system, "UNIT", 9)


@pytest.fixture
def folder(tmp_path):
    write_input(tmp_path / "in.toml", mixed())
    return tmp_path


def build(capsys, folder, *words, source="in.toml", code=0):
    """Run `hpcchain build` for start.h5; return what it printed and what it said."""
    args = [folder / source, "-o", folder / "start.h5", *words]
    assert main(["build", *map(str, args)]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out, captured.err


def test_the_file_holds_the_copies(capsys, folder):
    build(capsys, folder, "--replicate", "2", "1", "3")
    one, found = build_system(load_config(folder / "in.toml")), read_checkpoint(folder / "start.h5")
    whole = Copies(one.box, one.topology, one.state.position, (2, 1, 3))
    thermal, beads = Thermal(whole, 1.7, 5), 6 * one.topology.beads
    thermal.settle(thermal.sums(0, beads))
    expected = thermal.state(0, beads)
    for name in expected.ARRAYS:
        assert np.array_equal(getattr(found.system.state, name), getattr(expected, name)), name
    check_start("start.h5", found.system.box, found.system.topology.whole(), expected.position, expected.velocity)
    assert found.time == 0.0 and found.counters == {}
    assert found.system.physics.tick == pytest.approx(one.physics.tick, rel=3.0) or one.state.velocity.max() == 0.0


def test_what_it_prints_is_the_input_of_the_large_box(capsys, folder):
    """As the file says itself, and as a run takes it."""
    printed, _ = build(capsys, folder, "--replicate", "2", "1", "3", "--set", "run.end_time=0.25")
    (folder / "large.toml").write_text(printed)
    large, small = load_config(folder / "large.toml"), load_config(folder / "in.toml", ["run.end_time=0.25"])
    assert large.box.size == (2 * SIZE[0], SIZE[1], 3 * SIZE[2]) and large.box.origin == small.box.origin
    assert [kind.count for kind in large.molecules] == [6 * kind.count for kind in small.molecules]
    assert (large.initial.method, large.initial.file) == ("file", str(folder / "start.h5"))
    assert (large.initial.seed, large.run, large.output) == (5, small.run, small.output)
    assert read_checkpoint(folder / "start.h5").config.to_toml() == printed
    assert main(["check", str(folder / "large.toml")]) == 0
    assert "# 180 beads, " in capsys.readouterr().out
    system = system_from_file(large)
    assert system.topology.names == ("chain", "ring", "single", "rod") and system.topology.beads == 180
    facts = info(folder / "start.h5")
    assert "84 (18 chain, 6 ring, 54 single, 6 rod)" in facts and "14.6 x 8.1" in facts


def test_names_and_molecules_may_be_left_out_with_a_start_file(capsys, folder):
    build(capsys, folder)
    (folder / "start.h5").rename(folder / "one.h5")
    tables = mixed(initial={"method": "file", "file": "one.h5", "temperature": 1.7, "seed": 5}) | {"molecule": []}
    write_input(folder / "file.toml", tables)
    printed, _ = build(capsys, folder, "--replicate", "2", "1", "3", source="file.toml")
    (folder / "start.h5").rename(folder / "of-file.h5")
    assert printed.count("[[molecule]]") == len(mixed()["molecule"])
    build(capsys, folder, "--replicate", "2", "1", "3")
    assert compare(folder / "start.h5", folder / "of-file.h5") is None
    _, said = build(capsys, folder, "--replicate", *["100000000"] * 3, source="file.toml", code=78)
    assert f"{30 * 10**24} beads in all are more than 2147483648" in said


def test_spheres_of_copies_have_random_orientations(capsys, tmp_path):
    """Those of a start file without any: by the seed and the number in the whole, wherever one copy comes from."""
    write_input(tmp_path / "in.toml", turning())
    printed, _ = build(capsys, tmp_path, "--replicate", "2", "1", "3")
    (tmp_path / "large.toml").write_text(printed)
    config = load_config(tmp_path / "large.toml")
    assert "orientations" not in printed and "angular_velocities" not in printed
    system, wanted = system_from_file(config), build_directors(config)
    found, expected = (each.start(system.topology, 0, 180) for each in (system.directors, wanted))
    assert system.directors.table is None
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))
    assert len(np.unique(found[0], axis=0)) == 54 + 1 and system.directors.step.tolist() == [0.0, 0.0, 0.01, 0.0]
    assert "single (moment 0.3, null-space steps of 0.01)" in info(tmp_path / "start.h5")
    (tmp_path / "start.h5").rename(tmp_path / "large.h5")
    build(capsys, tmp_path)
    (tmp_path / "start.h5").rename(tmp_path / "one.h5")
    assert "single (moment 0.3" in info(tmp_path / "one.h5")
    initial = {"method": "file", "file": "one.h5", "temperature": 1.7, "seed": 5}
    propagator = {"name": "variational", "step": 0.01}
    write_input(tmp_path / "file.toml", turning() | {"initial": initial, "molecule": [], "propagator": propagator})
    build(capsys, tmp_path, "--replicate", "2", "1", "3", source="file.toml")
    again = read_checkpoint(tmp_path / "start.h5").system
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(again.directors.start(again.topology, 0, 180), found, strict=True)
    )


def test_one_copy_is_the_start_with_velocities_of_its_own(capsys, folder):
    build(capsys, folder, "--replicate", "1", "1", "1")
    found = read_checkpoint(folder / "start.h5").system
    one = build_system(load_config(folder / "in.toml"))
    assert np.array_equal(found.state.position, one.state.position) and found.state.velocity.std() > 0.5


def test_copies_of_copies(capsys, folder):
    """A start made so is a start like any other; molecules stand where they would have stood at once."""
    printed, _ = build(capsys, folder, "--replicate", "2", "1", "1")
    (folder / "two.toml").write_text(printed.replace("start.h5", "two.h5"))
    (folder / "start.h5").rename(folder / "two.h5")
    build(capsys, folder, "--replicate", "1", "1", "2", source="two.toml")
    four = read_checkpoint(folder / "start.h5").system
    build(capsys, folder, "--replicate", "2", "1", "2")
    at_once = read_checkpoint(folder / "start.h5").system
    apart = [np.round(each.state.position, 9).tolist() for each in (four, at_once)]
    assert sorted(apart[0]) == sorted(apart[1]) and np.array_equal(
        four.topology.whole().kind, at_once.topology.whole().kind
    )


@pytest.mark.parametrize("kind", ["chain", "rod"])
def test_a_molecule_longer_than_the_box_becomes_several(capsys, tmp_path, kind):
    """It met its own images; these are now beads of others. A large box in which it still is longer is one, too."""
    write_input(tmp_path / "in.toml", longer(kind))
    for numbers in ((2, 1, 1), (3, 2, 2)):
        printed, _ = build(capsys, tmp_path, "--replicate", *map(str, numbers))
        (tmp_path / "large.toml").write_text(printed)
        assert system_from_file(load_config(tmp_path / "large.toml")).topology.molecules == np.prod(numbers)


@pytest.mark.parametrize(("boundary", "axis"), [("wall", 0), ("open", 2)])
def test_an_axis_that_is_not_periodic_cannot_be_copied(capsys, tmp_path, boundary, axis):
    boundaries = ["periodic"] * 3
    boundaries[axis] = boundary
    write_input(
        tmp_path / "in.toml",
        mixed(molecule=[mixed()["molecule"][1]]) | {"box": {"size": list(SIZE), "boundary": boundaries}},
    )
    numbers = ["3", "3", "3"]
    _, said = build(capsys, tmp_path, "--replicate", *numbers, code=2)
    assert f'3 copies along axis {axis}, but box.boundary is "{boundary}" there' in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.toml"]
    numbers[axis] = "1"
    build(capsys, tmp_path, "--replicate", *numbers)


def test_spheres_of_copies_too_fast_for_their_steps_are_refused(capsys, tmp_path):
    write_input(tmp_path / "in.toml", turning(0.15))
    build(capsys, tmp_path)
    (tmp_path / "start.h5").unlink()
    said = build(capsys, tmp_path, "--replicate", "2", "1", "3", code=78)[1]
    assert "in.toml: propagator.step: 0.15 is too long for how fast bead" in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.toml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["2", "2"], "expected 3 arguments"),
        (["2", "2", "0"], "'0' is not a number of copies"),
        (["2", "-1", "2"], "NX NY NZ"),
        (["2", "1.5", "2"], "'1.5' is not"),
        (["99999999999", "1", "1"], "is not a number"),
    ],
)
def test_numbers_that_are_none(capsys, folder, words, said):
    assert said in build(capsys, folder, "--replicate", *words, code=2)[1]


@pytest.mark.parametrize("numbers", [("2000", "2000", "2000"), ("900000000", "1", "1")])
def test_more_than_can_be_is_refused_at_once(capsys, folder, numbers):
    said = build(capsys, folder, "--replicate", *numbers, code=78)[1]
    assert "in.toml: --replicate: " in said and "are more than 2147483648" in said


def test_a_box_too_long_for_the_digits_of_its_places_is_refused_at_once(capsys, tmp_path):
    write_input(tmp_path / "in.toml", longer())
    said = build(capsys, tmp_path, "--replicate", "100000000", "1", "1", code=78)[1]
    assert "--replicate: the box would be so long" in said and "give fewer copies" in said
    assert [path.name for path in tmp_path.iterdir()] == ["in.toml"]


def damaged(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (damaged, 65),
        (lambda path: path.write_text("no start"), 65),
        (lambda path: path.unlink(), 65),
        (lambda path: None, 78),
    ],
)
def test_a_source_that_is_damaged_foreign_missing_or_of_another_box(capsys, folder, harm, code):
    build(capsys, folder)
    (folder / "start.h5").rename(folder / "one.h5")
    harm(folder / "one.h5")
    tables = mixed(initial={"method": "file", "file": "one.h5"}) | {"molecule": []}
    write_input(folder / "file.toml", tables | ({"box": {"size": [9.0, 9.0, 9.0]}} if code == 78 else {}))
    _, said = build(capsys, folder, "--replicate", "2", "2", "2", source="file.toml", code=code)
    assert "one.h5" in said and said.count("\n") == 1 and not (folder / "start.h5").exists()


def test_what_overlaps_is_refused(folder):
    """A source that comes from elsewhere: inputs and start files are looked through before."""
    system = build_system(load_config(folder / "in.toml"))
    system.state.position[20] -= [0.0, 0.2, 0.0]
    large = enlarged(load_config(folder / "in.toml"), (2, 1, 1), folder / "start.h5")
    with pytest.raises(ConfigError, match="beads 19 and 20 overlap"):
        replicate.write_copies(folder / "start.h5", large, system, (2, 1, 1), Single())
    assert [path.name for path in folder.iterdir()] == ["in.toml"]


def test_a_stop_leaves_nothing(folder):
    large = enlarged(load_config(folder / "in.toml"), (2, 2, 2), folder / "start.h5")
    system = build_system(load_config(folder / "in.toml"))
    calls = iter([False] * 25 + [True] * 100)
    with pytest.raises(Stopped, match="nothing is kept"):
        replicate.write_copies(folder / "start.h5", large, system, (2, 2, 2), Single(), lambda: next(calls))
    assert next(calls) and [path.name for path in folder.iterdir()] == ["in.toml"]


@pytest.mark.parametrize("tables", [mixed(), turning()], ids=["mixed", "turning"])
def test_what_is_allocated_does_not_follow_the_number_of_copies(tmp_path, monkeypatch, tables):
    """Peak bytes for 1 copy of 30 beads, 64 and 256: what they grow by is less than 4 bytes for each bead more."""
    monkeypatch.setattr(slabs, "BLOCK", 64)
    monkeypatch.setattr(replicate_system, "UNIT", 64)
    config = load_config(write_input(tmp_path / "in.toml", tables))
    system, peaks = build_system(config), []
    gc.freeze()
    for numbers in ((4, 4, 4), (1, 1, 1), (4, 4, 4), (4, 8, 8)):  # the first makes what is made once
        large = enlarged(config, numbers, tmp_path / "start.h5")
        tracemalloc.start()
        replicate.write_copies(tmp_path / "start.h5", large, system, numbers, Single(), lambda: gc.collect() < 0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    gc.unfreeze()
    assert max(peaks[1:]) - peaks[1] < 4 * 255 * 30, peaks
