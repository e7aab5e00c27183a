"""Signals: USR1, TERM and INT leave a checkpoint and exit 75, USR2 a checkpoint in passing; the bits stay the same."""

import signal
import time
from pathlib import Path

import pytest

from hpcchain.io.tools.inspect import info
from tests.support.mixtures import mixed_input
from tests.support.run_folders import (
    PATIENCE,
    checkpoint_times,
    command,
    difference,
    frame_times,
    leftovers,
    log_rows,
    resume_here,
    run_here,
    start,
    wait_for,
    write_input,
)

OFTEN = {"frame_every": 0.01, "report_every": 0.01, "checkpoint_every": 0.5, "events": True}
SELDOM = {"frame_every": 50.0, "report_every": 50.0, "checkpoint_every": 500.0, "events": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a start, and inputs of long runs that put out often and seldom."""
    folder = tmp_path_factory.mktemp("signals")
    tables = mixed_input(run={"end_time": 1e4})
    command(["build", write_input(folder / "grow.toml", tables), "-o", folder / "start.h5"], folder)
    tables["initial"] = {"method": "file", "file": "start.h5"}
    for name, output, end in (("often", OFTEN, 1e3), ("seldom", SELDOM, 1e4)):  # the disk need not be large
        write_input(folder / f"{name}.toml", tables | {"output": output, "run": {"end_time": end}})
    return folder


def stopped(process, number):
    """Send a signal and return the exit code and what the run said."""
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param("often", signal.SIGUSR1, marks=pytest.mark.long),
        ("often", signal.SIGINT),
        ("seldom", signal.SIGTERM),
        ("seldom", signal.SIGUSR1),
    ],
)
def test_a_stop_leaves_a_checkpoint_and_no_trace(place, name, number):
    folder = place / f"{name}-{number.name}"
    process = start(["run", f"{name}.toml", "--output", folder], place)
    assert wait_for(lambda: len(log_rows(folder)) >= 1, process)
    time.sleep(0.4)
    code, said = stopped(process, number)
    assert code == 75 and "Traceback" not in said, said
    assert f"hpcchain resume {folder}" in said
    reached, end = checkpoint_times(folder)[0], checkpoint_times(folder)[0] + 0.3137
    assert reached > 0.0 and leftovers(folder) == []
    assert frame_times(folder)[-1] <= reached and len(frame_times(folder)) == len(log_rows(folder))
    resume_here(folder, until=end)
    run_here(place / f"{name}.toml", folder / "whole", until=end)
    assert difference(folder, folder / "whole") is None


def catches(process, number):
    """Whether a process has a handler for a signal."""
    said = Path(f"/proc/{process.pid}/status").read_text()
    return int(said.split("SigCgt:")[1].split()[0], 16) >> (number - 1) & 1


def test_a_stop_before_the_modules_are_loaded(place):
    """A signal that comes before there is anything to keep ends no run as a failure."""
    folder = place / "early"
    process = start(["run", "often.toml", "--output", folder], place)
    assert wait_for(lambda: catches(process, signal.SIGUSR1), process)
    assert "numpy" not in Path(f"/proc/{process.pid}/maps").read_text()
    code, said = stopped(process, signal.SIGUSR1)
    assert code == 75 and "Traceback" not in said, said
    assert checkpoint_times(folder) in ([], [0.0])


def test_a_checkpoint_in_passing(place):
    folder = place / "passing"
    process = start(["run", "seldom.toml", "--output", folder, "--set", "output.keep_checkpoints=100"], place)
    assert wait_for(lambda: (folder / "checkpoints" / "ckpt-000000000.000000000000.h5").exists(), process)
    time.sleep(0.2)
    for count in (2, 3, 4):
        process.send_signal(signal.SIGUSR2)
        assert wait_for(lambda: len(checkpoint_times(folder)) >= count, process)  # noqa: B023
    code, said = stopped(process, signal.SIGTERM)
    times = checkpoint_times(folder)[::-1]
    assert (code, len(times), times[0]) == (75, 5, 0.0) and times == sorted(set(times)), said
    assert said.count("checkpoint written at t ") == 3
    end = times[-1] + 0.25
    resume_here(folder, until=end)
    run_here(place / "seldom.toml", folder / "whole", until=end)
    assert difference(folder, folder / "whole") is None
    older = folder / "checkpoints" / f"ckpt-{times[2]:022.12f}.h5"
    resume_here(older, output=folder / "older", until=end)
    assert difference(folder / "older", folder / "whole") is None


def test_a_stop_while_the_start_is_made_keeps_it(place):
    """A run, and one that goes on twice where its start was stopped, have the same bits."""
    tables = mixed_input(times=10, fraction=0.35, run={"end_time": 0.01})
    path = write_input(place / "large.toml", tables)
    process = start(["run", path, "--output", "large"], place)
    said = ""
    while "growing" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    code, rest = stopped(process, signal.SIGUSR1)
    assert code == 75 and "run the same command again" in rest and "Traceback" not in rest
    assert "kept in large/growth.h5" in rest
    assert "grown to:      0." in info(place / "large" / "growth.h5")
    resume_here(place / "large")
    assert not (place / "large" / "growth.h5").exists()
    run_here(path, place / "large-whole")
    assert difference(place / "large", place / "large-whole", ["trajectory"]) is None
