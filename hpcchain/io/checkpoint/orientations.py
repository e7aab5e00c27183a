"""Orientation and spin in checkpoints of runs that began with a file, which no input says: how every bead started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import h5py
import numpy as np

from hpcchain.config.keys.values import LARGEST
from hpcchain.io.hdf5 import files
from hpcchain.io.hdf5.checksummed import Rule, get_pieces, put_tables
from hpcchain.model.directors import Directors, Table
from hpcchain.parallel.agreement import agree

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

GROUP = "directors"
TABLE = {"orientation": 4, "angular_velocity": 3}
"""Name -> columns of the tables with one row per bead."""

UNIT = 1e-12
"""How far the norm of a stored orientation may be from 1: round-off, of a run from a run from a run."""


def put(
    file: h5py.File, directors: Directors, beads: int, comm: Communicator | None, blocks: int | None = None
) -> None:
    """Write the Directors of a system of so many beads, so many blocks of them at a time; collective.

    Their table must have this rank's slab of the beads.
    """
    whole = directors.table
    constants = {"seed": directors.seed, "temperature": directors.temperature, "random": whole is None}
    files.put_json(file, f"{GROUP}/constants", constants, comm)
    if whole is None:
        return
    rules = {name: Rule.of(getattr(whole, name)) for name in TABLE}

    def rows_of(low: int, high: int) -> dict[str, np.ndarray]:
        table = whole.rows(low, high)
        return {name: getattr(table, name) for name in TABLE}

    put_tables(file, GROUP, rules, beads, rows_of, comm, blocks)


def get(
    file: h5py.File, directors: Directors, beads: int, comm: Communicator | None, blocks: int | None = None
) -> Directors:
    """Return the Directors of a run with the start that a checkpoint has, its table with this rank's slab; collective.

    Parameters
    ----------
    file : h5py.File
    directors : Directors
        Which spheres have any, as the input says.
    beads : int
        How many the system has.
    comm : communicator or None
    blocks : int, optional
        Check the table so many blocks of rows at a time, and return one without rows.

    Raises
    ------
    DataError
        On every rank, when they are damaged or make no sense.
    """
    given = files.get_json(file, f"{GROUP}/constants", dict, comm)
    found = directors.fresh(cast("int", given["seed"]), cast("float", given["temperature"]))
    problem = _problem(found)
    if not given["random"]:
        for table in _tables(file, beads, comm, blocks):
            problem = problem or table_problem(table)
        found = replace(found, table=table.rows(table.low, table.low) if blocks else table)
    agree(comm, files.wrong_contents(file.filename, f"{GROUP}: {problem}") if problem else None)
    return found


def _tables(file: h5py.File, beads: int, comm: Communicator | None, blocks: int | None) -> Iterator[Table]:
    """Yield the Table of each of the pieces of this rank's slab; see `get_pieces`."""
    parts = [
        get_pieces(file, f"{GROUP}/{name}", Rule(np.float64, columns), beads, comm, blocks)
        for name, columns in TABLE.items()
    ]
    for (low, orientation), (_, velocity) in zip(*parts, strict=True):
        yield Table(low, orientation, velocity)


def _problem(directors: Directors) -> str | None:
    """Return what is wrong with the constants, or None."""
    seed, temperature = directors.seed, directors.temperature
    if (
        type(seed) is not int
        or not 0 <= seed < 2**63
        or type(temperature) not in (int, float)
        or not (0.0 < temperature <= LARGEST)
    ):
        return "seed, temperature: the seed or the temperature of random orientations is impossible"
    return None


def table_problem(table: Table) -> str | None:
    """Return what is wrong with orientations and angular velocities, or None."""
    norm = np.sqrt(np.sum(table.orientation**2, axis=1))
    if not np.all(np.abs(norm - 1.0) <= UNIT):
        return f"orientation: an orientation is no unit quaternion, to {UNIT:g}"
    finite = np.all(np.abs(table.angular_velocity) <= LARGEST)
    return None if finite else "angular_velocity: an angular velocity is not finite"
