"""The experiments with lines and with spheres: quick runs give what the papers' corrected equations say."""

import numpy as np
import pytest

from hpcchain.papers import experiments
from hpcchain.papers.result import check


@pytest.fixture(scope="module")
def results():
    """Quick results by name."""
    names = [
        "002-fig2",
        "002-self-correction",
        "002-damped",
        "000-spheres-head-on",
        "000-spheres-oblique",
        "000-spheres-grazing",
    ]
    known = experiments.found()
    made = {name: known[name].run(True) for name in names}
    for name, result in made.items():
        check(name, result)
    return made


def test_figure_2(results):
    data = results["002-fig2"].data[""]
    of = dict(zip(data["N"].tolist(), data["across"], strict=True))
    assert [of[n] for n in (4, 5, 10, 20, 50)] == pytest.approx([2.553, 4.463, 18.717, 60.290, 252.683], abs=5e-4)
    assert np.allclose(data["along"][1:], data["N"][1:] / 2, rtol=1e-12)


def test_self_correction(results):
    data = results["002-self-correction"].data[""]
    assert all(np.max(data[name]) < 1e-13 for name in data if name != "step")


def test_damped(results):
    data = results["002-damped"].data[""]
    assert np.polyfit(np.log(data["dt"]), np.log(data["position"]), 1)[0] == pytest.approx(2.0, abs=0.05)
    assert data["position, as printed"].min() > 0.05


def test_spheres(results):
    jumps = results["000-spheres-oblique"].data["jumps"]
    assert jumps["jump"] == pytest.approx(jumps["exact"], abs=1e-9)
    assert np.abs(jumps["jump"]) == pytest.approx([1.44e-4, 6.8e-3], rel=0.02)
    counts = results["000-spheres-grazing"].data["tolerances"]
    assert all(one < two for one, two in zip(counts["iterations"], counts["iterations"][1:], strict=False))
    assert 37 <= counts["iterations"][2] <= 112
    assert np.max(results["000-spheres-head-on"].data[""]["angular momentum error"]) < 1e-13
