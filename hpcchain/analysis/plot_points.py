"""Pictures of numbers of state points, over one of the keys in which these differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpcchain.analysis.plot import drawing, grid, label, literal, save, symbol, unit
from hpcchain.analysis.tables import Report, Value
from hpcchain.errors import UsageError


def numbers_of(reports: list[Report]) -> list[str]:
    """Return the figures that are numbers, in the order in which they are met."""
    return list(dict.fromkeys(value.figure for report in reports for value in report.values))


def axis_of(reports: list[Report], against: str | None) -> str | None:
    """Return the key along the axis: the one asked for, else the first that has numbers alone; None without any.

    Raises
    ------
    UsageError
        When the one that is asked for has other values than numbers.
    """
    keys = [key for key in reports[0].point.keys if all(is_number(report.point.keys[key]) for report in reports)]
    if against is None:
        return next(iter(keys), None)
    if against not in keys:
        raise UsageError(f"--against {against}: has other values than numbers")
    return against


def is_number(value: object) -> bool:
    """Return whether a key's value can stand on an axis."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def draw_number(reports: list[Report], name: str, path: Path, against: str | None) -> Path:
    """Draw one number over a key for one column of a journal; return the path.

    Raises
    ------
    UsageError
        When state points differ in no key that has numbers.
    """
    key = axis_of(reports, against)
    if key is None:
        raise UsageError(f"--figure {name}: is a number, and state points differ in no key over which to draw it")
    figure = drawing()
    draw_panel(figure.subplots(), reports, name, key)
    return save(figure, path)


def draw_numbers(
    reports: list[Report], shown: Callable[[Report, Value], bool], path: Path, against: str | None
) -> Path | None:
    """Draw the numbers that are to be shown, a panel each, over a key; return the path, None where there is nothing."""
    key = axis_of(reports, against)
    own = {v.figure for r in reports for v in r.values if shown(r, v) and math.isfinite(v.value)}
    names = [name for name in numbers_of(reports) if name in own]
    if key is None or not names:
        return None
    figure, panels = grid(len(names))
    for panel, name in zip(panels, names, strict=True):
        draw_panel(panel, reports, name, key)
    return save(figure, path)


def draw_panel(panel: Any, reports: list[Report], name: str, key: str) -> None:
    """Draw a number over a key, a line for each kind of molecules and each value of the other keys."""
    lines: dict[str, list[tuple[float, Value]]] = {}
    for report in reports:
        others = [f"{k.rpartition('.')[2]}={v}" for k, v in report.point.keys.items() if k != key]
        for value in report.values:
            if value.figure == name and math.isfinite(value.value):
                line = lines.setdefault(" ".join(filter(None, [value.molecules, *others])), [])
                line.append((float(report.point.keys[key]), value))
    for text, found in lines.items():
        found.sort(key=lambda pair: pair[0])
        x, y = [pair[0] for pair in found], [pair[1].value for pair in found]
        error = [pair[1].error if math.isfinite(pair[1].error) else 0.0 for pair in found]
        panel.errorbar(x, y, error, marker=".", capsize=2.0, label=literal(text))
    panel.set_xlabel(symbol(key.rpartition(".")[2]))
    panel.set_ylabel(symbol(name) + unit(next((pair[1].unit for line in lines.values() for pair in line), "")))
    label(panel, len(lines) > 1)
