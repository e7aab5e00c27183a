"""Run the program in folders of their own and compare what two runs wrote."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from hpcchain import api
from hpcchain.io.checkpoint.checkpoint import read_progress
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.output.trajectory import read_trajectory
from hpcchain.io.tools.compare import compare
from hpcchain.parallel.comm import Single
from tests.support.launching import call_hpcchain, clean_environment, mpirun
from tests.support.mixtures import to_toml

PATIENCE = 600.0
"""Wall seconds for one run: the first after a change of the kernels compiles them."""
EVERY = ("trajectory", "events", "observables")


def command(args, folder, code=0, ranks=1, patience=PATIENCE):
    """Run `hpcchain ARGS` in a folder, require its exit code and no traceback, and return what it said on stderr."""
    done = call_hpcchain(args, Path(folder), ranks, timeout=patience)
    assert done.returncode == code, f"exit code {done.returncode} of {args}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


def run_here(path, output, resume=None, until=None, settings=()):
    """Run an input in this process, which is quicker than a command, and return the output directory."""
    assert api.run(path, output=output, until=until, overrides=settings, resume=resume, comm=Single()) == 0
    return Path(output)


def resume_here(source, until=None, output=None):
    """Resume a run in this process."""
    assert api.resume(source, until=until, output=output, comm=Single()) == 0


def start(args, folder, ranks=1, **options):
    """Start `hpcchain ARGS` in a folder and return the process, or its launcher; its stderr is a pipe."""
    words = [*(mpirun(ranks) if ranks > 1 else []), sys.executable, "-m", "hpcchain", *map(str, args)]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(condition, process):
    """Wait until a condition holds while a process lives; return whether it came true."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None or time.monotonic() > limit:
            return condition()
        time.sleep(0.002)
    return True


def write_input(path, tables):
    """Write an input file and return its path; all ranks have molecules, though so few do not need them."""
    run = {"sectors": "all"} | tables.get("run", {})
    Path(path).write_text(to_toml(tables | {"run": run}))
    return path


def difference(a, b, names=("trajectory", "events"), common=False):
    """Return the first difference between the output files of two runs, or None; `common`: of the frames in both."""
    found = (compare(Path(a) / f"{name}.h5", Path(b) / f"{name}.h5", common) for name in names)
    return next((text for text in found if text is not None), None)


def frame_times(folder):
    """Return the times of a run's frames."""
    return read_trajectory(Path(folder) / "trajectory.h5").time.tolist()


def log_rows(folder):
    """Return the rows of a run's log; none when there is no log yet."""
    path = Path(folder) / "run.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def checkpoint_times(folder):
    """Return the exact times of a run's checkpoints, the latest first; each is checked to be whole."""
    return [read_progress(path)[0] for _, path in list_checkpoints(Path(folder) / "checkpoints")]


def leftovers(folder):
    """Return the names of files that a finished run must not leave: parts, temporary files, the lock."""
    names = [path.name for path in Path(folder).rglob("*") if path.is_file()]
    return [name for name in names if name.endswith(".partial") or name.startswith("part-") or name == "run.lock"]


def inode(path):
    """Return what identifies a file: it changes when the file is replaced."""
    return os.stat(path).st_ino


def tables(**sections):
    """Return the input of a small dense box: some 400 contacts in 4 time units."""
    found = {
        "box": {"size": [5.0, 5.0, 5.0], "boundary": ["periodic", "wall", "periodic"]},
        "molecule": [{"kind": "monomer", "count": 20}, {"kind": "chain", "beads": 4, "count": 5, "mass": 2.0}],
        "initial": {"seed": 1},
        "run": {"end_time": 4.0},
        "output": {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1.0, "events": True},
    }
    return {
        name: section | sections.get(name, {}) if isinstance(section, dict) else section
        for name, section in found.items()
    }


def run(folder, resume=None, until=None, **sections):
    """Run the input in a folder, in this process, and return the folder."""
    folder.parent.mkdir(exist_ok=True)
    path = write_input(folder.parent / f"{folder.name}.toml", tables(**sections))
    return run_here(path, folder, resume, until)


def checkpoint(folder, number):
    """Return the path of a run's n-th latest checkpoint."""
    return list_checkpoints(folder / "checkpoints")[number][1]


def same(folder, whole, names=EVERY):
    """Whether a run directory holds what the uninterrupted one does, log included."""
    logs = [
        [{k: v for k, v in row.items() if k in ("time", "events", "energy_error")} for row in log_rows(place)]
        for place in (folder, whole)
    ]
    return difference(folder, whole, names) is None and logs[0] == logs[1] and leftovers(folder) == []
