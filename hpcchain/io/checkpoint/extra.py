"""The tables of a checkpoint that some runs alone have.

They are of runs of more than smooth hard beads (`model.physics.extended`), and of those whose long chains have segments
of parts, `state/parts` (`layout.workspace`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.layout import arrays as L
from hpcchain.layout.workspace import PART_COLUMNS, PART_SERIES
from hpcchain.model.molecules.long_chains import columns_in_use, divides_any, with_columns
from hpcchain.model.physics.extended import EXTRA, UNKNOWN, column, joined, tables_of, widened
from hpcchain.parallel.agreement import gathered

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, System
    from hpcchain.parallel.agreement import Communicator

PARTS = "parts"


def extra_tables(system: System, comm: Communicator | None) -> dict:
    """Return name -> (array, (type, columns)) of the tables that a system's checkpoint has; collective."""
    return _own_tables(system, comm) | _part_tables(system, comm)


def _own_tables(system: System, comm: Communicator | None) -> dict:
    """Return what `extra_tables` does of what beads have in an extended run; collective."""
    # Whether there are any, ranks with beads say: one that sleeps may have columns where those have none.
    tables, rows = tables_of(system.physics), system.state.extra
    if not tables:
        return {}
    inside = rows[:, L.INSIDE :]
    known = len(rows) == 0 or (inside.shape[1] > 0 and not np.any(inside == UNKNOWN))
    used = int(np.max(np.sum(inside != 0.0, axis=1), initial=0))
    every = gathered(comm, (rows.size > 0, used, known))
    if not any(some for some, *_ in every):
        return {}
    columns, everyone_knows = max(most for _, most, _ in every), all(known for *_, known in every)
    rows = widened(rows, L.INSIDE + columns)  # those of a rank without beads are as wide as at the start
    found = {}
    for one in tables:
        if one.columns or everyone_knows:
            array = column(widened(rows, one.first + one.columns), one, max(columns, 1))
            found[one.name] = array, (one.dtype, array.shape[1] if array.ndim > 1 else 0)
    return found


def _part_tables(system: System, comm: Communicator | None) -> dict:
    """Return what `extra_tables` does of a run whose long chains may be divided; collective."""
    if not divides_any(system.topology, system.physics):
        return {}
    rows = system.state.parts
    columns = max(gathered(comm, columns_in_use(rows)))
    return {PARTS: (with_columns(rows)[:, :columns], (np.float64, columns))} if columns else {}


def rules_in(file: h5py.File) -> list:
    """Return (name, (type, columns)) of the tables of `model.physics.extended.EXTRA` that a file has."""
    found = []
    for one in EXTRA:
        dataset = file.get(f"state/{one.name}")
        if isinstance(dataset, h5py.Dataset):
            columns = dataset.shape[1] if one.columns == 0 and dataset.ndim == 2 else one.columns
            found.append((one.name, (one.dtype, 0 if columns == 1 and one.columns == 1 else columns)))
    parts = file.get(f"state/{PARTS}")
    if isinstance(parts, h5py.Dataset) and parts.ndim == 2 and PART_SERIES < parts.shape[1] <= PART_COLUMNS:
        found.append((PARTS, (np.float64, parts.shape[1])))
    return found


def with_extra(tables: dict) -> dict:
    """Return the tables of states with those of `EXTRA` as one, `State.extra`, and all columns of `State.parts`."""
    own = {one.name: tables[one.name] for one in EXTRA if one.name in tables}
    others = {name: rows for name, rows in tables.items() if name not in own}
    parts = {PARTS: with_columns(tables[PARTS])} if PARTS in tables else {}
    return others | parts | {"extra": joined(own, len(tables["depth"]))}


def require_extra(file: h5py.File, physics: Physics, time: float) -> None:
    """Raise DataError where a file of a run that has begun lacks a table that such runs have."""
    for one in tables_of(physics) if time > 0.0 else []:
        if f"state/{one.name}" not in file:
            raise DataError(f"{file.filename}: state/{one.name} is missing, and its run has {one.meaning}")
