"""The benchmark's rows: a case is run, memory is by bead; large cases only where named; what others are given."""

import importlib
import runpy
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.launching import ROOT


@pytest.fixture
def tool(monkeypatch):
    """What the program defines; it is not to hand over to another Python here."""
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return runpy.run_path(str(ROOT / "tools" / "bench"))


def test_a_case_is_measured(tool, capsys):
    """Few monomers, and few chains copied to many: contacts and bytes are there, the bytes those of the arrays."""
    tool["CASES"]["small"] = (1, 1000, 0.1)
    tool["CASES"]["copied"] = tool["LARGE"]["copied"] = (10, 64 * 40, 0.1)
    for name in ("small", "copied"):
        tool["measure"](name, 200, 2)
        row = [field.strip() for field in capsys.readouterr().out.splitlines()[-1].split("|")[1:-1]]
        assert row[0] == name and len(row) == 8
        assert float(row[1].split()[0]) > 0.0
        assert 300 < float(row[4]) < 3000
    assert len(tool["system_of"]("copied").state.position) == 64 * 40


def test_large_cases_are_run_only_where_named(tool, monkeypatch):
    run = []
    tool["main"].__globals__["measure"] = lambda name, contacts, repeat, wholes: run.append(name)
    monkeypatch.setattr("sys.argv", ["bench"])
    tool["main"]()
    assert run and not set(run) & set(tool["LARGE"])
    monkeypatch.setattr("sys.argv", ["bench", "--case", "chains-10-1m-0.3"])
    tool["main"]()
    assert run[-1] == "chains-10-1m-0.3"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("peers")


def chain_in_a_box():
    """Return places of two straight chains, one across the edge of the box, wrapped; velocities, edge, beads."""
    x = np.zeros((2, 5, 3))
    x[:, :, 0] = np.arange(5) + np.array([[0.5], [7.5]])
    x[1, :, 1] = 4.0
    return x.reshape(-1, 3) % 10.0, np.ones((10, 3)), 10.0, 5


def test_chains_are_made_whole(tool):
    x, _, side, length = chain_in_a_box()
    system = SimpleNamespace(box=SimpleNamespace(size=np.full(3, side)))
    whole = tool["unwrapped"](system, x, length).reshape(2, 5, 3)
    assert np.allclose(np.diff(whole, axis=1), [1.0, 0.0, 0.0])


def test_programs_that_are_not_installed_are_left_out(peers, monkeypatch, tool, capsys):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert [peers.speed(name, chain_in_a_box(), 10) for name in peers.PEERS] == [None] * 3
    tool["CASES"]["few"] = (10, 500, 0.1)
    tool["compare"]("few", 100, 1, 10)
    assert capsys.readouterr().out.count("– | –") == 3


def test_bonds_and_steps_are_given(peers, tmp_path, monkeypatch):
    """LAMMPS: a bond between all neighbours of a chain and between no others; monomers: no word of bonds."""
    monkeypatch.setattr("shutil.which", lambda _: "/bin/true")
    assert peers.lammps(tmp_path, chain_in_a_box(), 77)
    bonds = (tmp_path / "data").read_text().split("Bonds")[1].split()
    assert np.array(bonds, dtype=int).reshape(-1, 4)[:, 2:].tolist() == [[k, k + 1] for k in (1, 2, 3, 4, 6, 7, 8, 9)]
    assert "run 77" in (tmp_path / "in").read_text()
    x, v, side, _ = chain_in_a_box()
    peers.lammps(tmp_path, (x, v, side, 1), 77)
    assert "bond_" not in (tmp_path / "in").read_text() and "Bonds" not in (tmp_path / "data").read_text()


def test_a_program_that_fails_ends_it_with_what_it_said(peers, tmp_path):
    with pytest.raises(SystemExit, match="it failed: .*no such option"):
        peers.processor_seconds(["/bin/sh", "-c", "echo no such option >&2; exit 3"], tmp_path, "it")
    spent = peers.processor_seconds(
        ["/bin/sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"], tmp_path, "it"
    )
    assert 0.0 < spent < 30.0


def test_speeds_are_drawn(tool, tmp_path):
    """Every case and every program is named in the figure, whether or not a case has all programs."""
    figure = importlib.import_module("peers_figure")
    rows = [("chains", {"hpcchain": 2e4, "another": 4e4}), ("monomers", {"hpcchain": 1e5})]
    figure.draw(rows, tmp_path / "speeds.svg", "a machine")
    text = (tmp_path / "speeds.svg").read_text(encoding="utf-8")
    for word in ("chains", "monomers", "hpcchain", "another", "a machine"):
        assert f"<!-- {word}" in text, word
    assert figure.processor()
