"""Runs in steps have the same bits on any number of ranks, with any lists, and across restarts."""

from dataclasses import replace

import pytest

from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import liquid, require_equal, run_on, system_of

END = 0.4
GRAVITY = {"external": {"gravity": [0.0, 0.3, -1.0]}}


@pytest.mark.parametrize("seed, ranks", [(1, 2), (2, 3), (3, 5)])
def test_ranks_leave_no_trace(seed, ranks):
    system = system_of(liquid(seed, **(GRAVITY if seed == 2 else {})))
    require_equal(run_on(system, END, 1), run_on(system, END, ranks))


@pytest.mark.parametrize("skin", [0.11, 0.9])
def test_lists_leave_no_trace(skin):
    system = system_of(liquid(4))
    require_equal(run_on(system, END, 1), run_on(system, END, 1, skin=skin))


def test_restarts_leave_no_trace():
    system = system_of(liquid(5))
    once = run_on(system, END, 1)
    for time, ranks in ((0.13, 1), (0.27, 3)):
        system = replace(system, state=run_on(system, time, ranks)[4])
    require_equal(once, run_on(system, END, 2))


def test_lists_are_made_at_the_same_steps_on_any_ranks():
    from hpcchain.parallel.thread_ranks import on_ranks

    system = system_of(liquid(6))

    def rebuilds(comm):
        engine = SteppedEngine(system, comm)
        found = []
        for k in range(1, 61):
            engine.advance(round(0.005 * k, 3))
            found.append(engine.beads.rebuilds)
        return found

    alone, (one, other, _) = rebuilds(None), on_ranks(3, rebuilds)
    assert alone == one == other and alone[-1] > 2
