"""The output of a run as it is now, finished, going on or killed: its joined files and the closed parts behind them.

What a run has put out since its last checkpoint is in a part that is still open, and not read. Nothing is changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, read_outline
from hpcchain.io.checkpoint.store import newest_valid
from hpcchain.io.hdf5 import files
from hpcchain.io.hdf5.collective import root_does, translated
from hpcchain.io.output import events
from hpcchain.io.output.lineage import CHECKPOINTS, FILE_NAMES, FILES, GROWTH, PARTS, FileHead, file_head
from hpcchain.io.output.parts import list_parts
from hpcchain.io.output.recoverable_output import RunOutput, output_in
from hpcchain.io.output.trajectory import GROUP, ORIENTATION, SPIN, Trajectory, bead_columns, read_trajectory
from hpcchain.model.system import OPEN

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.model.system import System
    from hpcchain.parallel.agreement import Communicator

TRIES, PAUSE = 200, 0.02
"""A run may join its parts and remove them while its files are looked up; they are looked up again then, so
often at most, after so many wall seconds."""


class Series(NamedTuple):
    """An observable, /<name>/..., a row a report: (R,) int64, (R,) float64 [time], (R, ...) float64."""

    step: np.ndarray
    time: np.ndarray
    value: np.ndarray


def joined_files(folder: Path) -> list[Path]:
    """Return the output files, of which each is joined of parts, that a run's folder has."""
    return [path for name in FILE_NAMES if (path := folder / name).is_file()]


def has_output(folder: Path) -> bool:
    """Return whether there is something to analyse in a run's folder."""
    return bool(joined_files(folder) or list_parts(folder / PARTS))


def run_output(
    source: Path | str, comm: Communicator | None = None, kinds: tuple[str, ...] = tuple(FILES)
) -> RunOutput:
    """Return the RunOutput of a run's folder, or of one output file; every byte of it is checked; collective.

    Parameters
    ----------
    source : path
        A folder; trajectory.h5, observables.h5 or events.h5, which then is all there is; or a part, a checkpoint, or
        one of the former that is not there yet while parts are, which stand for their run.
    comm : communicator or None
    kinds : tuple of str
        Of a folder's files only those of these kinds are looked at, besides parts.

    Raises
    ------
    DataError
        When there is no output, or some of it is missing, damaged or of another run.
    """
    source = root_does(comm, Path(source), "looking for it", lambda: folder_of_unjoined(Path(source)))
    if root_does(comm, source, "looking for it", source.is_dir):
        return _folder_output(source, comm, kinds)
    kind = root_does(comm, source, "reading", lambda: files.kind_of(source))
    if kind in FILES:
        return RunOutput(source, {kind: file_head(source, kind, comm)}, [])
    if kind in ("part", "checkpoint") and source.parent.name in (PARTS, CHECKPOINTS):
        return _folder_output(source.parent.parent, comm, kinds)
    raise DataError(f"{source}: is of kind {kind!r}, and in no run's folder: it has no frames or reports")


def folder_of_unjoined(source: Path) -> Path:
    """Return the run's folder for an output file that is only in parts yet, otherwise the path as it is."""
    unjoined = source.name in FILE_NAMES and not source.exists()
    return source.parent if unjoined and list_parts(source.parent / PARTS) else source


def _folder_output(folder: Path, comm: Communicator | None, kinds: tuple[str, ...]) -> RunOutput:
    for _ in range(TRIES):
        there = output_in(folder, comm, kinds)
        try:
            found = there.rows()
        except DataError:
            listed = root_does(comm, folder, "listing parts", lambda: list_parts(folder / PARTS))
            if [number for number, _ in listed] == [number for number, _ in there.parts]:
                raise
            time.sleep(PAUSE)
            continue
        if not found.joined and not found.parts:
            if root_does(comm, folder, "looking", (folder / GROWTH).is_file):
                raise DataError(f"{folder}: its start is still growing: there is no output yet")
            raise DataError(
                f"{folder}: holds no output: neither observables.h5 nor trajectory.h5, nor closed parts; name a "
                "run's output directory; a run that goes on closes its first part at its first checkpoint"
            )
        return found
    raise DataError(f"{folder}: changes while it is read; try again")


class Frame:
    """One frame; its tables are read when they are first asked for."""

    def __init__(self, frames: Frames, number: int) -> None:
        self._frames, self._number = frames, number
        self.step, self.time = int(frames.step[number]), float(frames.time[number])

    @cached_property
    def position(self) -> np.ndarray:
        """(N, 3) positions, each molecule whole [length]."""
        return self._frames.table("position", self._number)

    @cached_property
    def velocity(self) -> np.ndarray:
        """(N, 3) velocities [length / time]."""
        return self._frames.table("velocity", self._number)

    @cached_property
    def image(self) -> np.ndarray:
        """(N, 3) box lengths to add to the positions."""
        return self._frames.table("image", self._number)

    @cached_property
    def spin(self) -> np.ndarray:
        """(N, 3) angular velocities, of runs whose beads spin [1 / time]."""
        known = self._frames.fixed.angular_velocity
        return self._frames.table(SPIN[0], self._number) if known is None else known

    @cached_property
    def orientation(self) -> np.ndarray:
        """(N, 4) unit quaternions (w first), of runs whose spheres have them."""
        return self._frames.table(ORIENTATION, self._number)


Read = Callable[[str, np.ndarray, int, int], np.ndarray]
"""Of the name of a table, some rows at even distances, and the beads low:high: (rows, beads, columns)."""


class Piece(NamedTuple):
    """Frames that follow one another in one file: their steps and times, and what opens it to read them."""

    step: np.ndarray
    time: np.ndarray
    opened: Callable[[], AbstractContextManager[Read]]


def clock_of(pieces: Sequence[Piece]) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps and times of all frames."""
    steps = np.concatenate([np.empty(0, np.int64), *(piece.step for piece in pieces)])
    return steps, np.concatenate([np.empty(0), *(piece.time for piece in pieces)])


class Frames(Sequence[Frame]):
    """The frames of a run, and what does not change from one to the next; made by `open_frames`.

    Attributes
    ----------
    time, step : (F,) arrays
        [time]
    fixed : Trajectory
        Species, molecules, masses, diameters, bonds and box.
    """

    def __init__(self, pieces: Sequence[Piece], fixed: Trajectory) -> None:
        self._pieces, self.fixed = pieces, fixed
        self.step, self.time = clock_of(pieces)
        self._first = np.cumsum([0, *(len(piece.time) for piece in pieces)])

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, number: int) -> Frame:  # type: ignore[override]
        return Frame(self, range(len(self))[number])

    def table(self, name: str, number: int) -> np.ndarray:
        """Return "position", "velocity", "image" or "orientation" of all beads in a frame, (N, 3) or (N, 4)."""
        return self.beads(name, slice(number, number + 1), 0, None)[0]

    def beads(self, name: str, rows: slice, low: int, high: int | None) -> np.ndarray:
        """Return a table of the beads low:high in some frames, (frames, beads, 3).

        Parameters
        ----------
        name : str
        rows : slice
            Of all frames, with a start, a stop and no or a positive step.
        low, high : int
        """
        wanted = np.arange(rows.start, rows.stop, rows.step or 1)
        beads = len(self.fixed.species) if high is None else high
        found = np.empty(
            (len(wanted), beads - low, 4 if name == ORIENTATION else 3), np.int64 if name == "image" else np.float64
        )
        for piece, first, last in zip(self._pieces, self._first, self._first[1:], strict=False):
            mine = np.flatnonzero((wanted >= first) & (wanted < last))
            if len(mine):
                with piece.opened() as read:
                    found[mine[0] : mine[-1] + 1] = read(name, wanted[mine] - first, low, beads)
        return found


def given_piece(tables: dict[str, np.ndarray], now: float) -> Piece:
    """Return the Piece of one frame, now, whose tables are there, by name."""

    def read(name: str, rows: np.ndarray, low: int, high: int) -> np.ndarray:
        return tables[name][None][rows, low:high]

    return Piece(np.zeros(1, np.int64), np.array([now]), lambda: nullcontext(read))


def _read_joined(file: h5py.File, before: int, name: str, rows: np.ndarray, low: int, high: int) -> np.ndarray:
    """Do as Read, of a trajectory.h5 in which so many rows come before those that are counted."""
    with translated(file.filename, f"reading frame {rows[0]}"):
        stride = int(rows[1] - rows[0]) if len(rows) > 1 else 1
        chosen = slice(before + int(rows[0]), before + int(rows[-1]) + 1, stride)
        return file[f"{GROUP}/{name}/value"][chosen, low:high]


def part_piece(head: PartHead) -> Piece:
    """Return the Piece of a closed part, opened when it is read: a long run has many parts.

    When the run has joined it to trajectory.h5 in the meantime, it is read there.
    """

    @contextmanager
    def opened() -> Iterator[Read]:
        with _part_or_joined(head, "trajectory") as (file, first):

            def read(name: str, rows: np.ndarray, low: int, high: int) -> np.ndarray:
                return np.stack([file[f"frames/{row:08d}/{name}"][low:high] for row in rows])

            yield read if first is None else partial(_read_joined, file, first)

    return Piece(*_clock(head), opened)


def pieces_of(output: RunOutput, stack: ExitStack) -> list[Piece]:
    """Return the frames of a run, in order; a trajectory.h5 stays open until the stack ends."""
    pieces = []
    if output.kept("trajectory"):
        head = output.joined["trajectory"]
        file = stack.enter_context(files.reading(head.path, "trajectory", checked=False))
        steps, times = (files.get(file, f"{GROUP}/position/{name}")[: head.rows] for name in ("step", "time"))
        pieces.append(Piece(steps, times, lambda: nullcontext(partial(_read_joined, file, 0))))
    return [*pieces, *map(part_piece, output.parts)]


@contextmanager
def _part_or_joined(head: PartHead, kind: str) -> Iterator[tuple[h5py.File, int | None]]:
    """Yield (a part's file, None); or, when its run has joined it, (the joined file, the part's first row there)."""
    with ExitStack() as stack:
        first = None
        try:
            file = stack.enter_context(files.reading(head.path, "part", checked=False))
        except DataError:
            if head.path.is_file():
                raise
            joined = head.path.parent.parent / f"{kind}.h5"
            file, first = stack.enter_context(files.reading(joined, kind, checked=False)), head.start[FILES[kind]]
        yield file, first


@contextmanager
def open_frames(output: RunOutput) -> Iterator[Frames]:
    """Yield the Frames of a run; not collective, its files have been checked.

    Raises
    ------
    DataError
        When there are none, or nothing says what the beads are.
    """
    head = output.joined.get("trajectory")
    with ExitStack() as stack:
        fixed = read_trajectory(head.path) if head else beads_of(output)
        yield Frames(pieces_of(output, stack), fixed)


def _clock(head: PartHead) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps and times of a part's frames."""
    with _part_or_joined(head, "trajectory") as (file, first):
        if first is None:
            steps, times = file["frame_step"][()], file["frame_time"][()]
        else:
            clock = (files.get(file, f"{GROUP}/position/{name}") for name in ("step", "time"))
            steps, times = (values[first : first + head.count("frames")] for values in clock)
    if len(times) != head.count("frames") or len(steps) != len(times):
        raise DataError(f"{head.path}: does not hold the {head.count('frames')} frames that it counts")
    return steps, times


def beads_of(output: RunOutput) -> Trajectory:
    """Return what does not change of a run without trajectory.h5, as its newest whole checkpoint says."""
    folder = output.source if output.source.is_dir() else output.source.parent.parent
    path, refused = newest_valid(folder / CHECKPOINTS)
    if path is None:
        why = f"; the newest is not: {refused[0][1]}" if refused else ""
        raise DataError(
            f"{folder}: nothing says what the beads of its parts are: no trajectory.h5, no whole checkpoint{why}"
        )
    found = read_outline(path).system
    return fixed_of(found if found.directors is None else read_checkpoint(path).system)


def fixed_of(system: System) -> Trajectory:
    """Return what does not change of a system's frames; a table of directors must have all of them."""
    composition, box, rough = system.topology, system.box, system.physics.extended.rough
    ids, count = np.arange(composition.beads), composition.count("bonds")
    columns, names = bead_columns(composition, ids)
    turning, moment = None, composition.prototypes.moment[composition.prototype_of(ids)] if rough else None
    if system.directors is not None:
        turning = system.directors.turning(composition, 0, composition.beads)
        moment = turning.moment
    return Trajectory(
        step=np.empty(0, np.int64),
        time=np.empty(0),
        names=names,
        **columns,
        bonds=np.asarray(composition.rows("bonds", 0, count), dtype=np.int64).reshape(-1, 2),
        edges=box.size,
        origin=box.origin,
        periodic=box.periodic,
        bounded=not np.any(box.boundary == OPEN),
        angular_velocity=None if turning is None else turning.velocity,
        moment_of_inertia=moment,
        turns=turning is not None or bool(system.physics.extended.orientations),
    )


def series_in(group: h5py.File | h5py.Group) -> dict[str, Series]:
    """Return name -> Series of the observables in an open file or group; not collective."""
    names = [name for name in group if all(f"{name}/{column}" in group for column in Series._fields)]
    return {name: Series(*(files.get(group, f"{name}/{column}") for column in Series._fields)) for name in names}


def read_reports(output: RunOutput) -> dict[str, Series]:
    """Return name -> Series of every observable of a run; not collective."""
    try:
        series, _ = joined_reports(output)
    except DataError:
        if all(head.path.is_file() for head in output.parts):
            raise
        path = output.parts[0].path.parent.parent / "observables.h5"  # the run has joined them in the meantime
        series, _ = joined_reports(RunOutput(path, {"observables": FileHead(path, output.rows("observables"), [])}, []))
    return {name: Series(*map(np.concatenate, columns)) for name, columns in series.items()}


def joined_reports(output: RunOutput) -> tuple[dict[str, list[list[np.ndarray]]], dict[str, int]]:
    """Return the reports of a run; not collective.

    Returns
    -------
    series : dict of name -> three lists of arrays
        Step, time and value.
    first : dict of name -> int
        The report that an observable began with.
    """
    series: dict[str, list[list[np.ndarray]]] = {}
    first: dict[str, int] = {}
    reached = output.kept("observables")
    if reached:
        with files.reading(output.joined["observables"].path, "observables", checked=False) as source:
            for name, columns in series_in(source).items():
                first[name] = int(source[name].attrs["first_report"])
                series[name] = [[column[: max(reached - first[name], 0)]] for column in columns]
    for head in output.parts:
        with files.reading(head.path, "part", checked=False) as source:
            for name, columns in (series_in(source["reports"]) if "reports" in source else {}).items():
                first.setdefault(name, reached)
                for column, values in zip(series.setdefault(name, [[], [], []]), columns, strict=True):
                    column.append(values)
                    if len(values) != head.count("reports"):
                        raise DataError(
                            f"{head.path}: does not hold the {head.count('reports')} reports of {name} that it counts"
                        )
        reached += head.count("reports")
    return series, first


def event_tables(output: RunOutput, share: int = 0, shares: int = 1) -> Iterator[np.ndarray]:
    """Yield tables of events, in no order; of several shares, which have each event once, one.

    Parameters
    ----------
    output : RunOutput
    share, shares : int
        Which share, of how many.

    Yields
    ------
    (n,) structured array of type events.EVENT
    """
    kept = output.kept("events")
    for low in range(0, kept, events.COPY_ROWS)[share::shares]:
        with files.reading(output.joined["events"].path, "events", checked=False) as file:
            yield events.read_table(file["events"], low, min(low + events.COPY_ROWS, kept))
    for head in output.parts[share::shares]:
        with _part_or_joined(head, "events") as (file, first):
            if first is not None:
                yield from _slices(file["events"], first, first + head.count("events"))
            for name in sorted(file["events"]) if first is None and "events" in file else []:
                yield from _slices(file["events"][name], 0, len(file["events"][name]["time"]))


def _slices(group: h5py.Group, first: int, last: int) -> Iterator[np.ndarray]:
    """Yield the events first:last of a group, so many at a time."""
    for low in range(first, last, events.COPY_ROWS):
        yield events.read_table(group, low, min(low + events.COPY_ROWS, last))
