"""Outcomes made ahead of time by the loop's own thread, in a fixed order, and how many of them were taken."""

from contextlib import contextmanager

import numpy as np
from pytest import MonkeyPatch

from hpcchain.jit.decorators import concurrent
from hpcchain.layout import arrays as L
from hpcchain.sector import core
from hpcchain.sector.ahead import look as looking
from hpcchain.sector.ahead.helper import Helper, Worth
from hpcchain.sector.ahead.look import AT_ONCE
from hpcchain.sector.serial import Engine
from tests.support.identity import outcome_of, parallel


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
        super().__init__(Worth(always=True))
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


def in_turn_on_ranks(system, end, ranks, make=InTurn, **options):
    """Return the Outcome of ranks whose loops take outcomes made by helpers, and all these, one for each sector built.

    `make` returns a helper that has no thread.
    """
    helpers = []

    def made(worth):
        helpers.append(make())
        return helpers[-1]

    with MonkeyPatch.context() as patch:
        patch.setattr(core, "Helper", made)
        patch.setattr(core.EventBudget, "run_timed", lambda _, call, used_up: call(1))
        outcome = parallel(system, end, ranks, **{"threads": 2} | options)
    return outcome, helpers


def taken(engine):
    """Return how many events were taken from slots, and how many were looked for there in vain."""
    return tuple(int(engine.sector.ahead[k]) for k in (L.AHEAD_TAKEN, L.AHEAD_MISSED))


def taken_by(helpers):
    """Return what `taken` does, over the sectors that these helped last."""
    ahead = [helper._helped.ahead for helper in helpers if helper._helped is not None]
    return tuple(sum(int(one[k]) for one in ahead) for k in (L.AHEAD_TAKEN, L.AHEAD_MISSED))
