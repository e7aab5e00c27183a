"""Start hpcchain, or any Python program, as a process of its own, alone or under mpirun; or hpcchain here."""

import contextlib
import io
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hpcchain.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER_PREFIXES = ("OMPI_", "PMIX_", "OPAL_", "ORTE_", "PMI_", "PRTE_", "MPIEXEC_", "HYDRA_", "HYDI_", "SLURM_")
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def clean_environment(**extra):
    """Return this process's environment without any launcher's traces, with Open MPI's settings for small machines.

    A process that has imported MPI, or was started by mpirun, hands variables down with which another mpirun exits
    with 1 and no word, and a program alone believes to be one of several ranks. Where a shell asks for unbuffered
    output, a line of one rank may stand inside a line of another.

    Parameters
    ----------
    extra : str
        Further variables; a PYTHONPATH goes before the project's folder.
    """
    left_out = (*LAUNCHER_PREFIXES, "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    path = os.pathsep.join(filter(None, [extra.get("PYTHONPATH"), str(ROOT), kept.get("PYTHONPATH")]))
    return kept | OPEN_MPI | extra | {"PYTHONPATH": path}


def mpirun(ranks):
    """Return the words that start a program on several ranks."""
    launcher = os.environ.get("MPIRUN") or shutil.which("mpirun.openmpi") or "mpirun"
    return [launcher, "-n", str(ranks)]


def run_python(args, cwd, ranks=1, timeout=120.0, **environment):
    """Run `python ARGS` to its end.

    Parameters
    ----------
    args : list
        What follows `python`.
    cwd : path
    ranks : int
        1 starts no launcher.
    timeout : float
        Wall seconds after which the process is killed.
    environment : str
        Further variables.

    Returns
    -------
    subprocess.CompletedProcess
        With stdout and stderr as text.

    Raises
    ------
    subprocess.TimeoutExpired
    """
    words = [sys.executable, *map(str, args)]
    command = words if ranks == 1 else mpirun(ranks) + words
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def run_hpcchain(args, cwd, ranks=1, timeout=120.0, **environment):
    """Run `python -m hpcchain ARGS` to its end; see run_python."""
    return run_python(["-m", "hpcchain", *args], cwd, ranks, timeout, **environment)


def call_hpcchain(args, cwd, ranks=1, timeout=120.0):
    """Run `hpcchain ARGS`: on one rank in this process, which spares the start of another; see run_python.

    What is about the process itself (its signals, its variables, how it ends) needs run_hpcchain.
    """
    if ranks > 1:
        return run_hpcchain(args, cwd, ranks, timeout)
    words = list(map(str, args))
    out, said = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), logging_restored("hpcchain"):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), said.getvalue())


@contextlib.contextmanager
def logging_restored(name):
    """Undo what is done to a logger's handlers and level."""
    logger = logging.getLogger(name)
    handlers, level = list(logger.handlers), logger.level
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
