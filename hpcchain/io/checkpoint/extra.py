"""The tables of a checkpoint that runs alone have which are more than smooth hard beads (`model.physics.extended`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import EXTRA, UNKNOWN, column, joined, tables_of
from hpcchain.parallel.agreement import gathered

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, System
    from hpcchain.parallel.agreement import Communicator


def extra_tables(system: System, comm: Communicator | None) -> dict:
    """Return name -> (array, (type, columns)) of the tables that a system's checkpoint has; collective."""
    rows = system.state.extra
    if rows.shape[1] == 0:
        return {}
    inside = rows[:, L.INSIDE :]
    known = not np.any(inside == UNKNOWN)
    used = int(np.max(np.sum(inside != 0.0, axis=1), initial=0))
    every = gathered(comm, (used, known))
    columns, everyone_knows = max(most for most, _ in every), all(known for _, known in every)
    found = {}
    for one in tables_of(system.physics):
        if one.columns or everyone_knows:
            array = column(rows, one, max(columns, 1))
            found[one.name] = array, (one.dtype, array.shape[1] if array.ndim > 1 else 0)
    return found


def rules_in(file: h5py.File) -> list:
    """Return (name, (type, columns)) of the tables of `model.physics.extended.EXTRA` that a file has."""
    found = []
    for one in EXTRA:
        dataset = file.get(f"state/{one.name}")
        if isinstance(dataset, h5py.Dataset):
            columns = dataset.shape[1] if one.columns == 0 and dataset.ndim == 2 else one.columns
            found.append((one.name, (one.dtype, 0 if columns == 1 and one.columns == 1 else columns)))
    return found


def with_extra(tables: dict) -> dict:
    """Return the tables of states with those of `EXTRA` as one array, `State.extra`."""
    own = {one.name: tables[one.name] for one in EXTRA if one.name in tables}
    others = {name: rows for name, rows in tables.items() if name not in own}
    return others | {"extra": joined(own, len(tables["depth"]))}


def require_extra(file: h5py.File, physics: Physics, time: float) -> None:
    """Raise DataError where a file of a run that has begun lacks a table that such runs have."""
    for one in tables_of(physics) if time > 0.0 else []:
        if f"state/{one.name}" not in file:
            raise DataError(f"{file.filename}: state/{one.name} is missing, and its run has {one.meaning}")
