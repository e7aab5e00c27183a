"""Which rank holds which rows: contiguous slabs of the global order, and rows brought there and back.

Slabs begin at whole blocks of rows, so that per-block checksums do not depend on the number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import DataError
from hpcchain.parallel.agreement import agree, is_parallel, rank_of, size_of
from hpcchain.parallel.redistribute import from_slabs, range_from_slabs, to_slabs

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

BLOCK = 4096
"""Rows in a checksum block."""


def bounds(rows: int, comm: Communicator | None) -> np.ndarray:
    """Return (size + 1,) int64: rank r's slab is rows bounds[r]:bounds[r + 1]."""
    size = size_of(comm)
    blocks = -(-rows // BLOCK)
    return np.minimum(np.arange(size + 1, dtype=np.int64) * blocks // size * BLOCK, rows)


def slab(rows: int, comm: Communicator | None) -> tuple[int, int]:
    """Return (low, high) of this rank's slab."""
    limits = bounds(rows, comm)
    return int(limits[rank_of(comm)]), int(limits[rank_of(comm) + 1])


def pieces(rows: int, comm: Communicator | None, blocks: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield (low, high) of the pieces of so many blocks that make up this rank's slab; default: one, the whole.

    All ranks get the same number of them: where a slab is shorter than others the last ones are empty.
    """
    limits = bounds(rows, comm)
    low, high = slab(rows, comm)
    portion = blocks * BLOCK if blocks else max(rows, 1)
    count = max(1, -(-int(np.diff(limits).max()) // portion))
    for begin in range(low, low + count * portion, portion):
        yield min(begin, high), min(begin + portion, high)


def sorted_slabs(comm: Communicator | None, rows: int, ids: np.ndarray | None, arrays: dict) -> dict:
    """Return this rank's slab of each array, in global order.

    Parameters
    ----------
    comm : communicator or None
    rows : int
        Global number of rows.
    ids : (n,) int64 array or None
        Global ids of the rows held here; None: every rank holds all rows, in order.
    arrays : dict of name -> (n, ...) array
    """
    low, high = slab(rows, comm)
    wrong = next((name for name, array in arrays.items() if len(array) != (rows if ids is None else len(ids))), None)
    agree(comm, DataError(f"{wrong}: as many rows as beads are needed") if wrong else None)
    if ids is None:
        return {name: array[low:high] for name, array in arrays.items()}
    if is_parallel(comm):
        return to_slabs(comm, bounds(rows, comm), ids, arrays)
    return _sorted(rows, np.asarray(ids), arrays)


def whole(comm: Communicator | None, rows: int, ids: np.ndarray, arrays: dict) -> dict:
    """Return all rows of each array in global order, on every rank.

    Parameters
    ----------
    comm : communicator or None
    rows : int
        Global number of rows.
    ids : (n,) int64 array
        Global ids of the rows held here.
    arrays : dict of name -> (n, ...) array

    Raises
    ------
    DataError
        On every rank, if an id is out of range, missing or held twice.
    """
    found = everywhere(comm, {"ids": np.asarray(ids, dtype=np.int64)})
    return _sorted(rows, found["ids"], everywhere(comm, arrays))


def _sorted(rows: int, ids: np.ndarray, arrays: dict) -> dict:
    sequence = np.argsort(ids, kind="stable")
    if not np.array_equal(ids[sequence], np.arange(rows)):
        raise DataError(f"the bead ids given are not 0 ... {rows - 1}, each once")
    return {name: array[sequence] for name, array in arrays.items()}


def pick(comm: Communicator | None, rows: int, ids: np.ndarray, slabs: dict) -> dict:
    """Return the rows of the given ids from all ranks' slabs: the inverse of `sorted_slabs`."""
    if is_parallel(comm):
        return from_slabs(comm, bounds(rows, comm), ids, slabs)
    return {name: array[ids] for name, array in slabs.items()}


def range_from(comm: Communicator | None, rows: int, low: int, high: int, slabs: dict) -> dict:
    """Return rows low ... high - 1, a range of each rank's own, from all ranks' slabs; what a rank has is not sent."""
    return range_from_slabs(comm, bounds(rows, comm), low, high, slabs) if is_parallel(comm) else slabs


def everywhere(comm: Communicator | None, slabs: dict) -> dict:
    """Return all rows on every rank, from all ranks' slabs."""
    if not is_parallel(comm):
        return slabs
    return {name: _all_slabs(comm, part) for name, part in slabs.items()}


def _all_slabs(comm: Communicator, part: np.ndarray) -> np.ndarray:
    counts = np.array(comm.allgather(len(part)), dtype=np.int64)
    whole = np.empty((int(counts.sum()), *part.shape[1:]), dtype=part.dtype)
    comm.Allgatherv(np.ascontiguousarray(part), [whole, counts * int(np.prod(part.shape[1:]))])
    return whole
