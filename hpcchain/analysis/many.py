"""The results of many runs, for Python programs and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import overload

from hpcchain.analysis.points import Settings, joined, points_of, runs_in, settings_of
from hpcchain.analysis.results import Results, read
from hpcchain.analysis.study import Wanted, study
from hpcchain.analysis.tables import Report
from hpcchain.errors import UsageError


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
