"""The manual's worked example: the run that it describes gives the tables that it shows, on one rank and on two."""

import re

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


def number(cell):
    """Return the number in a cell of a table and its error, 0 of what is exact; None where no error is known."""
    if cell == "-" or cell.endswith("(?)"):
        return None
    whole, digits, error = re.fullmatch(r"(\d+(?:\.(\d+))?)(?:\((\d+)\))?", cell).groups()
    return float(whole), float(error or 0) * 10.0 ** -len(digits or "")


def test_its_tables_are_those_that_the_page_shows(mixture, capsys):
    """Numbers within five errors of both: bits of a grown start belong to a processor and to NumPy's version."""
    assert main(["analyze", str(mixture), "--figures", "observables,sizes,end_correlation,displacement"]) == 0
    captured = capsys.readouterr()
    (page,) = blocks(PAGE, "text")
    shown, printed = ([line.split() for line in text.splitlines() if line] for text in (page, captured.out))
    assert len(shown) == 9
    compared = 0
    for line in shown:
        same = next(one for one in printed if one[0] == line[0] and len(one) == len(line))
        printed = printed[printed.index(same) + 1 :]
        if line[0].islower() and line[0] != "all":
            assert same == line  # a heading
            continue
        for here, there in zip(map(number, same[1:]), map(number, line[1:]), strict=True):
            if here and there:  # on another machine's way there may be no diffusive window, or no error
                compared += 1
                assert abs(here[0] - there[0]) <= 5.0 * (here[1] + there[1]), (same, line)
    assert compared >= 20
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
