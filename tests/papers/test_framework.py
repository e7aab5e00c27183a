"""`hpcchain paper`: which experiments are found and chosen, and what is written of one."""

import builtins
import csv
import importlib
import pkgutil
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.errors import ConfigError, UsageError
from hpcchain.papers import experiments
from hpcchain.papers.experiments import work_precision
from hpcchain.papers.result import ExperimentError, Result, Table, check, number, within


def parabola(quick):
    """Return the result of an experiment that is none."""
    x = np.linspace(0.0, 1.0, 3 if quick else 5)
    table = Table("Values")
    table.add("at 1 | end", "1.1", 1.0 / 3.0, "theirs is\nrounded")
    data = {"": {"x": x, "y": x**2}, "more": {"name": ["a", "b"], "count": np.array([1, 2])}}
    return Result(data, [table], ["Made up."])


def draw(result, figure):
    """Draw it."""
    figure.subplots().plot(result.data[""]["x"], result.data[""]["y"])


EXAMPLES = {
    "000-first": SimpleNamespace(NAME="000-first", TITLE="a parabola", run=parabola, draw=draw),
    "001-second": SimpleNamespace(NAME="001-second", TITLE="without a figure", run=parabola),
    "001-third": SimpleNamespace(NAME="001-third", TITLE="another", run=parabola),
}


@pytest.fixture
def examples(monkeypatch):
    """Stand-ins for the experiments."""
    monkeypatch.setattr(experiments, "found", lambda: EXAMPLES)


def test_every_module_is_an_experiment_with_its_papers_number():
    known = experiments.found()
    assert len(known) == len(list(pkgutil.iter_modules(experiments.__path__)))
    for name, module in known.items():
        assert re.fullmatch(r"\d{3}-[a-z0-9-]+|work-precision", name), name
        assert module.TITLE and "\n" not in module.TITLE
        assert callable(module.run)


def test_two_experiments_of_one_name_are_refused(monkeypatch):
    entries = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    monkeypatch.setattr(pkgutil, "iter_modules", lambda path: entries)
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(NAME="000-x", __name__=name))
    with pytest.raises(ValueError, match="both called 000-x"):
        experiments.found()


def test_a_number_stands_for_its_paper_and_nothing_for_all():
    assert experiments.chosen([], EXAMPLES) == list(EXAMPLES)
    assert experiments.chosen(["001"], EXAMPLES) == ["001-second", "001-third"]
    assert experiments.chosen(["001-third", "000-first", "001-third"], EXAMPLES) == ["000-first", "001-third"]
    with pytest.raises(UsageError, match="no experiment is called '001-secnd'; did you mean \"001-second\""):
        experiments.chosen(["001-secnd"], EXAMPLES)


def test_list_and_unknown_names(capsys, examples, tmp_path):
    assert main(["paper", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "000-first   a parabola"
    assert main(["paper", "zzz", "--output", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("hpcchain: no experiment is called 'zzz'; did you mean ")
    assert captured.out == "" and not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(capsys, examples, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["paper", "--output", str(tmp_path / "file" / "out")]) == 65
    assert "file/out: cannot be made" in capsys.readouterr().err


def test_results_are_a_csv_a_png_and_one_summary_page(capsys, examples, tmp_path):
    assert main(["paper", "001-second", "--quick", "--output", str(tmp_path)]) == 0
    assert main(["paper", "000-first", "--output", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "000-first.csv",
        "000-first-data-more.csv",
        "000-first.png",
        "000-first.md",
        "001-second.csv",
        "001-second-data-more.csv",
        "001-second.md",
        "summary.md",
    }
    with open(tmp_path / "000-first.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["x", "y"] and [float(row[1]) for row in rows[1:]] == [0.0, 0.0625, 0.25, 0.5625, 1.0]
    assert (tmp_path / "000-first.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "summary.md").read_text()
    assert page.index("## 000-first") < page.index("## 001-second")
    assert "| at 1 \\| end | 1.1 | 0.333 | theirs is rounded |" in page
    assert page.count("*Quick:") == 1 and "![a parabola](000-first.png)" in page
    assert f"summary: {tmp_path / 'summary.md'}" in capsys.readouterr().out


def test_without_matplotlib_all_but_the_figures_is_written_and_said(capsys, examples, tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["paper", "000-first", "--output", str(tmp_path)]) == 0
    assert "no figures: they need matplotlib, which is not installed" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.png")) and (tmp_path / "000-first.csv").exists()
    assert "![" not in (tmp_path / "summary.md").read_text()


def test_results_of_the_wrong_form_are_refused():
    with pytest.raises(ExperimentError, match="differ in length"):
        check("x", Result({"": {"a": [1], "b": [1, 2]}}))
    table = Table("T")
    table.add("q", 1.0, 2.0, " ")
    with pytest.raises(ExperimentError, match="T: q: says not why"):
        check("x", Result(tables=[table]))


def test_what_a_page_says_of_a_number_follows_from_it():
    assert within(0.014, 0.005, 0.02) == "agrees"
    assert within(1.0, 0.95, 1.05, "agrees: no drift") == "agrees: no drift"
    for value in (0.05, np.nan, np.inf):
        assert within(value, 0.005, 0.02) == "DOES NOT AGREE: outside 0.005 to 0.02"
    table = Table("Bounds")
    table.compare("order", 2, 1.96, 1.9, 2.1)
    table.compare("order", 2, 2.5, 1.9, 2.1, "as printed")
    assert [(row.ours, row.why) for row in table.rows] == [
        ("1.96", "agrees"),
        ("2.5", "DOES NOT AGREE: outside 1.9 to 2.1"),
    ]


def test_numbers_are_short_and_what_is_not_printed_is_a_dash():
    assert [number(4.26789e-6), number("65,750"), number(None)] == ["4.27e-06", "65,750", "–"]
    assert number(65750, 5) == "65750"


@pytest.mark.parametrize(("breaks", "ends"), [(10.0, False), (25.0, True)])
def test_a_motion_that_breaks_down_is_noted_or_was_timed_until_then(monkeypatch, breaks, ends):
    """Positions are compared at 1 and energies at 21; beyond that the motion goes on to be timed alone."""

    class Engine:
        """Beads that stay, until they jam."""

        def __init__(self, system):
            self.state = system.state

        def advance(self, time):
            """Go on; jam."""
            if time > breaks:
                raise ConfigError("contacts at one instant have no end")

        def frame(self, _):
            """Return where the beads are."""
            return self.state.position, self.state.velocity, None

    monkeypatch.setattr("hpcchain.sector.serial.Engine", Engine)
    position, velocity = work_precision.thermal_chain(3)
    found, energy, cost = work_precision.measured(position, velocity, True, 1.0, {}, False)
    assert np.array_equal(found, position) == np.isfinite(energy) == np.isfinite(cost) == ends
