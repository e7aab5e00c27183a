"""Pictures of curves: labels are names as they are, whatever they mean to matplotlib; ticks, guides, what is drawn."""

import numpy as np
import pytest

from hpcchain.analysis.plot import (
    draw_curve,
    draw_curves,
    draw_panel,
    drawing,
    label,
    literal,
    observables_of,
    run_names,
    symbol,
)
from hpcchain.analysis.tables import Curve, Report

figures, cbook = pytest.importorskip("matplotlib.figure"), pytest.importorskip("matplotlib.cbook")


@pytest.mark.parametrize("name", ["poly $\\bad{ $x", "_hidden", "$", "Kügelchen", "50 %_{"])
def test_names_are_shown_letter_by_letter(tmp_path, name):
    figure = figures.Figure()
    panel = figure.subplots()
    curve = Curve("radial_distribution", name, "", "r", "length", np.arange(3.0), np.ones(3), np.zeros(3))
    draw_curve(panel, curve, literal(name))
    label(panel, True)
    figure.savefig(tmp_path / "curve.png")
    (text,) = panel.get_legend().get_texts()
    assert text.get_text() == literal(name) and not cbook.is_math_text(literal(name))
    assert literal(name).replace(r"\$", "$").strip() == name


@pytest.mark.parametrize("name", ["poly $\\bad{ $x", "$x_2^{$"])
def test_what_is_left_out_is_named_letter_by_letter(tmp_path, name):
    """Below the curves there is what could not be found, of which kind of molecules."""
    curve = Curve("radial_distribution", name, "", "r", "length", np.arange(3.0), np.ones(3), np.zeros(3))
    report = Report("out", curves=[curve], left_out={f"diffusion {name}": "no diffusive window"})
    assert draw_curves([report], tmp_path / "a.png") == tmp_path / "a.png"


def panel_with(curves, reports=1, colors=None):
    """Return the panel of some curves of each of some runs, drawn."""
    own = [(Report(f"runs/{number}"), curve) for number in range(reports) for curve in curves]
    figure = drawing()
    panel = figure.subplots()
    draw_panel(panel, own, run_names([report for report, _ in own[:: len(curves)]]), {} if colors is None else colors)
    figure.canvas.draw()
    return panel


def power_law(name, low, high, exponent=0.5):
    x = np.geomspace(low, high, 50)
    return Curve(name, "A", "length^2", "lag", "time", x, 3.0 * x**exponent, 0.01 * x, ("log", "log"))


def test_displacements_have_guide_lines_of_both_slopes_above_them():
    panel = panel_with([power_law("g1", 0.5, 250.0)])
    curve, *guides = panel.get_lines()
    assert [text.get_text() for text in panel.texts] == [r"$\sim t^{1/2}$", r"$\sim t$"]
    for line, slope in zip(guides, (0.5, 1.0), strict=True):
        x, y = map(np.log10, line.get_data())
        assert np.diff(y) / np.diff(x) == pytest.approx(slope)
        assert np.all(10**y > 1.2 * np.interp(10**x, *curve.get_data()))
    assert panel.get_xlabel() == "$t$ [time]" and panel.get_ylabel() == "$g_1(t)$ [length$^2$]"
    assert len(panel_with([power_law("internal_distances", 1.0, 20.0)]).get_lines()) == 1
    assert len(panel_with([power_law("g2", 0.5, 250.0)]).get_lines()) == 1, "which comes to an end"


def test_modes_are_in_one_panel_each_of_its_color_in_all_runs():
    lag = np.arange(5.0)
    modes = [
        Curve(f"rouse_correlation_{p}", "A", "", "lag", "time", lag, np.exp(-p * lag), np.zeros(5)) for p in (1, 2, 3)
    ]
    panel = panel_with(modes, 2)
    colors = [line.get_color() for line in panel.get_lines()]
    assert colors[:3] == colors[3:] and len(set(colors)) == 3
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["A $p=1$", "A $p=2$", "A $p=3$"]


def test_molecules_have_one_color_in_all_panels_and_the_curve_of_all_beads_a_name():
    colors, names = {}, ["", "A", "B"]
    x = np.arange(3.0)
    curves = [Curve("profile_beads", name, "1 / length^3", "z", "length", x, x, x) for name in names]
    panels = [panel_with(curves, colors=colors), panel_with(curves[1:], colors=colors)]
    found = [{line.get_label(): line.get_color() for line in panel.get_lines()} for panel in panels]
    assert list(found[0]) == ["all", "A", "B"] and len(set(found[0].values())) == 3
    assert found[1] == {name: found[0][name] for name in ("A", "B")}


@pytest.mark.parametrize("name", ["velocity", "kinetic_pressure", "pressure"])
@pytest.mark.parametrize("part", ["radial", "around", "axial", "z", "xz"])
def test_components_of_profiles_have_symbols(name, part):
    """Their names are longer than a panel is high."""
    assert symbol(f"profile_{name}_{part}").startswith("$")


@pytest.mark.parametrize("decades", [0.1, 0.4, 0.8, 1.5, 2.5, 6.0])
def test_numbers_at_logarithmic_axes_do_not_overlap(decades):
    panel = panel_with([power_law("rouse_times", 3.0, 3.0 * 10**decades, 1.0)])
    for axis, side in ((panel.xaxis, "x"), (panel.yaxis, "y")):
        low, high = axis.get_view_interval()
        shown = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        boxes = [text.get_window_extent() for text in shown if text.get_text()]
        ends = sorted((getattr(box, f"{side}0"), getattr(box, f"{side}1")) for box in boxes)
        assert len(ends) >= 2 and all(one[1] < other[0] for one, other in zip(ends, ends[1:], strict=False))
        assert not any(text.get_text() for text in axis.get_minorticklabels())


def test_constants_are_left_out_and_sizes_drawn():
    report, time = Report("out"), np.arange(4.0)
    report.series = {"temperature": (time, np.ones(4)), "pressure": (time, np.array([np.nan, 1.0, 2.0, 1.0]))}
    report.sizes = {"radius_of_gyration A": (time, 1.0 + time), "end_to_end B": (time, np.full(4, 2.0) + 1e-14 * time)}
    assert list(observables_of([report])) == ["pressure", "radius_of_gyration A"]
