"""The seconds of windows by their parts: all of a rank's time, whatever breaks a window."""

import itertools
from time import perf_counter

import pytest

from hpcchain.parallel import windows
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import PHASES, WindowedEngine, WindowStatistics
from tests.support.gases import MIXTURE, gas


def test_the_parts_of_a_two_rank_run_add_up_to_its_time():
    system = gas(MIXTURE * 3, seed=5, pitch=3.2, restitution=0.9)

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=0.05)
        begin = perf_counter()
        engine.advance(0.5)
        engine.advance(1.0)
        return engine.seconds, perf_counter() - begin

    for seconds, spent in on_ranks(2, body):
        assert tuple(seconds) == PHASES and all(part >= 0.0 for part in seconds.values())
        assert min(seconds["computing"], seconds["waiting"], seconds["steering"]) > 0.0
        assert 0.0 <= spent - sum(seconds.values()) <= 0.2 + 0.05 * spent  # other programs may hold the processor


def test_steering_is_all_that_other_parts_leave(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(windows, "perf_counter", lambda: float(next(ticks)))
    statistics = WindowStatistics()
    with statistics.spent("steering"):
        with statistics.spent("waiting"):
            next(ticks)
        for _ in range(3):
            next(ticks)
        with statistics.spent("rebuilding"):
            pass
    assert {name: spent for name, spent in statistics.seconds.items() if spent} == {
        "waiting": 2.0,
        "rebuilding": 1.0,
        "steering": 6.0,
    }


def test_a_part_that_fails_is_counted():
    statistics = WindowStatistics()
    with pytest.raises(ZeroDivisionError), statistics.spent("steering"), statistics.spent("computing"):
        begin = perf_counter()
        while perf_counter() < begin + 0.01:
            pass
        raise ZeroDivisionError
    assert statistics.seconds["computing"] >= 0.01 > statistics.seconds["steering"] >= 0.0
