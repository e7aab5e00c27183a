"""Pictures of curves: labels are names as they are, whatever they mean to matplotlib."""

import numpy as np
import pytest

from hpcchain.analysis.plot import draw_curve, label, literal
from hpcchain.analysis.tables import Curve

figures, cbook = pytest.importorskip("matplotlib.figure"), pytest.importorskip("matplotlib.cbook")


@pytest.mark.parametrize("name", ["poly $\\bad{ $x", "_hidden", "$", "Kügelchen", "50 %_{"])
def test_names_are_shown_letter_by_letter(tmp_path, name):
    figure = figures.Figure()
    panel = figure.subplots()
    curve = Curve("radial_distribution", name, "", "r", "length", np.arange(3.0), np.ones(3), np.zeros(3))
    draw_curve(panel, curve, name)
    label(panel, True)
    figure.savefig(tmp_path / "curve.png")
    (text,) = panel.get_legend().get_texts()
    assert text.get_text() == literal(name) and not cbook.is_math_text(literal(name))
    assert literal(name).replace(r"\$", "$").strip() == name
