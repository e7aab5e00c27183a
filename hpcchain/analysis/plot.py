"""Pictures of what was found: observables over time, and every curve with its errors; runs lie over one another."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import UsageError

if TYPE_CHECKING:
    from hpcchain.analysis.tables import Curve, Report

ACROSS = 3
"""Panels beside one another."""


def drawing() -> Any:
    """Return a new matplotlib figure that needs no screen; raises UsageError without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("--plot needs matplotlib, which is not installed: pip install 'hpcchain[plot]'") from error
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_observables(reports: list[Report], path: Path) -> Path | None:
    """Draw every observable over time, and what decided where a run begins; return the path, None without any."""
    drawn = [
        report.series | ({report.decisive[0]: report.decisive[1:]} if report.decisive else {}) for report in reports
    ]
    names = list(dict.fromkeys(name for series in drawn for name in series))
    if not names:
        return None
    figure = drawing()
    figure.set_size_inches(7.0, 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        for report, series in zip(reports, drawn, strict=True):
            if name in series:
                panel.plot(*series[name], linewidth=0.8, label=literal(report.run))
                if report.start > 0.0:
                    decided = report.decisive is not None and report.decisive[0] == name
                    panel.axvline(report.start, color="0.6", linewidth=0.8, linestyle="-" if decided else ":")
        panel.set_ylabel(name.replace(" ", "\n"), fontsize="small")
    label(panels[0], len(reports) > 1)
    panels[-1].set_xlabel("time (dotted: analysed from here on; drawn through where this series decided it)")
    figure.savefig(path, dpi=120)
    return path


def draw_curves(reports: list[Report], path: Path) -> Path | None:
    """Draw every curve, one panel a figure; return the picture's path, None where there are none."""
    curves = [(report, curve) for report in reports for curve in report.curves]
    names = list(dict.fromkeys(curve.figure for _, curve in curves))
    if not names:
        return None
    figure = drawing()
    down = math.ceil(len(names) / ACROSS)
    missing = [f"{report.run}: left out: {name}: {why}" for report in reports for name, why in report.missing().items()]
    figure.set_size_inches(4.0 * ACROSS, 3.0 * down + 0.15 * len(missing))
    panels = figure.subplots(down, ACROSS, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        own = [(report, curve) for report, curve in curves if curve.figure == name]
        for report, curve in own:
            parts = [report.run] * (len(reports) > 1) + [curve.molecules] * bool(curve.molecules)
            draw_curve(panel, curve, " ".join(parts))
        label(panel, len(own) > 1)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    figure.supxlabel("\n".join(missing), fontsize="x-small")
    figure.savefig(path, dpi=120)
    return path


def draw_curve(panel: Any, curve: Curve, name: str) -> None:
    """Draw a curve with a band of one standard error; what a logarithm lacks is left out."""
    shown = np.isfinite(curve.value)
    for axis, values in zip(curve.scale, (curve.x, curve.value), strict=True):
        shown &= (values > 0.0) if axis == "log" else True
    x, y, error = curve.x[shown], curve.value[shown], np.nan_to_num(curve.error[shown])
    low = np.maximum(y - error, 0.5 * y) if curve.scale[1] == "log" else y - error
    (line,) = panel.plot(x, y, linewidth=1.0, marker="." if len(x) < 40 else "", label=literal(name))
    panel.fill_between(x, low, y + error, alpha=0.3, color=line.get_color(), linewidth=0.0)
    if len(x):
        panel.set_xscale(curve.scale[0])
        panel.set_yscale(curve.scale[1])
    panel.set_title(curve.figure.replace("_", " "), fontsize="small")
    panel.set_xlabel(f"{curve.x_name} [{curve.x_unit}]" if curve.x_unit else curve.x_name, fontsize="small")
    panel.set_ylabel(f"[{curve.unit}]" if curve.unit else "", fontsize="small")


def literal(name: str) -> str:
    """Return a name as matplotlib shows it letter by letter: $ begins no formula, and a leading _ hides no line."""
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")


def label(panel: Any, several: bool) -> None:
    """Add a legend where lines are to be told apart."""
    if several:
        panel.legend(fontsize="x-small")
