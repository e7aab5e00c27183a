"""The results of a run as arrays, for Python programs and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcchain.errors import DataError, UsageError
from hpcchain.io.output import observables
from hpcchain.io.output.events import read_events
from hpcchain.io.output.trajectory import open_trajectory
from hpcchain.observe.averages import mean_and_error
from hpcchain.observe.molecules import kinds_of

if TYPE_CHECKING:
    from hpcchain.observe.molecules import MoleculeMean

FILES = ("trajectory.h5", "observables.h5", "events.h5")


@dataclass(frozen=True)
class Average:
    """A mean over a run with its standard error, by blocking, of so many reports."""

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
    """What `Results.analysis` finds: `observables`, name -> Average, and `molecules`, name -> Size."""

    observables: dict[str, Average]
    molecules: dict[str, Size]


class Observables(Mapping[str, NDArray[np.float64]]):
    """Observables by name: (R,) or (R, 3) arrays, a row a report.

    Attributes
    ----------
    time : (R,) float64 array
        Of the reports [time].
    """

    def __init__(self, series: dict[str, tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]]) -> None:
        self._series = series
        self.time: NDArray[np.float64] = next(iter(series.values()))[1] if series else np.empty(0)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._series:
            raise KeyError(f"{name!r} is no observable of this run: it has {', '.join(self._series)}")
        return self._series[name][2]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)


class Trajectory:
    """Frames and what does not change from one to the next; each array is read when it is first asked for.

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

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_trajectory(path) as found:
            self.time, self.step, self.names = found.time, found.step, list(found.names)
            self.species, self.molecule = found.species, found.molecule
            self.mass, self.diameter, self.bonds = found.mass, found.diameter, found.bonds
            self.box, self.origin, self.periodic = found.edges, found.origin, found.periodic

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.time)

    def frame(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return position, velocity and image counts of a frame, (N, 3) each; of large files, in place of all."""
        with open_trajectory(self.path, checked=False) as found:
            return found.frame(range(len(self))[number])

    @cached_property
    def _frames(self) -> Any:
        with open_trajectory(self.path, checked=False) as found:
            return [np.array(column) for column in zip(*(found.frame(i) for i in range(len(self))), strict=True)]

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
        """(F, N, 3) positions along the way that beads have come, for displacements [length]."""
        return self.position + self.image * self.box


class Results:
    """A run's output; `read` makes it.

    Attributes
    ----------
    folder : Path
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        folder = Path(folder)
        self.folder = folder.parent if folder.name in FILES else folder
        if not any((self.folder / name).is_file() for name in FILES):
            raise DataError(f"{folder}: holds none of {', '.join(FILES)}; name a run's output directory")

    def _path(self, name: str) -> Path:
        if not (self.folder / name).is_file():
            raise DataError(f"{self.folder}: holds no {name}")
        return self.folder / name

    @cached_property
    def trajectory(self) -> Trajectory:
        """The frames."""
        return Trajectory(self._path("trajectory.h5"))

    @cached_property
    def observables(self) -> Observables:
        """The reports."""
        return Observables(observables.read(self._path("observables.h5")))

    @cached_property
    def events(self) -> NDArray[np.void]:
        """(n,) structured array of the contacts: time, kind, bead (2,), impulse; needs output.events = true."""
        if not (self.folder / "events.h5").is_file():
            raise DataError(f"{self.folder}: no contacts were logged; run again with output.events = true")
        return read_events(self.folder / "events.h5")

    def analysis(self, start: float = 0.0) -> Analysis:
        """Return averages of the observables, components of vectors apart, and sizes of the molecules.

        Parameters
        ----------
        start : float
            What came before is left out [time].
        """
        averages = {}
        late = self.observables.time >= start
        for name, value in self.observables.items():
            table = value[late].reshape(int(late.sum()), -1)
            for column, series in enumerate(table.T):
                known = series[np.isfinite(series)]
                label = name if value.ndim == 1 else f"{name}[{column}]"
                mean, error = mean_and_error(known)
                averages[label] = Average(float(mean), float(error), len(known))
        return Analysis(averages, self._sizes(start))

    def _sizes(self, start: Any) -> Any:
        trajectory, found = self.trajectory, {}
        kinds = kinds_of(trajectory.species, trajectory.molecule, trajectory.mass, trajectory.bonds)
        for frame in np.flatnonzero(trajectory.time >= start):
            position = trajectory.frame(int(frame))[0]
            for _, kind in kinds:
                kind.add(position)
        for species, kind in kinds:
            molecules, beads = kind.shape
            ends = root(kind.ends) if kind.linear else (np.nan, np.nan)
            found[trajectory.names[species]] = Size(beads, molecules, *ends, *root(kind.gyration))
        return found

    def universe(self) -> Any:
        """Return an MDAnalysis Universe with frames, bonds, masses, radii, bead types, and molecules as residues.

        Raises
        ------
        UsageError
            Without MDAnalysis.
        """
        try:
            import MDAnalysis
        except ImportError as error:
            raise UsageError("universe() needs the package MDAnalysis: pip install MDAnalysis") from error
        found = self.trajectory
        names = np.array(found.names, dtype=object)[found.species]
        molecules, residue = np.unique(found.molecule, return_inverse=True)
        universe = MDAnalysis.Universe.empty(
            len(found.mass), len(molecules), atom_resindex=residue.reshape(-1), trajectory=True, velocities=True
        )
        first = np.unique(residue, return_index=True)[1]
        for attribute, values in (
            ("names", names),
            ("types", names),
            ("masses", found.mass),
            ("radii", found.diameter / 2.0),
            ("resids", molecules + 1),
            ("resnames", names[first]),
        ):
            universe.add_TopologyAttr(attribute, values)
        universe.add_TopologyAttr("bonds", [tuple(bond) for bond in found.bonds.tolist()])
        universe.load_new(str(found.path), format="H5MD", convert_units=False)
        return universe


def root(squares: MoleculeMean) -> Any:
    """Return the root of a MoleculeMean of squares, and its error."""
    mean, error = squares.mean_and_error()
    value = float(np.sqrt(mean))
    return value, float(error / (2.0 * value)) if value > 0.0 else float(error)


def read(source: str | PathLike[str]) -> Results:
    """Return the Results of a run, from its output directory or one of its output files.

    Raises
    ------
    DataError
        When there are none, or, when they are asked for, what is missing or damaged.
    """
    return Results(source)
