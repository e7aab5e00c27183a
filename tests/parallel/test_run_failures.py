"""Whatever happens to one rank of a run ends all of them soon, with one message and code, and the run can go on.

Each run is started by mpirun, with the stand-in (replicated.py) for its engine.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.launching import ROOT, clean_environment, mpirun, run_python
from tests.support.run_folders import (
    checkpoint_times,
    difference,
    leftovers,
    log_rows,
    resume_here,
    run_here,
    wait_for,
    write_input,
)

TABLES = {
    "box": {"size": [7.0, 7.0, 7.0]},
    "molecule": [{"kind": "monomer", "count": 40}, {"kind": "chain", "beads": 4, "count": 12}],
    "run": {"end_time": 1e4},
    "output": {"frame_every": 0.05, "report_every": 0.05, "checkpoint_every": 0.2, "events": True},
}
SOON = 40.0
"""Wall seconds within which all ranks end after a failure, whatever else a machine does; a hang lasts for ever."""

FAILING = """
import resource, sys
from tests.support.replicated import ReplicatedEngine, main
from hpcchain.errors import EngineError

class Failing(ReplicatedEngine):
    def advance(self, time, pause=None):
        if not self.growing and self._turn == 7 and self._comm.rank in {ranks}:
{body}
        return super().advance(time, pause)

sys.exit(main(sys.argv[1:], Failing))
"""


def fails(tmp_path, ranks, body):
    """Run with an engine that does something on some ranks on its way; return the process and the run's folder."""
    write_input(tmp_path / "in.toml", TABLES)
    script = tmp_path / "failing.py"
    script.write_text(FAILING.format(ranks=ranks, body=" " * 12 + body))
    begin = time.monotonic()
    done = run_python(
        [script, "run", "in.toml", "--output", "out"], tmp_path, 3, timeout=2 * SOON, PYTHONPATH=str(ROOT)
    )
    assert time.monotonic() - begin < SOON
    return done, tmp_path / "out"


def messages(said):
    """Return the program's own lines on stderr, less those of the log."""
    return [line for line in said.splitlines() if line.startswith("hpcchain: ")]


def pids(place):
    """Return the process numbers of a run's ranks."""
    return [int(path.read_text()) for path in sorted(place.glob("rank-*.pid"))]


def all_end(place):
    """Wait until no rank is left: the launcher may end a little before those that it ends."""
    limit = time.monotonic() + SOON
    while any(Path(f"/proc/{pid}").exists() for pid in pids(place)):
        assert time.monotonic() < limit, "a rank is left"
        time.sleep(0.02)


def goes_on(folder, place):
    """Whether a run that was cut off ends like one that never was, when one rank goes on with it."""
    all_end(place)
    end = checkpoint_times(folder)[0] + 0.17
    resume_here(folder, until=end)
    run_here(place / "in.toml", place / "whole", until=end)
    return difference(folder, place / "whole", ("trajectory", "events")) is None and leftovers(folder) == []


INTERRUPTED = """
import sys
from mpi4py import MPI
from hpcchain import __main__ as program
from hpcchain.cli import main as commands

def interrupted():
    raise KeyboardInterrupt

if MPI.COMM_WORLD.rank == 1:
    commands.main = interrupted
sys.exit(program.main())
"""


def test_an_interrupt_to_one_rank_that_starts_ends_all(tmp_path):
    """MPI is there already, and the other rank waits for this one."""
    write_input(tmp_path / "in.toml", TABLES)
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    begin = time.monotonic()
    done = run_python(
        [script, "run", "in.toml", "--output", "out"], tmp_path, 2, timeout=2 * SOON, PYTHONPATH=str(ROOT)
    )
    assert time.monotonic() - begin < SOON
    assert done.returncode == 130 and messages(done.stderr) == ["hpcchain: interrupted before it began"]
    assert "Traceback" not in done.stderr


def test_an_engine_that_fails_on_one_rank(tmp_path):
    done, folder = fails(tmp_path, [1], 'raise EngineError("bead 7 at time 0.3")')
    assert done.returncode == 70
    assert messages(done.stderr) == ["hpcchain: bead 7 at time 0.3"] and "Traceback" not in done.stderr
    assert goes_on(folder, tmp_path)


@pytest.mark.parametrize(
    ("ranks", "most"),
    [
        ([2], 20_000),
        ([0, 1, 2], 500_000),
    ],
)
def test_a_disk_that_is_full(tmp_path, ranks, most):
    """From some time on no file may become longer: what the last rank writes of a part, and what closing it writes."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"
    done, folder = fails(tmp_path, ranks, limit)
    assert done.returncode == 65, done.stderr
    (message,) = messages(done.stderr)
    assert "File too large; files may be no larger there (ulimit -f" in message, message
    assert "Traceback" not in done.stderr, done.stderr
    assert goes_on(folder, tmp_path)


JOINING = """
import resource, sys
from mpi4py import MPI
from tests.support.replicated import main
from hpcchain.run.recorder import Recorder

joined = Recorder.assemble

def full(self, provenance):
{body}
    MPI.COMM_WORLD.Barrier()
    return joined(self, provenance)

Recorder.assemble = full
sys.exit(main(sys.argv[1:]))
"""


def joins(tmp_path, body):
    """Run to the end with files for which there is no space when they are joined; return the process and the folder."""
    write_input(tmp_path / "in.toml", TABLES)
    (tmp_path / "joining.py").write_text(JOINING.format(body=body))
    words = [*mpirun(3), sys.executable, "joining.py", "run", "in.toml", "--output", "out", "--until", "0.4"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * SOON,
    )
    return done, tmp_path / "out"


def require_kept(done, folder, place, words):
    """Fail unless a run says once why its files could not be joined, and a resume joins them."""
    assert done.returncode == 65, done.stderr
    (message,) = messages(done.stderr)
    assert re.search(words, message), message
    assert "Traceback" not in done.stderr and "Segmentation" not in done.stderr, done.stderr
    all_end(place)
    assert not (folder / "trajectory.h5").exists()
    resume_here(folder, until=0.4)
    run_here(place / "in.toml", place / "whole", until=0.4)
    assert difference(folder, place / "whole", ("trajectory", "events")) is None and leftovers(folder) == []


@pytest.mark.parametrize(("most", "hard"), [(3_000, "resource.RLIM_INFINITY"), (60_000, "most")])
def test_no_space_to_join_the_files_of_several_ranks(tmp_path, most, hard):
    """Files may be no longer than something, for good or not, on all ranks from the end of the run on."""
    body = f"    most = {most}\n    resource.setrlimit(resource.RLIMIT_FSIZE, (most, {hard}))"
    require_kept(*joins(tmp_path, body), tmp_path, r"ulimit -f")


def test_a_rank_that_does_not_come(tmp_path):
    """The others wait in the engine's own exchange; it is said which waits for which, and the run ends as it should."""
    write_input(tmp_path / "in.toml", TABLES)
    script = tmp_path / "failing.py"
    script.write_text(FAILING.format(ranks=[1], body=" " * 12 + '__import__("time").sleep(4.0)'))
    done = run_python(
        [script, "run", "in.toml", "--output", "out", "--until", "0.6", "--silence", "1.5"],
        tmp_path,
        3,
        timeout=2 * SOON,
        PYTHONPATH=str(ROOT),
    )
    assert done.returncode == 0, done.stderr
    warnings = [
        line for line in done.stderr.splitlines() if "no step for" in line
    ]  # more than one where loading is slow
    asleep = [line for line in warnings if "rank 1 wait for none (in advance, failing.py:" in line]
    assert asleep and all("ranks 0, 2 wait for all ranks" in line for line in asleep), warnings
    assert len(asleep) <= done.stderr.count("goes on after") <= len(warnings)
    assert sorted(path.name for path in (tmp_path / "out" / "stuck").iterdir()) == [
        f"rank-0000{rank}.txt" for rank in range(3)
    ]


def started(place):
    """Start a run on three ranks that does not end, wait until it is under way, and return it and its folder."""
    write_input(place / "in.toml", TABLES)
    words = [
        *mpirun(3),
        sys.executable,
        ROOT / "tests" / "support" / "replicated.py",
        "run",
        "in.toml",
        "--output",
        "out",
    ]
    process = subprocess.Popen(
        list(map(str, words)),
        cwd=place,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert wait_for(lambda: len(log_rows(place / "out")) > 12, process)
    return process, place / "out"


def ended(process):
    """Return the exit code and what a run said; it ends soon."""
    _, said = process.communicate(timeout=SOON)
    return process.returncode, said


def test_a_rank_that_is_killed(tmp_path):
    process, folder = started(tmp_path)
    os.kill(pids(tmp_path)[1], signal.SIGKILL)
    code, said = ended(process)
    assert code != 0 and "Traceback" not in said
    assert goes_on(folder, tmp_path)


def test_a_signal_that_the_launcher_passes_on(tmp_path):
    process, folder = started(tmp_path)
    process.send_signal(signal.SIGUSR1)
    code, said = ended(process)
    assert code == 75 and said.count("go on with: hpcchain resume") == 1 and "Traceback" not in said, said
    assert messages(said) == [] and leftovers(folder) == []
    assert goes_on(folder, tmp_path)
