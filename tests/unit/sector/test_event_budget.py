"""Kernels return to Python about ten times a second, whatever events cost."""

import pytest

from hpcchain.sector.core import LEAST, MOST, EventBudget

PAUSED, REACHED = 1, 0


def settled(seconds, calls=40):
    """Return the size after calls whose events take so long each."""
    batch = EventBudget()
    for _ in range(calls):
        assert batch.run_timed(lambda size: pretend(size * seconds), PAUSED) == PAUSED
    return batch.size


def pretend(seconds):
    """Let the clock go on; return that all events were carried out."""
    CLOCK[0] += seconds
    return PAUSED


CLOCK = [0.0]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Time passes when the test says so."""
    monkeypatch.setattr("hpcchain.sector.core.perf_counter", lambda: CLOCK[0])


@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 2.5e-3])
def test_a_batch_takes_about_a_tenth_of_a_second(seconds):
    assert 0.04 <= settled(seconds) * seconds <= 0.21


def test_bounds():
    assert settled(1e-9) == MOST
    assert settled(10.0) == LEAST


def test_a_batch_that_is_not_used_up_says_little():
    batch = EventBudget()
    for _ in range(5):
        batch.run_timed(lambda size: REACHED, PAUSED)
    assert batch.size == 1000
    batch.run_timed(lambda size: pretend(1.0) - PAUSED, PAUSED)
    assert batch.size < 1000
