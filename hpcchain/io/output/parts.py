"""Parts: what a run puts out between two checkpoints, complete and durable before the checkpoint that counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import h5py
import numpy as np

from hpcchain.errors import DataError, EngineError
from hpcchain.io.checkpoint.layout import COUNTED, whole
from hpcchain.io.hdf5 import atomic, files, seal, slabs, unclosable
from hpcchain.io.hdf5.collective import root_does, together
from hpcchain.io.output import events
from hpcchain.io.output.trajectory import VECTORS
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import gathered

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.parallel.agreement import Communicator


def counts_in(counters: Mapping[str, object]) -> dict[str, int]:
    """Return how many frames, events and reports are among a run's counters, 0 of what is not there."""
    return {name: whole(counters, name) for name in COUNTED}


def seal_in(counters: Mapping[str, object]) -> str:
    """Return the seal of the last part that a run's counters count, "" where there is none."""
    return str(counters.get("part_seal", ""))


def part_path(folder: Path | str, index: int) -> Path:
    """Return the path of a part."""
    return Path(folder) / f"part-{index:06d}.h5"


def list_parts(folder: Path) -> list[tuple[int, Path]]:
    """Return (index, path) of the closed parts in a folder, in order."""
    found = [(path.stem[5:], path) for path in Path(folder).glob("part-*.h5")]
    listed = [(int(digits), path) for digits, path in found if digits.isascii() and digits.isdigit()]
    return sorted((index, path) for index, path in listed if path == part_path(folder, index))


def remove_from(folder: Path, index: int, comm: Communicator | None = None) -> None:
    """Remove the parts numbered `index` and above (no checkpoint counts them) and leftovers of killed runs."""
    found = root_does(comm, folder, "listing parts", lambda: list_parts(folder))
    late = [path for number, path in found if number >= index]
    atomic.remove(late[::-1], comm)
    atomic.remove_leftovers(folder, comm)


class PartWriter:
    """Collects frames, events and reports of a run from one checkpoint to the next; every method is collective.

    Parameters
    ----------
    folder : path
        Exists.
    index : int
        Number of the part.
    comm : communicator or None
    topology : Topology
    start : dict, optional
        Totals "frames", "events", "reports" of the run before this part, default 0 each, and "part_seal", that of the
        part before this one, default "": there is none. See `lineage`.
    log_events : bool
        Whether the run logs events: events.h5 is then made even if there are none.

    Attributes
    ----------
    counts : dict of str -> int
        Totals "frames", "events", "reports", what this part holds so far among them.
    """

    def __init__(
        self,
        folder: Path,
        index: int,
        comm: Communicator | None,
        topology: Composition,
        start: Mapping[str, object] | None = None,
        log_events: bool = False,
    ) -> None:
        self.path = part_path(folder, index)
        self.counts, self._index, self._seal = counts_in(start or {}), index, ""
        self._comm, self._beads = comm, topology.beads
        self._head: dict[str, object] = {
            "index": index,
            "start": dict(self.counts),
            "log_events": bool(log_events),
            "after": seal_in(start or {}),
        }
        self._times: list[tuple[int, float]] = []
        self._reports: list[tuple[int, float, dict[str, np.ndarray]]] = []
        self._batches = 0
        temp = atomic.prepare(self.path, comm)
        self._file = files.create(temp, "part", comm)

    @property
    def counters(self) -> dict[str, int | str]:
        """`counts`, after `close` with the part's own seal and the next one's number, for a checkpoint to store."""
        closed: dict[str, int | str] = {"part_seal": self._seal, "part": self._index + 1} if self._seal else {}
        return {**self.counts, **closed}

    def frame(
        self, time: float, position: np.ndarray, velocity: np.ndarray, image: np.ndarray, **turning: np.ndarray
    ) -> None:
        """Append a frame, of which this rank has its slab of the beads; its step is its number in the run.

        Parameters
        ----------
        time : float
            [time]
        position, velocity : (n, 3) float64 arrays
            [length], [length / time].
        image : (n, 3) int64 array
        turning : (n, ...) float64 arrays
            "orientation", unit quaternions, and "angular_velocity" where contacts change it [1 / time]; or none.
        """
        arrays = {"position": position, "velocity": velocity, "image": image} | turning
        arrays = {name: np.asarray(array, dtype=VECTORS.get(name, np.float64)) for name, array in arrays.items()}
        group = self._file.create_group(f"frames/{len(self._times):08d}")
        slabs.put_slabs(group, self._beads, arrays, self._comm)
        self._times.append((self.counts["frames"], float(time)))
        self.counts["frames"] += 1

    def events(self, table: np.ndarray) -> None:
        """Append events, (n,) rows of type `events.EVENT`; every rank passes its own, each event once over all."""
        rough = "tangential" in events.columns_of(table.dtype)
        kind = events.TANGENTIAL if rough else events.EVENT
        table = np.asarray(table, dtype=kind)
        total = sum(gathered(self._comm, len(table)))
        if total == 0:
            return
        group = events.create_tables(self._file, f"events/{self._batches:08d}", total, kind)
        events.write_table(group, 0, table, self._comm)
        self._batches += 1
        self.counts["events"] += total

    def report(self, values: Mapping[str, object], time: float) -> None:
        """Append one row of observables, the same on all ranks; its step is its number in the run.

        Parameters
        ----------
        values : dict of str -> float or small array
            The same names and shapes at each report of a part.
        time : float
            [time]
        """
        row = {name: np.asarray(value) for name, value in values.items()}
        shapes = {name: value.shape for name, value in row.items()}
        if self._reports and shapes != {name: value.shape for name, value in self._reports[0][2].items()}:
            raise EngineError(f"the report at time {time} has other observables or shapes than the one before")
        self._reports.append((self.counts["reports"], float(time), row))
        self.counts["reports"] += 1

    def close(self) -> None:
        """Finish the part: it is complete and on the disk when this returns."""
        if self._file is None:
            return
        self._write_lists()
        self._head["end"] = self.counts
        files.put_json(self._file, "head", self._head, self._comm)
        file, self._file = self._file, None
        files.close(file, self.path, self._comm)
        atomic.publish(self.path, self._comm)
        self._seal = root_does(self._comm, self.path, "reading", lambda: seal.digest_in(self.path))

    def abort(self) -> None:
        """Give the part up and remove its temporary file, on one rank."""
        if self._file is not None:
            file, self._file = self._file, None
            unclosable.let_go(file)
        atomic.discard(self.path, self._comm)

    def _write_lists(self) -> None:
        steps, times = zip(*self._times, strict=True) if self._times else ((), ())
        slabs.put(self._file, "frame_step", np.array(steps, dtype=np.int64), self._comm)
        slabs.put(self._file, "frame_time", np.array(times, dtype=np.float64), self._comm)
        steps = np.array([step for step, _, _ in self._reports], dtype=np.int64)
        times = np.array([time for _, time, _ in self._reports], dtype=np.float64)
        for name in self._reports[0][2] if self._reports else ():
            values = np.stack([row[name] for _, _, row in self._reports])
            for column, array in (("step", steps), ("time", times), ("value", values)):
                slabs.put(self._file, f"reports/{name}/{column}", array, self._comm)


@dataclass(frozen=True)
class PartHead:
    """What a closed part covers: path, index, totals before (`start`) and after (`end`), whether events are logged.

    `seal` is its own, and `after` that of the part before it, "" where there was none.
    """

    path: Path
    index: int
    start: dict[str, int]
    end: dict[str, int]
    log_events: bool
    seal: str
    after: str

    def count(self, name: str) -> int:
        """Return how many "frames", "events" or "reports" the part holds."""
        return self.end[name] - self.start[name]


def head_in(file: h5py.File, path: Path) -> PartHead:
    """Return the PartHead in an open part."""
    head = files.get_json(file, "head", dict)
    start, end = (counts_in(cast("dict[str, object]", head[name])) for name in ("start", "end"))
    index, after, logs = head["index"], head["after"], head["log_events"]
    if not (type(index) is int and isinstance(after, str) and isinstance(logs, bool)):
        raise ValueError("head: something in it is of another type")
    if (start, end) != (head["start"], head["end"]):
        raise ValueError("head: start and end are no counts")
    return PartHead(Path(path), index, start, end, logs, seal.digest_in(path), after)


def read_head(path: Path, comm: Communicator | None = None) -> PartHead:
    """Return the PartHead of a closed part after checking every byte of it; collective.

    Raises
    ------
    DataError
        On every rank, when it is missing, damaged, no part, or has another part's name.
    """
    head = files.read_by_root(path, "part", comm, lambda file: head_in(file, path))
    if head.path.name != part_path("", head.index).name:
        raise DataError(f"{path}: is part {head.index}; it was renamed")
    return head


def sorted_events(head: PartHead, comm: Communicator | None = None) -> np.ndarray:
    """Return this rank's share of a part's events in global order; collective.

    Raises
    ------
    DataError
        When the part does not hold as many as it says.
    """
    pieces = []
    with together(comm, head.path, "reading events"), files.reading(head.path, "part", checked=False) as file:
        batches = [file["events"][name] for name in sorted(file["events"])] if "events" in file else []
        pieces.append(np.empty(0, dtype=events.kind_of(batches[0]) if batches else events.EVENT))
        for batch in batches:
            low, high = parallel_slabs.slab(len(batch["time"]), comm)
            pieces.append(events.read_table(batch, low, high))
    table = np.concatenate(pieces)
    if sum(gathered(comm, len(table))) != head.count("events"):
        raise DataError(f"{head.path}: does not hold the {head.count('events')} events that it counts")
    return events.sort_globally(comm, table)
