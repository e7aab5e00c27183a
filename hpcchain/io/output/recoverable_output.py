"""What a run directory holds of a run's output: all that is there, or what a checkpoint counts.

A run looks itself whether what it counts is still there (`Inventory`). Later checkpoints take the place of earlier
ones, so a loss has to be found while a checkpoint is kept that is older.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hpcchain.config.keys.values import counted
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.layout import COUNTED, whole
from hpcchain.io.hdf5 import atomic, files, seal
from hpcchain.io.hdf5.collective import GONE, is_gone, root_does
from hpcchain.io.output.lineage import FILES, PARTS, FileHead, file_head, require_chain
from hpcchain.io.output.parts import counts_in, head_in, list_parts, read_head, seal_in
from hpcchain.io.output.trajectory import read_trajectory

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.parallel.agreement import Communicator


Head = TypeVar("Head", "FileHead", "PartHead")
NAMED = 5
"""Files that a message names; of more it gives the number."""


@dataclass(frozen=True)
class RunOutput:
    """Which rows of which files make up a run's output.

    Attributes
    ----------
    source : Path
        What was asked for: a run's folder, or one of its files.
    joined : dict of kind -> FileHead
        "trajectory", "observables", "events": files, of the rows alone that come before the first part.
    parts : list of PartHead
        In order.
    """

    source: Path
    joined: dict[str, FileHead]
    parts: list[PartHead]

    def has(self, kind: str) -> bool:
        """Return whether there is any output of a kind."""
        return kind in self.joined or self.rows(kind) > 0

    def kept(self, kind: str) -> int:
        """Return how many frames, reports or events are in the joined file."""
        return self.joined[kind].rows if kind in self.joined else 0

    def rows(self, kind: str) -> int:
        """Return how many frames, reports or events there are."""
        return self.kept(kind) + sum(head.count(FILES[kind]) for head in self.parts)

    @property
    def logs_events(self) -> bool:
        """Whether the run logs its contacts."""
        return "events" in self.joined or any(head.log_events for head in self.parts)


@dataclass(frozen=True)
class Output:
    """The output in a run directory: of each file and part the head, the DataError that it gave, or None: not there."""

    folder: Path
    files: dict[str, FileHead | DataError | None]
    parts: list[tuple[int, PartHead | DataError]]

    def problems(self) -> list[DataError]:
        """Return the DataErrors."""
        found = [*self.files.values(), *(head for _, head in self.parts)]
        return [head for head in found if isinstance(head, DataError)]

    def rows(self, counters: Mapping[str, object] | None = None) -> RunOutput:
        """Return which rows of which files are the output that counters count, None: all that there is.

        Raises
        ------
        DataError
            Unless each part begins where the one before it ends, the last ends at the counters, and the files have all
            rows from before the first.
        """
        most = math.inf if counters is None else whole(counters, "part")
        heads = [sound(head) for number, head in self.parts if number < most]
        require_chain(heads)
        base, link = None if counters is None else counts_in(counters), seal_in(counters or {})
        if heads and base is not None:
            last = heads[-1]
            if last.end != base or last.index != most - 1:
                ends = f"{last.path}: ends at {_counts(last.end)}"
                raise DataError(f"{ends} where {_counts(base)} have been written: a part is missing")
            if last.seal != link:
                raise DataError(f"{last.path}: is whole, but not the part that the run has written")
        if heads:
            base, link = heads[0].start, heads[0].after
        joined: dict[str, FileHead] = {}
        for kind, head in self.files.items():
            needed = 0 if base is None else base[FILES[kind]]
            if needed and head is None:
                rows = f"{counted(needed, FILES[kind][:-1])} before {heads[0].path.name if heads else 'the next part'}"
                raise DataError(f"{self.folder}: parts are missing, or {kind}.h5: nothing is there of {rows}")
            if head is not None and (needed or base is None):
                joined[kind] = sound(head).until(link, needed) if needed else sound(head)
        return RunOutput(self.folder, joined, heads)


def output_in(run_dir: Path | None, comm: Communicator | None = None, kinds: Sequence[str] = tuple(FILES)) -> Output:
    """Return the Output in a run directory after checking every byte of it; None: an empty one; collective.

    Of the files only those of these kinds are looked at. Parts come first: a run may join them in the meantime.
    """
    if run_dir is None:
        return Output(Path(), dict.fromkeys(kinds), [])
    run_dir = Path(run_dir)
    paths = {kind: run_dir / f"{kind}.h5" for kind in kinds}
    listed = root_does(comm, run_dir, "listing parts", lambda: list_parts(run_dir / PARTS))
    parts = [(number, _tried(read_head, path, comm)) for number, path in listed]
    there = root_does(comm, run_dir, "looking at the output", lambda: {k for k, p in paths.items() if p.exists()})
    heads = {kind: _tried(file_head, path, kind, comm) if kind in there else None for kind, path in paths.items()}
    return Output(run_dir, heads, parts)


def _tried(read: Callable[..., Head], *args: object) -> DataError | Head:
    """Return what a reading function returns, or the DataError that it raises."""
    try:
        return read(*args)
    except DataError as error:
        return error


def recoverable_counts(output: Output, counters: Mapping[str, object]) -> dict[str, int | str]:
    """Return what a run that goes on from a checkpoint counts from: "frames", "events", "reports" and "part_seal".

    They are the checkpoint's, or nothing where nothing at all of the earlier output stands with it.

    Parameters
    ----------
    output : Output
    counters : dict
        The checkpoint's.

    Raises
    ------
    DataError
        When some of the earlier output is missing, damaged or another run's: nothing could be joined to it at the end.
    """
    part = whole(counters, "part")
    if all(head is None for head in output.files.values()) and all(number >= part for number, _ in output.parts):
        return dict.fromkeys(COUNTED, 0) | {"part_seal": ""}
    output.rows(counters)
    return counts_in(counters) | {"part_seal": seal_in(counters)}


def _counts(counters: Mapping[str, int]) -> str:
    return ", ".join(counted(counters[name], name[:-1]) for name in COUNTED)


def sound(head: DataError | Head) -> Head:
    """Return the head of a file or part, or raise the DataError that stands for it."""
    if isinstance(head, DataError):
        raise head
    return head


def advice(run_dir: Path) -> str:
    """Return what to do when no checkpoint can be gone on from."""
    return (
        f"restore what is missing or damaged, move the .h5 files and parts out of {run_dir} to go on without them, "
        "or start anew with 'hpcchain run' and another --output"
    )


def is_finished(output: Output, end: float, comm: Communicator | None = None) -> bool:
    """Return whether a run's output is assembled, its last frame at the end time; collective."""
    trajectory, observables = output.files["trajectory"], output.files["observables"]
    if output.parts or not isinstance(trajectory, FileHead) or not isinstance(observables, FileHead):
        return False
    found = root_does(comm, trajectory.path, "reading", lambda: read_trajectory(trajectory.path).time)
    return bool(len(found) and found[-1] == end)


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
        root_does(comm, folder, "looking at the output", lambda: self._begin(counters))

    def opened(self, path: Path) -> None:
        """Note the part that is being written, by the path that it will have."""
        temp = atomic.temporary(path)
        root_does(self._comm, path, "looking at it", lambda: self._known.update({temp: (stamp(temp), "")}))

    def closed(self, path: Path) -> None:
        """Note a part that has just been finished, and is counted on from now on."""
        self._known.pop(atomic.temporary(path), None)
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
        before = [path for number, path in list_parts(self._folder / PARTS) if number < whole(counters, "part")]
        needed = counts_in(counters)
        if before:  # which has been found whole
            with files.reading(before[0], "part", checked=False) as file:
                needed = head_in(file, before[0]).start
        for path in [*before, *(self._folder / f"{kind}.h5" for kind, rows in FILES.items() if needed[rows])]:
            self._note(path)

    def _note(self, path: Path) -> None:
        self._known[path] = stamp(path), seal.digest_in(path)

    def _lost(self) -> list[Path]:
        if is_gone(self._folder):
            raise DataError(f"{self._folder}: {GONE.format(folder=self._folder)}")
        return [path for path, known in self._known.items() if not self._still(path, *known)]

    def _still(self, path: Path, before: tuple[int, ...], known: str) -> bool:
        """Whether a file is what it was; one that looks otherwise is read, if it has a digest, else it may grow."""
        now = stamp(path)
        if now == before or not (now and known):
            return bool(now) and now[:2] == before[:2]
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


def way_on(folder: Path) -> str:
    """Return what is left when some of a run's output is lost, and what can be done."""
    return (
        f"what is whole has been left as it is: put back what is missing, or go on without it: 'hpcchain resume "
        f"{folder}' takes the latest checkpoint whose earlier rows are all there, if one is kept, else says so"
    )
