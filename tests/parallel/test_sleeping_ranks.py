"""Ranks without molecules, as programs: their signals and failures are everybody's, and their files those of one rank.

The engine of the one rank with molecules is the real one.
"""

import pytest

from tests.parallel.test_run_failures import goes_on, messages
from tests.support.launching import ROOT, run_python
from tests.support.run_folders import command, difference, leftovers, log_rows, resume_here, run_here, write_input

TABLES = {
    "box": {"size": [7.0, 7.0, 7.0]},
    "molecule": [{"kind": "monomer", "count": 40}, {"kind": "chain", "beads": 4, "count": 12}],
    "run": {"end_time": 1e6, "sectors": "auto"},
    "output": {"frame_every": 500.0, "report_every": 500.0, "checkpoint_every": 1000.0, "events": True},
}
LONG = 120.0
"""Wall seconds in which runs end that are stopped, whatever else a machine does; they would go on for hours."""
PROGRAM = """
import sys
from hpcchain.parallel.launcher import launched
from hpcchain.run.controller import Run
from hpcchain.errors import EngineError
from tests.support.replicated import main

def interrupted(self, before=Run._interrupted):
    if launched()[1] == {rank} and self.time > 1200.0:
        {body}
    return before(self)

Run._interrupted = interrupted
import hpcchain.parallel.windows as windows
sys.exit(main(sys.argv[1:], windows.WindowedEngine))
"""


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory):
    """Runs have a time limit, which compiling is not to use up."""
    folder = tmp_path_factory.mktemp("compiled")
    run_here(write_input(folder / "in.toml", TABLES), folder / "out", until=1.0)


def ended(tmp_path, body, rank=2):
    """Return the process of a run on 3 ranks of which one does something while it sleeps, and the run's folder."""
    write_input(tmp_path / "in.toml", TABLES)
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(rank=rank, body=body))
    done = run_python([script, "run", "in.toml", "--output", "out"], tmp_path, 3, timeout=LONG, PYTHONPATH=str(ROOT))
    return done, tmp_path / "out"


def test_a_signal_to_one_that_sleeps_stops_all_with_a_checkpoint(tmp_path):
    done, folder = ended(tmp_path, "__import__('signal').raise_signal(10)")
    assert done.returncode == 75, done.stderr
    assert "1 of 3 ranks have the 88 beads, the others sleep; 1 rank would be as fast" in done.stderr
    assert "asked to by a signal" in done.stderr and log_rows(folder)[-1]["ranks_at_work"] == 1
    assert goes_on(folder, tmp_path)


def test_a_failure_of_one_that_sleeps_ends_all(tmp_path):
    done, folder = ended(tmp_path, "raise EngineError('its disk is full')")
    assert done.returncode == 70
    assert messages(done.stderr) == ["hpcchain: its disk is full"] and "Traceback" not in done.stderr
    assert goes_on(folder, tmp_path)


def test_one_that_sleeps_is_killed(tmp_path):
    done, folder = ended(tmp_path, "__import__('os').kill(__import__('os').getpid(), 9)")
    assert done.returncode != 0
    assert goes_on(folder, tmp_path)


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
