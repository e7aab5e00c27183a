"""The ranks of this run: the one module that names MPI's world communicator.

`world()` gives a `World` when MPI can be used and a `Single` when it cannot and several ranks were not started; both
answer to the same names, so callers need not know which one they hold. Its methods take any Python object; arrays go
through `World.exchange`. What a launcher says (`launched`) is read before and without MPI.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hpcchain.errors import UsageError
from hpcchain.parallel.activity import Activity

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.parallel.exchange import Exchange

# (size, rank) as Open MPI's mpirun, then MPICH's and Intel's hydra or Slurm's pmi2, then srun name them. A batch script
# alone has SLURM_NTASKS too, though only one process: the step's own variable is what srun sets. It comes last
# because mpirun starts its own daemons with srun.
VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
POLL_SECONDS = 0.002
_UNFINISHED = []  # agreements given up, to the end of the process: MPI writes to their buffers if a rank comes late


class Single:
    """One rank without MPI.

    Attributes
    ----------
    rank, size : int
        0 and 1.
    mpi : None
        What h5py's parallel driver takes; there is none.
    activity : Activity
        Says which rank this one waits for.
    started : int
        How many ranks there are: more than `size` where others sleep while this one works (`tuning.standby`).
    sharing : int
        How many ranks of all groups (`groups`) compute on the processors that this one may run on; 1 without groups.
    """

    rank = 0
    size = 1
    started = 1
    sharing = 1
    exchange: Any = None
    mpi: Any = None

    def __init__(self) -> None:
        self.activity = Activity()

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.allgather(None)

    def bcast(self, value: Any, root: int = 0) -> Any:
        """Return root's object on every rank."""
        return value

    def allgather(self, value: Any) -> list:
        """Return the list of every rank's object, in rank order."""
        return [value]

    def on_node(self, value: Any) -> list:
        """Return the list of the objects of the ranks on this rank's node; collective."""
        return [value]

    def any(self, flag: bool) -> bool:
        """Return whether the flag is true on any rank."""
        return any(self.allgather(bool(flag)))

    def agree(self, outcome: tuple, patience: float | None = None) -> list:
        """Return every rank's outcome, as many whole numbers on all, in rank order.

        Returns None when some rank does not come within `patience` [wall seconds]; without it, waits for ever.
        """
        return [tuple(outcome)]

    def abort(self, code: int) -> None:
        """End every rank at once with an exit code; the last resort when nothing can be sent to the others."""
        raise SystemExit(code)


class Alone(Single):
    """One of several ranks when it works by itself: its last resort ends all, those that sleep too."""

    def __init__(self, world: Single, started: int = 1, sharing: int = 1, activity: Activity | None = None) -> None:
        self.activity = activity or Activity()
        self.started, self.sharing, self._world = started, sharing, world

    def abort(self, code: int) -> None:
        self._world.abort(code)


class World(Single):
    """The ranks of an MPI communicator.

    Parameters
    ----------
    mpi : mpi4py.MPI.Comm
        Used for everything but `agree`, which has a copy of its own: the last word of a failing rank cannot be
        taken for part of an unfinished exchange.
    sharing : int
    """

    def __init__(self, mpi: Communicator, sharing: int = 1) -> None:
        super().__init__()
        self.mpi, self.sharing = mpi, sharing
        self.rank = mpi.Get_rank()
        self.size = self.started = mpi.Get_size()
        self._last_words = mpi.Dup()

    @cached_property
    def exchange(self) -> Exchange:
        """What the windowed engine talks through, on a communicator of its own; the first use is collective."""
        from hpcchain.parallel.exchange import Exchange  # needs numpy, which a --help does not

        return Exchange(self.mpi, self.activity)

    def bcast(self, value: Any, root: int = 0) -> Any:
        with self.activity.waiting(root):
            return self.mpi.bcast(value, root=root)

    def allgather(self, value: Any) -> list:
        with self.activity.waiting():
            return self.mpi.allgather(value)

    def on_node(self, value: Any) -> list:
        from mpi4py import MPI  # it has been, where there is a World

        with self.activity.waiting():
            node = self.mpi.Split_type(MPI.COMM_TYPE_SHARED)
            try:
                return node.allgather(value)
            finally:
                node.Free()

    def agree(self, outcome: tuple, patience: float | None = None) -> list:
        """Return every rank's outcome, as `Single.agree`; found by polling, so that one that never comes is noticed."""
        mine = array("q", outcome)
        theirs = array("q", bytes(8 * len(mine) * self.size))
        request = self._last_words.Iallgather(mine, theirs)
        deadline = None if patience is None else time.monotonic() + patience
        while not request.Test():
            if deadline is not None and time.monotonic() > deadline:
                _UNFINISHED.append((request, mine, theirs))
                return None
            time.sleep(POLL_SECONDS)
        return [tuple(theirs[i : i + len(mine)]) for i in range(0, len(theirs), len(mine))]

    def free(self) -> None:
        """Give the communicators back to MPI; collective. What was on its way in them is lost."""
        if "exchange" in self.__dict__:
            self.exchange.free()
        self._last_words.Free()
        self.mpi.Free()

    def abort(self, code: int) -> None:
        self.mpi.Abort(code)


def launched(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return (size, rank) that the launcher announces in environment variables, (1, 0) without a launcher."""
    for size_name, rank_name in VARIABLES:
        size = environment.get(size_name, "")
        if size.isdigit() and int(size) > 0:
            rank = environment.get(rank_name, "")
            return int(size), int(rank) if rank.isdigit() else 0
    return 1, 0


def not_joined_by_mpi(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether srun started several processes without any of the interfaces through which an MPI joins them.

    MPI's own complaint about that is long and comes from every process.
    """
    several = environment.get(VARIABLES[-1][0], "1") not in ("", "0", "1")
    return several and not any(name.startswith(("PMI", "OMPI_COMM_WORLD")) for name in environment)


def world() -> Single | World:
    """Return the ranks of this run; collective: every rank calls it, once.

    Raises
    ------
    UsageError
        When the launcher started several processes that MPI does not join to one run.
    """
    announced, _ = launched()
    if not_joined_by_mpi():
        raise UsageError(singletons(announced, "srun without a process manager interface"))
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        if announced > 1:
            raise UsageError(
                f"the launcher started {announced} ranks, but mpi4py cannot be used ({' '.join(str(error).split())}): "
                "each would be a run of its own. Run tools/setup, or start hpcchain without mpirun or srun for one rank"
            ) from error
        return Single()
    mpi = MPI.COMM_WORLD
    if announced > 1 and mpi.Get_size() == 1:
        raise UsageError(singletons(announced, library()))
    return World(mpi)


def library() -> Any:
    """Return what the MPI library calls itself, or why there is none that can be used, on one line."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return f"none that mpi4py can use: {' '.join(str(error).split())}"
    return " ".join(MPI.Get_library_version().strip("\0\n ").partition("\n")[0].split(",")[0].split())


def singletons(announced: int, library: str) -> str:
    """Return the message for several processes of which each is alone in its world."""
    return (
        f"the launcher started {announced} ranks, but each finds itself alone under {library}: they would be "
        f"{announced} separate runs. Use the launcher of that MPI (its own mpirun; under Slurm a fitting "
        "srun --mpi=..., for example --mpi=pmix), or load the MPI that the launcher belongs to"
    )
