"""Tests that take minutes: which of them are due today, and when each last passed (tests/long_tests.csv).

A turn is a tenth of the list. `tools/check` runs today's turn, so that ten days have all. Whole files share a turn,
since what a file sets up is made once. The list is written by runs with --note-long, and committed. A test that has not
been run yet has the day on which it came into the list, and no seconds.
"""

import csv
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

FILE = Path(__file__).parents[1] / "long_tests.csv"
COLUMNS = ("test", "turn", "since", "seconds")
TURNS = 10
GUESS = 60.0
"""Seconds that a test is taken to need until it has been run."""
MOST_DAYS, MOST_SECONDS = 30, 300.0
MOST_SECONDS_A_TURN = 1.5 * MOST_SECONDS
WAITING = "tests/cluster/"


@dataclass(frozen=True)
class Entry:
    """A test that takes minutes.

    Parameters
    ----------
    turn : int
    since : date
        When it last passed, or came into the list.
    seconds : float, optional
        How long it took; None where it has not passed yet [wall seconds].
    """

    turn: int
    since: date
    seconds: float | None = None


def read(path=FILE):
    """Return the list: test -> Entry."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        return {
            row["test"]: Entry(
                int(row["turn"]),
                date.fromisoformat(row["since"]),
                float(row["seconds"]) if row["seconds"] else None,
            )
            for row in csv.DictReader(lines)
        }


def write(entries, path=FILE):
    """Write the list in the order of names."""
    with path.open("w", newline="", encoding="utf-8") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(COLUMNS)
        for test, entry in sorted(entries.items()):
            seconds = "" if entry.seconds is None else f"{entry.seconds:.1f}"
            table.writerow([test, entry.turn, entry.since.isoformat(), seconds])


def noted(entries, found, passed, day):
    """Return the list with tests that are new or have passed on a day, and without those that are gone.

    Parameters
    ----------
    entries : dict of str -> Entry
    found : iterable of str
        Long tests that were collected.
    passed : dict of str -> float
        Test -> seconds.
    day : date
    """
    kept = {test: one for test, one in entries.items() if is_there(test)}
    for test in sorted(found):
        if test not in kept:
            kept[test] = Entry(turn_of(test, kept), day)
    for test, seconds in sorted(passed.items()):
        kept[test] = Entry(turn_of(test, kept), day, seconds)
    return balanced(kept)


def balanced(entries):
    """Return the list with files moved out of turns that take too long, where that helps.

    What a test takes is known when it has first run, so that files which share a turn may be too much for it.
    """
    turns, files = dict.fromkeys(range(TURNS), 0.0), {}
    for test, entry in entries.items():
        turns[entry.turn] += entry.seconds or 0.0
        name = (file_of(test), entry.turn)
        files[name] = files.get(name, 0.0) + (entry.seconds or 0.0)
    full, free = max(turns, key=turns.get), min(turns, key=turns.get)
    fitting = [name for name in files if name[1] == full and 0.0 < files[name] < turns[full] - turns[free]]
    if turns[full] <= MOST_SECONDS_A_TURN or not fitting:
        return entries
    moved = max(fitting, key=files.get)
    return balanced(
        {
            test: replace(entry, turn=free) if (file_of(test), entry.turn) == moved else entry
            for test, entry in entries.items()
        }
    )


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
        taken[entry.turn] += GUESS if entry.seconds is None else entry.seconds
    return taken.index(min(taken))


def file_of(test):
    """Return the file of a test's name."""
    return test.partition("::")[0]


def is_due(test, turn, entries):
    """Whether a test is in a turn; one that is not in the list always is."""
    return test not in entries or entries[test].turn == turn


def longest_first(tests, due, entries):
    """Return the numbers of tests in the order in which workers are given them, those of a file together.

    Jobs come first, which wait without a processor, then files by what their tests that are due take, then the others
    as they stood: what takes minutes and begins last is waited for by workers that have nothing left to do.
    """
    taken = dict.fromkeys(map(file_of, tests), 0.0)
    for test in due:
        entry = entries.get(test)
        taken[file_of(test)] += GUESS if entry is None or entry.seconds is None else entry.seconds
    files = sorted(taken, key=lambda file: (not file.startswith(WAITING), -taken[file]))
    place = {file: k for k, file in enumerate(files)}
    return sorted(range(len(tests)), key=lambda k: place[file_of(tests[k])])


def today():
    """Return the date in UTC."""
    return datetime.now(UTC).date()
