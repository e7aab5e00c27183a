"""Run the program on an input file and read what it wrote."""

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from tests.support.run_folders import run_here

from .systems import toml


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


def run(tables, directory):
    """Write an input file, run it in this process, which takes less time than another one, and return the Run.

    Parameters
    ----------
    tables : dict
        The input file's tables; see tests.reference.systems.toml.
    directory : path
        An existing folder; the run goes to its subfolder `out`.

    Raises
    ------
    HpcchainError
        When the program refuses or fails.
    """
    directory = Path(directory)
    source = directory / "in.toml"
    source.write_text(toml(tables))
    return Run(run_here(source, directory / "out"))
