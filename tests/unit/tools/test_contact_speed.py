"""The benchmark of heaps measures one: a row has beads, contacts, work and time."""

import runpy
from types import SimpleNamespace

import pytest

from tests.support.launching import ROOT


@pytest.mark.engine
def test_a_heap_is_measured(monkeypatch, capsys):
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "contact_speed"))
    tool["measure"](90, SimpleNamespace(chain=3, tolerance=1e-3, step=0.05, settle=20, steps=5))
    beads, contacts, changes, sweeps, seconds, speed = (
        float(cell) for cell in capsys.readouterr().out.strip().strip("|").split("|")
    )
    assert beads == 90 and contacts > 20 and changes > 1 and sweeps > 1 and seconds > 0 and 0 < speed < 10
