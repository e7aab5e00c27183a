"""The results of a run, or of many, as arrays, for Python programs and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from hpcchain.analysis.points import Settings, joined, points_of, runs_in, settings_of
from hpcchain.analysis.study import Wanted, evenly_spaced, study
from hpcchain.analysis.tables import Curve, Report, Value
from hpcchain.config.keys.values import counted
from hpcchain.errors import DataError, UsageError
from hpcchain.io.output.events import EVENT, sorted_rows
from hpcchain.io.output.lineage import FILE_NAMES, PARTS
from hpcchain.io.output.parts import list_parts
from hpcchain.io.output.run_output import (
    Series,
    event_tables,
    has_output,
    joined_files,
    open_frames,
    read_reports,
    run_output,
)
from hpcchain.io.tools.configurations import library

if TYPE_CHECKING:
    from hpcchain.io.output.recoverable_output import RunOutput
    from hpcchain.io.output.run_output import Frame


@dataclass(frozen=True)
class Average:
    """A mean over a run's reports, their number, and its standard error by blocking."""

    mean: float
    error: float
    reports: int


@dataclass(frozen=True)
class Size:
    """Root mean square sizes of a kind of molecules, with standard errors [length]; NaN where there is none."""

    beads: int
    molecules: int
    end_to_end: float
    end_to_end_error: float
    gyration: float
    gyration_error: float


@dataclass(frozen=True)
class Analysis:
    """Averages and sizes: `observables`, name -> Average, `molecules`, name -> Size, and the whole `report`.

    `value` and `curve` return a figure of the manual's page on analysis by its name.
    """

    observables: dict[str, Average]
    molecules: dict[str, Size]
    report: Report

    def __repr__(self) -> str:
        return repr(self.report).replace("Report", "Analysis", 1)

    def value(self, figure: str, molecules: str = "") -> Value | None:
        """Return a number with its `value`, `error` and `unit`; None where it was not found."""
        return self.report.value(figure, molecules)

    def curve(self, figure: str, molecules: str = "") -> Curve | None:
        """Return a curve with the arrays `x`, `value` and `error`; None where it was not found."""
        return self.report.curve(figure, molecules)


class Observables(Mapping[str, NDArray[np.float64]]):
    """Observables by name: (R,) or (R, 3) arrays, a row a report.

    Attributes
    ----------
    time : (R,) float64 array
        Of the reports [time].
    """

    def __init__(self, series: dict[str, Series]) -> None:
        self._series = series
        self.time: NDArray[np.float64] = next(iter(series.values()))[1] if series else np.empty(0)

    def __repr__(self) -> str:
        return f"<Observables: {counted(len(self.time), 'report')} {span(self.time)}of {', '.join(self)}>"

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._series:
            raise KeyError(f"{name!r} is no observable of this run: it has {', '.join(self._series)}")
        return self._series[name][2]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)


class Trajectory:
    """Frames, and what is constant from one to the next; each array is read when it is first used.

    Attributes
    ----------
    path : Path
    time, step : (F,) arrays
        [time]
    names : list of str
        Of the bead types that `species` counts.
    species, molecule : (N,) integer arrays
    mass, diameter : (N,) float64 arrays
        [mass], [length]
    bonds : (B, 2) int64 array
    box, origin : (3,) float64 arrays
        Edge lengths and lower corner [length].
    periodic : (3,) bool array
    """

    def __init__(self, output: RunOutput) -> None:
        self._output = output
        head = output.joined.get("trajectory")
        self.path = output.source / "trajectory.h5" if head is None else head.path
        with open_frames(output) as frames:
            found = frames.fixed
            self.time, self.step, self.names = frames.time, frames.step, list(found.names)
            self.species, self.molecule = found.species, found.molecule
            self.mass, self.diameter, self.bonds = found.mass, found.diameter, found.bonds
            self.box, self.origin, self.periodic = found.edges, found.origin, found.periodic

    def __repr__(self) -> str:
        frames, beads = counted(len(self), "frame"), counted(len(self.mass), "bead")
        return f"<Trajectory {self.path}: {frames} {span(self.time)}of {beads}>"

    @property
    def dt(self) -> float:
        """Most frequent time between frames [time]; NaN of a single frame."""
        if len(self) < 2:
            return np.nan
        even = evenly_spaced(self.time)
        return float((self.time[even - 1] - self.time[0]) / (even - 1) if even else np.median(np.diff(self.time)))

    @property
    def unfinished(self) -> bool:
        """Whether some of the frames are not in the file at `path` yet."""
        return bool(self._output.parts)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.time)

    def frame(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return position, velocity and image counts of one frame, (N, 3) each; for files larger than the memory."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"{self.path}: there is no frame {number}: it has {len(self)}, counted from 0")
        with open_frames(self._output) as frames:
            return tables(frames[number])

    @cached_property
    def _frames(self) -> Any:
        with open_frames(self._output) as frames:
            return [np.array(column) for column in zip(*map(tables, frames), strict=True)]

    @property
    def position(self) -> NDArray[np.float64]:
        """(F, N, 3) positions; molecules are whole [length]."""
        return self._frames[0]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """(F, N, 3) velocities [length / time]."""
        return self._frames[1]

    @property
    def image(self) -> NDArray[np.int64]:
        """(F, N, 3) box lengths to add to positions."""
        return self._frames[2]

    @property
    def unwrapped(self) -> NDArray[np.float64]:
        """(F, N, 3) positions continued through periodic sides, for displacements [length]."""
        return self.position + self.image * self.box


class Results:
    """A run's output; `read` makes it.

    Attributes
    ----------
    folder : Path
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        folder = Path(folder)
        self.folder = folder.parent if folder.name in FILE_NAMES else folder
        if not has_output(self.folder):
            raise DataError(f"{folder}: holds none of {', '.join(FILE_NAMES)}; name a run's output directory")

    def __repr__(self) -> str:
        there = [path.name for path in joined_files(self.folder)]
        return f"<Results in {self.folder}: {', '.join(there) or 'a run that goes on'}>"

    def _output(self, kind: str) -> RunOutput:
        output = run_output(self.folder, kinds=(kind,))
        if not output.has(kind):
            raise DataError(f"{self.folder}: holds no {kind}.h5")
        return output

    @cached_property
    def trajectory(self) -> Trajectory:
        """The frames."""
        return Trajectory(self._output("trajectory"))

    @cached_property
    def observables(self) -> Observables:
        """The reports."""
        return Observables(read_reports(self._output("observables")))

    @cached_property
    def events(self) -> NDArray[np.void]:
        """(n,) structured array of the contacts: time, kind, bead (2,), impulse; of rough beads tangential (3,), too.

        It needs output.events = true.
        """
        logged = (self.folder / "events.h5").is_file() or bool(list_parts(self.folder / PARTS))
        output = run_output(self.folder, kinds=("events",)) if logged else None
        if output is None or not output.logs_events:
            raise DataError(f"{self.folder}: no contacts were logged; run again with output.events = true")
        tables = list(event_tables(output))  # all of one type
        table = np.concatenate(tables) if tables else np.empty(0, dtype=EVENT)
        return table[sorted_rows(table)] if output.parts else table

    def analysis(
        self, start: float | None = None, figures: tuple[str, ...] | None = ("observables", "sizes")
    ) -> Analysis:
        """Return averages of observables and sizes of molecules; of vectors each component's average.

        Parameters
        ----------
        start : float, optional
            What came before is left out; by default what came before equilibration ended [time].
        figures : tuple of str, optional
            Families of figures, as `hpcchain analyze --figures` takes them; None: all that the run has.

        Raises
        ------
        UsageError
            When there is no family of a name, or nothing is left from the start on.
        DataError
            When what a family needs was not written, or is damaged.
        """
        report = study(self.folder, Wanted(start, figures))
        averages = {
            value.figure: Average(value.value, value.error, value.samples)
            for value in report.values
            if value.figure in report.series
        }
        sizes = {name: size_of(report, name, beads, count) for name, beads, count in report.kinds}
        return Analysis(averages, sizes, report)

    def universe(self) -> Any:
        """Return an MDAnalysis Universe with frames, bonds, masses, radii, bead types, and molecules as residues.

        Its `dt` is the usual distance of frames. MDAnalysis takes a box for periodic along all axes or has none; it has
        none where no axis is periodic. It counts time in memory from 0: of a trajectory that begins later use
        `transfer_to_memory(time_offset=universe.trajectory.time)`.

        Raises
        ------
        UsageError
            Without MDAnalysis.
        """
        analysis, found = library("MDAnalysis", "universe()", "analysis"), self.trajectory
        if found.unfinished:
            raise DataError(
                f"{self.folder}: not all frames are in trajectory.h5, which MDAnalysis reads: the run goes on, or was "
                "killed; 'hpcchain resume' finishes it"
            )
        names = np.array(found.names, dtype=object)[found.species]
        molecules, first, residue = np.unique(found.molecule, return_index=True, return_inverse=True)
        universe = analysis.Universe.empty(
            len(found.mass), len(molecules), atom_resindex=residue.reshape(-1), trajectory=True, velocities=True
        )
        for attribute, values in (
            ("ids", np.arange(1, len(names) + 1)),
            ("names", names),
            ("types", names),
            ("masses", found.mass),
            ("radii", found.diameter / 2.0),
            ("resids", molecules + 1),
            ("resnums", molecules + 1),
            ("resnames", names[first]),
            ("molnums", molecules),
            ("moltypes", names[first]),
            ("segids", ["SYSTEM"]),  # as MDAnalysis calls it where a file has none; some analyses ask for it
        ):
            universe.add_TopologyAttr(attribute, values)
        universe.add_TopologyAttr("bonds", [tuple(bond) for bond in found.bonds.tolist()])
        dt = {"dt": found.dt} if len(found) > 1 else {}
        universe.load_new(str(found.path), format="H5MD", convert_units=False, **dt)
        if not found.periodic.any():
            universe.trajectory.add_transformations(without_box)
        return universe


def span(time: NDArray[np.float64]) -> str:
    """Return in words from when to when something is known, with a blank behind; "" of nothing."""
    return f"from time {time[0]:.6g} to {time[-1]:.6g} " if len(time) else ""


def without_box(frame: Any) -> Any:
    """Return a frame of MDAnalysis that has no box."""
    frame.dimensions = None
    return frame


def tables(frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return position, velocity and image counts of a frame."""
    return frame.position, frame.velocity, frame.image


def size_of(report: Report, name: str, beads: int, count: int) -> Size:
    """Return the Size of a kind of molecules; NaN where a figure is not in the report."""
    found = [report.value(figure, name) for figure in ("end_to_end", "radius_of_gyration")]
    return Size(beads, count, *(x for v in found for x in ((v.value, v.error) if v else (np.nan, np.nan))))


def read(source: str | PathLike[str]) -> Results:
    """Return the Results of a run, from its output directory or one of its output files.

    Raises
    ------
    UsageError
        When the source is no path.
    DataError
        When there are no results; later, when one that is read is missing or damaged.
    """
    if not isinstance(source, (str, PathLike)):
        raise UsageError(f"read: {source!r:.100} is no path; give the path of a run's output directory")
    return Results(source)


class Runs(Sequence[Results]):
    """The Results of many runs in their order; `read_many` makes it.

    Attributes
    ----------
    settings : list of dict
        Key of the input -> value for each run; of an ensemble only the keys that vary.
    """

    def __init__(self, runs: Sequence[str]) -> None:
        self._runs = list(runs)
        self._results = [read(run) for run in runs]
        self.settings: list[Settings] = settings_of(runs)

    def __repr__(self) -> str:
        return f"<Runs: {len(self)}, from {self._runs[0]} to {self._runs[-1]}>"

    @overload
    def __getitem__(self, number: int) -> Results: ...
    @overload
    def __getitem__(self, number: slice) -> list[Results]: ...
    def __getitem__(self, number: int | slice) -> Results | list[Results]:
        return self._results[number]

    def __len__(self) -> int:
        return len(self._results)

    def over(
        self, key: str, start: float | None = None, figures: tuple[str, ...] | None = ("observables", "sizes")
    ) -> list[Report]:
        """Return a Report of each state point: the runs whose inputs differ in one key alone.

        Its `value` and `curve` are means over these runs with errors by their scatter; `point.keys` are the keys in
        which state points differ, with its own values, `point.runs` where its runs are.

        Parameters
        ----------
        key : str
            Such as "initial.seed".
        start : float, optional
            What came before is left out; by default what came before equilibration ended, in each run [time].
        figures : tuple of str, optional
            Families of figures, as `hpcchain analyze --figures` takes them; None: all that the runs have.

        Raises
        ------
        UsageError
            When no two runs differ in the key, there is no family of a name, or nothing is left from the start on.
        DataError
            When what a family needs was not written, or is damaged.
        """
        wanted = Wanted(start, figures)
        return [joined(point, [study(run, wanted) for run in point.runs]) for point in points_of(self._runs, key)]


def read_many(source: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Runs:
    """Return the Results of many runs: of an ensemble, from its folder, or of a list of runs' folders.

    Raises
    ------
    UsageError
        When the source is neither a path nor paths, or no run is named.
    DataError
        When a run has no results, or no input.
    """
    sources = [source] if isinstance(source, (str, PathLike)) else source
    if not isinstance(sources, Iterable):
        raise UsageError(f"read_many: {source!r:.100} is no path; give an ensemble's folder, or a list of runs")
    paths = list(sources)
    if not paths or not all(isinstance(path, (str, PathLike)) for path in paths):
        raise UsageError(f"read_many: {source!r:.100} names no runs; give an ensemble's folder, or a list of runs")
    return Runs(runs_in([str(path) for path in paths]))
