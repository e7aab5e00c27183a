"""Programs in tools find the project's Python from whichever one they are started with, or say what is missing.

So do shells with the environment activated; and what tools and job scripts in bash do on their own.
"""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.launching import OPEN_MPI, ROOT, clean_environment

BARE = [sys.executable, "-S"]  # sees no installed packages, like a system's own Python


def started(words, **environment):
    """Return how `tools/bench --list` ended."""
    return subprocess.run(
        [*words, ROOT / "tools" / "bench", "--list"],
        env=clean_environment(**environment),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_python_without_packages_hands_over():
    done = started(BARE, HPCCHAIN_VENV=sys.prefix)
    assert done.returncode == 0 and "chains-10-0.3" in done.stdout, done.stderr


def test_a_python_that_has_all_is_kept(tmp_path):
    """There is no environment where one is said to be, and none is needed."""
    done = started([sys.executable], HPCCHAIN_VENV=str(tmp_path), HPCCHAIN_MODULES="none-such")
    assert done.returncode == 0 and "chains-10-0.3" in done.stdout, done.stderr


def test_no_environment_is_one_message(tmp_path):
    done = started(BARE, HPCCHAIN_VENV=str(tmp_path))
    assert done.returncode == 78 and done.stdout == "", done.stderr
    assert done.stderr.count("\n") == 1 and "run tools/setup first" in done.stderr


def shell(script, **environment):
    """Return how a bash script ended that sees none of Open MPI's settings but those given."""
    kept = {name: value for name, value in clean_environment(**environment).items() if name not in OPEN_MPI}
    return subprocess.run(
        ["bash", "-euc", script], env=kept, cwd="/", capture_output=True, text=True, check=False, timeout=60
    )


def test_an_activated_shell_can_start_more_ranks_than_cores_as_root():
    activate = Path(sys.prefix) / "bin" / "activate"
    if not activate.exists():
        pytest.skip("this Python's environment has nothing to activate")
    for _ in range(2):
        done = shell(f"source {activate}; " + " ".join(f'echo "{name}=${name}";' for name in OPEN_MPI))
        assert done.stdout.split() == [f"{name}={value}" for name, value in OPEN_MPI.items()], done.stderr


@pytest.mark.parametrize("tool", ["setup", "demo", "check", "validate_container"])
def test_scripts_asked_for_help_do_nothing_else(tool):
    for word in ("-h", "--help"):
        done = shell(f"{ROOT}/tools/{tool} {word}")
        head = (ROOT / "tools" / tool).read_text(encoding="utf-8").splitlines()[1].removeprefix("# ")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert done.stdout.splitlines()[0] == head and "set -" not in done.stdout


@pytest.mark.parametrize(("launcher", "heard"), [("srun", "TERM"), ("mpirun", "USR1")])
def test_a_job_that_is_ended_asks_its_ranks_for_a_checkpoint(launcher, heard):
    """Open MPI's mpirun kills the ranks when it gets TERM itself; what it passes on is USR1."""
    ranks = "trap 'echo TERM; exit 75' TERM; trap 'echo USR1; exit 75' USR1; kill -TERM $PPID; sleep 5 >&- 2>&- & wait"
    done = shell(
        f"source {ROOT}/jobs/common.sh; attended bash -c {shlex.quote(ranks)}; echo $code",
        HPCCHAIN_LAUNCHER=launcher,
        HPCCHAIN_HOME=str(ROOT),
        HPCCHAIN_VENV=sys.prefix,
        SLURM_JOB_END_TIME="1",
    )
    assert done.stdout.split() == [heard, "75"], done.stderr


@pytest.mark.parametrize(("launcher", "code"), [("srun", 128 + signal.SIGTERM), ("mpirun", 128 + signal.SIGUSR1)])
def test_a_signal_that_comes_as_the_ranks_begin_is_passed_on(launcher, code):
    """The signal comes when the command runs and the script does not know its number yet."""
    at_once = "[[ $BASH_COMMAND != child=?! ]] || { sleep .5; kill -TERM $$; }"
    done = shell(
        f"source {ROOT}/jobs/common.sh; set -T; trap {shlex.quote(at_once)} DEBUG; attended sleep 30; echo $code",
        HPCCHAIN_LAUNCHER=launcher,
        HPCCHAIN_HOME=str(ROOT),
        HPCCHAIN_VENV=sys.prefix,
        SLURM_JOB_END_TIME="1",
    )
    assert done.stdout.split() == [str(code)], done.stderr


def test_a_job_that_is_stopped_while_its_nodes_are_warmed_starts_no_ranks():
    done = shell(
        f"source {ROOT}/jobs/common.sh; kill -USR1 $$; attended echo begun; echo $code",
        HPCCHAIN_HOME=str(ROOT),
        HPCCHAIN_VENV=sys.prefix,
        SLURM_JOB_END_TIME="1",
    )
    assert done.stdout.split() == ["75"], done.stderr


@pytest.mark.parametrize(
    ("launcher", "cores", "words"),
    [
        ("srun", "", "srun --ntasks=3"),
        ("srun", "2", "srun --ntasks=3 --cpus-per-task=2"),
        ("mpirun", "", "true -n 3"),
        ("mpirun", "2", "true -n 3 --map-by slot:PE=2"),
    ],
)
def test_ranks_have_the_cores_that_a_job_has_for_each(launcher, cores, words):
    """An srun within a job does not take their number over by itself."""
    done = shell(
        f'source {ROOT}/jobs/common.sh; launcher 3; echo "${{ranks[@]}}"',
        HPCCHAIN_LAUNCHER=launcher,
        HPCCHAIN_HOME=str(ROOT),
        HPCCHAIN_VENV=sys.prefix,
        MPIRUN="true",
        SLURM_JOB_END_TIME="1",
        SLURM_CPUS_PER_TASK=cores,
    )
    assert done.stdout.strip() == words, done.stderr
