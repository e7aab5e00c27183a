"""The manual's worked example: the run that it describes gives the tables that it shows, on one rank and on two."""

import pytest

from hpcchain.api import run
from hpcchain.cli.main import main
from hpcchain.parallel.comm import Single
from tests.support.launching import call_hpcchain
from tests.support.manual_pages import ROOT, blocks

PAGE = ROOT / "docs" / "guide" / "analysis.md"


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    """The folder of the example's run."""
    folder = tmp_path_factory.mktemp("example")
    (text,) = blocks(PAGE, "toml")
    (folder / "mixture.toml").write_text(text, encoding="utf-8")
    assert run(folder / "mixture.toml", output=folder / "mixture", comm=Single()) == 0
    return folder / "mixture"


def test_its_tables_are_those_that_the_page_shows(mixture, capsys):
    assert main(["analyze", str(mixture), "--figures", "observables,sizes,end_correlation,displacement"]) == 0
    captured = capsys.readouterr()
    (shown,) = blocks(PAGE, "text")
    lines = [line for line in shown.splitlines() if line]
    assert len(lines) == 9 and [line for line in lines if line not in captured.out.splitlines()] == []
    assert captured.err.count("shorter than 5 correlation times") == 1


@pytest.mark.long
def test_two_ranks_print_the_same(mixture):
    pytest.importorskip("mpi4py")
    one, two = (call_hpcchain(["analyze", mixture, "--csv"], mixture.parent, ranks) for ranks in (1, 2))
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    assert one.stdout == two.stdout and len(one.stdout.splitlines()) > 1000


def test_what_is_known_of_it_is_found(mixture):
    """Equipartition: a free bead has < v^2 > = 3 T / m, here for temperature 1 less the momentum's three degrees."""
    from hpcchain.analysis.study import Wanted, study

    report = study(mixture, Wanted(0.0, ("velocity_correlation", "bond_correlation", "pair_distribution")))
    free = report.value("velocity_square_centre", "M")
    assert abs(free.value - 3.0) < 4.0 * free.error
    assert report.value("bond_length", "A").value == pytest.approx(1.0, abs=1e-9)
    inter = report.curve("pair_distribution_inter")
    assert inter.value[inter.x < 0.98].max() == 0.0 and inter.value[(inter.x > 1.0) & (inter.x < 1.2)].min() > 0.5
