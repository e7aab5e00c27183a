"""Ranks without molecules, as programs: their signals and failures are everybody's, and their files those of one rank.

The engine is the real one. Those that sleep next to two ranks take part in files; those that sleep next to one do not.
"""

import pytest

from tests.parallel.test_run_failures import goes_on, messages
from tests.support.launching import ROOT, run_python
from tests.support.run_folders import command, difference, leftovers, log_rows, resume_here, run_here, write_input

TABLES = {
    "box": {"size": [7.0, 7.0, 7.0]},
    "molecule": [{"kind": "monomer", "count": 40}, {"kind": "chain", "beads": 4, "count": 12}],
    "run": {"end_time": 1e6, "sectors": [2, 1, 1]},
    "output": {"frame_every": 10.0, "report_every": 10.0, "checkpoint_every": 20.0, "events": True},
}
LONG = 120.0
"""Wall seconds in which runs end that are stopped, whatever else a machine does; they would go on for hours."""
PROGRAM = """
import sys
from pathlib import Path
from hpcchain.parallel.comm import launched
from hpcchain.parallel.tuning import standby
from hpcchain.run.controller import Run
from hpcchain.errors import EngineError
from tests.support.replicated import main

def interrupted(self, before=Run._interrupted):
    if launched()[1] == 2 and self.time > 24.0:
        {body}
    return before(self)

def nap(begin, before=standby.nap):
    if launched()[1] == 2 and list(Path("out/checkpoints").glob("*.h5")):
        {body}
    return before(begin)

Run._interrupted = interrupted
standby.nap = nap
import hpcchain.parallel.windows as windows
sys.exit(main(sys.argv[1:], windows.WindowedEngine))
"""

STANDING_BY = """
import os, sys, time
os.cpu_count = lambda: 1  # ranks outnumber the processors
from hpcchain.cli.main import main
from hpcchain.parallel.comm import launched

begin = time.monotonic()
code = main(sys.argv[1:])
with open(f"rank-{launched()[1]}.txt", "w") as file:
    print("numba" in sys.modules, time.process_time(), time.monotonic() - begin, file=file)
sys.exit(code)
"""


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory):
    """Runs have a time limit, which compiling is not to use up."""
    folder = tmp_path_factory.mktemp("compiled")
    run_here(write_input(folder / "in.toml", TABLES), folder / "out", until=1.0)


def ended(tmp_path, body, sectors):
    """Return the process of a run on 3 ranks of which the last does something while it sleeps, and the run's folder."""
    write_input(tmp_path / "in.toml", TABLES | {"run": {"end_time": 1e6, "sectors": sectors}})
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(body=body))
    done = run_python([script, "run", "in.toml", "--output", "out"], tmp_path, 3, timeout=LONG, PYTHONPATH=str(ROOT))
    return done, tmp_path / "out"


@pytest.mark.parametrize(("sectors", "at_work"), [([2, 1, 1], 2), ("auto", 1)])
def test_a_signal_to_one_that_sleeps_stops_all_with_a_checkpoint(tmp_path, sectors, at_work):
    done, folder = ended(tmp_path, "__import__('signal').raise_signal(10)", sectors)
    assert done.returncode == 75, done.stderr
    ranks, have = ("1 rank", "has") if at_work == 1 else (f"{at_work} ranks", "have")
    assert f"{at_work} of 3 ranks {have} the 88 beads, the others sleep; {ranks} would be as fast" in done.stderr
    assert "asked to by a signal" in done.stderr and log_rows(folder)[-1]["ranks_at_work"] == at_work
    assert goes_on(folder, tmp_path)


def test_a_signal_to_one_that_sleeps_asks_for_one_checkpoint(tmp_path):
    """It comes twice, is heeded twice, and then the run is stopped."""
    body = """
        turn = nap.__dict__.setdefault("turn", [0])
        turn[0] += 1
        if turn[0] in (1, 30):
            __import__("signal").raise_signal(12)
        if turn[0] == 60:
            __import__("signal").raise_signal(10)"""
    done, folder = ended(tmp_path, body.replace("nap.", "standby.nap."), "auto")
    assert done.returncode == 75, done.stderr
    assert done.stderr.count("checkpoint written at t ") == 2
    assert goes_on(folder, tmp_path)


def test_a_failure_of_one_that_sleeps_ends_all(tmp_path):
    done, folder = ended(tmp_path, "raise EngineError('its disk is full')", "auto")
    assert done.returncode == 70
    assert messages(done.stderr) == ["hpcchain: its disk is full"] and "Traceback" not in done.stderr
    assert goes_on(folder, tmp_path)


def test_one_that_sleeps_is_killed(tmp_path):
    done, folder = ended(tmp_path, "__import__('os').kill(__import__('os').getpid(), 9)", "auto")
    assert done.returncode != 0
    assert goes_on(folder, tmp_path)


def test_a_rank_that_stands_by_takes_next_to_no_processor_and_loads_nothing(tmp_path):
    """Where ranks outnumber processors; all end with the root's exit code."""
    write_input(tmp_path / "in.toml", TABLES | {"run": {"end_time": 400.0, "sectors": "auto"}})
    script = tmp_path / "program.py"
    script.write_text(STANDING_BY)
    done = run_python([script, "run", "in.toml", "--output", "out"], tmp_path, 3, timeout=LONG, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    for rank in (1, 2):
        loaded, seconds, wall = (tmp_path / f"rank-{rank}.txt").read_text().split()
        assert loaded == "False" and float(seconds) < 0.05 * float(wall) + 1.0


def test_a_run_goes_on_with_other_ranks_asleep(tmp_path):
    """Two of three ranks, then both of two, then one alone."""
    output = {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 2.0, "events": True}
    write_input(tmp_path / "in.toml", TABLES | {"output": output})
    settings = ["--set", "run.sectors=[2, 1, 1]"]
    command(["run", "in.toml", "--output", "out", "--until", 1.3, *settings], tmp_path, 0, 3)
    command(["resume", "out", "--until", 2.6], tmp_path, 0, 2)
    resume_here(tmp_path / "out", until=3.4)
    run_here(tmp_path / "in.toml", tmp_path / "whole", until=3.4)
    assert difference(tmp_path / "out", tmp_path / "whole", ("trajectory", "events")) is None
    assert leftovers(tmp_path / "out") == []
