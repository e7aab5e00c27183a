"""Ghosted sectors that follow one another: what is counted goes on from one to the next."""

from dataclasses import replace

from hpcchain.layout.arrays import COUNTERS
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas


def test_what_placing_molecules_takes_is_not_counted():
    """Segments of a stopped run begin at different times: a first sector carries all beads to the latest of these."""
    system = gas(MIXTURE, 1, 4.3)
    engine = Engine(system)
    engine.advance(0.5)
    stopped = replace(system, state=engine.state())

    def body(exchange):
        engine = WindowedEngine(stopped, exchange)
        begin = engine.counters
        engine.advance(0.6)
        return begin, engine.counters

    for begin, end in on_ranks(2, body):
        assert {begin[name] for name in COUNTERS} == {0}
        assert end["bead_segments"] > 0
