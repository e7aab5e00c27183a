"""Ensembles on several ranks, started by mpirun: stopped, killed, failing, and going on on other numbers of ranks."""

import os
import signal
import time
from pathlib import Path

import pytest

from hpcchain.io.output.runs import DONE, FAILED, RUNNING, STOPPED, WAITING, read_runs
from tests.parallel.test_run_failures import SOON, messages
from tests.support.ensembles import states, write
from tests.support.launching import ROOT, run_python
from tests.support.run_folders import (
    checkpoint_times,
    command,
    difference,
    leftovers,
    log_rows,
    resume_here,
    run_here,
    start,
    wait_for,
)

ENDLESS = {"output": {"frame_every": 50.0, "report_every": 10.0, "checkpoint_every": 50.0, "events": False}}


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory):
    """Runs have a time limit, which compiling is not to use up."""
    folder = tmp_path_factory.mktemp("compiled")
    run_here(write(folder / "in.toml"), folder / "out", until=0.1)


def begun(tmp_path, ranks):
    """Start five endless runs on some ranks, wait until as many are under way, and return the launcher."""
    write(tmp_path / "in.toml", end=1e7, **ENDLESS)
    process = start(["run", "in.toml", "--vary", "initial.seed=1:5", "--output", "many"], tmp_path, ranks)
    under_way = [tmp_path / "many" / f"seed-{seed}" for seed in range(1, ranks + 1)]
    assert wait_for(lambda: all(len(log_rows(folder)) > 6 for folder in under_way), process), process.communicate()
    return process


def require_whole(tmp_path, ranks):
    """Fail unless an ensemble that was cut off goes on, on other ranks, to the bits of runs that never were."""
    reached = [time for seed in range(1, 6) for time in checkpoint_times(tmp_path / "many" / f"seed-{seed}")]
    end = max(reached) + 20.0
    said = command(["resume", "many", "--until", end], tmp_path, ranks=ranks)
    assert "5 of 5 runs done" in said, said
    assert states(tmp_path / "many") == {f"seed-{seed}": DONE for seed in range(1, 6)}
    assert leftovers(tmp_path / "many") == [] and not (tmp_path / "many" / ".turns").exists()
    for seed in (1, 5):
        whole = run_here(tmp_path / "in.toml", tmp_path / f"{seed}", until=end, settings=[f"initial.seed={seed}"])
        assert difference(tmp_path / "many" / f"seed-{seed}", whole, ["trajectory"]) is None


def test_a_signal_stops_all_runs_and_they_go_on_on_fewer_ranks(tmp_path):
    process = begun(tmp_path, 3)
    process.send_signal(signal.SIGUSR1)
    _, said = process.communicate(timeout=SOON)
    assert process.returncode == 75 and "0 of 5 runs done; stopped with checkpoints" in said, said
    assert list(states(tmp_path / "many").values()) == [STOPPED] * 3 + [WAITING] * 2 and "Traceback" not in said
    require_whole(tmp_path, 2)


@pytest.mark.long
def test_a_killed_rank_ends_all_and_they_go_on(tmp_path):
    process = begun(tmp_path, 2)
    os.kill(process_of(1, tmp_path), signal.SIGKILL)
    _, said = process.communicate(timeout=SOON)
    assert process.returncode != 0 and "Traceback" not in said
    assert RUNNING in states(tmp_path / "many").values()
    require_whole(tmp_path, 3)


def process_of(rank, folder):
    """Return the number of the process that is a rank in a folder."""
    (found,) = [int(name) for name in os.listdir("/proc") if name.isdigit() and is_rank(name, rank, folder)]
    return found


def is_rank(name, rank, folder):
    """Whether a process is a rank of a launcher's that works in a folder."""
    try:
        variables = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
        return f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables and os.readlink(f"/proc/{name}/cwd") == str(folder)
    except OSError:
        return False


def test_a_signal_to_one_rank_stops_all(tmp_path):
    """Launchers send signals to all ranks, but some other program may not."""
    process = begun(tmp_path, 2)
    os.kill(process_of(1, tmp_path), signal.SIGUSR1)
    _, said = process.communicate(timeout=SOON)
    assert process.returncode == 75, said
    assert list(states(tmp_path / "many").values()) == [STOPPED] * 2 + [WAITING] * 3


FAILING = """
import sys
from hpcchain.errors import EngineError
from tests.support.replicated import ReplicatedEngine, main

class Failing(ReplicatedEngine):
    def advance(self, time, pause=None):
        if self._turn == 1 and self._comm.rank in {ranks} and "{seed}" in sys.modules["hpcchain.run.ensemble"].CURRENT:
            raise EngineError("bead 7 at time 0.3")
        return super().advance(time, pause)

from hpcchain.run import ensemble
carried, ensemble.CURRENT = ensemble.carried, ""

def noted(plan, number, *args):
    ensemble.CURRENT = plan.rows[number].run
    return carried(plan, number, *args)

ensemble.carried = noted
sys.exit(main(sys.argv[1:], Failing))
"""
WORDS = ["run", "in.toml", "--vary", "initial.seed=1:3", "--ranks-per-run", "2", "--output", "many"]


def test_a_failure_of_all_ranks_of_a_group_ends_its_run_alone(tmp_path):
    write(tmp_path / "in.toml", run={"end_time": 1.0, "sectors": "all"})
    (tmp_path / "failing.py").write_text(FAILING.format(ranks=[0, 1], seed="seed-2"))
    done = run_python(["failing.py", *WORDS], tmp_path, 3, timeout=2 * SOON, PYTHONPATH=str(ROOT))
    assert done.returncode == 70 and messages(done.stderr) == [], done.stderr
    assert "seed-2: failed (exit code 70): bead 7 at time 0.3" in done.stderr and "Traceback" not in done.stderr
    assert "1 of 3 ranks have no run: 1 times 2 are at work" in done.stderr
    found = {row.run: row for row in read_runs(tmp_path / "many")}
    assert [(row.state, row.ranks) for row in found.values()] == [(DONE, 2), (FAILED, 2), (DONE, 2)]
    command(WORDS, tmp_path, ranks=2)
    whole = run_here(tmp_path / "in.toml", tmp_path / "whole", settings=["initial.seed=2"])
    assert difference(tmp_path / "many" / "seed-2", whole) is None


def test_a_failure_that_others_wait_for_ends_all_and_is_in_the_table(tmp_path):
    """Nothing calls the root back out of its exchange: all end, and the same command goes on."""
    write(tmp_path / "in.toml", run={"end_time": 1.0, "sectors": "all"})
    (tmp_path / "failing.py").write_text(FAILING.format(ranks=[1], seed="seed-2"))
    begin = time.monotonic()
    done = run_python(["failing.py", *WORDS], tmp_path, 2, timeout=2 * SOON, PYTHONPATH=str(ROOT))
    assert time.monotonic() - begin < SOON
    assert done.returncode == 70 and messages(done.stderr) == ["hpcchain: bead 7 at time 0.3"], done.stderr
    found = {row.run: row for row in read_runs(tmp_path / "many")}
    assert found["seed-2"].state == FAILED and found["seed-2"].message == "bead 7 at time 0.3"
    said = command(WORDS, tmp_path, ranks=2)
    assert "3 of 3 runs done" in said
    resume_here(tmp_path / "many" / "seed-3", until=1.5)


def test_a_group_that_waits_for_a_failed_rank_is_lost_and_others_go_on(tmp_path):
    write(tmp_path / "in.toml", run={"end_time": 1.0, "sectors": "all"})
    (tmp_path / "failing.py").write_text(FAILING.format(ranks=[0], seed="seed-2"))
    done = run_python(["failing.py", *WORDS], tmp_path, 4, timeout=2 * SOON, PYTHONPATH=str(ROOT))
    assert done.returncode == 70 and "2 of 3 runs done, 1 failed" in done.stderr, done.stderr
    assert "seed-2: failed (exit code 70): bead 7 at time 0.3" in done.stderr and "Traceback" not in done.stderr
    assert list(states(tmp_path / "many").values()) == [DONE, FAILED, DONE]
    assert not (tmp_path / "many" / ".turns").exists()
