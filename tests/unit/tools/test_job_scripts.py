"""What a job script does when something is missing: one message that says what to do, and its exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from hpcchain.cli import template
from tests.support.launching import ROOT, clean_environment

SCRIPTS = ("run", "array", "strong", "weak")
JOB = {"SLURM_JOB_ID": "1", "SLURM_JOB_END_TIME": "1", "SLURM_NTASKS": "2", "SLURM_JOB_NUM_NODES": "1"}
WORDS = ["in.toml", "out", "initial.seed", "1"]


@pytest.fixture
def place(tmp_path):
    """A folder with an input and with stand-ins for Slurm's programs, which do nothing."""
    (tmp_path / "in.toml").write_text("")
    (tmp_path / "bin").mkdir()
    for name in ("srun", "scontrol", "squeue"):
        program(tmp_path / "bin" / name, "exit 0")
    return tmp_path


def program(path, text):
    """Write a program in bash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def ended(place, script, words=WORDS, **environment):
    """Return how a script ended, and the lines of its complaint; a variable that is None is not set."""
    given = {"HPCCHAIN_HOME": str(ROOT), "HPCCHAIN_VENV": sys.prefix, **JOB, **environment}
    given = {name: value for name, value in given.items() if value is not None}
    path = given.pop("PATH", f"{place / 'bin'}:/usr/bin:/bin")
    done = subprocess.run(
        ["bash", str(script), *words],
        env=clean_environment(PATH=path, **given),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "", done.stdout
    return done.returncode, done.stderr.splitlines()


@pytest.fixture(params=[*SCRIPTS, *(f"printed {name}" for name in template.JOBS)])
def script(request, tmp_path):
    """Each script of the folder jobs, and those that `hpcchain template` prints."""
    printed, _, name = request.param.rpartition(" ")
    if not printed:
        return ROOT / "jobs" / f"{name}.sh"
    (tmp_path / f"{name}.sh").write_text(template.job_script(name))
    return tmp_path / f"{name}.sh"


MISSING = {
    "home": ({"HPCCHAIN_HOME": None, "SLURM_SUBMIT_DIR": "/nowhere"}, 78, "set HPCCHAIN_HOME"),
    "home and Slurm": ({"HPCCHAIN_HOME": None}, 78, "set HPCCHAIN_HOME"),
    "Slurm": ({"SLURM_JOB_ID": None}, 2, "sbatch"),
    "environment": ({"HPCCHAIN_VENV": "/nowhere"}, 78, "set HPCCHAIN_HOME or HPCCHAIN_VENV"),
    "modules": ({"HPCCHAIN_MODULES": "gcc"}, 78, "HPCCHAIN_MODULES"),
    "launcher": ({"HPCCHAIN_LAUNCHER": "mpirun", "MPIRUN": "no-such-mpirun"}, 78, "no program no-such-mpirun"),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_one_message(place, script, what):
    environment, code, word = MISSING[what]
    if "home" in what and script.parent != ROOT / "jobs":
        pytest.skip("a printed script needs no folder of the project")
    found, said = ended(place, script, **environment)
    assert found == code and len(said) == 1 and word in said[0], said


def test_words_and_the_input_are_looked_for_first(place, script):
    found, said = ended(place, script, words=["in.toml"])
    assert found == 2 and len(said) == 1 and said[0].startswith("usage: sbatch ") and script.name in said[0], said
    found, said = ended(place, script, words=["no.toml", *WORDS[1:]])
    assert found == 78 and said == [f"no.toml: there is no such input file in {place}"]


def test_an_environment_without_the_program_is_one_message(place, script):
    program(place / "venv" / "bin" / "python", "echo 'No module named hpcchain' >&2; exit 1")
    found, said = ended(place, script, HPCCHAIN_VENV=str(place / "venv"))
    assert found == 78 and len(said) == 1 and f"no hpcchain in {place / 'venv'}" in said[0], said


def test_slurms_programs_are_looked_for(place, script):
    (place / "bin" / "srun").unlink()
    others = place / "others"  # all of the system's programs but this one, which may be installed
    others.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "srun":
            (others / program.name).symlink_to(program)
    found, said = ended(place, script, PATH=f"{place / 'bin'}:{others}")
    assert found == 78 and said == ["no program srun: add the folder of Slurm's programs to PATH"]


@pytest.mark.parametrize("name", ["run", "array"])
def test_a_job_that_is_requeued_says_what_its_code_means(place, name):
    """In one line of its log, and once; Slurm here does not take it back, so that it ends."""
    program(
        place / "bin" / "srun",
        "mkdir -p $PWD/out/checkpoints $PWD/out/initial.seed=1/checkpoints; "
        "touch $PWD/out/checkpoints/ckpt-1.h5 $PWD/out/initial.seed=1/checkpoints/ckpt-1.h5; "
        "case $* in *warm_node*) exit 0;; esac; touch $PWD/out/{,initial.seed=1/}checkpoints/ckpt-2.h5; exit 75",
    )
    program(place / "bin" / "scontrol", "exit 1")
    found, said = ended(place, ROOT / "jobs" / f"{name}.sh", words=WORDS if name == "array" else WORDS[:2])
    assert found == 75 and len(said) == 1 and said[0].startswith("code 75 is no failure"), said
