"""Parts that are joined while a run goes on: their number is bounded, and a kill at any moment loses nothing."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import atomic
from hpcchain.io.output import assemble
from hpcchain.io.output.parts import list_parts
from hpcchain.run.recorder import Recorder
from tests.support.launching import run_python
from tests.support.run_folders import command, frame_times, resume_here, run, run_here, same, tables, write_input

MANY = 4
OUTPUT = {"frame_every": 0.4, "report_every": 0.4, "checkpoint_every": 0.4, "keep_checkpoints": 50}
"""11 checkpoints: parts are joined in passing when there are MANY, where that is set."""

RUN = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from hpcchain.cli.main import main
from hpcchain.io.output import assemble
from tests.restart.test_join_in_passing import MANY, MOMENTS, die_at
assemble.MANY = MANY
die_at(*MOMENTS[sys.argv[1]])
sys.exit(main(sys.argv[2:]))
"""

MOMENTS = {
    "before": (Recorder, "assemble", 1, False),
    "one file is joined": (assemble, "_assemble_one", 1, True),
    "two files are joined": (assemble, "_assemble_one", 3, False),
    "some parts are removed": (atomic, "_remove", 1, False),
    "after": (Recorder, "assemble", 1, True),
    "before the second": (Recorder, "assemble", 2, False),
}
"""Where the process dies: at which call of what, after it or before. Of parts two are gone by then."""


def die_at(owner, name, call, after):
    """Have this process kill itself at a call of a function, the removal of checkpoints not counted."""
    method, calls = getattr(owner, name), []

    def dying(*args, **options):
        parts = name == "_remove" and Path(args[0][0]).parent.name == "parts"
        calls.extend([name] if parts or name != "_remove" else [])
        last = len(calls) == call
        if last and parts:
            method(args[0][:2])
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        method(*args, **options)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


def input_file(folder):
    return write_input(folder / "in.toml", tables(output=OUTPUT))


def killed(place, folder, moment, ranks=1):
    """Run up to a moment, and return how many parts are left."""
    done = run_python(["-c", RUN, moment, "run", input_file(place), "--output", folder], place, ranks)
    assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
    return len(list_parts(folder / "parts"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run whose parts are joined at its end alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "MANY", 1000)
        return run(tmp_path_factory.mktemp("passing") / "whole", output=OUTPUT)


@pytest.mark.parametrize("many, most, expected, every", [(16, 128, 16, 0.1), (3, 3, 3, 0.4)])
def test_parts_are_never_more(tmp_path, whole, monkeypatch, many, most, expected, every):
    """Few small parts wait until they are as large as what is joined; MOST of them do not."""
    seen, write, begin = [], Recorder.close, Recorder.open

    def count(recorder, method):
        method(recorder)
        seen.append(len(list((recorder._folder / "parts").iterdir())))

    monkeypatch.setattr(assemble, "MANY", many)
    monkeypatch.setattr(assemble, "MOST", most)
    monkeypatch.setattr(Recorder, "close", lambda recorder: count(recorder, write))
    monkeypatch.setattr(Recorder, "open", lambda recorder: count(recorder, begin))
    folder = run(tmp_path / "passing", output=OUTPUT | {"checkpoint_every": every})
    assert max(seen) == expected and seen.count(1) > 2
    assert same(folder, whole) and list(folder.glob("parts/*")) == []


def test_joins_write_in_proportion_to_what_is_joined(tmp_path, monkeypatch):
    """However few parts are enough, joins write no more than twice the bytes of the parts."""
    parts, joined, join = [], [], Recorder.assemble

    def weigh(recorder, provenance):
        parts.append(sum(path.stat().st_size for path in (recorder._folder / "parts").iterdir()))
        join(recorder, provenance)
        joined.append(sum(path.stat().st_size for path in recorder._folder.glob("*.h5")))

    monkeypatch.setattr(assemble, "MANY", 1)
    monkeypatch.setattr(Recorder, "assemble", weigh)
    run(tmp_path / "out", output=OUTPUT)
    assert 3 <= len(joined) <= 8
    for number in range(1, len(joined) - 1):
        assert joined[number - 1] <= parts[number] and joined[number] <= 2 * parts[number]


@pytest.mark.parametrize("moment", ["before", "two files are joined", "after", "before the second"])
def test_killed_around_a_join(tmp_path, whole, moment):
    folder = tmp_path / "out"
    left = killed(tmp_path, folder, moment)
    assert left == 0 if moment == "after" else left >= MANY
    resume_here(folder)
    assert same(folder, whole)


@pytest.mark.parametrize("moment, left", [("one file is joined", MANY), ("some parts are removed", MANY - 2)])
def test_each_kept_checkpoint_leads_on(tmp_path, whole, moment, left):
    """Those before the join, at it and among parts that are gone: with the rows that they count, from the files."""
    folder = tmp_path / "out"
    assert killed(tmp_path, folder, moment) == left
    kept = list_checkpoints(folder / "checkpoints")
    assert len(kept) == MANY
    for number in (0, 1, 3):
        copy = shutil.copytree(folder, tmp_path / str(number))
        resume_here(copy / "checkpoints" / kept[number][1].name)
        assert same(copy, whole)


def test_a_join_after_a_cut_back_leaves_no_row_of_before(tmp_path, whole):
    """The files hold more than the checkpoint counts, until the parts written anew are joined to them in passing."""
    folder = tmp_path / "out"
    killed(tmp_path, folder, "before the second")
    resume_here(list_checkpoints(folder / "checkpoints")[-2][1], until=0.8)
    assert frame_times(folder) == frame_times(whole)[:3]
    run_here(tmp_path / "in.toml", folder, resume="auto")
    assert same(folder, whole)


def test_two_ranks_killed_within_a_join(tmp_path, whole):
    folder = tmp_path / "out"
    killed(tmp_path, folder, "two files are joined", ranks=2)
    command(["resume", folder], tmp_path, ranks=2, patience=120.0)
    assert same(folder, whole)
