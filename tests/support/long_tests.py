"""Tests that take minutes: which of them are due today, and when each last passed (tests/long_tests.csv).

A turn is a tenth of the list. `tools/check` runs today's turn, so that ten days have all. Whole files share a turn,
since what a file sets up is made once. The list is written by runs with --note-long, and committed.
"""

import csv
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

FILE = Path(__file__).parents[1] / "long_tests.csv"
COLUMNS = ("test", "turn", "passed", "seconds")
TURNS = 10
MOST_DAYS, MOST_SECONDS = 30, 300.0


@dataclass(frozen=True)
class Entry:
    """A test that takes minutes: its turn, the day on which it last passed, and how long it took [seconds]."""

    turn: int
    passed: date
    seconds: float


def read(path=FILE):
    """Return the list: test -> Entry."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        return {
            row["test"]: Entry(int(row["turn"]), date.fromisoformat(row["passed"]), float(row["seconds"]))
            for row in csv.DictReader(lines)
        }


def write(entries, path=FILE):
    """Write the list in the order of names."""
    with path.open("w", newline="", encoding="utf-8") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(COLUMNS)
        for test, entry in sorted(entries.items()):
            table.writerow([test, entry.turn, entry.passed.isoformat(), f"{entry.seconds:.1f}"])


def noted(entries, passed, day):
    """Return the list with tests that have passed on a day, and without those of files or functions that are gone.

    Parameters
    ----------
    entries : dict of str -> Entry
    passed : dict of str -> float
        Test -> seconds.
    day : date
    """
    kept = {test: one for test, one in entries.items() if is_there(test)}
    for test, seconds in sorted(passed.items(), key=lambda pair: (-pair[1], pair[0])):
        kept[test] = Entry(turn_of(test, kept), day, seconds)
    return kept


def is_there(test):
    """Whether the file of a test still has its function."""
    path = FILE.parents[1] / file_of(test)
    name = test.split("::")[-1].partition("[")[0]
    return path.exists() and f"def {name}(" in path.read_text(encoding="utf-8")


def turn_of(test, entries):
    """Return the turn of a test: that of its file, for a new file the one that takes least so far."""
    taken = [0.0] * TURNS
    for other, entry in entries.items():
        if file_of(other) == file_of(test):
            return entry.turn
        taken[entry.turn] += entry.seconds
    return taken.index(min(taken))


def file_of(test):
    """Return the file of a test's name."""
    return test.partition("::")[0]


def is_due(test, turn, entries):
    """Whether a test is in a turn; one that is not in the list always is."""
    return test not in entries or entries[test].turn == turn


def today():
    """Return the date in UTC."""
    return datetime.now(UTC).date()
