"""Damaged, missing, foreign and swapped output: the newest checkpoint whose output is whole leads to the same bits.

Where none is left: one message, exit code 65. Never a traceback, a hang, or another run's rows.
"""

import logging
import os
import shutil

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints, newest_valid
from hpcchain.io.output.parts import part_path
from hpcchain.io.output.recoverable_output import output_in, recoverable_counts
from hpcchain.io.tools.inspect import info
from hpcchain.run.recorder import Recorder
from tests.support.run_folders import (
    EVERY,
    checkpoint,
    checkpoint_times,
    command,
    frame_times,
    leftovers,
    run,
    same,
)
from tests.support.run_folders import resume_here as resume

SEED = 20265
PARTS = 6
"""Parts of the run that was cut off, the last for its end alone; its checkpoints are at 0, 1, 2, 3 and 3.2."""
OTHER = {"initial": {"seed": 2}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def whole(place):
    """The uninterrupted run."""
    return run(place / "whole")


@pytest.fixture(scope="module")
def finished(place):
    """A run that ended at 2.8, with its files made: every checkpoint kept counts on rows of each."""
    return run(place / "finished", until=2.8, output={"keep_checkpoints": 3})


@pytest.fixture(scope="module")
def cut(place):
    """A run cut off before its files were made from its parts."""
    return cut_off(place / "cut")


def cut_off(folder, **sections):
    def stop(recorder, provenance):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recorder, "assemble", stop)
        with pytest.raises(KeyboardInterrupt):
            run(folder, until=3.2, output={"keep_checkpoints": 9}, **sections)
    return folder


@pytest.fixture(scope="module")
def foreign(place):
    """Runs of another seed, cut off and finished: files as good as ours, with as many frames and reports."""
    finished = run(place / "other-finished", until=2.8, **OTHER)
    return cut_off(place / "other-cut", **OTHER), finished


def copy_of(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "a")


def part(folder, number):
    return part_path(folder / "parts", number)


def flip(path, at=None, bit=2):
    """Change one bit of a file, in its middle unless a place is given."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1 << bit
    path.write_bytes(data)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def swap(path, other):
    ours, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(ours)


def chosen(folder):
    """Return the time of the checkpoint that a run would go on from, or None, and why not from later ones."""
    output = output_in(folder)
    path, refused = newest_valid(folder / "checkpoints", None, lambda counters: recoverable_counts(output, counters))
    return None if path is None else float(path.stem[5:]), [why for _, why in refused]


def test_the_cut_off_run_is_as_supposed(cut, finished):
    assert checkpoint_times(cut) == [3.2, 3.0, 2.0, 1.0, 0.0]
    assert len(leftovers(cut)) == PARTS and chosen(cut) == (3.2, [])
    assert checkpoint_times(finished) == [2.8, 2.0, 1.0] and chosen(finished) == (2.8, [])


HARMS = {
    "flipped": lambda folder, foreign: flip(part(folder, 3)),
    "truncated": lambda folder, foreign: truncate(part(folder, 3)),
    "deleted": lambda folder, foreign: part(folder, 3).unlink(),
    "foreign": lambda folder, foreign: shutil.copy(part(foreign[0], 3), part(folder, 3)),
    "no file of ours": lambda folder, foreign: part(folder, 3).write_bytes(b"junk" * 999),
    "a checkpoint": lambda folder, foreign: shutil.copy(checkpoint(folder, 1), part(folder, 3)),
    "swapped": lambda folder, foreign: swap(part(folder, 3), part(folder, 4)),
    "a pipe": lambda folder, foreign: (part(folder, 3).unlink(), os.mkfifo(part(folder, 3))),
    "the checkpoint too": lambda folder, foreign: (flip(part(folder, 3)), truncate(checkpoint(folder, 2))),
}


@pytest.mark.parametrize("harm", HARMS)
def test_with_a_bad_part_the_newest_checkpoint_before_it_leads_on(tmp_path, cut, whole, foreign, harm, caplog):
    folder = copy_of(cut, tmp_path)
    HARMS[harm](folder, foreign)
    time, refused = chosen(folder)
    assert time == (1.0 if harm == "the checkpoint too" else checkpoint_times(cut)[2])
    assert len(refused) == (3 if harm == "the checkpoint too" else 2) and all(str(folder) in why for why in refused)
    caplog.set_level(logging.INFO)
    if harm in ("deleted", "a pipe"):
        resume(folder, until=4.0)
    else:
        run(folder, resume="auto")
    assert caplog.text.count("passed over") == len(refused)
    assert same(folder, whole, ("trajectory", "events"))


def test_a_flipped_bit_anywhere_in_a_part_is_noticed(tmp_path, cut):
    folder = copy_of(cut, tmp_path)
    good, rng = part(folder, 4).read_bytes(), np.random.default_rng(SEED)
    for at in [*range(0, 512, 16), *(np.linspace(512, len(good) - 1, 120) + rng.uniform(-20, 0, 120)).astype(int)]:
        flip(part(folder, 4), at, int(rng.integers(8)))
        assert chosen(folder)[0] == 3.0
        part(folder, 4).write_bytes(good)
    assert chosen(folder)[0] == 3.2


@pytest.mark.parametrize("name", EVERY)
def test_a_flipped_bit_anywhere_in_an_output_file_is_noticed(tmp_path, finished, name):
    folder = copy_of(finished, tmp_path)
    path, rng = folder / f"{name}.h5", np.random.default_rng(SEED + 1)
    good = path.read_bytes()
    for at in [*range(0, 512, 32), *(np.linspace(512, len(good) - 1, 80) + rng.uniform(-20, 0, 80)).astype(int)]:
        flip(path, at, int(rng.integers(8)))
        time, refused = chosen(folder)
        assert time is None and len(refused) == 3 and all(path.name in why for why in refused)
        with pytest.raises(DataError, match=path.name):
            info(path)
    path.write_bytes(good)
    assert chosen(folder)[0] == 2.8


BAD = {
    "truncated": lambda path, other: truncate(path),
    "deleted": lambda path, other: path.unlink(),
    "of another run": lambda path, other: shutil.copy(other, path),
    "no file of ours": lambda path, other: path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"junk" * 999),
    "a folder": lambda path, other: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("harm", BAD)
def test_an_output_file_that_is_lost_for_every_checkpoint(tmp_path, finished, foreign, harm, name):
    folder = copy_of(finished, tmp_path)
    BAD[harm](folder / f"{name}.h5", foreign[1] / f"{name}.h5")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for attempt in (
        lambda: run(folder, resume="auto"),
        lambda: resume(folder, until=4.0),
        lambda: resume(checkpoint(folder, 0), until=4.0),
    ):
        with pytest.raises(DataError, match=f"{name}.h5"):
            attempt()
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_of_one_run_swapped_with_another_kind(tmp_path, finished):
    folder = copy_of(finished, tmp_path)
    swap(folder / "trajectory.h5", folder / "observables.h5")
    with pytest.raises(DataError, match=r"trajectory.h5: is of kind 'observables'"):
        run(folder, resume="auto")


def test_the_files_of_the_same_run_with_other_output_times(tmp_path, finished):
    """Whole, of the same physics and long enough, but with other frames: not joined to ours."""
    folder = copy_of(finished, tmp_path)
    finer = run(tmp_path / "finer", until=2.8, output={"frame_every": 0.25})
    shutil.copy(finer / "trajectory.h5", folder / "trajectory.h5")
    with pytest.raises(DataError, match=r"trajectory.h5: is whole, but of another run"):
        resume(folder, until=4.0)


def test_a_checkpoint_of_another_run_is_passed_over(tmp_path, finished, foreign, whole):
    folder = copy_of(finished, tmp_path)
    shutil.copy(checkpoint(foreign[0], 0), folder / "checkpoints")
    assert checkpoint_times(folder)[0] == 3.2
    run(folder, resume="auto")
    assert same(folder, whole, ("trajectory", "events"))


def test_one_message_and_exit_code_65(tmp_path, finished, cut):
    for folder, bad in ((finished, "trajectory.h5"), (cut, "parts/part-000000.h5")):
        copy = shutil.copytree(folder, tmp_path / folder.name)
        flip(copy / bad)
        said = command(["resume", copy, "--until", 4.0], tmp_path, code=65)
        assert len([line for line in said.splitlines() if line.startswith("hpcchain: ")]) == 1, said
        assert bad in said and "none of its" in said


@pytest.mark.parametrize(
    ("here", "there"),
    [(1, 0), (0, 20), (slice(24, 28), slice(20, 24))],
    ids=["two single beads", "a single one and a chain's", "two chains"],
)
def test_two_beads_in_one_place(tmp_path, finished, here, there):
    """A whole checkpoint of an impossible state: beads would part unseen, chains would go on colliding for ever."""
    found = read_checkpoint(checkpoint(finished, 0))
    state = found.system.state
    for array in (state.position, state.velocity, state.image, state.ticks, state.remainder):
        array[here] = array[there]
    counters = found.counters | {"energy": None}  # which would show it, too
    write_checkpoint(tmp_path / "lone.h5", None, found.system, found.time, counters, found.config)
    with pytest.raises(DataError, match="its state is impossible: at t 2.8 beads"):
        resume(tmp_path / "lone.h5", output=tmp_path / "a", until=4.0)
    if here == 1:
        said = command(["resume", "lone.h5", "--output", "b", "--until", 4.0], tmp_path, code=65, ranks=2)
        (message,) = [line for line in said.splitlines() if line.startswith("hpcchain: ")]
        assert "beads 0 and 1" in message


def test_check_looks_at_every_file_of_a_run(tmp_path, finished, cut, capsys):
    assert main(["check", str(finished)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "trajectory.h5: whole, 7 rows" and said[3].endswith("whole, the newest of 3")
    assert len(said) == 6
    assert all(line.startswith("checkpoints/ckpt-") and line.endswith(": whole") for line in said[4:])
    assert main(["check", str(cut)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == PARTS + len(list((cut / "checkpoints").iterdir()))
    folder = copy_of(cut, tmp_path)
    flip(part(folder, 3))
    truncate(checkpoint(folder, 0))
    assert main(["check", str(folder)]) == 65
    said = capsys.readouterr().err.strip()
    assert "part-000003.h5" in said and said.endswith("ckpt-000000002.000000000000.h5") and "\n" not in said
    older = copy_of(finished, tmp_path / "older")
    flip(checkpoint(older, 2))
    assert main(["check", str(older)]) == 65
    said = capsys.readouterr().err.strip()
    assert checkpoint(older, 2).name in said and said.endswith(f"the run can go on from {checkpoint(older, 0)}")
    assert main(["check", str(folder / "checkpoints" / "nothing.h5")]) == main(["check", str(tmp_path)]) == 65
    assert main(["check", str(checkpoint(finished, 0))]) == 0


def test_a_damaged_file_of_which_nothing_is_needed_is_made_anew(tmp_path, cut, whole):
    """All rows are in the parts: a file that a kill left, or that came from elsewhere, does no harm."""
    folder = copy_of(cut, tmp_path)
    for name in EVERY:
        (folder / f"{name}.h5").write_bytes(b"junk")
    run(folder, resume="auto")
    assert same(folder, whole, ("trajectory", "events"))


def test_all_damaged_checkpoints(tmp_path, finished, whole):
    folder = copy_of(finished, tmp_path)
    flip(checkpoint(folder, 0))
    with pytest.raises(DataError, match="checksum"):
        resume(checkpoint(folder, 0), until=4.0)
    run(folder, resume="auto")
    assert same(folder, whole, ("trajectory", "events"))
    for _, path in list_checkpoints(folder / "checkpoints"):
        flip(path)
    for attempt in (lambda: resume(folder, until=5.0), lambda: run(folder, resume="auto")):
        with pytest.raises(DataError, match="none of its 2 checkpoints can be gone on from, the newest .*checksum"):
            attempt()


ODD = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_only_has_a_checkpoints_name_is_passed_over_and_named(tmp_path, cut, whole, odd, caplog, capsys):
    folder = copy_of(cut, tmp_path)
    newest = checkpoint(folder, 0)
    newest.rename(tmp_path / "taken away")
    ODD[odd](newest)
    assert main(["check", str(folder)]) == 65 and f"{newest}: not a file" in capsys.readouterr().err
    resume(folder, until=4.0)
    assert f"passed over: {newest}: not a file" in caplog.text
    assert same(folder, whole, ("trajectory", "events"))


def test_without_any_earlier_output_a_run_goes_on_and_says_so(tmp_path, finished, caplog):
    folder = copy_of(finished, tmp_path)
    for name in EVERY:
        (folder / f"{name}.h5").unlink()
    resume(folder, until=4.0)
    assert "nothing is there of the output before t 2.8" in caplog.text
    assert frame_times(folder) == [3.0, 3.5, 4.0]
    resume(folder, until=4.5)
    assert frame_times(folder) == [3.0, 3.5, 4.0, 4.5]
