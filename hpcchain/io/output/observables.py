"""The observables file: /<name>/{step, time, value}, one row per report."""

from pathlib import Path

import h5py

from hpcchain.io.hdf5 import files

COLUMNS = ("step", "time", "value")


def read(path: Path) -> dict:
    """Return every observable of an observables.h5.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict of name -> (step, time, value)
        (R,) int64, (R,) float64 [time], (R, ...) float64.

    Raises
    ------
    DataError
        When the file is missing, foreign or damaged.
    """
    with files.reading(path, "observables") as file:
        return read_groups(file, names_in(file))


def names_in(group: h5py.File | h5py.Group) -> list:
    """Return the names of the observables in an open file or group."""
    return [name for name in group if all(f"{name}/{column}" in group for column in COLUMNS)]


def read_groups(group: h5py.File | h5py.Group, names: list) -> dict:
    """Return name -> (step, time, value) from an open file or group; not collective."""
    return {name: tuple(files.get(group, f"{name}/{column}") for column in COLUMNS) for name in names}
