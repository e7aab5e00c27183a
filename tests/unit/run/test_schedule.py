"""Schedules: every multiple once, at the decimal it is meant to be, whenever a run begins or goes on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcchain.run.schedule import Schedule


def times(schedule, until):
    """Serve a schedule up to a time and return the times served."""
    found = []
    while schedule.next <= until:
        found.append(schedule.next)
        assert schedule.due(schedule.next) and not schedule.due(math.nextafter(schedule.next, math.inf))
        schedule.serve()
    return found


def test_multiples_are_rounded_once_from_the_decimal():
    assert times(Schedule(0.1), 1.05) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert times(Schedule(0.35), 1.1) == [0.0, 0.35, 0.7, 1.05]
    assert times(Schedule(1e-5), 2.5e-5) == [0.0, 1e-05, 2e-05]


def test_different_intervals_meet_at_the_same_bits():
    tenths, others = times(Schedule(0.1), 30.0), times(Schedule(0.7), 30.0)
    assert len(set(tenths) & set(others)) == 43


@pytest.mark.parametrize(
    ("start", "served", "first"),
    [
        (0.0, None, 0.0),
        (0.0, 0.0, 0.3),
        (0.3, None, 0.3),
        (0.3, 0.3, 0.6),
        (0.3, 0.0, 0.3),
        (0.31, 0.3, 0.6),
        (math.nextafter(0.3, 0.0), 0.0, 0.3),
        (math.nextafter(0.3, 1.0), 0.0, 0.6),
        (0.7, 0.65, 0.9),
    ],
)
def test_where_it_goes_on(start, served, first):
    assert Schedule(0.3, start, served).next == first


@given(st.floats(1e-6, 1e6), st.floats(0.0, 1e3), st.integers(0, 5))
def test_stopped_anywhere_it_serves_the_same_times(every, steps, more):
    """Every stop: at a due time served or not, or between two."""
    stop = every * steps
    whole = Schedule(every, stop)
    expected = [whole.next]
    for _ in range(more):
        whole.serve()
        expected.append(whole.next)
    assert expected == sorted(set(expected)) and expected[0] >= stop
    found, served = [], None
    for _ in range(more + 1):
        schedule = Schedule(every, stop if served is None else served, served)
        found.append(schedule.next)
        schedule.serve()
        served = schedule.served
    assert found == expected


@pytest.mark.parametrize("every", [1e-300, 1e300, 5e-324])
def test_absurd_intervals_still_move_on(every):
    schedule = Schedule(every, 1.0)
    first = schedule.next
    schedule.serve()
    assert 1.0 <= first < schedule.next or every == 1e300
