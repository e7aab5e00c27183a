"""When the loop has help: while it is faster with it, and again later where it was not."""

import pytest

from hpcchain.sector.ahead.helper import BEFORE_TRIALS, STRETCH, TRIALS, WAIT, Worth

SEGMENTS = 1000


def carried(worth, gain, stretches, calls=1):
    """Have a loop go on for so many stretches, which help makes `gain(k)` times as fast; return when it had help."""
    helped = []
    for k in range(stretches):
        helped.append(worth.helps)
        seconds = 1.01 * STRETCH
        for _ in range(calls):
            worth.note(seconds / calls, seconds / calls, int(SEGMENTS * (gain(k) if worth.helps else 1.0)) // calls)
    return helped


@pytest.mark.parametrize(("gain", "share"), [(1.4, 0.95), (1.02, 0.05), (0.5, 0.05)])
def test_the_faster_way_is_taken(gain, share):
    """But for the trials, of which a few come at the start."""
    helped = carried(Worth(), lambda k: gain, 20 * WAIT)[4 * TRIALS :]
    found = sum(helped) / len(helped)
    assert found > share if gain > 1.05 else 0.0 < found < share


def test_help_stops_where_it_harms_and_starts_again():
    worth = Worth()
    helped = carried(worth, lambda k: 0.5 if 10 * WAIT <= k < 20 * WAIT else 1.4, 30 * WAIT)
    last = 8 * WAIT, 18 * WAIT, 28 * WAIT
    shares = [sum(helped[k : k + 2 * WAIT]) / (2 * WAIT) for k in last]
    assert shares[0] > 0.9 and shares[1] < 0.1 and shares[2] > 0.9


def test_one_slow_moment_decides_nothing():
    worth = Worth()
    carried(worth, lambda k: 1.4, 10 * WAIT)
    worth.helps = worth._best
    worth.note(10.0, 1.0, SEGMENTS)  # the machine stood still
    helped = carried(worth, lambda k: 1.4, 3 * WAIT)
    assert sum(helped) > 2.8 * WAIT


def test_short_calls_add_up():
    """Calls of the loop may be short, as between frames."""
    one, many = carried(Worth(), lambda k: 0.5, 200), carried(Worth(), lambda k: 0.5, 200, calls=10)
    assert one == many


def test_calls_in_which_nothing_happens_decide_nothing():
    worth = Worth()
    for _ in range(100):
        worth.note(1.0, 1.0, 0)
    assert not worth.helps


def test_a_short_run_has_no_help():
    helped = carried(Worth(), lambda k: 1.4, BEFORE_TRIALS + 2)
    assert helped == [False] * (BEFORE_TRIALS + 1) + [True]


@pytest.mark.parametrize("clock", [0, 1])
def test_help_is_to_gain_by_both_clocks(clock):
    """A thread that takes the loop's processor costs wall time alone; one that slows it down costs both."""
    worth, helped = Worth(), []
    for _ in range(10 * TRIALS):
        spent = [STRETCH / (1.4 if worth.helps else 1.0)] * 2
        spent[clock] = STRETCH * (2.0 if worth.helps else 1.0)
        worth.note(2.0 * spent[0], 2.0 * spent[1], SEGMENTS)
        helped.append(worth.helps)
    assert sum(helped[2 * TRIALS :]) < TRIALS
