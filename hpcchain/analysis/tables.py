"""What figures give: numbers and curves with errors, and how they stand in JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from hpcchain.config.keys.values import counted

FORMAT = 1
"""Of the JSON: changes when a name changes its meaning or goes."""

ROUND_OFF = 1e-8
"""Error over number below which the error is left out of tables."""

LEAST_PLAIN, MOST_PLAIN = -5, 6
"""Powers of ten of numbers that tables have without an exponent."""

COLUMNS = ("run", "figure", "molecules", "x_name", "x", "value", "error", "unit", "left_out")


@dataclass(frozen=True)
class Value:
    """A number with its standard error; NaN where there is none.

    Attributes
    ----------
    figure : str
        What it is.
    molecules : str
        Of which kind of molecules; "" of all.
    value, error : float
    unit : str
        In the input's units; "" of a pure number.
    samples : int
        Reports that an observable is the mean of; 0 of other figures.
    why : str
        Why there is no number; "" where there is one.
    """

    figure: str
    molecules: str
    value: float
    error: float
    unit: str = ""
    samples: int = 0
    why: str = ""

    def as_json(self) -> dict:
        """Return it as JSON knows it."""
        return {
            "figure": self.figure,
            "molecules": self.molecules,
            "value": finite(self.value),
            "error": finite(self.error),
            "unit": self.unit,
        }


def numbers(
    figures: Iterable[str], molecules: str, found: tuple[np.ndarray, np.ndarray], units: Iterable[str] = repeat("")
) -> list[Value]:
    """Return the Values of some figures, whose values and errors, (n,) each, have been found."""
    rows = zip(figures, *found, units, strict=False)
    return [Value(figure, molecules, float(value), float(error), unit) for figure, value, error, unit in rows]


@dataclass(frozen=True)
class Curve:
    """A function of one variable with standard errors.

    Attributes
    ----------
    figure, molecules, unit :
        As of Value.
    x_name, x_unit : str
    x, value, error : (n,) float arrays
    scale : (str, str)
        "linear" or "log" of each axis, in plots.
    """

    figure: str
    molecules: str
    unit: str
    x_name: str
    x_unit: str
    x: np.ndarray
    value: np.ndarray
    error: np.ndarray
    scale: tuple[str, str] = ("linear", "linear")

    def __repr__(self) -> str:
        return f"<Curve {self.figure} of {self.molecules or 'all'}: {counted(len(self.x), 'point')} by {self.x_name}>"

    def as_json(self) -> dict:
        """Return it as JSON knows it."""
        return {
            "figure": self.figure,
            "molecules": self.molecules,
            "x_name": self.x_name,
            "x_unit": self.x_unit,
            "unit": self.unit,
            **{name: [finite(number) for number in getattr(self, name).tolist()] for name in ("x", "value", "error")},
        }


@dataclass
class Report:
    """What was found in one run.

    Attributes
    ----------
    run : str
        What the run was asked for as.
    start : float
        What came before was left out [time].
    found_by : str
        "option", where the start was given; "equilibration", where it was found; "all", where too little is there to
        find it.
    decisive : (name, time, value), optional
        The series whose end of equilibration the start is; None where nothing was left out.
    slow : list of str
        Series with too few effective samples to show such an end.
    frames : int
        Frames analysed.
    times : (float, float)
        Of the first and the last of them [time].
    values, curves : list
    left_out : dict of figure -> str
        What could not be found, and why.
    series : dict of observable -> (time, value)
        For plots.
    sizes : dict of (figure and molecules) -> (time, value)
        Root mean square sizes in single frames, for plots.
    reports : dict of observable -> (step, time, value)
        Vectors and tensors whole.
    kinds : list
        (name, beads, molecules) of each kind of molecules.
    point : points.Point, optional
        The state point, where this is the mean over its runs.
    """

    run: str
    start: float = 0.0
    found_by: str = "option"
    decisive: Any = None
    slow: list[str] = field(default_factory=list)
    frames: int = 0
    times: tuple[float, float] = (math.nan, math.nan)
    values: list[Value] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    series: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, Any] = field(default_factory=dict)
    kinds: list[tuple[str, int, int]] = field(default_factory=list)
    point: Any = None
    _by_name: dict[tuple[str, str], Value] = field(default_factory=dict, repr=False)
    _known: int = 0

    def __repr__(self) -> str:
        found = f"{counted(len(self.values), 'number')}, {counted(len(self.curves), 'curve')}"
        return f"<Report of {self.run} from time {self.start:.6g}: {counted(self.frames, 'frame')}, {found}>"

    def value(self, figure: str, molecules: str = "") -> Value | None:
        """Return the Value of a figure, None where there is none."""
        for value in self.values[self._known :]:  # a system of thousands of kinds has very many
            self._by_name.setdefault((value.figure, value.molecules), value)
        self._known = len(self.values)
        return self._by_name.get((figure, molecules))

    def curve(self, figure: str, molecules: str = "") -> Curve | None:
        """Return the Curve of a figure, None where there is none."""
        return next((c for c in self.curves if (c.figure, c.molecules) == (figure, molecules)), None)

    def missing(self) -> dict[str, str]:
        """Return what could not be found and why: families, and numbers of those that were."""
        return self.left_out | {f"{v.figure} {v.molecules}".rstrip(): v.why for v in self.values if v.why}

    def as_json(self) -> dict:
        """Return it as JSON knows it."""
        point = {} if self.point is None else vars(self.point)
        return {
            "run": self.run,
            **point,
            "from": finite(self.start),
            "from_found_by": self.found_by,
            "from_series": self.decisive[0] if self.decisive else None,
            "frames": self.frames,
            "times": [finite(time) for time in self.times],
            "molecules": [dict(zip(("name", "beads", "count"), kind, strict=True)) for kind in self.kinds],
            "values": [value.as_json() for value in self.values],
            "curves": [curve.as_json() for curve in self.curves],
            "left_out": self.missing(),
        }


def finite(number: float) -> float | None:
    """Return a number, None where JSON has none for it."""
    return float(number) if math.isfinite(number) else None


def json_of(reports: list[Report], version: str) -> str:
    """Return the reports of runs as one JSON object."""
    whole = {"format": FORMAT, "program": f"hpcchain {version}", "runs": [report.as_json() for report in reports]}
    return json.dumps(whole, indent=1, allow_nan=False)


def csv_of(reports: list[Report], header: bool = True) -> str:
    """Return the reports of runs as one tidy CSV table: a line a number, a point of a curve, or what was left out.

    State points have the keys in which they differ, and the number of their runs, behind their name.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        keys = [] if reports[0].point is None else [*reports[0].point.keys, "runs"]
        writer.writerow([COLUMNS[0], *keys, *COLUMNS[1:]])
    for report in reports:
        point = report.point
        run = [report.run, *([] if point is None else [*point.keys.values(), len(point.runs)])]
        for value in report.values:
            numbers = digits(value.value), digits(value.error)
            writer.writerow([*run, value.figure, value.molecules, "", "", *numbers, value.unit, value.why])
        for curve in report.curves:
            names = [*run, curve.figure, curve.molecules, curve.x_name]
            for numbers in zip(curve.x, curve.value, curve.error, strict=True):
                writer.writerow([*names, *map(digits, numbers), curve.unit, ""])
        for name, why in report.left_out.items():
            writer.writerow([*run, name, "", "", "", "", "", "", why])
    return text.getvalue().rstrip("\n")


def digits(number: float) -> str:
    """Return a number with every digit, nothing where there is none."""
    return repr(float(number)) if math.isfinite(number) else ""


def concise(value: float, error: float) -> str:
    """Return a number and its error to two digits, 0.214(10); "(?)" where no error is known, "-" for no number.

    An error of round-off is left out.
    """
    if not (math.isfinite(value) and error > ROUND_OFF * abs(value) and math.isfinite(error)):
        unknown = math.isfinite(value) and not math.isfinite(error)
        return "-" if math.isnan(value) else f"{value:.{5 if unknown else 8}g}{'(?)' if unknown else ''}"
    mantissa, exponent = f"{error:.1e}".split("e")
    last, both = int(exponent) - 1, mantissa.replace(".", "")
    top = max(last + 1, math.floor(math.log10(abs(value))) if value else last + 1)
    if LEAST_PLAIN <= top <= MOST_PLAIN:
        return f"{round(value, -last) + 0.0:.{max(-last, 0)}f}({both + '0' * max(last, 0)})"
    return f"{value / 10.0**top:.{top - last}f}({both})e{top}"
