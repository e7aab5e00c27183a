"""Run directories: begun, gone on with, extended, copied, refused, damaged, full; always whole, with the same bits."""

import dataclasses
import logging
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError, UsageError
from hpcchain.run.recorder import Recorder
from tests.support.launching import run_python
from tests.support.mixtures import to_toml
from tests.support.outputs import read_events, read_observables
from tests.support.run_folders import (
    EVERY,
    PATIENCE,
    checkpoint,
    checkpoint_times,
    command,
    difference,
    frame_times,
    inode,
    leftovers,
    log_rows,
    run,
    run_here,
    same,
    start,
    tables,
    wait_for,
    write_input,
)
from tests.support.run_folders import resume_here as resume


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The uninterrupted run."""
    return run(tmp_path_factory.mktemp("folders") / "whole")


def test_the_output_directory_holds_what_it_should(whole):
    assert sorted(path.name for path in whole.iterdir()) == [
        "checkpoints",
        "events.h5",
        "input.toml",
        "observables.h5",
        "run.jsonl",
        "trajectory.h5",
    ]
    assert frame_times(whole) == [row["time"] for row in log_rows(whole)] == [0.5 * k for k in range(9)]
    assert checkpoint_times(whole) == [4.0, 3.0]
    assert {"time", "wall", "events", "events_per_second", "energy", "energy_error"} <= log_rows(whole)[0].keys()
    assert log_rows(whole)[-1]["events"] > 200
    given = load_config(whole.parent / "whole.toml")
    assert load_config(whole / "input.toml") == given


def test_reports_count_the_contacts_of_their_own_interval(whole):
    contacts, events = read_observables(whole / "observables.h5")["contacts"], read_events(whole / "events.h5")
    expected, _ = np.histogram(events["time"], [0.0, *contacts[1][1:]])
    assert contacts[2].tolist() == [0, *expected]
    assert np.cumsum(contacts[2]).tolist() == [row["events"] for row in log_rows(whole)]


def test_a_frame_and_a_report_at_the_end_in_any_case(tmp_path):
    folder = run(tmp_path / "a", run={"end_time": 0.7}, output={"frame_every": 50.0, "report_every": 0.2})
    assert frame_times(folder) == [0.0, 0.7]
    assert [row["time"] for row in log_rows(folder)] == [0.0, 0.2, 0.4, 0.6, 0.7]


def test_end_time_zero(tmp_path):
    folder = run(tmp_path / "a", run={"end_time": 0.0})
    assert (frame_times(folder), checkpoint_times(folder), len(log_rows(folder))) == ([0.0], [0.0], 1)
    resume(folder, until=1.0)
    assert same(folder, run(tmp_path / "b", run={"end_time": 1.0}))


@pytest.mark.parametrize("ends", [(1.0, 4.0), (0.83, 0.8300000001, 2.77, 4.0), (1.5, 2.25, 4.0)])
def test_an_extended_run_leaves_no_trace_of_its_earlier_ends(tmp_path, whole, ends):
    folder = run(tmp_path / "a", until=ends[0])
    for end in ends[1:]:
        resume(folder, until=end)
    assert same(folder, whole, ("trajectory", "events"))
    assert load_config(folder / "input.toml").run.end_time == 4.0


def test_an_older_checkpoint_cuts_the_files_back(tmp_path, whole):
    folder = run(tmp_path / "a", output={"keep_checkpoints": 9})
    old = checkpoint(folder, 2)
    resume(old, until=2.6)
    assert frame_times(folder) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 2.6]
    assert checkpoint_times(folder)[0] == 2.6
    assert [row["time"] for row in log_rows(folder)] == frame_times(folder)
    resume(folder, until=4.0)
    assert same(folder, whole, ("trajectory", "events"))


def test_an_older_checkpoint_of_a_run_cut_off_before_its_files_were_made(tmp_path, whole, monkeypatch):
    """Parts that it does not count do no harm, be the new run's fewer."""

    def cut_off(recorder, provenance):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "assemble", cut_off)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "a", until=3.2, output={"keep_checkpoints": 9})
    folder = tmp_path / "a"
    assert len(leftovers(folder)) == 6
    resume(checkpoint(folder, 3), until=1.2)
    assert frame_times(folder) == [0.0, 0.5, 1.0, 1.2]
    resume(folder, until=4.0)
    assert same(folder, whole, ("trajectory", "events"))


def test_output_elsewhere_is_complete_and_leaves_the_run_alone(tmp_path, whole):
    folder = run(tmp_path / "a", until=2.2)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    resume(checkpoint(folder, 1), output=tmp_path / "b", until=4.0)
    assert same(tmp_path / "b", whole, ("trajectory", "events"))
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="holds a run already"):
        resume(folder, output=tmp_path / "b", until=5.0)


def test_a_checkpoint_alone_goes_on_without_the_earlier_output(tmp_path, whole):
    lone = tmp_path / "lone.h5"
    lone.write_bytes(checkpoint(whole, 1).read_bytes())
    with pytest.raises(UsageError, match="--output"):
        resume(lone)
    resume(lone, output=tmp_path / "a", until=3.5)
    assert frame_times(tmp_path / "a") == [3.5]
    resume(tmp_path / "a", until=4.5)
    assert frame_times(tmp_path / "a") == [3.5, 4.0, 4.5]
    assert difference(tmp_path / "a", whole, ("trajectory",), common=True) is None


def test_a_finished_run_is_left_as_it_is(tmp_path):
    folder = run(tmp_path / "a", until=0.7)
    kept = {path: (inode(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    resume(folder, until=0.7)
    run(folder, resume="auto", until=0.7)
    assert kept == {path: (inode(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_resume_auto_begins_and_goes_on(tmp_path, whole):
    folder = run(tmp_path / "a", resume="auto", until=1.3)
    run(folder, resume="auto")
    assert same(folder, whole, ("trajectory", "events"))


def test_other_output_times_from_a_restart_on(tmp_path, whole):
    """Nothing is put out twice and nothing before its time."""
    folder = run(tmp_path / "a", until=1.25)
    run(folder, resume="auto", until=2.6, output={"frame_every": 0.25, "report_every": 5.0, "checkpoint_every": 0.1})
    assert frame_times(folder) == [0.0, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.6]
    run(folder, resume="auto", until=4.0, output={"frame_every": 2.0})
    assert frame_times(folder) == [0.0, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 4.0]
    assert difference(folder, whole, ("trajectory",), common=True) is None
    assert difference(folder, whole, ("events",)) is None


def test_resume_auto_refuses_another_physics(tmp_path):
    folder = run(tmp_path / "a", until=0.5)
    changes = {"box": {"size": [5.0, 5.0, 6.0]}, "contact": {"restitution": 0.9}, "initial": {"seed": 2}}
    for section, change in changes.items():
        content = tables()
        content[section] = content.get(section, {}) | change
        with pytest.raises(ConfigError, match=rf"\[{section}\] is not that of the run"):
            run_here(write_input(tmp_path / "other.toml", content), folder, resume="auto")
    assert checkpoint_times(folder)[0] == 0.5


def test_what_is_asked_amiss_is_refused_and_changes_nothing(tmp_path):
    folder = run(tmp_path / "a", until=1.7)
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for attempt, error, words in [
        (lambda: run(folder), UsageError, "holds a run already"),
        (lambda: resume(folder, until=1.0), UsageError, "past the end time 1.0"),
        (lambda: run(folder, resume="auto", until=1.0), UsageError, "past the end time 1.0"),
        (lambda: resume(tmp_path / "none"), DataError, "no such file"),
        (lambda: resume(tmp_path), DataError, "there is none"),
        (lambda: resume(folder / "trajectory.h5", output=tmp_path / "b"), DataError, "where 'checkpoint' is needed"),
    ]:
        with pytest.raises(error, match=words):
            attempt()
    assert kept == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert not (tmp_path / "b").exists()


def test_a_torn_log_is_mended(tmp_path, whole):
    folder = run(tmp_path / "a", until=1.0)
    with (folder / "run.jsonl").open("a") as file:
        file.write('{"time": 1.5, "events": 12}\n{"time": 2.0, "ev')
    resume(folder, until=4.0)
    assert same(folder, whole, ("trajectory", "events"))


def test_checkpoints_by_the_wall_clock(tmp_path, whole):
    """Each call of the engine is long over the limit, so there is one at every due time, and only the last are kept."""
    output = {"checkpoint_every": 1e6, "checkpoint_wall_minutes": 1e-9, "keep_checkpoints": 4}
    folder = run(tmp_path / "a", output=output)
    assert checkpoint_times(folder) == [4.0, 3.5, 3.0, 2.5]
    assert same(folder, whole)


def test_the_start_from_a_checkpoint_at_its_time(tmp_path, whole):
    """Its beads at its time, clocks at zero; with or without the molecules in the input."""
    start = {"method": "file", "file": str(checkpoint(whole, 1))}
    folder = run_from(tmp_path / "a", tables() | {"initial": start})
    bare = {name: section for name, section in tables().items() if name != "molecule"} | {"initial": start}
    run_from(tmp_path / "b", bare)
    assert difference(folder, tmp_path / "b", EVERY) is None
    old, new = log_rows(whole)[6], log_rows(folder)[0]
    assert (old["time"], new["time"]) == (3.0, 0.0)
    assert abs(new["energy"] / old["energy"] - 1.0) < 1e-12


@pytest.mark.parametrize("molecules", ["named", "left out"])
def test_check_counts_what_is_in_a_start_file(tmp_path, whole, capsys, molecules):
    content = tables() | {"initial": {"method": "file", "file": str(checkpoint(whole, 1))}}
    if molecules == "left out":
        del content["molecule"]
    path = write_input(tmp_path / "in.toml", content)
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "# 40 beads, 15 bonds, 25 molecules\n" in said and "24 kB of it on each rank" in said
    write_input(path, content | {"box": {"size": [5.0, 5.0, 5.5], "boundary": ["periodic", "wall", "periodic"]}})
    assert main(["check", str(path)]) == 78 and "box.size" in capsys.readouterr().err
    (tmp_path / "bad.h5").write_bytes(checkpoint(whole, 1).read_bytes()[:-9])
    write_input(path, content | {"initial": {"method": "file", "file": "bad.h5"}})
    assert main(["check", str(path)]) == 65 and "bad.h5: damaged" in capsys.readouterr().err


def test_check_refuses_an_impossible_explicit_start(tmp_path, capsys):
    places = {"positions": [[1.0, 1.0, 1.0], [1.5, 1.0, 1.0]], "velocities": [[0.0] * 3] * 2}
    molecule = [{"kind": "monomer", "count": 2} | places]
    path = write_input(tmp_path / "in.toml", tables() | {"molecule": molecule, "initial": {"method": "explicit"}})
    assert main(["check", str(path)]) == 78
    assert "beads 0 and 1 overlap" in capsys.readouterr().err


def run_from(folder, content):
    """Run an input given as tables, in this process, and return the folder."""
    path = folder.parent / f"{folder.name}.toml"
    path.write_text(to_toml(content))
    return run_here(path, folder, until=0.5)


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("box", {"size": [5.0, 5.0, 5.5]}, "box.size"),
        ("box", {"origin": [0.0, 0.0, 1.0]}, "box.origin"),
        ("box", {"boundary": ["periodic", "periodic", "periodic"]}, "box.boundary"),
        ("molecule", [{"kind": "monomer", "count": 40}], "20 monomers|40 molecules of 40 beads"),
        ("molecule", [{"kind": "monomer", "count": 20}, {"kind": "chain", "beads": 4, "count": 5}], "molecule.mass"),
        ("molecule", [{"kind": "monomer", "count": 20}, {"kind": "ring", "beads": 4, "count": 5}], "kind or bonds"),
    ],
)
def test_a_start_file_of_another_system_is_refused(tmp_path, whole, section, change, words):
    content = tables() | {"initial": {"method": "file", "file": str(checkpoint(whole, 1))}}
    content[section] = change if isinstance(change, list) else content[section] | change
    with pytest.raises(ConfigError, match=words):
        run_from(tmp_path / "a", content)
    assert not (tmp_path / "a").exists()


def test_a_start_file_that_is_none(tmp_path):
    (tmp_path / "junk.h5").write_bytes(b"junk")
    for name in ("junk.h5", "absent.h5"):
        with pytest.raises(DataError, match=name):
            run_from(tmp_path / "a", tables() | {"initial": {"method": "file", "file": name}})


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="file: is there already and no folder"):
        run(tmp_path / "file")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UsageError, match="link: is there already and no folder"):
        run(tmp_path / "link")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "checkpoints").write_text("in the way")
    with pytest.raises(DataError, match="checkpoints: creating the folder failed: .*; what stands there is in the way"):
        run(tmp_path / "a")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["checkpoints"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_folder_that_is_renamed_meanwhile(tmp_path, ranks):
    """What was complete goes on where it is now."""
    write_input(tmp_path / "in.toml", tables(run={"end_time": 1e4}))
    process = start(["run", "in.toml", "--output", "a"], tmp_path, ranks)
    assert wait_for(lambda: len(checkpoint_times(tmp_path / "a")) > 1, process)
    (tmp_path / "a").rename(tmp_path / "b")
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 65 and said.count("hpcchain: ") == 1 and "Traceback" not in said, said
    assert re.search("the folder a.* is gone: it was removed or renamed meanwhile|a/.*: not visible on", said), said
    assert not (tmp_path / "a").exists()
    resume(tmp_path / "b", until=checkpoint_times(tmp_path / "b")[0] + 0.5)


def test_a_working_folder_that_is_removed(tmp_path):
    """The system still finds it as `.`."""
    write_input(tmp_path / "in.toml", tables())
    (tmp_path / "work").mkdir()
    program = "import os, sys; from hpcchain.cli.main import main; os.rmdir(os.getcwd()); sys.exit(main(sys.argv[1:]))"
    done = run_python(["-c", program, "run", tmp_path / "in.toml", "--output", "a"], tmp_path / "work")
    assert done.returncode == 65 and "is gone: it was removed or renamed meanwhile" in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(DataError, match="Permission denied"):
        run(folder)


LIMITED = """
import resource, sys
from hpcchain.cli.main import main
from hpcchain.parallel.comm import world

world()  # MPI makes files of its own
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
sys.exit(main(["run", "in.toml", "--output", "a"]))
"""


@pytest.mark.parametrize(
    "most", [100, 45_000, *(pytest.param(n, marks=pytest.mark.long) for n in (600, 20_000, 100_000))]
)
def test_a_full_disk_gives_one_message_and_the_run_can_go_on(tmp_path, most):
    """No file may become longer than some bytes: lock, input, part, checkpoint or output file meets the limit."""
    write_input(tmp_path / "in.toml", tables(output={"frame_every": 0.05}, run={"end_time": 2.0}))
    done = run_python(["-c", LIMITED, most], tmp_path, timeout=PATIENCE)
    messages = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert done.returncode in (65, 70), done.stderr
    assert len(messages) == 1 and "File too large; files may be no larger there" in messages[0], done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    assert not [name for name in leftovers(tmp_path / "a") if name.endswith(".partial")]
    run(tmp_path / "a", resume="auto", output={"frame_every": 0.05}, until=2.0)
    run(tmp_path / "b", output={"frame_every": 0.05}, until=2.0)
    assert same(tmp_path / "a", tmp_path / "b")


def test_a_lock_file_that_says_nothing_of_use_is_in_no_ones_way(tmp_path, whole):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.lock").write_bytes(bytes(range(256)))
    assert same(run(tmp_path / "a"), whole)


def test_an_input_in_the_output_folder_is_kept(tmp_path, capsys):
    text = "# by hand\n" + to_toml(tables(run={"end_time": 0.5}))
    (tmp_path / "input.toml").write_text(text, encoding="utf-8")
    command(["run", "input.toml", "--output", "a"], tmp_path)
    command(["resume", "a", "--until", "0.6"], tmp_path)
    assert not (tmp_path / "a" / "input.given.toml").exists()
    command(["run", "input.toml", "--output", "."], tmp_path)
    assert (tmp_path / "input.given.toml").read_text(encoding="utf-8") == text
    assert "by hand" not in (tmp_path / "input.toml").read_text(encoding="utf-8")
    shutil.rmtree(tmp_path / "checkpoints")
    for path in tmp_path.glob("*.h5"):
        path.unlink()
    command(["run", "input.toml", "--output", ".", "--until", "0.25"], tmp_path)
    assert (tmp_path / "input.given.toml").read_text(encoding="utf-8") == text
    for source in ("input.toml", "input.given.toml"):
        said = command(["build", source, "-o", "input.toml"], tmp_path, code=2)
        assert "input.toml: is there already, and not as a start file" in said
    for _ in range(2):
        command(["build", "input.toml", "-o", "start.h5"], tmp_path)
    write_input(tmp_path / "big.toml", tables() | {"initial": {"method": "file", "file": "start.h5"}})
    said = command(["build", "big.toml", "-o", "start.h5", "--replicate", "1", "1", "1"], tmp_path, code=2)
    assert "start.h5: is what would be read" in said


def test_two_runs_in_one_folder(tmp_path, caplog):
    """The second is refused while the first lives, even stopped; a killed one's lock does no harm."""
    endless = tables(run={"end_time": 1e5})
    write_input(tmp_path / "in.toml", endless)
    first = start(["run", "in.toml", "--output", "a"], tmp_path)
    try:
        assert wait_for(lambda: len(log_rows(tmp_path / "a")) > 3, first)
        first.send_signal(signal.SIGSTOP)
        said = command(["run", "in.toml", "--output", "a", "--resume", "auto"], tmp_path, code=2)
        assert f"another run is writing there (process {first.pid} on " in said
        with pytest.raises(UsageError, match=f"another run is writing there .process {first.pid} on "):
            resume(tmp_path / "a")
        assert first.poll() is None
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=PATIENCE)
    assert (tmp_path / "a" / "run.lock").exists()
    end = checkpoint_times(tmp_path / "a")[0] + 0.6
    caplog.set_level(logging.INFO, "hpcchain.run")
    resume(tmp_path / "a", until=end)
    assert f"taking over the lock that process {first.pid} " in caplog.text
    run(tmp_path / "b", until=end)
    assert same(tmp_path / "a", tmp_path / "b", ("trajectory", "events"))


def test_the_checkpoint_carries_the_resolved_input(whole):
    from hpcchain.io.checkpoint.checkpoint import read_checkpoint

    path = checkpoint(whole, 0)
    found = read_checkpoint(path).config
    given = load_config(whole / "input.toml")
    assert found == dataclasses.replace(given, source="") and Path(found.source) == path
