"""Run the program through its documented command and read what it wrote."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from .systems import toml

MPI_PREFIXES = ("OMPI_", "PMIX_", "OPAL_", "ORTE_", "PMI_")
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@dataclass(frozen=True)
class Log:
    """The event log, as in events.h5."""

    time: np.ndarray
    kind: np.ndarray
    bead: np.ndarray
    impulse: np.ndarray

    def __len__(self):
        return len(self.time)


@dataclass(frozen=True)
class Frames:
    """Frames of trajectory.h5: time (F,), unwrapped position and velocity (F, N, 3)."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray


class Run:
    """A finished run's directory."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def events(self):
        """Return the Log."""
        with h5py.File(self.directory / "events.h5", "r") as file:
            group = file["events"]
            return Log(*(group[name][...] for name in ("time", "kind", "bead", "impulse")))

    def frames(self, size):
        """Return the Frames, unwrapped with box lengths `size` (3,)."""
        with h5py.File(self.directory / "trajectory.h5", "r") as file:
            group = file["particles/trajectory"]
            position = group["position/value"][...] + group["image/value"][...] * np.asarray(size)
            return Frames(group["position/time"][...], position, group["velocity/value"][...])

    def observable(self, name):
        """Return (time, value) of an observable."""
        with h5py.File(self.directory / "observables.h5", "r") as file:
            return file[name]["time"][...], file[name]["value"][...]


def run(tables, directory, timeout=300):
    """Write an input file, run it in a process of its own, and return the Run.

    Parameters
    ----------
    tables : dict
        The input file's tables; see reference.systems.toml.
    directory : path
        An existing folder; the run goes to its subfolder `out`.

    Raises
    ------
    AssertionError
        When the exit code is not 0; the message holds what the program said.
    """
    directory = Path(directory)
    source = directory / "in.toml"
    source.write_text(toml(tables))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(MPI_PREFIXES)}
    command = [sys.executable, "-m", "hpcchain", "run", str(source), "--output", str(directory / "out")]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        command, cwd=root, env=environment | MPI_SETTINGS, capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode} of {' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return Run(directory / "out")
