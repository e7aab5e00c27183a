"""The files that a run has written and counts on: found missing or changed before another checkpoint counts on them.

Later checkpoints take the place of earlier ones. So a loss has to be found while a checkpoint is kept that is older.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import DataError
from hpcchain.io.checkpoint.layout import whole
from hpcchain.io.hdf5 import atomic, files, seal
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.output.lineage import FILES
from hpcchain.io.output.parts import counts_in, head_in, list_parts

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

NAMED = 5
"""Files that a message names; of more it gives the number."""


class Inventory:
    """The closed parts, earlier output files and the open part of a run; every method is collective, the root looks.

    Parameters
    ----------
    folder : path
        The run's directory, whose output has been found whole (`recoverable_output`).
    comm : communicator or None
    counters : dict
        "part": number of the first part that is not counted on; "frames", "events", "reports": rows that are.
    """

    def __init__(self, folder: Path, comm: Communicator | None, counters: Mapping[str, object]) -> None:
        self._folder, self._comm = Path(folder), comm
        self._known: dict[Path, tuple[tuple[int, ...], str]] = {}  # on the root: path -> (stamp, digest)
        self._open: tuple[Path, tuple[int, ...]] | None = None  # path and stamp of the open part
        root_does(comm, folder, "looking at the output", lambda: self._begin(counters))

    def opened(self, path: Path) -> None:
        """Note the part that is being written, by the path that it will have."""
        root_does(self._comm, path, "looking at it", lambda: self._note_open(atomic.temporary(path)))

    def closed(self, path: Path) -> None:
        """Note a part that has just been finished, and is counted on from now on."""
        self._open = None
        root_does(self._comm, path, "looking at it", lambda: self._note(path))

    def require(self) -> None:
        """Raise DataError on every rank, naming them, where files are missing or changed; what is whole is left alone.

        A file that has been put back as it was is taken for what it was.
        """
        lost = root_does(self._comm, self._folder, "looking at the output", self._lost)
        if lost:
            names = [str(path.relative_to(self._folder)) for path in lost[:NAMED]]
            more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
            raise DataError(
                f"{self._folder}: {', '.join(names)}{more}: missing, or changed by someone else, while the "
                f"run goes on that has written and counts on them; {way_on(self._folder)}"
            )

    def _begin(self, counters: Mapping[str, object]) -> None:
        counted = [path for number, path in list_parts(self._folder / "parts") if number < whole(counters, "part")]
        needed = start_of(counted[0]) if counted else counts_in(counters)
        names = [f"{kind}.h5" for kind, rows in FILES.items() if needed[rows]]
        for path in [*counted, *(self._folder / name for name in names)]:
            self._note(path)

    def _note(self, path: Path) -> None:
        self._known[Path(path)] = stamp(path), seal.digest_in(path)

    def _note_open(self, temp: Path) -> None:
        self._open = temp, stamp(temp)[:2]

    def _lost(self) -> list[Path]:
        lost = [path for path, known in self._known.items() if not self._still(path, *known)]
        if self._open is not None and stamp(self._open[0])[:2] != self._open[1]:
            lost.append(self._open[0])
        return lost

    def _still(self, path: Path, before: tuple[int, ...], known: str) -> bool:
        """Whether a file is what it was; one that only looks otherwise is read."""
        now = stamp(path)
        if now == before or not now:
            return bool(now)
        try:
            seal.check(path)
        except DataError:
            return False
        self._known[path] = now, known
        return seal.digest_in(path) == known


def stamp(path: Path) -> tuple[int, ...]:
    """Return what the system says of a file that tells it from another, () where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def start_of(part: Path) -> dict[str, int]:
    """Return what a run had counted before a part, which has been found whole."""
    with files.reading(part, "part", checked=False) as file:
        return head_in(file, part).start


def way_on(folder: Path) -> str:
    """Return what is left when some of a run's output is lost, and what can be done."""
    return (
        f"what is whole has been left as it is: put back what is missing, or go on without it: 'hpcchain resume "
        f"{folder}' takes the latest checkpoint whose earlier rows are all there, if one is kept, else says so"
    )
