"""Which rank holds which rows: contiguous slabs of the global order, and rows brought there and back.

Rows may also be sent to any ranks (`Way`).

Slabs begin at whole blocks of rows, so that per-block checksums do not depend on the number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import DataError, EngineError
from hpcchain.parallel.agreement import agree, is_parallel, rank_of, size_of

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
    """Return all rows of each array in global order, on every rank; the arguments are those of `sorted_slabs`.

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


def everywhere(comm: Communicator | None, slabs: dict) -> dict:
    """Return all rows on every rank, from all ranks' slabs."""
    if not is_parallel(comm):
        return slabs
    found = {}
    for name, part in slabs.items():
        counts = np.array(comm.allgather(len(part)), dtype=np.int64)
        found[name] = np.empty((int(counts.sum()), *part.shape[1:]), dtype=part.dtype)
        comm.Allgatherv(np.ascontiguousarray(part), [found[name], counts * int(np.prod(part.shape[1:]))])
    return found


class Way:
    """Which rank each of some rows goes to, and how many come from each rank: arrays of such rows go this way.

    Parameters
    ----------
    comm : communicator
    destination : (n,) integer array
        Rank that each row goes to.

    Attributes
    ----------
    counts : (size,) int64 array
        How many rows come from each rank.
    """

    def __init__(self, comm: Communicator, destination: np.ndarray) -> None:
        self._comm = comm
        sorted_already = len(destination) == 0 or bool(np.all(destination[1:] >= destination[:-1]))
        self._sequence = None if sorted_already else np.argsort(destination, kind="stable")
        self._sent = np.bincount(destination, minlength=comm.Get_size()).astype(np.int64)
        self.counts = np.empty_like(self._sent)
        comm.Alltoall(self._sent, self.counts)

    def sent(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows that come, by sending rank and in the sender's order within it; collective.

        They are of any dtype without objects, which is the same on all ranks, as the trailing shape is.
        """
        outgoing = np.ascontiguousarray(rows if self._sequence is None else rows.take(self._sequence, axis=0))
        received = np.empty((int(self.counts.sum()), *rows.shape[1:]), dtype=rows.dtype)
        width = rows.dtype.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
        self._comm.Alltoallv([_raw(outgoing), self._sent * width], [_raw(received), self.counts * width])
        return received


def _raw(rows: np.ndarray) -> np.ndarray:
    """Return the bytes of a contiguous array as a flat uint8 view."""
    if rows.size == 0:
        return np.empty(0, dtype=np.uint8)
    return rows.reshape(-1).view(np.uint8)


def to_slabs(comm: Communicator, bounds: np.ndarray, ids: np.ndarray, arrays: dict) -> dict:
    """Bring rows into global order, rank r holding rows bounds[r]:bounds[r + 1].

    Parameters
    ----------
    comm : communicator
    bounds : (size + 1,) int64 array
        Slab limits, the same on all ranks.
    ids : (n,) int64 array
        Global ids of this rank's rows, in any order.
    arrays : dict of name -> (n, ...) array

    Returns
    -------
    dict of name -> (bounds[r + 1] - bounds[r], ...) array

    Raises
    ------
    EngineError
        On every rank, if an id is out of range, missing or held twice.
    """
    ids = np.asarray(ids, dtype=np.int64)
    _agree_on_range(comm, bounds, ids)
    way = Way(comm, np.searchsorted(bounds, ids, side="right") - 1)
    low, high = bounds[comm.Get_rank()], bounds[comm.Get_rank() + 1]
    place = way.sent(ids) - low
    agree(comm, _not_once(place, low, high))
    source = _inverse(place)
    return {name: way.sent(rows).take(source, axis=0) for name, rows in arrays.items()}


def _inverse(place: np.ndarray) -> np.ndarray:
    """Return which of some rows comes to each place: to take rows is twice as fast as to put them there."""
    source = np.empty_like(place)
    source[place] = np.arange(len(place))
    return source


def range_from_slabs(comm: Communicator, bounds: np.ndarray, low: int, high: int, slabs: dict) -> dict:
    """Return rows low ... high - 1, this rank's range; only those that its slab does not have are sent.

    Parameters
    ----------
    comm : communicator
    bounds : (size + 1,) int64 array
    low, high : int
    slabs : dict of name -> (bounds[r + 1] - bounds[r], ...) array

    Returns
    -------
    dict of name -> (high - low, ...) array
        A view where nothing came.

    Raises
    ------
    EngineError
        On every rank, if a row is out of range.
    """
    _agree_on_range(comm, bounds, np.array([low, high - 1] if high > low else [], dtype=np.int64))
    rank = comm.Get_rank()
    begin, end = bounds[rank], bounds[rank + 1]
    parts = np.clip(comm.allgather((low, high)), begin, end) - begin  # of this rank's slab that each one needs
    own, parts[rank] = slice(*parts[rank]), 0
    way = Way(comm, np.repeat(np.arange(comm.Get_size()), parts[:, 1] - parts[:, 0]))
    at = np.concatenate([np.arange(*part) for part in parts])
    before = max(int(min(begin, high)) - low, 0)
    found = {}
    for name, rows in slabs.items():
        came = way.sent(rows.take(at, axis=0))
        found[name] = np.concatenate([came[:before], rows[own], came[before:]]) if len(came) else rows[own]
    return found


def _agree_on_range(comm: Communicator, bounds: np.ndarray, ids: np.ndarray) -> None:
    wrong = ids[(ids < 0) | (ids >= bounds[-1])]
    agree(comm, EngineError(f"bead {wrong[0]} does not exist: there are {bounds[-1]} beads") if len(wrong) else None)


def _not_once(place: np.ndarray, low: int, high: int) -> EngineError | None:
    """Return what is wrong with ids, less `low`, that should be low ... high - 1, each once; None if nothing is."""
    count = np.bincount(place, minlength=high - low)
    wrong = np.flatnonzero(count != 1)
    if not len(wrong):
        return None
    return EngineError(f"bead {wrong[0] + low} is held by {count[wrong[0]]} ranks instead of one")
