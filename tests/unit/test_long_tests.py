"""No test that takes minutes is forgotten: each has passed within a month, and within the time that one may take."""

from datetime import date, timedelta

import pytest

from tests.support import long_tests
from tests.support.long_tests import MOST_DAYS, MOST_SECONDS, MOST_SECONDS_A_TURN, TURNS, Entry

DAY = date(2030, 1, 1)
HOW = "python -m pytest --long --note-long"


def overdue(entries, tests, day):
    """Return what is wrong with the list of long tests on a day: test -> words."""
    found = {test: f"is not in the list: {HOW} '{test}'" for test in tests if test not in entries}
    for test, entry in entries.items():
        if day - entry.since > timedelta(MOST_DAYS):
            found[test] = f"has not passed since {entry.since}: {HOW} '{test}'"
        elif (entry.seconds or 0.0) > MOST_SECONDS:
            found[test] = f"takes {entry.seconds:.0f} s: make it shorter"
    return found


def test_each_has_passed_within_a_month(request):
    """Of those that this run has collected, and of all that are in the list."""
    tests = [item.nodeid for item in request.session.items if item.get_closest_marker("long")]
    entries = long_tests.read()
    assert overdue(entries, tests, long_tests.today()) == {}
    assert [test for test in entries if not long_tests.is_there(test)] == []


def test_what_is_forgotten_is_named():
    entries = {"a::f": Entry(0, DAY, 10.0), "b::g": Entry(1, DAY, MOST_SECONDS + 1.0)}
    assert set(overdue(entries, ["a::f", "c::h"], DAY + timedelta(MOST_DAYS))) == {"b::g", "c::h"}
    assert set(overdue(entries, [], DAY + timedelta(MOST_DAYS + 1))) == {"a::f", "b::g"}


def test_no_turn_takes_long_and_each_test_is_in_one():
    entries = long_tests.read()
    taken = [sum(one.seconds or 0.0 for one in entries.values() if one.turn == turn) for turn in range(TURNS)]
    assert {entry.turn for entry in entries.values()} == set(range(TURNS)) and max(taken) < MOST_SECONDS_A_TURN
    for test in entries:
        assert sum(long_tests.is_due(test, turn, entries) for turn in range(TURNS)) == 1
        assert long_tests.turn_of(test, entries) == entries[test].turn


def test_a_new_file_has_the_turn_that_takes_least(monkeypatch):
    monkeypatch.setattr(long_tests, "is_there", lambda test: test != "gone::f")
    entries = {f"f{k}::t": Entry(k, DAY, 50.0 - k) for k in range(TURNS)} | {"gone::f": Entry(0, DAY, 1.0)}
    later = DAY + timedelta(3)
    found = long_tests.noted(entries, ["new::a", "f1::t", "late::c"], {"new::b": 5.0, "f2::t": 7.0}, later)
    assert found["late::c"] == Entry(TURNS - 1, later) and found["f1::t"] == entries["f1::t"]
    assert found["new::a"] == Entry(TURNS - 2, later) and found["new::b"] == Entry(TURNS - 2, later, 5.0)
    assert found["f2::t"] == Entry(2, later, 7.0) and found["f3::t"] == entries["f3::t"] and "gone::f" not in found
    assert long_tests.is_due("never seen::f", 4, entries)


def test_files_leave_a_turn_that_takes_too_long(monkeypatch):
    """As when three files of one turn are run for the first time."""
    monkeypatch.setattr(long_tests, "is_there", lambda test: True)
    entries = {f"f{k}::t": Entry(k, DAY, 1.0 + k) for k in range(TURNS)}
    entries |= {f"{name}::t": Entry(6, DAY) for name in "abc"}
    found = long_tests.noted(entries, [], {"a::t": 290.0, "a::u": 20.0, "b::t": 250.0, "c::t": 150.0}, DAY)
    assert [found[test].turn for test in ("a::t", "a::u", "b::t", "c::t")] == [0, 0, 6, 6]
    assert found["f6::t"].turn == 6
    alone = long_tests.noted({"a::t": Entry(2, DAY)}, [], {"a::t": 500.0}, DAY)
    assert alone["a::t"] == Entry(2, DAY, 500.0)


def test_what_takes_minutes_begins_first_and_files_stay_whole():
    tests = [
        "tests/a.py::f",
        "tests/b.py::g",
        "tests/a.py::h",
        "tests/c.py::k",
        "tests/cluster/d.py::m",
        "tests/b.py::n",
    ]
    entries = {"tests/b.py::n": Entry(0, DAY, 5.0), "tests/c.py::k": Entry(0, DAY, 70.0)}
    for due, expected in (
        (["tests/c.py::k", "tests/b.py::n"], [4, 3, 1, 5, 0, 2]),
        (["tests/b.py::n", "tests/b.py::g"], [4, 1, 5, 0, 2, 3]),
        ([], [4, 0, 2, 1, 5, 3]),
    ):
        assert long_tests.longest_first(tests, due, entries) == expected


def test_the_list_is_read_as_it_was_written(tmp_path):
    entries = {"tests/a.py::f[x,1]": Entry(3, DAY, 12.5), "tests/b.py::g": Entry(0, DAY)}
    long_tests.write(entries, tmp_path / "list.csv")
    assert long_tests.read(tmp_path / "list.csv") == entries


@pytest.mark.parametrize("test", ["tests/unit/test_long_tests.py::test_what_is_forgotten_is_named", "none.py::f"])
def test_functions_that_are_there_are_found(test):
    assert long_tests.is_there(test) is ("none" not in test)
