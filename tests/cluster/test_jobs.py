"""The job scripts under a real Slurm: stopped before their time limit, requeued, resumed, to the same bits.

All jobs are submitted at once; each test waits for its own. Where Slurm cannot be started they are skipped and say why,
unless HPCCHAIN_NEEDS_SLURM is set.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from hpcchain.io.output.runs import DONE, STOPPED, WAITING
from tests.cluster.slurm import CannotStart, Slurm
from tests.support.ensembles import states
from tests.support.launching import ROOT, clean_environment
from tests.support.run_folders import checkpoint_times, difference, leftovers, log_rows, run_here, write_input

PATIENCE = 240.0
TABLES = {
    "box": {"size": [7.0, 7.0, 7.0], "boundary": ["periodic", "wall", "periodic"]},
    "molecule": [{"kind": "monomer", "count": 40}, {"kind": "chain", "beads": 4, "count": 12}],
    "run": {"end_time": 1e6},
    "output": {"frame_every": 50.0, "report_every": 1.0, "checkpoint_every": 1e5, "events": True},
}
SHORT = TABLES | {"run": {"end_time": 0.5}, "output": {"frame_every": 0.25, "report_every": 0.25}}
WEAK = SHORT | {"box": {"size": [7.0, 7.0, 7.0]}}


@pytest.fixture(scope="module")
def slurm():
    """A Slurm of one node."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        running = Slurm(folder, cpus=5)  # few enough jobs at a time for two cores that others use, too
    except CannotStart as reason:
        shutil.rmtree(folder, ignore_errors=True)
        if os.environ.get("HPCCHAIN_NEEDS_SLURM"):
            raise
        pytest.skip(f"Slurm cannot be started here: {reason}")
    yield running
    running.cancel_all()
    running.stop()
    shutil.rmtree(folder, ignore_errors=True)


class Job:
    """A submitted job, or an array of them.

    Parameters
    ----------
    slurm : Slurm
    folder : path
        Where it is submitted and writes its log.
    words : sequence of str
        What follows sbatch.
    environment : str
        Further variables.
    """

    def __init__(self, slurm, folder, *words, **environment):
        self.slurm, self.folder = slurm, folder
        environment |= {
            "HPCCHAIN_HOME": str(ROOT),
            "HPCCHAIN_VENV": sys.prefix,
            "HPCCHAIN_SCRATCH": str(slurm.folder / "scratch"),
        }
        environment = clean_environment(**environment)
        said = slurm.ask(
            "env",
            "-i",
            *(f"{name}={value}" for name, value in (environment | slurm.environment).items()),
            "sbatch",
            "--parsable",
            f"--chdir={folder}",
            *words,
        )
        assert said.strip().isdigit(), f"{said}\n{slurm.logs()}"
        self.number = said.strip()

    def field(self, name):
        """Return what Slurm says of the job (all of an array), a list."""
        return re.findall(rf"\b{name}=(\S+)", self.slurm.ask("scontrol", "show", "job", "-o", self.number))

    def restarts(self):
        """Return how often the job has been started again."""
        return int((self.field("Restarts") or ["0"])[0])

    def wait(self, condition, what):
        """Wait until a condition holds."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < limit, f"{what}: {self.field('JobState')}\n{self.log()}\n{self.slurm.logs()}"
            time.sleep(0.1)

    def finish(self):
        """Wait for the end; return the exit codes."""
        over = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"}
        self.wait(lambda: set(self.field("JobState")) <= over, "no end")
        return [int(code.split(":")[0]) for code in self.field("ExitCode")]

    def log(self):
        """Return all that the job has said."""
        return "".join(path.read_text() for path in sorted(self.folder.glob(f"*-{self.number}*.log")))


@pytest.fixture(scope="module")
def jobs(slurm, tmp_path_factory, request):
    """All jobs, by name; those that are stopped first, the quick ones in the places that are left."""
    found = {}

    def submit(name, tables, *words, **environment):
        folder = tmp_path_factory.mktemp(name)
        write_input(folder / "in.toml", tables)
        found[name] = Job(slurm, folder, *words, **environment)

    scripts = ROOT / "jobs"
    two = ("--ntasks=2", "--time=10")
    # 105 seconds after it has begun, or up to 60 earlier, as Slurm may: a busy machine takes twenty, and at times more
    # than 45, to copy the compile cache and to start the ranks
    submit("limit", TABLES, "--ntasks=2", "--time=3", "--signal=B:USR1@75", scripts / "run.sh", "in.toml", "out")
    # URG is a signal that does nothing: this job has to heed SLURM_JOB_END_TIME
    submit("deadline", TABLES, "--ntasks=1", "--time=1", "--signal=B:URG@1", scripts / "run.sh", "in.toml", "out")
    submit("asked", TABLES, *two, scripts / "run.sh", "in.toml", "out", HPCCHAIN_LAUNCHER="mpirun")
    submit(
        "array",
        SHORT,
        "--array=0-1",
        "--ntasks=1",
        "--time=10",
        scripts / "array.sh",
        "in.toml",
        "sweep",
        "initial.seed",
        "5",
        "6",
    )
    many = ("--vary", "initial.seed=5:7")
    submit("many", SHORT, *two, scripts / "run.sh", "in.toml", "out", *many, HPCCHAIN_LAUNCHER="mpirun")
    submit(
        "strong",
        SHORT,
        *two,
        "--oversubscribe",
        scripts / "strong.sh",
        "in.toml",
        "strong",
        "--repeat",
        "1",
        HPCCHAIN_LAUNCHER="mpirun",
    )
    submit("weak", WEAK, *two, "--oversubscribe", scripts / "weak.sh", "in.toml", "weak", "--repeat", "1")
    submit(
        "alone",
        SHORT,
        *two,
        "--output=alone-%j.log",
        "--wrap",
        f"srun --mpi=none {sys.executable} -m hpcchain run in.toml",
    )
    submit(
        "late", TABLES, *two, scripts / "run.sh", "in.toml", "out", "--wall-limit", "0.01", HPCCHAIN_LAUNCHER="mpirun"
    )
    if any(item.get_closest_marker("long") and not item.get_closest_marker("skip") for item in own_tests(request)):
        submit_under_the_other_launcher(submit, found)
    over = threading.Event()
    watch = threading.Thread(target=give_ends, args=([found[name] for name in ("limit", "deadline", "asked")], over))
    watch.start()
    yield found
    over.set()
    watch.join()


def own_tests(request):
    """Return the tests of this module."""
    return [item for item in request.session.items if item.path == request.path]


def submit_under_the_other_launcher(submit, found):
    """Submit, after the other jobs, each script that these start with one launcher with the other one."""
    scripts = ROOT / "jobs"
    two = ("--ntasks=2", "--time=10")
    others = "afterany:" + ":".join(job.number for job in found.values())
    array = (scripts / "array.sh", "in.toml", "sweep", "initial.seed", "5", "6")
    submit("array-mpirun", SHORT, "--array=1", *two, *array, HPCCHAIN_LAUNCHER="mpirun")
    weak = (scripts / "weak.sh", "in.toml", "weak", "--repeat", "1")
    submit("weak-mpirun", WEAK, *two, "--oversubscribe", *weak, HPCCHAIN_LAUNCHER="mpirun")
    # srun at times does not get a step started while others' are: this one waits for them
    strong = (scripts / "strong.sh", "in.toml", "strong", "--repeat", "1")
    submit("strong-srun", SHORT, *two, f"--dependency={others}", *strong)
    many = ("--vary", "initial.seed=5:7")
    submit("many-asked", TABLES, *two, scripts / "run.sh", "in.toml", "out", *many, HPCCHAIN_LAUNCHER="mpirun")


def give_ends(jobs, over):
    """Give each job's run that is stopped, before it is started again, an end a little later, and time enough."""
    waiting = list(jobs)
    while waiting and not over.wait(0.5):
        for job in [job for job in waiting if job.restarts() > 0]:
            reached = checkpoint_times(job.folder / "out") or [0.0]  # none when it was stopped while making the start
            end = reached[0] + 1.0
            write_input(job.folder / "in.toml", TABLES | {"run": {"end_time": end}})
            job.slurm.ask("scontrol", "update", f"JobId={job.number}", "TimeLimit=10")
            waiting.remove(job)


def goes_on(job, reason="asked to by a signal"):
    """Whether a job that has stopped is requeued, resumes, and ends like a run that never was stopped."""
    job.wait(lambda: job.restarts() > 0, "was not requeued")
    assert job.finish() == [0], job.log()
    log = job.log()
    if "while making the start" not in log:  # on a busy machine that may be as far as it gets
        assert re.findall(r"stopped at t \S+ with a checkpoint, (.*);", log) == [reason], log
        assert "resuming from " in log, log
    assert "Traceback" not in log and leftovers(job.folder / "out") == []
    run_here(job.folder / "in.toml", job.folder / "whole")
    assert log_rows(job.folder / "out")[-1]["time"] < 1e6
    return difference(job.folder / "out", job.folder / "whole") is None


def test_a_job_that_is_stopped_under_mpirun(jobs):
    job = jobs["asked"]
    job.wait(lambda: len(log_rows(job.folder / "out")) > 3, "does not run")
    job.slurm.ask("scancel", "--batch", "--signal=USR1", job.number)
    assert goes_on(job)


def test_a_job_stopped_before_its_time_limit_under_srun(jobs):
    assert goes_on(jobs["limit"])


def test_a_job_without_a_signal_stops_before_its_time_limit(jobs):
    assert goes_on(jobs["deadline"], "the wall limit is near")


def test_an_array_over_a_parameter(jobs):
    job = jobs["array"]
    assert job.finish() == [0, 0], job.log()
    sweep = job.folder / "sweep"
    assert sorted(path.name for path in sweep.iterdir()) == ["initial.seed=5", "initial.seed=6"]
    assert difference(sweep / "initial.seed=5", sweep / "initial.seed=6", ("trajectory",)) is not None
    run_here(job.folder / "in.toml", job.folder / "six", settings=["initial.seed=6"])
    assert difference(sweep / "initial.seed=6", job.folder / "six", ("trajectory",)) is None


def test_many_runs_in_one_job(jobs):
    job = jobs["many"]
    assert job.finish() == [0], job.log()
    assert states(job.folder / "out") == {f"seed-{seed}": DONE for seed in (5, 6, 7)}
    run_here(job.folder / "in.toml", job.folder / "six", settings=["initial.seed=6"])
    assert difference(job.folder / "out" / "seed-6", job.folder / "six", ("trajectory",)) is None


@pytest.mark.long
def test_many_runs_that_are_stopped_go_on_when_requeued_and_on_fewer_ranks(jobs):
    """The job goes back into the queue, and on, twice; then one of one rank goes on with all."""
    job = jobs["many-asked"]
    folder = job.folder / "out"
    runs = [folder / f"seed-{seed}" for seed in (5, 6, 7)]
    for stops, last in ((1, WAITING), (2, STOPPED)):  # the longest that is left begins first
        before = [len(log_rows(run)) for run in runs]
        job.wait(
            lambda rows=before: sum(len(log_rows(run)) > n + 3 for run, n in zip(runs, rows, strict=True)) == 2,
            "does not run",
        )
        job.slurm.ask("scancel", "--batch", "--signal=USR1", job.number)
        job.wait(lambda times=stops: job.restarts() == times, "was not requeued")
        assert states(folder) == {"seed-5": STOPPED, "seed-6": STOPPED, "seed-7": last}
    job.slurm.ask("scancel", job.number)
    end = max(checkpoint_times(run)[0] for run in runs) + 1.0
    write_input(job.folder / "in.toml", TABLES | {"run": {"end_time": end}})
    words = ("--ntasks=1", "--time=10", ROOT / "jobs" / "run.sh", "in.toml", "out", "--vary", "initial.seed=5:7")
    other = Job(job.slurm, job.folder, *words, HPCCHAIN_LAUNCHER="mpirun")
    assert other.finish() == [0], other.log()
    assert states(folder) == dict.fromkeys(["seed-5", "seed-6", "seed-7"], DONE)
    for seed in (6, 7):
        whole = run_here(job.folder / "in.toml", job.folder / f"whole-{seed}", settings=[f"initial.seed={seed}"])
        assert difference(folder / f"seed-{seed}", whole) is None
    assert job.log().count("the job goes back into the queue") == 2 and " 0/1 INFO left to do: 3 runs" in other.log()
    assert "Traceback" not in job.log() + other.log() and leftovers(folder) == []


def test_what_counts_as_a_step_forward_of_many_runs(tmp_path):
    """A job is requeued when this has changed: the newest checkpoint of each run, or its start that still grows."""

    def newest():
        words = f'eval "$(sed -n "/^newest()/,/^}}/p" {ROOT}/jobs/common.sh)"; newest {tmp_path}/out'
        return subprocess.run(["bash", "-uc", words], capture_output=True, text=True, check=True).stdout

    found = [newest()]
    for name in ("a/growth.h5", "a/checkpoints/ckpt-1.h5", "b/checkpoints/ckpt-1.h5", "b/checkpoints/ckpt-2.h5"):
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        found.append(newest())
    assert found[0] == "" and len(set(found)) == 5
    assert found[-1].split() == [
        f"{tmp_path}/out/{name}" for name in ("a/checkpoints/ckpt-1.h5", "b/checkpoints/ckpt-2.h5")
    ]


@pytest.mark.long
def test_an_array_under_mpirun(jobs):
    job = jobs["array-mpirun"]
    assert job.finish() == [0], job.log()
    run_here(job.folder / "in.toml", job.folder / "six", settings=["initial.seed=6"])
    assert difference(job.folder / "sweep/initial.seed=6", job.folder / "six", ("trajectory",)) is None


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("strong-srun", "weak-mpirun")]


@pytest.mark.parametrize("job", ["strong", "weak", *LONG])
def test_scaling(jobs, job):
    name, job = job.split("-")[0], jobs[job]
    assert job.finish() == [0], job.log()
    with (job.folder / name / "scaling.csv").open() as file:
        rows = list(csv.DictReader(file))
    beads = [int(row["beads"]) for row in rows]
    assert [row["ranks"] for row in rows] == ["1", "2"]
    assert beads == ([88, 88] if name == "strong" else [88, 176])
    assert all(float(row["seconds"]) > 0.0 and int(row["contacts"]) > 0 for row in rows)
    if name == "strong":
        assert rows[0]["contacts"] == rows[1]["contacts"]
    assert float(rows[1]["passes_per_window"]) >= 1.0 and "efficiency" in job.log()


def test_ranks_that_do_not_find_each_other(jobs):
    job = jobs["alone"]
    assert job.finish() == [2]
    said = [line for line in job.log().splitlines() if line.startswith("hpcchain: ")]
    assert len(said) == 1 and "2 separate runs" in said[0] and "--mpi=" in said[0], job.log()
    assert not (job.folder / "out").exists(), "each rank made a run of its own"


def test_a_limit_too_short_for_any_step_is_not_requeued_for_ever(jobs):
    """Once it may be: a start that has begun to grow is kept, which is a step forward, the first time."""
    job = jobs["late"]
    assert set(job.finish()) == {75}, job.log()
    assert job.field("Restarts")[0] in ("0", "1") and "is not requeued" in job.log()
