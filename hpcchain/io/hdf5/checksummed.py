"""Tables with a checksum for each block of rows, taken from memory as they were written; collective."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import files, slabs
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import agree

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator


class Rule(NamedTuple):
    """What a table of a file is: its type, and how many columns it has, 0: one number a row."""

    kind: type[np.generic]
    columns: int = 0

    @classmethod
    def of(cls, rows: np.ndarray) -> Rule:
        """Return the Rule of a table with these rows."""
        return cls(rows.dtype.type, rows.shape[1] if rows.ndim > 1 else 0)


RowsOf: TypeAlias = Callable[[int, int], dict[str, np.ndarray]]
"""Returns what tables have in rows low ... high - 1, by name."""


def stored_type(kind: type[np.generic]) -> type[np.generic]:
    """Return the type that a table has in the file: flags are bytes there."""
    return np.uint8 if kind is np.bool_ else kind


def check_table(dataset: h5py.Dataset, rule: Rule, count: int | None) -> None:
    """Raise DataError unless a dataset has the given type, columns and (if not None) number of rows."""
    kind, columns = stored_type(rule.kind), rule.columns
    shape = (dataset.shape[:1] if count is None else (count,)) + ((columns,) if columns else ())
    if dataset.dtype != kind or dataset.shape != shape:
        raise DataError(
            f"{dataset.file.filename}: {dataset.name} is {dataset.dtype} {dataset.shape}, not {np.dtype(kind)} {shape}"
        )


def put_tables(
    file: h5py.File,
    group: str,
    tables: Mapping[str, Rule],
    count: int,
    rows_of: RowsOf,
    comm: Communicator | None,
    blocks: int | None = None,
) -> None:
    """Create tables of a group, and in "checksum" those of the sums of their blocks, and write this rank's slabs.

    Parameters
    ----------
    file : h5py.File
    group : str
    tables : dict of name -> Rule
    count : int
        Rows of each table.
    rows_of : function
        Called on all ranks equally often.
    comm : communicator or None
    blocks : int, optional
        How many blocks of rows are asked for at once; default: all of this rank's.
    """
    types = {name: stored_type(kind) for name, (kind, _) in tables.items()}
    made = {
        name: slabs.create(file, f"{group}/{name}", (count, columns) if columns else (count,), types[name])
        for name, (_, columns) in tables.items()
    }
    sums = {
        name: slabs.create(file, f"checksum/{group}/{name}", (-(-count // parallel_slabs.BLOCK),), np.uint32)
        for name in tables
    }
    for low, high in parallel_slabs.pieces(count, comm, blocks):
        written = []
        for name, part in rows_of(low, high).items():
            stored = np.asarray(part, types[name])
            written.append(slabs.Part(made[name], (low,), stored))
            written.append(slabs.Part(sums[name], (low // parallel_slabs.BLOCK,), slabs.block_sums(stored)))
        slabs.write_all(written, comm)


def get_pieces(
    file: h5py.File,
    name: str,
    rule: Rule,
    count: int | None,
    comm: Communicator | None,
    blocks: int | None = None,
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first row and the rows of each of the pieces of this rank's slab of a table, one without `blocks`.

    Its type and shape (`check_table`) and block checksums are checked; DataErrors are raised on every rank.
    """
    dataset, sums = files.dataset_of(file, name), files.dataset_of(file, f"checksum/{name}")
    check_table(dataset, rule, count)
    for low, high in parallel_slabs.pieces(len(dataset), comm, blocks):
        part = slabs.read_at(dataset, (low,), (high - low, *dataset.shape[1:]), comm)
        found = slabs.block_sums(part)
        same = np.array_equal(found, slabs.read_at(sums, (low // parallel_slabs.BLOCK,), found.shape, comm))
        agree(comm, None if same else DataError(f"{file.filename}: {name} was not written correctly; use an older one"))
        flags = rule.kind is not np.bool_ or not np.any(part > 1)
        flaw = files.wrong_contents(file.filename, f"{name} has flags that are neither 0 nor 1")
        agree(comm, None if flags else flaw)
        yield low, part.astype(bool) if rule.kind is np.bool_ else part
