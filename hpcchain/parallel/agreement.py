"""What makes the ranks do the same: rank numbers, values from the root, failures that all of them learn.

A communicator is an mpi4py object, or None for a serial run.
"""

from __future__ import annotations

import pickle
from array import array
from typing import Any, Protocol

from hpcchain.errors import EngineError


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
