"""What happens to a run from outside: files deleted by hand, a folder that may no longer be written.

Each gives one clear message or none at all, and nothing that was complete is lost. A full disk, two runs in one folder
and damage are in test_run_folder.py and test_damaged_checkpoints.py, lost ranks in parallel/test_run_failures.py, a
clock that jumps in unit/run/guards/test_wall_limit.py.
"""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.support.launching import clean_environment
from tests.support.run_folders import (
    PATIENCE,
    checkpoint_times,
    command,
    difference,
    leftovers,
    log_rows,
    resume_here,
    run_here,
    start,
    wait_for,
    write_input,
)

TABLES = {
    "box": {"size": [5.5, 5.5, 5.5]},
    "molecule": [{"kind": "monomer", "count": 30}, {"kind": "chain", "beads": 4, "count": 5}],
    "run": {"end_time": 1e5},
    "output": {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1e5, "events": True},
}
WITHOUT_POWERS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
"""Runs a command as a root that file permissions hold for."""


def meddled_with(place, meddle, number):
    """Start a run, do something to its folder, send it a signal, and return its exit code and what it said."""
    write_input(place / "in.toml", TABLES)
    process = start(["run", "in.toml", "--output", "out"], place)
    assert wait_for(lambda: len(log_rows(place / "out")) > 3, process)
    meddle(place / "out")
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said, said
    return process.returncode, said


def goes_on(place):
    """Whether a run that is continued ends like one that was left alone."""
    end = checkpoint_times(place / "out")[0] + 0.75
    resume_here(place / "out", until=end)
    run_here(place / "in.toml", place / "whole", until=end)
    return difference(place / "out", place / "whole") is None and leftovers(place / "out") == []


def test_all_checkpoints_deleted_while_it_runs(tmp_path):
    """The folder, too: the next checkpoint makes it anew, and counts all that came before."""
    code, said = meddled_with(tmp_path, lambda out: shutil.rmtree(out / "checkpoints"), signal.SIGUSR1)
    assert code == 75, said
    assert goes_on(tmp_path)


def test_the_newest_checkpoint_deleted_after_a_stop(tmp_path):
    code, said = meddled_with(tmp_path, lambda out: None, signal.SIGUSR1)
    assert code == 75, said
    times = checkpoint_times(tmp_path / "out")
    (tmp_path / "out" / "checkpoints" / f"ckpt-{times[0]:022.12f}.h5").unlink()
    assert checkpoint_times(tmp_path / "out") == [0.0] and times[0] > 1.0
    assert goes_on(tmp_path)


def test_all_checkpoints_deleted_after_a_stop(tmp_path):
    """The results stay, and both ways to go on say what is the matter."""
    meddled_with(tmp_path, lambda out: None, signal.SIGUSR1)
    shutil.rmtree(tmp_path / "out" / "checkpoints")
    kept = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.h5")}
    said = command(["run", "in.toml", "--output", "out", "--resume", "auto"], tmp_path, code=2)
    assert "of an earlier run but none of its checkpoints" in said and "another --output" in said
    assert "no checkpoint to go on from" in command(["resume", "out"], tmp_path, code=65)
    assert kept and kept == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.h5")}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_folder_that_becomes_read_only(tmp_path):
    """A checkpoint that cannot be written ends the run with one message; the earlier one stays, and is gone on from."""
    write_input(tmp_path / "in.toml", TABLES)
    words = [*WITHOUT_POWERS, sys.executable, "-m", "hpcchain", "run", "in.toml", "--output", "out"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    out = tmp_path / "out"
    assert wait_for(lambda: len(log_rows(out)) > 3, process)
    (out / "checkpoints").chmod(0o555)
    process.send_signal(signal.SIGUSR2)
    _, said = process.communicate(timeout=PATIENCE)
    (out / "checkpoints").chmod(0o755)
    messages = [line for line in said.splitlines() if line.startswith("hpcchain: ")]
    assert process.returncode == 65 and len(messages) == 1, said
    assert "checkpoints/ckpt-" in messages[0] and "Permission denied" in messages[0]
    assert "Traceback" not in said and checkpoint_times(out) == [0.0]
    assert goes_on(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_folder_that_is_read_only_from_the_start(tmp_path):
    write_input(tmp_path / "in.toml", TABLES)
    (tmp_path / "out").mkdir(mode=0o555)
    done = subprocess.run(
        [*WITHOUT_POWERS, sys.executable, "-m", "hpcchain", "run", "in.toml", "--output", "out"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    messages = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert done.returncode == 65 and len(messages) == 1 and "Permission denied" in messages[0], done.stderr
    assert "Traceback" not in done.stderr and list((tmp_path / "out").iterdir()) == []
