"""The comparison of rough beads and wells with smooth spheres: each case has its events, and the first ratio is 1."""

import runpy

from tests.support.launching import ROOT


def test_each_case_is_timed(monkeypatch, capsys):
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "law_speed.py"))
    monkeypatch.setattr("sys.argv", ["law_speed.py", "--beads", "216", "--events", "300", "--turns", "3"])
    tool["main"]()
    rows = [[field.strip() for field in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == list(tool["CASES"])
    assert all(float(row[1]) > 50.0 for row in rows) and float(rows[0][2]) == 1.0
