"""The watchdog: it says which rank waits for which once in a silence, and nothing of a run that moves."""

import logging
import threading
import time
from types import SimpleNamespace

import pytest

from hpcchain.parallel.activity import Activity
from hpcchain.run.guards.watchdog import Watchdog, ranks_as_text


def watched(activity, folder, silence, rank=0, size=1):
    """Return the watchdog of a rank with this activity."""
    return Watchdog(SimpleNamespace(activity=activity, rank=rank, size=size), folder, silence)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([3], "rank 3"),
        ([1, 2], "ranks 1, 2"),
        ([0, 1, 2, 3, 7], "ranks 0 to 3, 7"),
        ([2, 4, 6], "ranks 2, 4, 6"),
    ],
)
def test_ranks_as_text(ranks, text):
    assert ranks_as_text(ranks) == text


def test_which_rank_is_waited_for():
    activity = Activity()
    assert (activity.awaited, activity.signs) == (None, 0)
    with activity.waiting(4):
        assert (activity.awaited, activity.signs) == (4, 1)
    assert (activity.awaited, activity.signs) == (None, 2)


def test_a_run_that_moves_is_left_alone(tmp_path, caplog):
    activity = Activity()
    with watched(activity, tmp_path, 0.2):
        for _ in range(30):
            time.sleep(0.02)
            activity.note()
    assert caplog.messages == [] and list(tmp_path.iterdir()) == []


def test_silence_is_reported_once_and_that_it_is_over(tmp_path, caplog):
    """Rank 0 waits for rank 2, which waits for all; rank 1 is in this test; rank 3 says nothing."""
    caplog.set_level(logging.WARNING, "hpcchain.run")
    ranks = [Activity() for _ in range(3)]
    dogs = [watched(activity, tmp_path, 0.2, rank, 4) for rank, activity in enumerate(ranks)]
    with ranks[0].waiting(2), ranks[2].waiting(), dogs[0], dogs[1], dogs[2]:
        time.sleep(1.0)
        for activity in ranks:
            activity.note()
        time.sleep(0.1)
    first, second = caplog.messages
    assert "rank 0 waits for rank 2" in first.replace("wait ", "waits ")
    assert "rank 2 wait for all ranks" in first and "rank 3 say nothing" in first
    assert "rank 1 wait for none (in test_silence_is_reported_once" in first and first.startswith("no step for 0 s")
    assert second.startswith("goes on after")
    assert "test_watchdog.py" in (tmp_path / "stuck" / "rank-00001.txt").read_text()
    assert not any(thread.name == "watchdog" for thread in threading.enumerate())


def test_a_run_that_ends_as_soon_as_it_goes_on_says_so(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "hpcchain.run")
    activity = Activity()
    with watched(activity, tmp_path, 2.0) as dog:
        dog.silence = 0.1  # looks at the run every 0.01 s: no look comes before the end
        time.sleep(0.9)
        activity.note()
    first, second = caplog.messages
    assert first.startswith("no step for") and second.startswith("goes on after")


def test_no_silence_watches_nothing(tmp_path):
    with watched(Activity(), tmp_path, 0.0):
        assert not any(thread.name == "watchdog" for thread in threading.enumerate())
