"""The benchmark's rows: a case is run, and memory is by bead; large cases are copies, and run only where named."""

import runpy

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
    tool["main"].__globals__["measure"] = lambda name, contacts, repeat: run.append(name)
    monkeypatch.setattr("sys.argv", ["bench"])
    tool["main"]()
    assert run and not set(run) & set(tool["LARGE"])
    monkeypatch.setattr("sys.argv", ["bench", "--case", "chains-10-1m-0.3"])
    tool["main"]()
    assert run[-1] == "chains-10-1m-0.3"
