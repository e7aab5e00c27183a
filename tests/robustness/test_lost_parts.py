"""Output that is lost under a run, or before it is resumed: one message, exit code 65, and what is whole leads on.

Never an end with 0 and rows that are missing. Damage to a run that stands still is in test_damaged_output.py.
"""

import logging
import os
import shutil
import signal

import pytest

from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.io.output import assemble
from hpcchain.io.output.parts import part_path
from hpcchain.run.controller import Run
from hpcchain.run.recorder import Recorder
from tests.support.run_folders import (
    EVERY,
    checkpoint_times,
    frame_times,
    log_rows,
    run,
    same,
    start,
    wait_for,
    write_input,
)
from tests.support.run_folders import resume_here as resume

MEDDLED = 2.5
"""When files are lost: three parts are closed then, of checkpoints at 0, 1 and 2; the fourth is being written."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that was left alone."""
    return run(tmp_path_factory.mktemp("lost") / "whole")


def meddled(folder, meddle, monkeypatch, keep=9, when=(Run, "_advance"), goes_on=None, **sections):
    """Run in this process, have something done to its folder once in a method, and return the DataError that ended it.

    Parameters
    ----------
    folder : Path
    meddle : function of a Path
    keep : int
        Checkpoints kept.
    when : (class, str)
        The method before which it is done, from MEDDLED on where it is the run's.
    goes_on : function, optional
        Makes the run, in place of a new one.
    """
    owner, name = when
    before, done = getattr(owner, name), []

    def method(self, *args):
        if not done and getattr(self, "time", MEDDLED) >= MEDDLED:
            done.append(meddle(folder))
        return before(self, *args)

    sections = {"output": {"keep_checkpoints": keep}} | sections
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, method)
        with pytest.raises(DataError) as caught:
            goes_on() if goes_on else run(folder, **sections)
    assert done and caught.value.exit_code == 65
    return str(caught.value)


def part(folder, number):
    return part_path(folder / "parts", number)


def all_of(folder):
    return sorted((folder / "parts").glob("part-*.h5"))


def replace_by_file(folder):
    shutil.rmtree(folder / "parts")
    (folder / "parts").write_text("no folder")


def replace_by_link(folder):
    (folder / "parts").rename(folder / "taken away")
    (folder / "empty").mkdir()
    (folder / "parts").symlink_to("empty")


LOSSES = {
    "the first": (lambda f: part(f, 0).unlink(), ["parts/part-000000.h5"], "anew"),
    "one": (lambda f: part(f, 1).unlink(), ["parts/part-000001.h5"], 0.0),
    "the last": (lambda f: part(f, 2).unlink(), ["parts/part-000002.h5"], 1.0),
    "all": (
        lambda f: [path.unlink() for path in all_of(f)],
        ["part-000000.h5", "part-000001.h5", "part-000002.h5"],
        "without",
    ),
    "the folder": (lambda f: shutil.rmtree(f / "parts"), ["part-000000.h5", "part-000003.h5.partial"], "without"),
    "what is in it": (lambda f: [path.unlink() for path in (f / "parts").iterdir()], ["part-000002.h5"], "without"),
    "a file instead": (replace_by_file, ["part-000002.h5"], "in the way"),
    "a link instead": (replace_by_link, ["part-000002.h5", "part-000003.h5.partial"], "without"),
    "truncated": (lambda f: os.truncate(part(f, 2), 3000), ["parts/part-000002.h5"], 1.0),
    "emptied": (lambda f: os.truncate(part(f, 2), 0), ["parts/part-000002.h5"], 1.0),
    "an older one": (lambda f: shutil.copy(part(f, 1), part(f, 2)), ["parts/part-000002.h5"], 1.0),
    "a folder": (lambda f: (part(f, 2).unlink(), part(f, 2).mkdir()), ["parts/part-000002.h5"], "in the way"),
    "what is being written": (
        lambda f: (f / "parts" / "part-000003.h5.partial").unlink(),
        ["part-000003.h5.partial"],
        2.0,
    ),
}
"""What is done, which files the message names, and the time of the checkpoint that leads on.

Without any earlier rows the newest one does, or that of the very start where there are rows of later ones alone.
"""


@pytest.mark.parametrize("loss", LOSSES)
def test_lost_while_it_runs(tmp_path, whole, loss, monkeypatch, caplog, capsys):
    folder, (meddle, names, leads_on) = tmp_path / "a", LOSSES[loss]
    said = meddled(folder, meddle, monkeypatch)
    assert all(name in said for name in names) and "hpcchain resume" in said and "\n" not in said
    assert checkpoint_times(folder) == [2.0, 1.0, 0.0]  # the next would have counted on what is gone
    assert not any((folder / f"{name}.h5").exists() for name in EVERY)
    assert main(["check", str(folder)]) == (0 if loss == "what is being written" else 65)
    complaint = capsys.readouterr().err
    if isinstance(leads_on, float) and loss != "what is being written":
        assert complaint.rstrip().endswith(f"the run can go on from {folder}/checkpoints/ckpt-{leads_on:022.12f}.h5")
    caplog.set_level(logging.INFO)
    if leads_on == "in the way":
        with pytest.raises(DataError, match="parts.* (creating the folder|removing) failed"):
            resume(folder)
    else:
        resume(folder)
        if leads_on == "without":
            assert "nothing is there of the output before t 2" in caplog.text
            assert frame_times(folder) == [2.5, 3.0, 3.5, 4.0]
        elif leads_on == "anew":
            assert "nothing is there of the output before t 0;" in caplog.text
            assert frame_times(folder) == frame_times(whole)[1:]
        else:
            assert f"at t {leads_on:.6g}" in caplog.text and same(folder, whole)


def test_what_is_put_back_is_taken(tmp_path, whole):
    """A part that was away for a while, or was copied from a backup, is the part that it was."""
    done = []

    def advance(self, *args, before=Run._advance):
        if not done and self.time >= MEDDLED:
            data = part(self.folder, 1).read_bytes()
            part(self.folder, 1).unlink()
            done.append(part(self.folder, 1).write_bytes(data))
        return before(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_advance", advance)
        run(tmp_path / "a")
    assert done and same(tmp_path / "a", whole)


@pytest.mark.parametrize("name", EVERY)
def test_an_earlier_output_file_is_lost_while_a_continued_run_goes_on(tmp_path, name, whole, monkeypatch):
    folder = run(tmp_path / "a", until=1.75, output={"keep_checkpoints": 9})
    kept = (folder / f"{name}.h5").read_bytes()
    said = meddled(
        folder, lambda f: (f / f"{name}.h5").unlink(), monkeypatch, goes_on=lambda: resume(folder, until=4.0)
    )
    assert f"{name}.h5: missing" in said and checkpoint_times(folder)[0] == 2.0
    if name != "events":  # there are none at the start, from which the run could be done again
        with pytest.raises(DataError, match="restore what is missing"):
            resume(folder)
    (folder / f"{name}.h5").write_bytes(kept)
    resume(folder)
    assert same(folder, whole, ("trajectory", "events"))


def test_a_file_joined_in_passing_is_lost(tmp_path, whole, monkeypatch):
    """It is counted on like the parts that it was made of."""
    folder, away = tmp_path / "a", tmp_path / "away.h5"
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "MANY", 3)
        said = meddled(folder, lambda f: (f / "trajectory.h5").rename(away), patch)
    assert "trajectory.h5: missing" in said and checkpoint_times(folder)[0] == 2.0
    away.rename(folder / "trajectory.h5")
    resume(folder)
    assert same(folder, whole)


JOINING = {
    "the first": (lambda f: part(f, 0).unlink(), "nothing is there of 1 frame before part-000001.h5"),
    "some": (lambda f: [part(f, k).unlink() for k in (0, 1, 2)], "before part-000003.h5"),
    "one": (lambda f: part(f, 2).unlink(), "part-000003.h5: does not begin where part-000001.h5 ends"),
    "the last": (lambda f: part(f, 4).unlink(), "part-000003.h5: ends at 7 frames"),
    "all": (lambda f: [path.unlink() for path in all_of(f)], "nothing is there of"),
}


@pytest.mark.parametrize("loss", JOINING)
def test_lost_just_before_parts_are_joined(tmp_path, whole, loss, monkeypatch, capsys):
    folder, (meddle, words) = tmp_path / "a", JOINING[loss]
    said = meddled(folder, meddle, monkeypatch, when=(Recorder, "assemble"))
    assert words in said and "hpcchain resume" in said
    assert not any((folder / f"{name}.h5").exists() for name in EVERY)
    assert main(["check", str(folder)]) == 65 and str(folder) in capsys.readouterr().err
    if loss in ("one", "the last"):
        resume(folder)
        assert same(folder, whole)


def test_parts_lost_between_a_kill_and_a_resume(tmp_path, whole, monkeypatch):
    """The run was killed before it could join them; of those that are left the rows lead on."""
    folder = tmp_path / "a"
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "assemble", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(folder, output={"keep_checkpoints": 9})
    part(folder, 3).unlink()
    resume(folder)
    assert same(folder, whole)


TABLES = {
    "box": {"size": [5.5, 5.5, 5.5]},
    "molecule": [{"kind": "monomer", "count": 30}, {"kind": "chain", "beads": 4, "count": 5}],
    "run": {"end_time": 1e5},
    "output": {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1e5, "events": True},
}


@pytest.mark.parametrize(("ranks", "number"), [(1, signal.SIGUSR1), (2, signal.SIGUSR2)])
def test_the_command_ends_with_one_message(tmp_path, ranks, number):
    """Deleted by hand while it runs, found when it is asked to stop, or to save."""
    write_input(tmp_path / "in.toml", TABLES)
    process = start(["run", "in.toml", "--output", "out"], tmp_path, ranks)
    assert wait_for(lambda: len(log_rows(tmp_path / "out")) > 3, process)
    part(tmp_path / "out", 0).unlink()
    process.send_signal(number)
    try:
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    messages = [line for line in said.splitlines() if line.startswith("hpcchain: ")]
    assert process.returncode == 65 and len(messages) == 1 and "Traceback" not in said, said
    assert "parts/part-000000.h5: missing" in messages[0]
    resume(tmp_path / "out", until=1.0)
    assert frame_times(tmp_path / "out") == [0.5, 1.0]
