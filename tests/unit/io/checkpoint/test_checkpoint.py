"""Checkpoints: what is written comes back to the bit; what is damaged, foreign or impossible is refused."""

import dataclasses
import os
import re
import tracemalloc

import h5py
import numpy as np
import pytest

from hpcchain.errors import DataError
from hpcchain.io.checkpoint import checkpoint, layout
from hpcchain.io.checkpoint.checkpoint import (
    read_checkpoint,
    read_outline,
    read_perf,
    read_progress,
    write_checkpoint,
)
from hpcchain.io.checkpoint.layout import STATE
from hpcchain.io.checkpoint.store import checkpoint_name, list_checkpoints, newest_valid, prune
from hpcchain.io.hdf5 import seal
from hpcchain.io.hdf5.atomic import temporary
from hpcchain.io.hdf5.collective import plain
from hpcchain.model.system import State
from hpcchain.parallel import slabs as parallel_slabs
from tests.support.io_samples import input_for, same_state, same_system, same_topology, system_of


@pytest.fixture
def system():
    return system_of([1, 3, 5, 2])


COUNTS = {"frames": 3, "frame_time": 0.0, "events": 10}


def write(path, system, time=1.5, **options):
    write_checkpoint(path, None, system, time, COUNTS, input_for(system), **options)


@pytest.mark.parametrize("lengths", [[1], [1, 1, 1], [1, 3, 5, 2], [20] * 500])
def test_a_checkpoint_comes_back_to_the_bit(tmp_path, lengths):
    system = system_of(lengths)
    write(tmp_path / "c.h5", system, time=0.1 + 0.2)
    found = read_checkpoint(tmp_path / "c.h5")
    assert same_system(found.system, system)
    assert found.time == 0.1 + 0.2
    assert found.counters == COUNTS
    assert found.config == input_for(system) and found.config.title == "é"
    assert found.provenance["numpy"] == np.__version__


def test_every_array_of_the_data_model_has_a_table():
    assert {*STATE, "extra", "parts"} == set(State.ARRAYS)


def test_an_outline_is_a_checkpoint_without_states(tmp_path, monkeypatch):
    """In pieces of one block; what is wrong with a state is found all the same."""
    monkeypatch.setattr(parallel_slabs, "BLOCK", 4)
    monkeypatch.setattr(checkpoint, "OUTLINED", 1)
    system = system_of([4] * 7)
    write(tmp_path / "c.h5", system, time=0.3)
    found, whole = read_outline(tmp_path / "c.h5"), read_checkpoint(tmp_path / "c.h5")
    assert same_topology(found.system.topology.whole(), system.topology.whole())
    assert len(found.system.state.position) == 0
    assert found.system.physics == system.physics and np.array_equal(found.system.box.size, system.box.size)
    for name in ("time", "counters", "config", "provenance"):
        assert getattr(found, name) == getattr(whole, name)
    system.state.velocity[-1, 2] = np.nan
    write(tmp_path / "c.h5", system)
    with pytest.raises(DataError, match="c.h5: state/velocity: of bead 27 is"):
        read_outline(tmp_path / "c.h5")


def test_what_an_outline_allocates_does_not_follow_the_number_of_beads(tmp_path, monkeypatch):
    """Peak bytes for 150,000 beads more: less than half of one each; their states and tables are 141."""
    monkeypatch.setattr(parallel_slabs, "BLOCK", 256)
    monkeypatch.setattr(checkpoint, "OUTLINED", 4)
    monkeypatch.setattr(seal, "HASH_BLOCK", 1 << 16)
    peaks = []
    for count in (16000, 1000, 16000):  # the first makes what is made once
        write(tmp_path / "c.h5", system_of([10] * count))
        tracemalloc.start()
        read_outline(tmp_path / "c.h5")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 75000, peaks


def test_special_floats_keep_their_bits(tmp_path, system):
    system.state.velocity[0] = [-0.0, 5e-324, -5e-324]
    system.state.step[0] = 5e-324
    write(tmp_path / "c.h5", system)
    assert same_state(read_checkpoint(tmp_path / "c.h5").system.state, system.state)


def test_rows_given_in_any_order_are_stored_in_bead_order(tmp_path, system):
    ids = np.random.default_rng(3).permutation(system.topology.beads)
    shuffled = State(**{name: getattr(system.state, name)[ids] for name in State.ARRAYS})
    whole = system.state
    system.state = shuffled
    write(tmp_path / "c.h5", system, ids=ids)
    assert same_state(read_checkpoint(tmp_path / "c.h5").system.state, whole)


@pytest.mark.parametrize("ids", [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9], [0, 1], list(range(1, 12))])
def test_rows_that_are_not_every_bead_once_are_refused(tmp_path, system, ids):
    with pytest.raises(DataError):
        write(tmp_path / "c.h5", system, ids=np.array(ids))
    assert not list(tmp_path.iterdir())


def test_perf_comes_back(tmp_path, system):
    write(tmp_path / "c.h5", system, perf={"search": (0.1, 0.2, 0.3)})
    assert read_perf(tmp_path / "c.h5") == {"search": (0.1, 0.2, 0.3)}


def test_an_input_above_64_kib_is_kept(tmp_path, system):
    config = dataclasses.replace(input_for(system), title="x" * 200_000)
    write_checkpoint(tmp_path / "c.h5", None, system, 1.0, {}, config)
    assert read_checkpoint(tmp_path / "c.h5").config == config


@pytest.mark.parametrize("time", [np.nan, np.inf, -1.0])
def test_an_impossible_time_is_refused_before_anything_is_written(tmp_path, system, time):
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / "c.h5", system, time=time)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_earlier_file_and_no_rubbish(tmp_path, system, monkeypatch):
    path = tmp_path / "c.h5"
    write(path, system, time=1.0)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError, match="No space left.*|writing to disk"):
        write(path, system, time=2.0)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.h5"]


def test_a_write_to_a_missing_folder_names_the_file(tmp_path, system):
    with pytest.raises(DataError, match="nowhere"):
        write(tmp_path / "nowhere" / "c.h5", system)


def reseal(path, change):
    """Apply a change to an HDF5 file and seal it again, as a faulty or hostile writer would."""
    with h5py.File(path, "r+") as file:
        change(file)
    seal.seal(path)


def replace(name, value):
    def change(file):
        del file[name]
        file[name] = value

    return change


def other_input(old, new):
    def change(file):
        text = file["config_toml"][...].tobytes().decode()
        assert old in text
        replace("config_toml", np.frombuffer(text.replace(old, new).encode(), np.uint8))(file)

    return change


def claim_terabytes(file):
    del file["state/position"]
    file.create_dataset("state/position", shape=(10**12, 3), dtype="f8", chunks=(1024, 3))


def link_outside(file):
    del file["config_toml"]
    file["config_toml"] = h5py.ExternalLink("elsewhere.h5", "/x")


def set_attribute(name, value):
    def change(file):
        file.attrs[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (claim_terabytes, "impossible type or size"),
        (link_outside, "config_toml"),
        (lambda f: f.__delitem__("state/velocity"), "velocity is missing"),
        (lambda f: f.__delitem__("checksum"), "missing"),
        (lambda f: f["state/position"].write_direct(np.zeros((11, 3))), "not written correctly"),
        (replace("state/image", np.zeros((11, 3))), "image is float64"),
        (replace("state/ticks", np.zeros(3)), "ticks is float64"),
        (replace("counters", np.frombuffer(b"{", np.uint8)), "counters|failed"),
        (replace("physics", np.frombuffer(b'{"color": 1}', np.uint8)), "physics: reading failed: 'kinds'"),
        (replace("physics", np.frombuffer(b"\xff\xfe", np.uint8)), "failed"),
        (other_input("size = [7.0, 8.0, 9.1]", "size = [7.0, -8.0, 9.1]"), "the input in it cannot be used: box.size"),
        (other_input("beads = 5", "beads = 4"), "state: is of 11 beads, the input in it of 10"),
        (other_input("[box]", "[boxes"), "the input in it cannot be used: is not valid TOML"),
        (replace("time", np.array([np.nan])), "time"),
        (set_attribute("format", 1), "format 1"),
        (set_attribute("kind", np.bytes_(b"part")), "kind"),
        (set_attribute("program", np.bytes_(b"other")), "not one that hpcchain wrote"),
        (set_attribute("format", "one"), "format one"),
    ],
)
def test_a_wrong_file_with_a_good_seal_is_refused(tmp_path, system, change, message):
    path = tmp_path / "c.h5"
    write(path, system)
    reseal(path, change)
    for read in (read_checkpoint, read_outline):
        with pytest.raises(DataError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)


def make_missing(path):
    path.unlink()


def make_folder(path):
    path.unlink()
    path.mkdir()


def make_foreign(path):
    path.unlink()
    with h5py.File(path, "w") as file:
        file["x"] = 1


@pytest.mark.parametrize(
    "harm", [make_missing, make_folder, make_foreign, lambda p: p.write_bytes(b""), lambda p: p.write_text("hello")]
)
def test_what_is_no_checkpoint_is_refused_by_name(tmp_path, system, harm):
    path = tmp_path / "c.h5"
    write(path, system)
    harm(path)
    with pytest.raises(DataError, match="c.h5"):
        read_checkpoint(path)


def test_the_seal_covers_every_byte(tmp_path, system):
    path = tmp_path / "c.h5"
    write(path, system)
    good = path.read_bytes()
    for place in (0, 40, 511, 512, 600, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 1
        path.write_bytes(bad)
        with pytest.raises(DataError):
            seal.check(path)
    for other in (good + b"\0", good[:-1]):
        path.write_bytes(other)
        with pytest.raises(DataError):
            seal.check(path)


def test_the_seal_covers_files_of_many_blocks(tmp_path):
    path = tmp_path / "c.h5"
    path.write_bytes(np.random.default_rng(1).bytes(3 * seal.HASH_BLOCK + 1234))
    seal.seal(path)
    good = path.read_bytes()
    for place in (seal.HASH_BLOCK, 2 * seal.HASH_BLOCK + 700, 3 * seal.HASH_BLOCK - 1, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 128
        path.write_bytes(bad)
        with pytest.raises(DataError, match="damaged"):
            seal.check(path)
    path.write_bytes(good)
    seal.check(path)


def test_names_sort_by_time_and_differ():
    times = [0.0, 1e-9, 0.1, 0.1 + 2e-12, 2.0, 10.0, 123456.789, 999999999.0]
    names = [checkpoint_name(time) for time in times]
    assert names == sorted(names)
    assert len(set(names)) == len(names)


def test_the_newest_good_checkpoint_is_found_and_the_refused_are_named(tmp_path, system):
    for time in (2.0, 10.0, 3.0):
        write(tmp_path / checkpoint_name(time), system, time=time)
    (tmp_path / "notes.txt").write_text("x")
    newest = tmp_path / checkpoint_name(10.0)
    assert newest_valid(tmp_path) == (newest, [])
    newest.write_bytes(newest.read_bytes()[:-100])
    found, refused = newest_valid(tmp_path)
    assert found == tmp_path / checkpoint_name(3.0)
    assert read_progress(found)[0] == 3.0
    assert [path for path, _ in refused] == [newest]
    assert "damaged, truncated" in refused[0][1]


def test_a_renamed_checkpoint_does_not_pass_for_a_later_one(tmp_path, system):
    write(tmp_path / checkpoint_name(1.0), system, time=1.0)
    (tmp_path / checkpoint_name(1.0)).rename(tmp_path / checkpoint_name(5.0))
    found, refused = newest_valid(tmp_path)
    assert found is None
    assert "renamed" in refused[0][1]


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_no_checkpoint_is_no_error(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    assert newest_valid(tmp_path / folder) == (None, [])
    prune(tmp_path / folder, 2)


def test_prune_keeps_the_latest_and_removes_leftovers(tmp_path, system):
    for time in (1.0, 2.0, 3.0, 10.0):
        write(tmp_path / checkpoint_name(time), system, time=time)
    temporary(tmp_path / checkpoint_name(11.0)).write_bytes(b"half")
    (tmp_path / "mine.h5").write_bytes(b"user's")
    prune(tmp_path, 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == [checkpoint_name(3.0), checkpoint_name(10.0), "mine.h5"]
    prune(tmp_path, 0)
    assert [path.name for _, path in list_checkpoints(tmp_path)] == [checkpoint_name(10.0)]


def test_provenance_says_what_is_compiled_for_and_nothing_of_the_user(tmp_path, system, monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", "x86-64-v3")
    write(tmp_path / "c.h5", system)
    found = read_checkpoint(tmp_path / "c.h5").provenance
    assert found["cpu_names"] == "x86-64-v3"
    assert set(found) == {
        "hpcchain",
        "python",
        "numpy",
        "numba",
        "llvmlite",
        "mpi4py",
        "h5py",
        "hdf5",
        "mpi",
        "system",
        "cpu_names",
        "hosts",
        "ranks",
        "created",
    }
    words = set(" ".join(map(str, found.values())).split())
    assert not words & {os.uname().nodename, os.path.expanduser("~"), str(tmp_path)}


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            RuntimeError(
                "Disable slist on flush dest failure failed (file write failed: time = Sat Nov 21 23:18:41 2026\n, "
                "file descriptor = 20, errno = 28, error message = 'No space left on device', buf = 0x555c6d12f988)"
            ),
            "No space left on device; make space there",
        ),
        (OSError(28, "No space left on device"), r"\[Errno 28\] No space left on device; make space there"),
        (OSError(122, "Disk quota exceeded"), "make space in your quota"),
        (OSError("Unable to open file (errno = 13, error message = 'Permission denied')"), "^Permission denied$"),
        (ValueError("two\n  lines"), "^two lines$"),
    ],
)
def test_failures_are_reported_in_the_systems_words_and_what_to_do(reason, said):
    """Not in the library's, which are long, and cut off before the cause."""
    found = plain(reason)
    assert re.search(said, found) and "buf" not in found and ("resume" in found) == ("make space" in found)


@pytest.mark.parametrize("read", [read_checkpoint, read_outline])
@pytest.mark.parametrize("bead", [0, 7, 8, 30])
def test_a_wrong_bead_is_named_wherever_it_is_among_those_looked_at_together(tmp_path, monkeypatch, read, bead):
    """Molecules are looked at in pieces; messages have the beads' numbers in the whole."""
    monkeypatch.setattr(layout, "PIECE", 7)
    system = system_of([1, 3, 3, 5, 9, 1, 2, 3, 3, 1])
    write(tmp_path / "whole.h5", system)
    read(tmp_path / "whole.h5")
    system.state.remainder[bead] = system.physics.tick
    own = system.topology.whole().molecule_of_bead == system.topology.whole().molecule_of_bead[bead]
    system.state.remainder[own] = system.physics.tick
    write(tmp_path / "c.h5", system)
    with pytest.raises(DataError, match=f"of bead {np.flatnonzero(own)[0]} is not below a tick"):
        read(tmp_path / "c.h5")
