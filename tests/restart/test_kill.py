"""kill -9 at random moments: the newest whole checkpoint opens, and the resumed run ends with the same bits."""

import shutil
import time

import numpy as np
import pytest

from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import newest_valid
from tests.support.mixtures import mixed_input
from tests.support.run_folders import (
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

END = 2.53
OUTPUT = {"frame_every": 0.1, "report_every": 0.1, "checkpoint_every": 0.1, "keep_checkpoints": 3, "events": True}
KILLS = 3


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an input and its uninterrupted run in `whole`."""
    folder = tmp_path_factory.mktemp("kill")
    write_input(folder / "in.toml", mixed_input(run={"end_time": END}, output=OUTPUT))
    run_here(folder / "in.toml", folder / "whole")
    return folder


def killed(process, delay):
    """Kill a run after a delay, and return whether it was still going."""
    time.sleep(delay)
    going = process.poll() is None
    process.kill()
    process.wait(timeout=60)
    process.stderr.close()
    return going


def opens(folder):
    """Whether the newest checkpoint of a killed run is whole, and none had to be passed over for it."""
    path, refused = newest_valid(folder / "checkpoints")
    return refused == [] and (path is None or read_checkpoint(path).time >= 0.0)


def same_end(folder, whole):
    """Whether a run ended like the uninterrupted one."""
    rows = [[(row["time"], row["events"], row["energy"]) for row in log_rows(run)] for run in (folder, whole)]
    return difference(folder, whole) is None and rows[0] == rows[1] and leftovers(folder) == []


def test_killed_again_and_again(place):
    """Each time a few reports later than the time before, up to the time that a checkpoint takes to be written."""
    rng = np.random.default_rng(2026)
    folder, cut = place / "killed", 0
    for _ in range(KILLS):
        reports = len(log_rows(folder)) + int(rng.integers(1, 6))
        process = start(["run", "in.toml", "--output", folder, "--resume", "auto"], place)
        assert wait_for(lambda: len(log_rows(folder)) >= reports, process)  # noqa: B023
        cut += killed(process, rng.uniform(0.0, 0.1))
        assert opens(folder)
    assert cut == KILLS
    command(["resume", folder], place)
    assert same_end(folder, place / "whole")


@pytest.mark.parametrize("delay", [0.0, *(pytest.param(delay, marks=pytest.mark.long) for delay in (0.03, 0.08))])
def test_killed_while_the_output_files_are_made(place, delay):
    folder = place / f"end-{delay}"
    process = start(["run", "in.toml", "--output", folder], place)
    last = f"ckpt-{END:022.12f}.h5"
    assert wait_for(lambda: (folder / "checkpoints" / last).exists(), process)
    killed(process, delay)
    assert opens(folder)
    resume_here(folder)
    assert same_end(folder, place / "whole")
    shutil.rmtree(folder)


def test_killed_before_the_first_checkpoint(place):
    """Nothing stands in the way of starting anew."""
    folder = place / "young"
    process = start(["run", "in.toml", "--output", folder], place)
    assert wait_for(lambda: (folder / "run.lock").exists(), process)
    killed(process, 0.0)
    run_here(place / "in.toml", folder, resume="auto", until=0.3)
    assert frame_times(folder) == [0.0, 0.1, 0.2, 0.3]
