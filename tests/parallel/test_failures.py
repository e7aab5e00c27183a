"""A failure on one rank or on all ends all of them soon, with one message and the right code; each under mpirun."""

import time

import pytest

from tests.support.launching import ROOT, run_python

PROGRAM = """
import sys, time
from hpcchain.cli import console
from hpcchain.errors import ConfigError, DataError, EngineError

def action(comm):
{body}

sys.exit(console.run(action))
"""


def run(tmp_path, ranks, body):
    """Run an action on ranks under the console; return the finished process."""
    script = tmp_path / "action.py"
    script.write_text(PROGRAM.format(body="\n".join("    " + line for line in body.strip().splitlines())))
    begin = time.monotonic()
    done = run_python([script], tmp_path, ranks, timeout=60.0)
    assert time.monotonic() - begin < 30.0
    return done


def messages(done):
    """Return the program's own lines on stderr."""
    return [line for line in done.stderr.splitlines() if line.startswith("hpcchain:")]


@pytest.mark.parametrize("bad", [0, 2])
def test_one_rank_fails_while_the_others_wait_for_it(tmp_path, bad):
    done = run(
        tmp_path,
        3,
        f"""
if comm.rank == {bad}:
    raise DataError("disk gone on one rank")
comm.barrier()
return 0
""",
    )
    assert done.returncode == 65
    assert messages(done) == ["hpcchain: disk gone on one rank"]
    assert "Traceback" not in done.stderr


def test_one_rank_fails_while_the_others_compute(tmp_path):
    done = run(
        tmp_path,
        2,
        """
if comm.rank == 1:
    raise EngineError("bead 7 at time 1.5")
time.sleep(25.0)
return 0
""",
    )
    assert done.returncode == 70
    assert messages(done) == ["hpcchain: bead 7 at time 1.5"]


def test_one_rank_fails_after_the_others_are_done(tmp_path):
    done = run(
        tmp_path,
        3,
        """
comm.barrier()
if comm.rank == 1:
    time.sleep(0.5)
    raise ZeroDivisionError("in a report")
return 0
""",
    )
    assert done.returncode == 70
    (message,) = messages(done)
    assert "internal error on rank 1: ZeroDivisionError: in a report" in message
    assert "Traceback" not in done.stderr


def test_all_ranks_fail_with_one_message(tmp_path):
    done = run(
        tmp_path,
        3,
        """
raise ConfigError(f"input.toml: box.size as rank {comm.rank} saw it")
""",
    )
    assert done.returncode == 78
    assert messages(done) == ["hpcchain: input.toml: box.size as rank 0 saw it"]


def test_all_ranks_return_an_exit_code(tmp_path):
    assert run(tmp_path, 2, "return 75").returncode == 75
    assert run(tmp_path, 2, "return 0").returncode == 0


def test_results_and_log_lines_come_from_the_root(tmp_path):
    done = run(
        tmp_path,
        3,
        """
import logging
print("result")
logging.getLogger("hpcchain.sector").info("begun")
if comm.rank == 2:
    logging.getLogger("hpcchain.sector").warning("short of memory")
return 0
""",
    )
    assert done.returncode == 0
    assert done.stdout == "result\n"
    assert len([line for line in done.stderr.splitlines() if line.endswith("hpcchain.sector 0/3 INFO begun")]) == 1
    assert len([line for line in done.stderr.splitlines() if line.endswith("begun")]) == 1
    assert any(line.endswith("hpcchain.sector 2/3 WARNING short of memory") for line in done.stderr.splitlines())


FAILING = {
    "test": """
def test_one():
    meet()
""",
    "fixture": """
@pytest.fixture
def prepared():
    meet()

def test_one(prepared):
    MPI.COMM_WORLD.Barrier()
""",
    "import": """
meet()

def test_one():
    MPI.COMM_WORLD.Barrier()
""",
}


@pytest.mark.parametrize("place", FAILING)
def test_a_failing_mpi_test_ends_pytest_on_all_ranks(tmp_path, place):
    (tmp_path / "test_one.py").write_text(
        """
import pytest
from mpi4py import MPI

def meet():
    if MPI.COMM_WORLD.rank == 1:
        raise ValueError("only rank 1 minds")
    MPI.COMM_WORLD.Barrier()
"""
        + FAILING[place]
    )
    begin = time.monotonic()
    words = ["-m", "mpi4py", "-m", "pytest", "--with-mpi", "-x", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = run_python([*words, tmp_path], tmp_path, 2, timeout=60.0, PYTHONPATH=str(ROOT))
    assert time.monotonic() - begin < 30.0
    assert done.returncode == 1
    assert "FAILED on rank 1 of 2" in done.stderr
    assert "only rank 1 minds" in done.stderr
