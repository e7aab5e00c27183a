"""Outcomes made ahead of time by the loop's own thread, in a fixed order, and how many of them were taken."""

from contextlib import contextmanager

import numpy as np

from hpcchain.jit.decorators import concurrent
from hpcchain.layout import arrays as L
from hpcchain.sector.ahead import look as looking
from hpcchain.sector.ahead.helper import Helper
from hpcchain.sector.ahead.look import AT_ONCE
from hpcchain.sector.serial import Engine
from tests.support.identity import outcome_of


@concurrent
def look(s, w, most):
    """Make the outcomes of at most so many of the first events of the queue; return how many were made."""
    made = np.int64(0)
    while made < most:
        more = looking._look(s, w, min(most - made, AT_ONCE))
        if more == 0:
            break
        made += more
    return made


class InTurn(Helper):
    """Looks ahead before each call of the loop, which is of so many events, and has no thread.

    Parameters
    ----------
    events : int
        Of each call of the loop.
    most : int
        Outcomes that are made before it at most.
    """

    def __init__(self, events=1, most=8):
        super().__init__()
        self.size, self.most = events, most

    @contextmanager
    def working(self, s, small):
        """Look once."""
        look(s, small, self.most)
        yield

    def run_timed(self, call, used_up):
        """Do what `core.EventBudget` does, with calls of one size."""
        return call(self.size)


def in_turn(system, end, helper=None, **options):
    """Return the Outcome of the engine of one rank that takes outcomes made by a helper, and that engine."""
    engine = Engine(system, log_events=True, threads=2, **options)
    engine.core.helper = engine.core.batch = helper or InTurn()
    engine.advance(end)
    return outcome_of(engine, end), engine


def taken(engine):
    """Return how many events were taken from slots, and how many were looked for there in vain."""
    return tuple(int(engine.sector.ahead[k]) for k in (L.AHEAD_TAKEN, L.AHEAD_MISSED))
