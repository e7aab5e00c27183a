"""What makes the ranks do the same: rank numbers, values from the root, failures that all of them learn.

A communicator is an mpi4py object, or None for a serial run. Engines have Ranks.
"""

from __future__ import annotations

import pickle
from array import array
from typing import TYPE_CHECKING, Any, Protocol

from hpcchain.errors import EngineError

if TYPE_CHECKING:
    import numpy as np


class Ranks:
    """What engines need of the ranks: few calls, on arrays, nothing pickled in a step or window. Here there is one."""

    rank, size = 0, 1

    def allgather(self, value: Any) -> list:
        """Return the list of every rank's object, in rank order; between steps or windows only."""
        return [value]

    def maximum(self, values: np.ndarray, asleep: bool = False) -> np.ndarray:
        """Return the element-wise maximum over ranks of a float64 array; `asleep`: waiting keeps no core busy."""
        return values

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the element-wise sum over ranks of an int64 array."""
        return values

    def exchange_known(self, outgoing: dict, sources: list, asleep: bool = False) -> dict:
        """Send a float64 array to each of some ranks, rank -> array, and return what comes from others, likewise.

        Receivers have this rank among their sources. `asleep`: keep no core busy while messages are long in coming.
        """
        return {}

    def exchange_unknown(self, outgoing: dict) -> dict:
        """Like `exchange_known`, where no rank knows yet from which to expect a message; collective."""
        return {}


class Communicator(Protocol):
    """What of an mpi4py communicator is used to set up, to agree and to write files; tests have others that do it."""

    def Dup(self) -> Any: ...
    def Get_rank(self) -> int: ...
    def Get_size(self) -> int: ...
    def Barrier(self) -> None: ...
    def bcast(self, value: Any, root: int = 0) -> Any: ...
    def allgather(self, value: Any) -> list[Any]: ...
    def Allreduce(self, sent: Any, received: Any) -> None: ...
    def Alltoall(self, sent: Any, received: Any) -> None: ...
    def Alltoallv(self, sent: Any, received: Any) -> None: ...
    def Allgatherv(self, sent: Any, received: Any) -> None: ...


def rank_of(comm: Communicator | None) -> int:
    """Return this process's rank; 0 when serial."""
    return 0 if comm is None else comm.Get_rank()


def size_of(comm: Communicator | None) -> int:
    """Return the number of ranks; 1 when serial."""
    return 1 if comm is None else comm.Get_size()


def is_parallel(comm: Communicator | None) -> bool:
    """Return whether there is more than one rank."""
    return size_of(comm) > 1


def barrier(comm: Communicator | None) -> None:
    """Wait for all ranks."""
    if is_parallel(comm):
        comm.Barrier()


def from_root(comm: Communicator | None, value: Any) -> Any:
    """Return rank 0's value on every rank."""
    return comm.bcast(value, root=0) if is_parallel(comm) else value


def gathered(comm: Communicator | None, value: Any) -> list:
    """Return the values of all ranks, in rank order, on every rank."""
    return comm.allgather(value) if is_parallel(comm) else [value]


def agree(comm: Communicator | None, failure: Any = None) -> None:
    """Raise on every rank the failure of the lowest rank that has one; return if none has."""
    mine = count = array("i", [failure is not None])
    if is_parallel(comm):
        count = array("i", [0])
        comm.Allreduce(mine, count)  # one reduction: objects take two messages and their pickling
    if count[0] > 0:
        raise next(found for found in gathered(comm, failure) if found is not None)


def sendable(failure: BaseException) -> BaseException:
    """Return a failure as other ranks can have it: itself, or one that says the same."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:  # noqa: BLE001  # whatever an exception's own arguments do
        return EngineError(f"{type(failure).__name__}: {failure}")
    return failure
