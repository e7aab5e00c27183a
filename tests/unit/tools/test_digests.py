"""Digests of trajectories: written, compared, and one bit elsewhere is noticed."""

import runpy
import sys

import numpy as np
import pytest

from tests.support.launching import ROOT

NAME = "cradle"


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """Return a function that runs the program with arguments on a file of its own, and what the program defines."""
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = runpy.run_path(str(ROOT / "tools" / "digests.py"))
    monkeypatch.setitem(found["main"].__globals__, "FILE", tmp_path / "digests.csv")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["digests.py", *arguments])
        return found["main"]()

    return run, found


def test_what_was_written_is_found_again_and_another_bit_is_noticed(tool, tmp_path, capsys):
    run, found = tool
    assert run("--write", NAME) == 0
    assert run(NAME) == 0 and "1 of them in the file" in capsys.readouterr().out
    path = tmp_path / "digests.csv"
    text = path.read_text()
    path.write_text(text[:-2] + ("1" if text[-2] == "0" else "0") + "\n")
    assert run(NAME) == 1 and "its bits are others" in capsys.readouterr().out
    assert run("--write", NAME) == 0 and path.read_text() == text


def test_ranks_or_a_stop_that_leave_a_trace_are_noticed(tool):
    verdict = tool[1]["verdict"]
    assert verdict(["a", "a", "a"], None, False) is None
    assert "three ranks" in verdict(["a", "b", "a"], "a", True)
    assert "a stop" in verdict(["a", "a", "b"], "a", False)


def test_digests_see_one_bit_and_the_sign_of_zero(tool):
    digest = tool[1]["digest"]
    row = np.zeros(3)
    assert digest([row]) == digest([row.copy()])
    assert digest([row]) != digest([-row]) and digest([row]) != digest([row, row])
    assert digest([np.array([2**70, 1], dtype=object)]) != digest([np.array([2**70 + 1, 1], dtype=object)])


def test_a_name_that_is_no_system_is_refused(tool):
    with pytest.raises(SystemExit) as caught:
        tool[0]("nothing")
    assert caught.value.code == 2


def test_each_day_has_a_system_of_every_family_and_three_have_all(tool):
    found = tool[1]
    known = {name: case for name, case in found["cases"]().items() if not case.dear}
    days = [found["of_day"](found["cases"](), day) for day in range(3 * found["DAYS"])]
    for own in days:
        assert {known[name].family or name for name in own} == {case.family or name for name, case in known.items()}
    assert max(map(len, days)) < 0.6 * len(known)
    for first in range(len(days) - found["DAYS"] + 1):
        assert set().union(*days[first : first + found["DAYS"]]) == set(known)


def test_all_systems_are_in_the_file(tool, monkeypatch):
    found = tool[1]
    monkeypatch.setitem(found["main"].__globals__, "FILE", ROOT / "tests" / "data" / "digests.csv")
    assert {system for _, system in found["read"]()} == set(found["cases"]())
