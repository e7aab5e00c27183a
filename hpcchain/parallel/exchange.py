"""The ranks of an MPI communicator, for engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from hpcchain.parallel.activity import Activity, found_asleep
from hpcchain.parallel.agreement import Ranks

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

TAG, NOTE = 7, 9
FEW_NOTES = 16


class Exchange(Ranks):
    """The ranks of an MPI communicator, and the short notes that they send each other.

    Parameters
    ----------
    mpi : mpi4py.MPI.Comm
        Copied, so that no message of the engine's is taken for another.
    activity : Activity, optional
        Given the rank that this one waits for.

    Attributes
    ----------
    rank, size : int
    activity : Activity
    """

    def __init__(self, mpi: Communicator, activity: Activity | None = None) -> None:
        self._mpi = mpi.Dup()
        self.rank, self.size = mpi.Get_rank(), mpi.Get_size()
        self.activity = activity or Activity()
        self._subsets: dict[int, Exchange | None] = {self.size: self}
        self._notes: list[Any] = []
        self._most_notes = FEW_NOTES

    def subset(self, ranks: int) -> Exchange | None:
        """Return the Exchange of the first so many ranks, None on the others; collective, the first time of a number.

        It is kept: communicators are few.
        """
        if ranks not in self._subsets:
            inside = self.rank < ranks
            mpi = self._mpi.Split(0 if inside else MPI.UNDEFINED, self.rank)
            self._subsets[ranks] = Exchange(mpi, self.activity) if inside else None
            if inside:
                mpi.Free()
        return self._subsets[ranks]

    def free(self) -> None:
        """Give the communicators back to MPI; collective."""
        for subset in self._subsets.values():
            if subset is not None:
                subset._mpi.Free()  # noqa: SLF001  # its own

    def send_note(self, rank: int, note: Any) -> None:
        """Send a short object that the other finds when it looks (`heard`); no rank waits.

        Those sent before are looked through now and then, not each time: thousands may sleep.
        """
        if len(self._notes) > self._most_notes:
            self._notes = [request for request in self._notes if not request.Test()]
            self._most_notes = 2 * len(self._notes) + FEW_NOTES
        self._notes.append(self._mpi.isend(note, rank, NOTE))

    def heard(self, rank: int | None = None) -> Any:
        """Return the next object that a rank, or any, has sent to this one, None where there is none yet."""
        message = self._mpi.improbe(MPI.ANY_SOURCE if rank is None else rank, NOTE)
        return None if message is None else message.recv()

    def allgather(self, value: Any) -> list:
        with self.activity.waiting():
            return self._mpi.allgather(value)

    def maximum(self, values: np.ndarray, asleep: bool = False) -> np.ndarray:
        result = np.empty_like(values)
        with self.activity.waiting():
            if asleep:
                found_asleep(self._mpi.Iallreduce(values, result, op=MPI.MAX).Test)
            else:
                self._mpi.Allreduce(values, result, op=MPI.MAX)
        return result

    def total(self, values: np.ndarray) -> np.ndarray:
        result = np.empty_like(values)
        with self.activity.waiting():
            self._mpi.Allreduce(values, result, op=MPI.SUM)
        return result

    def exchange_known(self, outgoing: dict, sources: list, asleep: bool = False) -> dict:
        requests = [self._mpi.Isend([rows, MPI.DOUBLE], rank, TAG) for rank, rows in outgoing.items()]
        received = {}
        for rank in sources:
            status = MPI.Status()
            with self.activity.waiting(rank):
                if asleep:
                    message = found_asleep(lambda source=rank, about=status: self._mpi.Improbe(source, TAG, about))
                else:
                    message = self._mpi.Mprobe(rank, TAG, status)
            received[rank] = np.empty(status.Get_count(MPI.DOUBLE))
            message.Recv([received[rank], MPI.DOUBLE])
        MPI.Request.Waitall(requests)
        return received

    def exchange_unknown(self, outgoing: dict) -> dict:
        # From which ranks a message comes is found by a call of all.
        marks, theirs = np.zeros(self.size, dtype=np.int64), np.zeros(self.size, dtype=np.int64)
        marks[list(outgoing)] = 1
        with self.activity.waiting():
            self._mpi.Alltoall(marks, theirs)
        return self.exchange_known(outgoing, np.flatnonzero(theirs).tolist())
