"""Pictures of what was found: observables over time, and every curve with its errors; runs lie over one another.

Numbers of state points are drawn over one of the keys in which these differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.analysis.statistics import NO_CHANGE
from hpcchain.errors import UsageError
from hpcchain.io.tools.configurations import library

if TYPE_CHECKING:
    from hpcchain.analysis.tables import Curve, Report, Value

ACROSS = 3
"""Panels next to one another."""
COLUMN, HEIGHT = 3.4, 2.6
"""Of a picture in one column of a journal, and of each panel of a page [inches]."""
STYLE: Any = {
    "font.size": 8.0,
    "axes.titlesize": "medium",
    "legend.fontsize": "small",
    "lines.linewidth": 1.0,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.top": True,
    "ytick.right": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,
}
COMPONENTS = {
    **{name: name for name in ("x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz")},
    **{"radial": "r", "around": r"\varphi", "axial": r"\parallel"},
}
"""Of vectors and tensors along an axis, from a point or a line: what stands below their symbols."""
SYMBOLS = {
    "lag": "t",
    "mode": "p",
    "bonds": "s",
    "cosine": r"\cos\theta",
    "r": "r",
    "k": "k",
    "g1": "g_1(t)",
    "g2": "g_2(t)",
    "g3": "g_3(t)",
    "bond_angles": r"P(\cos\theta)",
    "bond_correlation": r"\langle\mathbf{u}_i\cdot\mathbf{u}_{i+s}\rangle",
    "internal_distances": r"\langle R^2(s)\rangle",
    "pair_distribution": "g(r)",
    "pair_distribution_inter": r"g_\mathrm{inter}(r)",
    "pair_distribution_intra": r"g_\mathrm{intra}(r)",
    "structure_factor": "S(k)",
    "end_correlation": r"\langle\mathbf{R}(0)\cdot\mathbf{R}(t)\rangle/\langle R^2\rangle",
    "velocity_correlation_bead": r"C_v(t)",
    "velocity_correlation_centre": r"C_V(t)",
    "rouse_squares": r"\langle X_p^2\rangle",
    "rouse_times": r"\tau_p",
    "rouse_correlation": r"\langle\mathbf{X}_p(0)\cdot\mathbf{X}_p(t)\rangle/\langle X_p^2\rangle",
    "stress_correlation": "G(t)",
    "stress_integral": r"\eta(t)",
    "stress_moment": r"M_\sigma(t)",
    "pressure_correlation": "C_p(t)",
    "pressure_integral": r"\zeta(t)",
    "pressure_moment": "M_p(t)",
    "heat_flux_correlation": "C_q(t)",
    "heat_flux_integral": r"\lambda(t)",
    "heat_flux_moment": "M_q(t)",
    "profile_beads": r"\rho",
    "profile_molecules": r"\rho_\mathrm{m}",
    "profile_packing": r"\phi",
    "profile_temperature": r"T_\mathrm{m}",
    "profile_bead_temperature": r"T_\mathrm{b}",
    "profile_spin_temperature": r"T_\omega",
    **{f"profile_velocity_{name}": f"v_{{{at}}}" for name, at in COMPONENTS.items()},
    **{f"profile_pressure_{name}": f"p_{{{at}}}" for name, at in COMPONENTS.items()},
    **{f"profile_kinetic_pressure_{name}": rf"p_{{{at}}}^\mathrm{{kin}}" for name, at in COMPONENTS.items()},
    "profile_contacts": r"\nu",
    "profile_wall_contacts": r"\nu_\mathrm{wall}",
    "contacts_by_bead": r"\nu",
    "wall_contacts_by_bead": r"\nu_\mathrm{wall}",
    "x": "x",
    "y": "y",
    "z": "z",
    "temperature": "T",
    "pressure": "p",
    "kinetic_energy": r"E_\mathrm{kin}",
    "potential_energy": r"E_\mathrm{pot}",
    "radius_of_gyration": r"R_\mathrm{g}",
    "end_to_end": r"R_\mathrm{e}",
    "diffusion": "D",
    "viscosity": r"\eta",
    "bulk_viscosity": r"\zeta",
    "heat_conductivity": r"\lambda",
    "packing_fraction": r"\phi",
}
"""What axes have in place of a name, as formulas."""
SLOPES = {0.5: r"$\sim t^{1/2}$", 1.0: r"$\sim t$"}
"""Guide lines with displacements; with moments the last."""


def grid(count: int, more: float = 0.0) -> tuple[Any, list]:
    """Return a figure with so many panels, and these; `more` height is left below them [inches]."""
    across = min(ACROSS, count)
    down = math.ceil(count / across)
    figure = drawing(COLUMN * across, HEIGHT * down + more)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[count:]:
        panel.set_visible(False)
    return figure, panels[:count].tolist()


def drawing(width: float = COLUMN, height: float = HEIGHT) -> Any:
    """Return a new matplotlib figure that needs no screen, in STYLE [inches]; raises UsageError without matplotlib."""
    canvas = library("matplotlib.backends.backend_agg", "--plot", "plot").FigureCanvasAgg
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update(STYLE)  # of this process, which draws nothing else
    figure = Figure(figsize=(width, height), layout="constrained")
    canvas(figure)
    return figure


def save(figure: Any, path: Path) -> Path:
    """Write a picture; return its path."""
    figure.savefig(path, dpi=200)
    return path


def observables_of(reports: list[Report]) -> dict[str, list]:
    """Return name -> (report, time, value) of what changes over time: observables, sizes, and what decided a start."""
    found: dict[str, list] = {}
    for report in reports:
        decided = {report.decisive[0]: report.decisive[1:]} if report.decisive else {}
        for name, (time, value) in (report.series | report.sizes | decided).items():
            known = value[np.isfinite(value)]
            if len(known) and np.ptp(known) > NO_CHANGE * np.max(np.abs(known)):
                found.setdefault(name, []).append((report, time, value))
    return found


def curves_of(reports: list[Report]) -> dict[str, list]:
    """Return name -> (report, curve): all that one panel has, such as the correlations of all Rouse modes."""
    found: dict[str, list] = {}
    for report in reports:
        for curve in report.curves:
            found.setdefault(panel_of(curve), []).append((report, curve))
    return found


def panel_of(curve: Curve) -> str:
    """Return the name of the panel that a curve is drawn in."""
    return re.sub(r"(rouse_correlation)_\d+", r"\1", curve.figure)


def draw_observables(reports: list[Report], path: Path) -> Path | None:
    """Draw what changes over time, and what decided where a run begins; return the path, None without any."""
    found = observables_of(reports)
    if not found:
        return None
    figure = drawing(2.0 * COLUMN, 1.2 * len(found) + 0.4)
    panels = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, own) in zip(panels, found.items(), strict=True):
        draw_over_time(panel, name, own, run_names(reports))
    label(panels[0], len(reports) > 1)
    panels[-1].set_xlabel("$t$   (dotted: analysed from here on; drawn through where this series decided it)")
    return save(figure, path)


def run_names(reports: list[Report]) -> dict[str, str]:
    """Return what legends call runs: the last part of their paths where these differ; "" of one run."""
    paths = list(dict.fromkeys(report.run for report in reports))
    last = [Path(path).name for path in paths]
    if len(reports) == 1:
        return {paths[0]: ""}
    return dict(zip(paths, last if len(set(last)) == len(last) else paths, strict=True))


def draw_over_time(panel: Any, name: str, own: list, runs: dict[str, str]) -> None:
    """Draw an observable of some runs, and from when on each was analysed."""
    for report, time, value in own:
        (line,) = panel.plot(time, value, linewidth=0.8, label=literal(runs[report.run]))
        if report.start > 0.0:
            here = report.decisive is not None and report.decisive[0] == name
            panel.axvline(report.start, color=line.get_color(), linewidth=0.8, linestyle="-" if here else ":")
    panel.set_ylabel(symbol(name))


def draw_curves(reports: list[Report], path: Path) -> Path | None:
    """Draw every curve, one panel a figure; return the picture's path, None where there are none."""
    found = curves_of(reports)
    if not found:
        return None
    missing = [f"{report.run}: left out: {name}: {why}" for report in reports for name, why in report.missing().items()]
    figure, panels = grid(len(found), 0.15 * len(missing))
    colors: dict[str, str] = {}
    for panel, (name, own) in zip(panels, found.items(), strict=True):
        draw_panel(panel, own, run_names(reports), colors)
        panel.set_title(name.replace("_", " "))
    figure.supxlabel(literal("\n".join(missing)), fontsize="x-small")
    return save(figure, path)


def draw_one(reports: list[Report], name: str, path: Path, against: str | None) -> Path:
    """Draw one curve or observable, or of state points a number over a key, for one column of a journal.

    Raises
    ------
    UsageError
        When there is none of that name (it names all that there are), or state points differ in no key of numbers.
    """
    over_time, curves = observables_of(reports), curves_of(reports)
    numbers = [] if reports[0].point is None else numbers_of(reports)
    if name not in (*curves, *over_time, *numbers):
        raise UsageError(
            f"--figure {name}: there is no such figure: choose of {', '.join([*curves, *over_time, *numbers])}"
        )
    figure = drawing()
    panel = figure.subplots()
    if name in numbers:
        key = axis_of(reports, against)
        if key is None:
            raise UsageError(f"--figure {name}: is a number, and state points differ in no key over which to draw it")
        draw_over_key(panel, reports, name, key)
    elif name in curves:
        draw_panel(panel, curves[name], run_names(reports), {})
    else:
        draw_over_time(panel, name, over_time[name], run_names(reports))
        panel.set_xlabel("$t$")
        label(panel, len(over_time[name]) > 1)
    return save(figure, path)


def draw_panel(panel: Any, own: list, runs: dict[str, str], colors: dict[str, str]) -> None:
    """Draw the curves of one panel, with guide lines with displacements; what has a name has one color in all panels.

    `colors`, name -> color, grows. A Rouse mode has its color in all runs.
    """
    several, drawn = any(curve.molecules for _, curve in own), set()
    for report, curve in own:
        mode = re.fullmatch(r"rouse_correlation_(\d+)", curve.figure)
        parts = "" if mode else runs[report.run], curve.molecules or "all" * several
        text = f"{literal(' '.join(filter(None, parts)))} {f'$p={mode[1]}$' if mode else ''}".rstrip()
        color = colors.setdefault(text, f"C{len(colors)}") if text else None
        draw_curve(panel, curve, "_nolegend_" if text in drawn else text, color)
        drawn.add(text)
    if re.fullmatch("g[13]|.*_moment", own[0][1].figure):
        draw_guides(panel, [curve for _, curve in own], own[0][1].figure.endswith("_moment"))
    for axis, scale in ((panel.xaxis, panel.get_xscale()), (panel.yaxis, panel.get_yscale())):
        if scale == "log":
            set_ticks(axis)
    label(panel, len(own) > 1)


def draw_curve(panel: Any, curve: Curve, text: str, color: str | None = None) -> None:
    """Draw a curve, as a legend calls it, with a band of one standard error; what a logarithm lacks is left out."""
    shown = np.isfinite(curve.value)
    for axis, values in zip(curve.scale, (curve.x, curve.value), strict=True):
        shown &= (values > 0.0) if axis == "log" else True
    x, y, error = curve.x[shown], curve.value[shown], np.nan_to_num(curve.error[shown])
    low = np.maximum(y - error, 0.5 * y) if curve.scale[1] == "log" else y - error
    (line,) = panel.plot(x, y, marker="." if len(x) < 40 else "", label=text, color=color)
    panel.fill_between(x, low, y + error, alpha=0.3, color=line.get_color(), linewidth=0.0)
    if len(x):
        panel.set_xscale(curve.scale[0])
        panel.set_yscale(curve.scale[1])
    panel.set_xlabel(symbol(curve.x_name) + unit(curve.x_unit))
    panel.set_ylabel(symbol(panel_of(curve)) + unit(curve.unit))


def draw_guides(panel: Any, curves: list[Curve], first: int) -> None:
    """Draw lines of SLOPES from one on above curves, each a decade long where there is room."""
    x = np.concatenate([curve.x[curve.value > 0.0] for curve in curves])
    y = np.concatenate([curve.value[curve.value > 0.0] for curve in curves])
    if not len(x) or x.max() <= x.min():
        return
    begin, end = np.log10(x.min()), np.log10(x.max())
    length = min(1.0, 0.35 * (end - begin))
    middles = begin + 0.4 * (end - begin), end - 0.6 * length
    for (slope, text), middle in list(zip(SLOPES.items(), middles, strict=True))[first:]:
        along = middle + 0.5 * length * np.array([-1.0, 1.0])
        inside = np.abs(np.log10(x) - middle) <= 0.5 * length
        if inside.any():
            shift = np.max(np.log10(y[inside]) - slope * (np.log10(x[inside]) - middle)) + 0.2
            panel.plot(10**along, 10 ** (shift + slope * (along - middle)), color="0.3", linewidth=0.8, linestyle="--")
            panel.annotate(
                text, (10**middle, 10**shift), (0, 3), textcoords="offset points", ha="right", va="bottom", color="0.3"
            )


def set_ticks(axis: Any) -> None:
    """Set the ticks of a logarithmic axis: numbers at decades, within few decades also between; none overlap."""
    from matplotlib import ticker

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    if decades < 2.0:
        ticks = ticker.LogLocator(subs=(1.0, 2.0, 5.0)) if decades > 0.5 else ticker.MaxNLocator(4, steps=[1, 2, 5, 10])
        axis.set_major_locator(ticks)
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def symbol(name: str) -> str:
    """Return what stands at an axis for a figure or a variable: its symbol, if it has one, then of which molecules."""
    first, _, rest = name.partition(" ")
    return f"${SYMBOLS[first]}$ {literal(rest)}".rstrip() if first in SYMBOLS else literal(name.replace("_", " "))


def unit(text: str) -> str:
    """Return a unit in brackets, with its powers as such; nothing of a pure number."""
    return " [" + re.sub(r"\^(\d+)", r"$^\1$", text) + "]" if text else ""


def literal(name: str) -> str:
    """Return a name as matplotlib shows it letter by letter: $ begins no formula, and a leading _ hides no line."""
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")


def label(panel: Any, several: bool) -> None:
    """Add a legend where lines are to be told apart."""
    if several:
        panel.legend()


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
        draw_over_key(panel, reports, name, key)
    return save(figure, path)


def draw_over_key(panel: Any, reports: list[Report], name: str, key: str) -> None:
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
