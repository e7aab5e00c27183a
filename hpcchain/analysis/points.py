"""Runs taken together: those whose inputs differ in one key alone are one state point, with errors by their scatter."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcchain.analysis.tables import Curve, Report, Value
from hpcchain.config.keys.values import counted
from hpcchain.config.load import load_config
from hpcchain.config.override import read_settings
from hpcchain.config.packing import EITHER
from hpcchain.errors import DataError, UsageError
from hpcchain.io.output.lineage import INPUT
from hpcchain.io.output.run_output import has_output
from hpcchain.io.output.runs import is_ensemble, read_runs

LOG = logging.getLogger("hpcchain.analyze")
APART = ("output", "title")
"""Of an input what says nothing of its state point; of [run] so do the keys but for these."""
OF_RUN = ("run.end_time", "run.engine")
SAME_DIGITS = 9
"""Of two abscissae that are one."""

Settings = dict[str, object]
"""Key of the input -> value."""


@dataclass(frozen=True)
class Point:
    """Runs of one state point.

    Attributes
    ----------
    over : str
        The key in which their inputs differ.
    keys : dict of key -> value
        Those in which state points differ, with this one's.
    runs : list of str
        Where they are.
    """

    over: str
    keys: Settings
    runs: list[str]

    @property
    def name(self) -> str:
        """What tables call it."""
        return " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in self.keys.items()) or "all"


def runs_in(sources: Sequence[Path | str]) -> list[str]:
    """Return the runs that are named, those of an ensemble's folder in the place of that; raises DataError of none."""
    found: list[str] = []
    for source in sources:
        if not is_ensemble(source):
            found.append(str(source))
            continue
        folders = [Path(source) / row.run for row in read_runs(source)]
        begun = [str(folder) for folder in folders if has_output(folder)]
        if not begun:
            raise DataError(f"{source}: none of its {counted(len(folders), 'run')} has written anything yet")
        if len(begun) < len(folders):
            LOG.warning("%s: %d of %d runs have written nothing yet", source, len(folders) - len(begun), len(folders))
        found += begun
    return found


def settings_of(runs: Sequence[Path | str]) -> list[Settings]:
    """Return what each run was given: of one ensemble's runs the keys that vary, else all that inputs say.

    Raises
    ------
    DataError
        Where a run has no input.
    """
    folders = [Path(run).parent if Path(run).is_file() else Path(run) for run in runs]
    homes = {folder.resolve().parent for folder in folders}
    if len(homes) == 1 and is_ensemble(home := homes.pop()):
        rows = {row.run: row.settings for row in read_runs(home)}
        if all(folder.resolve().name in rows for folder in folders):
            return [read_settings(rows[folder.resolve().name]) for folder in folders]
    return [input_of(folder) for folder in folders]


def input_of(folder: Path) -> Settings:
    """Return all that the input of a run says of its state point: key -> value."""
    path = folder / INPUT
    if not path.is_file():
        raise DataError(f"{folder}: holds no {INPUT}, which says to which state point the run belongs")
    table = tomllib.loads(load_config(path, stored=True).to_toml())
    flat = dict(flattened(table))
    return {
        key: value
        for key, value in flat.items()
        if key.split(".")[0] not in APART and (not key.startswith("run.") or key in OF_RUN)
    }


def flattened(table: object, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield (key, value) of a TOML table, keys as `--set` names them."""
    inner: list[tuple[str, object]]
    if isinstance(table, dict):
        inner = list(table.items())
    elif isinstance(table, list) and table and all(isinstance(one, dict) for one in table):
        if len(table) == 1:
            yield from flattened(table[0], above)
            return
        inner = [(str(number), one) for number, one in enumerate(table)]
    else:
        yield above, table
        return
    for key, value in inner:
        yield from flattened(value, f"{above}.{key}" if above else key)


def points_of(runs: Sequence[str], over: str) -> list[Point]:
    """Return the state points of some runs, in the order in which they are met.

    Raises
    ------
    UsageError
        Where no two runs differ in the key.
    """
    given = settings_of(runs)
    names = {over, f"box.{EITHER.get(over.removeprefix('box.'), '')}"}
    differ = [
        key for key in dict.fromkeys(key for one in given for key in one) if len({text(one, key) for one in given}) > 1
    ]
    if not names & set(differ):
        apart = f"they differ in {', '.join(differ)}" if differ else "nor in anything else"
        raise UsageError(f"--over {over}: the {len(runs)} runs do not differ in it, {apart}")
    keys = [key for key in differ if key not in names]
    found: dict[tuple[str, ...], Point] = {}
    for run, one in zip(runs, given, strict=True):
        mine = {key: one.get(key, "-") for key in keys}
        found.setdefault(tuple(text(one, key) for key in keys), Point(over, mine, [])).runs.append(run)
    return list(found.values())


def text(settings: Settings, key: str) -> str:
    """Return a value as text by which it is compared."""
    return repr(settings.get(key))


def joined(point: Point, reports: Sequence[Report]) -> Report:
    """Return the Report of a state point: means over its runs, errors by their scatter; of one run its own errors.

    What some of the runs do not have is the mean of the others, and it is said so.
    """
    first = reports[0]
    whole = Report(point.name, kinds=first.kinds, frames=sum(report.frames for report in reports), point=point)
    whole.start = max(report.start for report in reports)
    whole.found_by = first.found_by if len({report.found_by for report in reports}) == 1 else "equilibration"
    for figure, molecules in dict.fromkeys((v.figure, v.molecules) for report in reports for v in report.values):
        of_runs = [report.value(figure, molecules) for report in reports]
        known = [value for value in of_runs if value is not None and np.isfinite(value.value)]
        whole.values.append(mean_value(figure, molecules, [v for v in of_runs if v is not None], known))
        if 0 < len(known) < len(reports):
            whys = [value.why for value in of_runs if value is not None and value.why]
            note(whole, f"{figure} {molecules}".rstrip(), len(known), len(reports), whys)
    for figure, molecules in dict.fromkeys((c.figure, c.molecules) for report in reports for c in report.curves):
        curves = [curve for report in reports if (curve := report.curve(figure, molecules)) is not None]
        mean = mean_curve(curves)
        if mean is None:
            whole.left_out[f"{figure} {molecules}".rstrip()] = f"the runs have it at different {curves[0].x_name}"
        else:
            whole.curves.append(mean)
            if len(curves) < len(reports):
                note(whole, f"{figure} {molecules}".rstrip(), len(curves), len(reports), [])
    there = {value.figure for value in whole.values} | {curve.figure for curve in whole.curves}
    for report in reports:
        whole.left_out |= {name: why for name, why in report.left_out.items() if name not in there}
    return whole


def note(whole: Report, name: str, known: int, runs: int, whys: list[str]) -> None:
    """Say that a mean is not over all runs."""
    why = f": {whys[0]}" if whys else ""
    whole.left_out[name] = f"in {runs - known} of {runs} runs, so the mean is over the other {known}{why}"


def mean_value(figure: str, molecules: str, there: list[Value], known: list[Value]) -> Value:
    """Return the mean of what runs found, those that are known, with its standard error."""
    unit = there[0].unit
    if not known:
        return Value(figure, molecules, np.nan, np.nan, unit, 0, there[0].why)
    value, error = mean_of(np.array([[one.value] for one in known]), np.array([[one.error] for one in known]))
    return Value(figure, molecules, float(value[0]), float(error[0]), unit, sum(one.samples for one in known))


def mean_of(values: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over runs and its standard error, (n,), of values and their own errors, (runs, n)."""
    if len(values) == 1:
        return values[0], errors[0]
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def mean_curve(curves: Sequence[Curve]) -> Curve | None:
    """Return the mean of what runs found, at the abscissae that all of them have; None where there are none."""
    rows = [{f"{x:.{SAME_DIGITS}g}": k for k, x in enumerate(curve.x)} for curve in curves]
    common = [x for x in rows[0] if all(x in row for row in rows)]
    if not common:
        return None
    at = [[row[x] for x in common] for row in rows]
    value, error = mean_of(
        *(np.array([getattr(c, name)[k] for c, k in zip(curves, at, strict=True)]) for name in ("value", "error"))
    )
    one = curves[0]
    return Curve(one.figure, one.molecules, one.unit, one.x_name, one.x_unit, one.x[at[0]], value, error, one.scale)
