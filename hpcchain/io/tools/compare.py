"""Compare two files of one kind bit for bit, and name the first difference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.config.keys.values import shown
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import system_in
from hpcchain.io.hdf5 import files
from hpcchain.io.hdf5.collective import translated
from hpcchain.io.output.lineage import FILES
from hpcchain.io.output.run_output import run_output

if TYPE_CHECKING:
    from hpcchain.model.system import System

NOT_COMPARED = {"provenance", "perf", "config_toml", "counters", "checksum", "lineage"}
"""By which program, when, how fast, and how often was written: not results."""

CHUNK = 1 << 22


def compare(a: Path | str, b: Path | str, common: bool = False) -> str | None:
    """Return the first difference between the data of two files, or None when every bit is the same.

    Values are compared as bits: 0.0 and -0.0 differ, and equal NaN patterns do not. Where a file comes from, its
    input text, its counters and its timings are not compared.

    Parameters
    ----------
    a, b : path
        Two checkpoints, trajectories, observables or event logs; or the folders of two runs, whose joined output files
        are compared one after the other.
    common : bool
        For trajectories and observables: compare only the rows at times that are in both.

    Returns
    -------
    str or None
        Names the dataset, the index, and both values.

    Raises
    ------
    DataError
        When a file cannot be read, or they are of different kinds.
    """
    folders = [path for path in (a, b) if os.path.isdir(path)]
    if len(folders) == 2:
        return _compare_runs(Path(a), Path(b), common)
    if folders:
        other = b if folders[0] == a else a
        raise DataError(f"{other}: is no folder, and {folders[0]} is one: name the folders of two runs, or two files")
    kind, other = files.kind_of(a), files.kind_of(b)
    if kind != other:
        raise DataError(f"{a} is of kind {kind!r} and {b} of kind {other!r}: they cannot be compared")
    with files.reading(a, kind, checked=False) as first, files.reading(b, kind, checked=False) as second:
        with translated(f"{a} and {b}", "comparing"):
            found = _compare_inputs(first, second) if kind == "checkpoint" else None
            return found or _compare_files(first, second, common and kind in ("trajectory", "observables"))


def _compare_runs(a: Path, b: Path, common: bool) -> str | None:
    outputs = [run_output(folder) for folder in (a, b)]
    for output in outputs:
        if output.parts:
            raise DataError(
                f"{output.source}: its output is not joined yet: finish it with 'hpcchain resume', or "
                "compare single files"
            )
    kinds = [set(output.joined) for output in outputs]
    for kind in FILES:
        if kind in kinds[0] ^ kinds[1]:
            return f"{kind}.h5 is not in {a if kind in kinds[1] else b}"
        found = compare(a / f"{kind}.h5", b / f"{kind}.h5", common) if kind in kinds[0] else None
        if found:
            return f"{kind}.h5: {found}"
    return None


def _compare_inputs(first: h5py.File, second: h5py.File) -> str | None:
    """Compare box, molecules and constants of two checkpoints, which follow from their inputs."""
    one, other = (_facts(system_in(file, None)[1]) for file in (first, second))
    name = next((name for name in one if one[name] != other[name]), None)
    return name and f"{name}: {shown(one[name])} and {shown(other[name])}"


def _facts(system: System) -> dict[str, object]:
    """Return what a system is besides the states of its beads, by name."""
    composition = system.topology
    parts = {"box": system.box, "topology": composition.prototypes, "physics": system.physics}
    found = {f"/{part}/{name}": value for part, one in parts.items() for name, value in vars(one).items()}
    found["/molecules"] = np.stack([composition.run, np.diff(composition.first_molecule)])
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def _compare_files(first: h5py.File, second: h5py.File, common: bool) -> str | None:
    names = _datasets(first)
    missing = sorted(set(names) ^ set(_datasets(second)))
    if missing:
        where = second if missing[0] in names else first
        return f"{missing[0]} is not in {where.filename}"
    series = {name.rpartition("/")[0] for name in names if name.endswith("/time")} if common else set()
    for name in sorted(names, key=_importance):
        group, _, column = name.rpartition("/")
        if group in series:
            found = _compare_common(first[group], second[group]) if column == "value" else None
        else:
            found = _compare_rows(first[name], second[name])
        if found:
            return found
    return None


def _importance(name: str) -> tuple[bool, str]:
    """Put what explains a difference first: times, then the rest by name."""
    return (not name.endswith("time"), name)


def _datasets(file: h5py.File) -> list[str]:
    """Return the names of all datasets compared; one with two names counts twice."""
    found, groups = [], [("", file)]
    while groups:
        prefix, group = groups.pop()
        for key in group:
            node = group[key]
            if not prefix and key in NOT_COMPARED:
                continue
            if isinstance(node, h5py.Group):
                groups.append((f"{prefix}{key}/", node))
            else:
                found.append(prefix + key)
    return found


def _compare_common(first: h5py.Group, second: h5py.Group) -> str | None:
    """Compare the values of two time series at the times in both."""
    times = first["time"][()], second["time"][()]
    _, here, there = np.intersect1d(*times, return_indices=True)
    name = first.name
    if not len(here) and (len(times[0]) or len(times[1])):
        return f"{name}: no time is in both files"
    if first["value"].shape[1:] != second["value"].shape[1:] or first["value"].dtype != second["value"].dtype:
        return _layouts(first["value"], second["value"])
    for row, other in zip(here, there, strict=True):
        found = _first_bits(first["value"][row], second["value"][other])
        if found:
            index, left, right = found
            return f"{name}/value at time {float(times[0][row])!r}, index {index}: {left} and {right}"
    return None


def _compare_rows(first: h5py.Dataset, second: h5py.Dataset) -> str | None:
    """Compare two datasets by chunks of rows."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return _layouts(first, second)
    if first.size == 0:
        return None
    portion = max(1, CHUNK * len(first) // first.nbytes)
    for low in range(0, len(first), portion):
        found = _first_bits(first[low : low + portion], second[low : low + portion])
        if found:
            (row, *rest), left, right = found
            index = (row + low, *rest)
            return f"{first.name} at index {index}{_time_of(first, index)}: {left} and {right}"
    return None


def _layouts(first: h5py.Dataset, second: h5py.Dataset) -> str:
    hint = "; --common compares at the times that are in both" if first.name.endswith("/time") else ""
    return f"{first.name}: {first.dtype} {first.shape} and {second.dtype} {second.shape}{hint}"


def _time_of(dataset: h5py.Dataset, index: tuple[int, ...]) -> str:
    """Return the time of a row of a time series, for the message."""
    group = dataset.parent
    known = dataset.name.endswith("/value") and "time" in group
    return f" (time {float(group['time'][index[0]])!r})" if known else ""


def _first_bits(left: float | np.ndarray, right: float | np.ndarray) -> tuple[tuple[int, ...], str, str] | None:
    """Return (index, left value, right value) of the first element whose bits differ, or None."""
    left, right = np.atleast_1d(left), np.atleast_1d(right)
    width = left.dtype.itemsize
    bits = [np.ascontiguousarray(side).view(np.uint8).reshape(-1, width) for side in (left, right)]
    differ = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    if not len(differ):
        return None
    index = tuple(int(at) for at in np.unravel_index(differ[0], left.shape))
    return index, _value(left[index]), _value(right[index])


def _value(value: np.generic) -> str:
    """Return a value with every digit; NaN with its bits."""
    if isinstance(value, np.floating) and np.isnan(value):
        return f"nan (0x{value.tobytes()[::-1].hex()})"
    return repr(value.item())
