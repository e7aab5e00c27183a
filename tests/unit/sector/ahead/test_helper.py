"""The same bits whether the loop takes outcomes made ahead of time or not: in a fixed order, and by a second thread."""

import os
from threading import get_native_id
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config

from hpcchain.layout import arrays as L
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.ahead import helper as helper_module
from hpcchain.sector.ahead.helper import can_help, own_arrays
from hpcchain.sector.serial import Engine
from tests.property.test_propagator_identity import WAYS, start
from tests.support.ahead import InTurn, in_turn, in_turn_on_ranks, taken, taken_by
from tests.support.bodies import gas as bodies
from tests.support.gases import MIXTURE, gas
from tests.support.identity import outcome_of, parallel, require_same, serial

END = 9.0
SMALL = ["chain3", "dimer", "dimer"]
THREADS = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain Python has one thread")


def crowd(**settings):
    """Return a System of molecules close together."""
    return gas(SMALL * 9, 1, 2.5, **settings)


@pytest.mark.parametrize("events", [1, 3])
@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_outcomes_in_turn_leave_no_trace(events, restitution):
    """Looked for before each event, and before each third: then some are out of date when they would be taken."""
    system = crowd(restitution=restitution)
    one = serial(system, END)
    two, engine = in_turn(system, END, InTurn(events))
    require_same(one, two, "outcomes in turn")
    found, missed = taken(engine)
    assert len(one.events) > 60 and found > missed > 0


@pytest.mark.parametrize("boundary", [(0, 1, 1), (2, 0, 1)])
def test_walls_and_open_sides(boundary):
    system = crowd(boundary=boundary)
    one = serial(system, END)
    two, engine = in_turn(system, END)
    require_same(one, two, "with walls")
    assert engine.counters["wall_contacts"] > 20 and taken(engine)[0] > 100


def test_single_beads_among_molecules():
    """Their contacts go the old way."""
    system = gas(MIXTURE * 3, 1, 4.2)
    one = serial(system, END)
    two, engine = in_turn(system, END)
    require_same(one, two, "with single beads")
    assert taken(engine)[0] > 100


@THREADS
@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_a_second_thread_leaves_no_trace(restitution):
    system = crowd(restitution=restitution)
    one = serial(system, END)
    engine = Engine(system, log_events=True, threads=2)
    for time in np.linspace(0.1, END, 30):
        engine.advance(time)
    require_same(one, outcome_of(engine, END), "two threads")
    assert engine.sector.ahead[L.AHEAD_SECTOR] == 0 and sum(taken(engine)) > 100


@pytest.mark.parametrize("restitution", [1.0, 0.7])
@pytest.mark.parametrize("ranks", [2, 3])
def test_outcomes_in_turn_leave_no_trace_in_windows(restitution, ranks):
    """Of ghosts, too; and where molecules have been rolled back, which have the serial numbers of before."""
    system = gas(["chain3", "dimer", "dimer", "monomer"] * 9, 1, 2.6, restitution=restitution, boundary=(0, 1, 1))
    one = serial(system, END)
    two, helpers = in_turn_on_ranks(system, END, ranks, times=(1.1, 2.3), window=1.0)
    require_same(one, two, "outcomes in turn, in windows")
    found, missed = taken_by(helpers)
    assert sum(report["restored"] for report in two.reports) > 10 and found > 1000 and missed > 0


@THREADS
def test_a_second_thread_of_each_rank_leaves_no_trace():
    system = crowd()
    require_same(serial(system, END), parallel(system, END, 3, threads=2), "threads in windows")


def test_what_help_is_worth_is_known_when_sectors_are_built_anew():
    def body(exchange):
        engine = WindowedEngine(crowd(), exchange, threads="auto")
        before = engine.core.helper
        engine.ghosts.rebuild_ghosts(engine.now, engine.window)
        return engine.core.helper is not before and engine.core.helper.worth is before.worth

    assert on_ranks(2, body) == [True, True]


@THREADS
def test_the_second_thread_takes_no_time_from_others(monkeypatch):
    found = {}

    def stay_ahead(*_):
        found[get_native_id()] = os.sched_getscheduler(0)

    monkeypatch.setattr(helper_module, "stay_ahead", stay_ahead)
    engine = Engine(crowd(), threads=2)
    engine.advance(0.1)
    engine.core.helper._thread.join()
    assert found.pop(get_native_id()) == os.sched_getscheduler(0) != os.SCHED_IDLE  # compiled here, and nothing else
    assert found and set(found.values()) == {os.SCHED_IDLE}


@THREADS
def test_nothing_waits_for_a_second_thread_that_has_no_processor():
    """It is at work with the former arrays for as long; then it is given the new ones."""
    system, end = crowd(), 3.0
    engine = Engine(system, log_events=True, threads=2)
    engine.advance(1.0)
    helper = engine.core.helper
    helper._thread.join()
    finished, helper._thread = helper._thread, SimpleNamespace(is_alive=lambda: True)
    engine.core.grow_lists()
    before = taken(engine)
    engine.advance(2.0)
    assert taken(engine) == before and engine.sector is not helper._helped
    helper.small.ahead[L.AHEAD_TAGS :] = 0  # outcomes whose series are in the former arrays
    helper._thread = finished
    assert helper._fits(engine.sector) and (helper.small.ahead[L.AHEAD_TAGS :] == L.NO_TAG).all()
    engine.advance(end)
    require_same(serial(system, end), outcome_of(engine, end), "a thread that comes late")
    assert engine.sector is helper._helped


@THREADS
def test_a_call_of_the_loop_leaves_an_outcome_alone_that_is_still_being_made():
    """The second thread may lose its processor in the midst of one, whose time is in the small sector."""
    engine = Engine(crowd(), threads=2)
    engine.advance(1.0)
    helper = engine.core.helper
    helper._thread.join()
    helper._thread = SimpleNamespace(is_alive=lambda: True)
    taken_over = "ahead", "mol_own"  # blocks of series are exchanged
    own = [array for name, array in helper._own.items() if array is not None and name not in taken_over]
    before = [array.tobytes() for array in own]
    engine.advance(2.0)
    assert [array.tobytes() for array in own] == before


@THREADS
def test_a_second_thread_that_does_not_help_rests():
    engine = Engine(crowd(), threads="auto")
    engine.core.helper.worth.helps = engine.core.helper.worth._best = False
    engine.advance(1.0)
    assert engine.core.helper._thread is None and taken(engine) == (0, 0) and engine.counters["contacts"] >= 5


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_every_propagator(way, tmp_path):
    """With two threads, on ranks before and after, it is in `test_propagator_identity`."""
    system = start(tmp_path, WAYS[way])
    two, engine = in_turn(system, 0.5)
    require_same(serial(system, 0.5), two, way)
    found, missed = taken(engine)
    assert found > 20
    if WAYS[way].get("step"):  # all segments end at one instant, and only the first of them is at hand
        assert found > 5 * missed


@pytest.mark.long
def test_rigid_bodies():
    system = bodies(["bent", "cross", "tetrahedron", "many"] * 3, 1)
    one = serial(system, END)
    two, engine = in_turn(system, END)
    require_same(one, two, "bodies")
    assert taken(engine)[0] > 50


def test_larger_molecules_do_not_fit(monkeypatch):
    """Molecules of more beads than that go the old way."""
    monkeypatch.setattr(helper_module, "MOST_BEADS", 2)
    system = crowd()
    two, engine = in_turn(system, END)
    require_same(serial(system, END), two, "small slots")
    found, missed = taken(engine)
    assert found > 50 and missed > found / 4
    assert len(engine.core.helper.small.starts) == 2 * L.SLOTS * 2


def test_arrays_that_are_replaced_are_found_again():
    """Lists that are full, and series that are packed anew: between two calls of the loop."""
    system = crowd()
    two, engine = in_turn(system, 1.0)
    engine.core.grow_lists()
    engine.core.sector = engine.core.sector._replace()
    engine.advance(END)
    whole = outcome_of(engine, END)
    one = serial(system, END)
    assert [a.tobytes() for a in whole.frame] == [a.tobytes() for a in one.frame]
    assert len(two.events) + len(whole.events) == len(one.events)


def test_systems_that_gain_nothing_have_no_helper():
    assert not can_help(Engine(gas(["monomer"] * 8, 1)).sector)
    assert Engine(gas(["monomer"] * 8, 1), threads=2).core.helper is None
    assert Engine(gas(["chain3"] * 8, 1)).core.helper is None
    assert Engine(gas(["chain3"] * 8, 1), threads=2).core.helper is not None


# Arrays that outcomes are made of without writing there, or that events of smooth hard beads leave as they are. Of
# `series` each thread writes its own rows' alone.
SHARED = (
    "event_time next_event origin_time flight neighbour free_lists cells origin_fractions cell_entries next_line slabs "
    "where mol_class window_molecule top_speed away holder series table graph bonded bond_row free_rows "
    "window_event owner_history owner_history_at altered rolled_back rolled_back_to drifted_pairs stale_cells "
    "prefetch_state extra coefficients walls potential limited limited_row limits chain_part centre "
    "centre_change arms"
).split()


def test_no_array_is_written_by_both_threads_unawares():
    """Each array of a sector is the helper's own, or one that it is known not to write."""
    own = {name for name, given in own_arrays(Engine(crowd(), threads=2).sector).items() if given is not None}
    assert sorted([*own, *SHARED]) == sorted(L.FIELDS)
