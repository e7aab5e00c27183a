"""Engines on some of the ranks while the others sleep: the bits of one rank, whoever has the molecules.

Ranks are threads, the engines are the real ones.
"""

import threading
import time as clock

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.io.output.events import sorted_rows
from hpcchain.model.system import State
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.tuning.active_ranks import ActiveRanksEngine
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.identity import Outcome, added, dealt, require_same, serial, sums_of, whole
from tests.support.long_chains import crowd, in_parts

END = 3.0


@pytest.fixture(scope="module")
def system():
    return gas(MIXTURE * 3, seed=5, pitch=3.2, restitution=0.9)


@pytest.fixture(scope="module")
def one(system):
    found = serial(system, END)
    assert len(found.events) > 60
    return found


def make(system, exchange):
    """Return the engine that a number of ranks have."""
    if exchange is None:
        return Engine(system, log_events=True)
    return WindowedEngine(system, exchange, log_events=True, window=0.05)


def outcome(system, size, ranks, part=dealt, pause=lambda exchange: lambda: False, stops=()):
    """Return the Outcome of a run in which so many of the ranks have molecules."""

    def body(exchange):
        engine = ActiveRanksEngine(part(system, exchange), exchange, make, ranks)
        for end in (*stops, END):
            while not engine.advance(end, pause(exchange)):
                pass
            engine.frame(end)
        assert engine.asleep == (exchange.rank >= ranks) and not (engine.asleep and len(engine.ids))
        return engine.ids, engine.drain_events(), engine.frame(END), engine.state(), sums_of(engine), engine.counters

    ids, events, frames, states, sums, counters = zip(*on_ranks(size, body), strict=True)
    events = np.concatenate(events)
    frame = tuple(whole(ids, rows) for rows in zip(*frames, strict=True))
    held = [
        (own, state) for own, state in zip(ids, states, strict=True) if len(own)
    ]  # of parts sleepers have no columns
    ids, states = zip(*held, strict=True)
    state = State(**{name: whole(ids, [getattr(s, name) for s in states]) for name in State.ARRAYS})
    assert sum(each["contacts"] + each["wall_contacts"] for each in counters) == len(events)
    return Outcome(events[sorted_rows(events)], frame, state, added(sums), [])


def same(found, one):
    require_same(found, one, "the run on some ranks")


@pytest.mark.parametrize(("size", "ranks"), [(2, 1), (3, 1), (3, 2), (4, 3), (5, 2), (5, 5)])
def test_the_bits_of_one_rank_while_others_sleep(system, one, size, ranks):
    same(outcome(system, size, ranks), one)


def test_every_rank_may_be_given_the_whole(system, one):
    for ranks in (1, 2):
        same(outcome(system, 3, ranks, part=lambda system, exchange: system), one)


def test_it_is_called_for_one_time_after_the_other(system, one):
    for ranks in (1, 3):
        same(outcome(system, 4, ranks, stops=(0.77, 1.5)), one)


def test_one_that_sleeps_stops_all(system, one):
    """Its own pause, which the others' engines do not see, ends their call early; the run goes on to the same bits."""
    stopped = []

    def pause(exchange):
        def asked():
            if exchange.rank == 2 and not stopped:
                stopped.append(clock.monotonic())
                return True
            if exchange.rank == 0 and not stopped:
                clock.sleep(0.01)
            return False

        return asked

    returned = []

    def body(exchange):
        engine = ActiveRanksEngine(dealt(system, exchange), exchange, make, 2)
        reached = engine.advance(1e3, pause(exchange))
        returned.append((reached, clock.monotonic()))
        return engine.time

    times = on_ranks(3, body)
    assert [reached for reached, _ in returned] == [False] * 3 and max(times) < 1e3
    stopped.clear()
    same(outcome(system, 3, 2, pause=pause), one)


def test_a_stale_call_stops_nothing(system):
    """One that sleeps asks for a stop when the others have already come to the end."""

    def body(exchange):
        engine = ActiveRanksEngine(system, exchange, make, 1)
        assert engine.advance(0.1, lambda: False)
        if exchange.rank == 1:
            exchange.send_note(0, (1, True))
        exchange.allgather(None)
        return engine.advance(0.2, lambda: False)

    assert on_ranks(2, body) == [True, True]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_failure_is_everybodys(system, ranks):
    def broken(given, exchange):
        engine = make(given, exchange)

        def advance(time, pause=None):
            raise EngineError("bead 3 at time 1")

        engine.advance = advance
        return engine

    def body(exchange):
        with pytest.raises(EngineError, match="bead 3 at time 1"):
            ActiveRanksEngine(system, exchange, broken, ranks).advance(1.0)
        return True

    assert on_ranks(3, body) == [True] * 3


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_failure_of_one_that_sleeps_is_everybodys(system, ranks):
    def body(exchange):
        def pause():
            if exchange.rank == 2:
                raise EngineError("its disk is full")
            return False

        engine = ActiveRanksEngine(system, exchange, make, ranks)
        with pytest.raises(EngineError, match="its disk is full"):
            engine.advance(1e3, pause)
        return engine.time < 1e3

    assert on_ranks(4, body)[0]


def test_a_failure_that_cannot_be_sent_is_sent_in_words(system):
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} {b}")
            self.lock = threading.Lock()

    def broken(given, exchange):
        engine = make(given, exchange)

        def advance(time, pause=None):
            raise Odd(1, 2)

        engine.advance = advance
        return engine

    def body(exchange):
        with pytest.raises(Odd if exchange.rank == 0 else EngineError, match="1 2"):
            ActiveRanksEngine(system, exchange, broken, 1).advance(1.0)
        return True

    assert on_ranks(2, body) == [True, True]


def test_a_sleeping_rank_knows_that_the_others_are_at_work(system, monkeypatch):
    """Only what the root sends counts as a step of one that sleeps."""
    monkeypatch.setattr("hpcchain.parallel.tuning.standby.BEAT", 0.0)
    steps = {}

    def body(exchange):
        engine = ActiveRanksEngine(system, exchange, make, 1)

        def pause():
            exchange.activity.note()
            clock.sleep(0.002)
            steps.setdefault(exchange.rank, []).append((exchange.activity.signs, engine.time))
            return exchange.rank == 0 and len(steps[0]) > 20

        engine.advance(1e4, pause)
        return exchange.activity.awaited

    assert on_ranks(2, body) == [None, None]
    beats = [count for count, _ in steps[1]]
    assert beats[-1] > beats[0] and len(steps[1]) > 0
    assert steps[1][-1][1] > 0.0


def test_the_time_of_one_that_sleeps_does_not_go_back(system, monkeypatch):
    monkeypatch.setattr("hpcchain.parallel.tuning.standby.BEAT", 1e9)
    seen = []

    def body(exchange):
        engine = ActiveRanksEngine(system, exchange, make, 1)

        def pause():
            if exchange.rank == 1:
                seen.append(engine.time)
            return exchange.rank == 0 and len(seen) > 0

        engine.advance(0.5)
        engine.advance(1e6, pause)

    on_ranks(2, body)
    assert min(seen) >= 0.5


def test_a_system_of_fewer_molecules_than_ranks():
    pair = gas(["dimer", "monomer"], seed=1, pitch=2.5)
    same(outcome(pair, 4, 3), serial(pair, END))
    assert pair.topology.molecules == 2


def test_long_chains_in_parts_are_given_to_those_at_work():
    """Their segments do not follow from where they begin: they are handed over with their series."""
    system = in_parts(crowd(3, (101, 130, 30), singles=20))
    for ranks in (1, 2):
        same(outcome(system, 3, ranks), serial(system, END))
