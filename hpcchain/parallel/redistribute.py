"""Move rows between ranks: to the rank they are addressed to, or to and from contiguous slabs of the global order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import EngineError
from hpcchain.parallel.agreement import agree

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator


def exchange(comm: Communicator, destination: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Send every row to its destination rank.

    Parameters
    ----------
    comm : communicator
    destination : (n,) integer array
        Rank that each row goes to.
    rows : (n, ...) array
        Any dtype without objects; dtype and trailing shape are the same on all ranks.

    Returns
    -------
    received : (m, ...) array
        Rows by sending rank, and in the sender's order within it.
    counts : (size,) int64 array
        How many rows came from each rank.
    """
    way = Way(comm, destination)
    return way.sent(rows), way.counts


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
        """Return the rows that come, by sending rank and in the sender's order within it; collective."""
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
    _agree(comm, _not_once(place, low, high))
    source = _inverse(place)
    return {name: way.sent(rows).take(source, axis=0) for name, rows in arrays.items()}


def _inverse(place: np.ndarray) -> np.ndarray:
    """Return which of some rows comes to each place: to take rows is twice as fast as to put them there."""
    source = np.empty_like(place)
    source[place] = np.arange(len(place))
    return source


def from_slabs(comm: Communicator, bounds: np.ndarray, ids: np.ndarray, slabs: dict) -> dict:
    """Return the rows of the given ids, in their order: the inverse of `to_slabs`.

    Parameters
    ----------
    comm : communicator
    bounds : (size + 1,) int64 array
    ids : (n,) int64 array
        Global ids this rank wants; several ranks may want the same one.
    slabs : dict of name -> (bounds[r + 1] - bounds[r], ...) array

    Returns
    -------
    dict of name -> (n, ...) array

    Raises
    ------
    EngineError
        On every rank, if an id is out of range.
    """
    ids = np.asarray(ids, dtype=np.int64)
    _agree_on_range(comm, bounds, ids)
    owner = np.searchsorted(bounds, ids, side="right") - 1
    wanted, counts = exchange(comm, owner, ids)
    wanted -= bounds[comm.Get_rank()]
    back = Way(comm, np.repeat(np.arange(comm.Get_size()), counts))
    source = _inverse(np.argsort(owner, kind="stable"))
    return {name: back.sent(slab.take(wanted, axis=0)).take(source, axis=0) for name, slab in slabs.items()}


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
    begin, end = bounds[comm.Get_rank()], bounds[comm.Get_rank() + 1]
    own = slice(*np.clip([low, high], begin, end) - begin)
    before, after = np.arange(low, min(begin, high)), np.arange(max(end, low), high)
    came = from_slabs(comm, bounds, np.concatenate([before, after]), slabs)
    return {
        name: np.concatenate([came[name][: len(before)], slab[own], came[name][len(before) :]])
        if len(came[name])
        else slab[own]
        for name, slab in slabs.items()
    }


def _agree_on_range(comm: Communicator, bounds: np.ndarray, ids: np.ndarray) -> None:
    outside = ids[(ids < 0) | (ids >= bounds[-1])]
    _agree(comm, f"bead {outside[0]} does not exist: there are {bounds[-1]} beads" if len(outside) else None)


def _not_once(place: np.ndarray, low: int, high: int) -> Any:
    """Return what is wrong with ids, less `low`, that should be low ... high - 1, each once; None if nothing is."""
    count = np.bincount(place, minlength=high - low)
    wrong = np.flatnonzero(count != 1)
    return f"bead {wrong[0] + low} is held by {count[wrong[0]]} ranks instead of one" if len(wrong) else None


def _agree(comm: Communicator, problem: str | None) -> None:
    """Raise the first rank's problem on every rank."""
    agree(comm, EngineError(problem) if problem else None)
