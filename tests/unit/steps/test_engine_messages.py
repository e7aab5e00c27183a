"""How many messages go to each neighbour in a step of the engine."""

from time import perf_counter

import numpy as np
import pytest

from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.steps.domain import Refresh
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.local_beads import PHASES
from tests.support.stepped import LJ, dealt, liquid, require_equal, run_on, system_of


def counted(system, steps):
    """Return rows (steps, 3): the ghosts' refreshes of a rank, contacts of all ranks, lists made anew, step by step."""

    def run(comm):
        engine = SteppedEngine(dealt(system, comm), comm)
        rows, h = [], system.physics.steps.step
        for k in range(1, steps + 1):
            before = dict(engine.counters)
            engine.beads.refresh.calls = 0
            engine.advance(round(k * h, 6))
            after = engine.counters
            met = after["contacts"] + after["wall_contacts"] - before["contacts"] - before["wall_contacts"]
            rows.append(
                (getattr(engine.beads.refresh, "calls", 0), met, after["list_rebuilds"] - before["list_rebuilds"])
            )
        return rows

    parts = np.array(on_ranks(2, run))
    return np.column_stack([parts[0, :, 0], parts[:, :, 1].sum(axis=0), parts[0, :, 2]])


@pytest.fixture
def counting(monkeypatch):
    plain = Refresh.__call__

    def call(self, position):
        self.calls = getattr(self, "calls", 0) + 1
        plain(self, position)

    monkeypatch.setattr(Refresh, "__call__", call)


@pytest.mark.parametrize("hard, predictions", [(False, 1), (True, 1), (True, 2)])
def test_one_message_a_step_without_contacts_and_one_more_with(counting, hard, predictions):
    """With further predictions there is one for each, and none after the last."""
    tables = liquid(3, beads=150, chains=0, steps={"predictions": predictions})
    for kind in tables["molecule"]:
        kind |= {"hard": hard, "diameter": 1.2}
        del kind["rigid"]
    tables["initial"]["temperature"] = 4.0
    tables |= {"potential": []} if hard else {}
    rows = counted(system_of(tables), 120)
    calls, met, rebuilt = rows.T
    quiet, struck = (met == 0) & (rebuilt == 0), (met > 0) & (rebuilt == 0)
    assert np.count_nonzero(quiet) > 20 and np.all(calls[quiet] == 1)
    assert not hard or (np.count_nonzero(struck) > 3 and np.all(calls[struck] == 2))


@pytest.mark.parametrize("integrator", ["gvi", "contact"])
def test_parts_of_steps_add_up_to_their_time(integrator):
    tables = liquid(3, beads=150, chains=0, potential=[], steps={"integrator": integrator})
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": 1.2}
        del kind["rigid"]
    system = system_of(tables)

    def run(comm):
        engine = SteppedEngine(dealt(system, comm), comm)
        assert not any(engine.seconds.values())
        begin = perf_counter()
        for k in (1, 2, 3):
            engine.advance(round(0.1 * k, 6))
        return perf_counter() - begin, engine.seconds

    for wall, parts in on_ranks(2, run):
        assert set(parts) == set(PHASES) and min(parts.values()) > 0.0, parts
        assert 0.9 * wall < sum(parts.values()) <= wall


def drifting(seed):
    """Return the input of hard beads that attract and drift together through the box's face, without contacts."""
    tables = liquid(seed, beads=90, chains=0, potential=[LJ | {"epsilon": 100.0}])
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": 0.5, "velocities": [[-20.0, 1.0, 0.0]] * kind["count"]}
        del kind["rigid"]
    return tables


def test_ghosts_are_where_their_owners_have_them_also_after_these_came_back_into_the_box():
    system = system_of(drifting(4))

    def run(comm):
        engine, off = SteppedEngine(dealt(system, comm), comm, skin=2.0), 0
        place = np.empty((system.topology.beads, 3))
        for k in range(1, 181):
            engine.advance(round(0.005 * k, 3))
            for ids, rows in comm.allgather((engine.ids, engine.beads.position[engine.beads.local])):
                place[ids] = rows
            off += not np.array_equal(engine.beads.position, place[engine.beads.interactions.ids])
        return off, int(np.abs(engine.beads.own.image).max()), engine.beads.rebuilds

    assert [(off, image > 0, rebuilds < 90) for off, image, rebuilds in on_ranks(3, run)] == [(0, True, True)] * 3


def test_clusters_across_ranks_are_all_solved():
    """Several pairs, of two ranks each, that strike in the same step."""
    high = np.array([[x, y, 6.0] for x in (2.0, 5.0, 8.0) for y in (2.0, 5.0, 8.0)])
    low = high - [0.0, 0.0, 1.04]
    tables = liquid(1, beads=10, chains=0, potential=[])
    given = {"positions": low.tolist() + high.tolist(), "velocities": [[0.0, 0.1, 5.0]] * 9 + [[0.0, 0.0, -5.0]] * 9}
    tables["molecule"] = [{"name": "A", "kind": "monomer", "count": 18, "diameter": 1.0} | given]
    system = system_of(tables)

    def run(comm):
        engine = SteppedEngine(dealt(system, comm), comm, sectors=(1, 1, 2))
        engine.advance(0.05)
        return len(engine.ids), engine.counters["contacts"]

    parts = on_ranks(2, run)
    assert sorted(parts) == [(9, 0), (9, 9)]
    alone = run_on(system, 0.05, 1)
    assert np.all(alone[1][:9, 2] < -4.0)
    require_equal(alone, run_on(system, 0.05, 2, sectors=(1, 1, 2)))
