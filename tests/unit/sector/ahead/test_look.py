"""Outcomes made ahead of time: those of the events that come next, as the engine itself makes them, and no others."""

from types import FunctionType

import numpy as np
import pytest

from hpcchain.jit.decorators import concurrent
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import begin_writing, write_serial
from hpcchain.sector.ahead import look as looking
from hpcchain.sector.ahead.look import FIRST, WHICH
from hpcchain.sector.segments.new_segment import close_rows
from hpcchain.sector.serial import Engine
from tests.support.ahead import InTurn, look
from tests.support.gases import gas

NAMES = ["chain3", "dimer", "chain3", "dimer", "dimer", "chain3", "chain3", "dimer"]


@concurrent
def first_entries(s, small):
    """Call `_first_entries`."""
    return looking._first_entries(s, small)


@concurrent
def begin(s, m):
    """Call `begin_writing`, which is inlined."""
    begin_writing(s, m)


@concurrent
def end(s, m, serial):
    """Call `write_serial`, which is inlined."""
    write_serial(s, m, serial)


@pytest.fixture
def sectors():
    """Return a sector of molecules in motion, its small one, and the ticks that keys are relative to."""
    engine = Engine(gas(NAMES * 4, 1, 2.6), threads=2)
    engine.core.helper = InTurn()
    engine.advance(0.3)
    small = engine.core.helper.small
    give_up(small)
    return engine.sector, small


def give_up(small):
    """Have all slots be free."""
    small.ahead[L.AHEAD_TAGS :] = L.NO_TAG
    small.slots[:, L.SLOT_KEY] = -np.inf


def tags(small):
    """Return the slots that have an event."""
    return np.flatnonzero(small.ahead[L.AHEAD_TAGS :] != L.NO_TAG)


def test_the_first_entries_are_those_of_the_queue_in_order(sectors):
    s, small = sectors
    leaves = s.key.ravel()[len(s.key) + 2 :][: s.scalars[L.SCALAR_MOLECULES]]
    assert first_entries(s, small) == FIRST
    assert small.key[:FIRST, 0].tolist() == np.sort(leaves)[:FIRST].tolist()
    assert leaves[small.winner[:FIRST, WHICH]].tolist() == small.key[:FIRST, 0].tolist()
    assert len(set(small.winner[:FIRST, WHICH].tolist())) == FIRST


def test_the_entries_of_a_small_queue_are_all_found():
    engine = Engine(gas(NAMES[:3], 1, 2.6), threads=2)
    engine.core.helper = InTurn()
    engine.advance(0.0)
    assert first_entries(engine.sector, engine.core.helper.small) == 3


def test_each_event_has_one_slot(sectors):
    s, small = sectors
    made = look(s, small, 100)
    assert 3 <= made == len(tags(small)) < FIRST
    assert look(s, small, 100) == 0
    assert (small.slots[tags(small), L.SLOT_KEY] > s.key[L.TOP, L.ROOT]).all()


def test_a_molecule_that_changes_has_no_outcome(sectors):
    s, small = sectors
    look(s, small, 100)
    tag = int(small.ahead[L.AHEAD_TAGS + tags(small)[0]])
    m = s.segment[tag, L.MOLECULE] if tag >= 0 else -2 - tag
    number = len(tags(small))
    give_up(small)
    serial = s.timing[m, L.SERIAL]
    begin(s, m)
    assert look(s, small, 100) == number - 1
    end(s, m, serial)
    assert look(s, small, 100) == 1


def test_a_segment_that_is_closed_is_marked(sectors):
    s, _ = sectors
    serials = s.timing[:, L.SERIAL].copy()
    close_rows(s, 3, 3)
    assert s.timing[3, L.SERIAL] < 0.0
    assert np.delete(s.timing[:, L.SERIAL], 3).tolist() == np.delete(serials, 3).tolist()
    assert (serials >= 0.0).all()


def test_a_slot_is_not_used_again_before_its_event_is_over(sectors):
    s, small = sectors
    look(s, small, 100)
    kept = tags(small)
    small.ahead[L.AHEAD_TAGS :] = 10**9  # all have some event
    small.slots[:, L.SLOT_KEY] = s.key[L.TOP, L.ROOT]
    assert look(s, small, 100) == 0
    small.slots[kept[0], L.SLOT_KEY] = np.nextafter(s.key[L.TOP, L.ROOT], -np.inf)
    assert look(s, small, 1) == 1
    assert np.flatnonzero(small.ahead[L.AHEAD_TAGS :] != 10**9).tolist() == [kept[0]]


def test_a_slot_is_left_alone_whose_event_the_loop_comes_to_again(sectors):
    """In a window the loop may be set back while the slot is given up, and have seen the tag before."""
    s, small = sectors
    look(s, small, 100)
    first, second = tags(small)[:2]
    key = s.key[L.TOP, L.ROOT]
    small.slots[:, L.SLOT_KEY] = np.inf
    small.slots[[first, second], L.SLOT_KEY] = key
    small.ahead[L.AHEAD_NEXT] = first
    small.ahead[L.AHEAD_TAGS : L.AHEAD_TAGS + first] = 10**9

    def set_back():
        s.key[L.TOP, L.ROOT] = key

    source = looking._free_slot.py_func
    plain = {"load_acquire": lambda array, *at: array[at], "fence_full": set_back}
    free_slot = FunctionType(source.__code__, source.__globals__ | plain)
    s.key[L.TOP, L.ROOT] = later = np.nextafter(key, np.inf)
    assert free_slot(s, small) == -1 and first not in tags(small)
    plain["fence_full"] = lambda: None
    free_slot = FunctionType(source.__code__, source.__globals__ | plain)
    assert free_slot(s, small) == -1
    s.key[L.TOP, L.ROOT] = later
    assert free_slot(s, small) == first


def test_an_outcome_that_is_taken_gives_its_slot_back():
    engine = Engine(gas(NAMES * 4, 1, 2.6), threads=2)
    engine.core.helper = engine.core.batch = InTurn()
    engine.advance(1.0)
    assert engine.sector.ahead[L.AHEAD_TAKEN] > L.SLOTS
    small = engine.core.helper.small
    has_none = small.ahead[L.AHEAD_TAGS :] == L.NO_TAG
    assert np.isneginf(small.slots[has_none, L.SLOT_KEY]).any()
    assert (small.slots[~has_none, L.SLOT_KEY] > -np.inf).all()


class Compared(InTurn):
    """Keeps what slots have before each event, and compares it with what the loop, which takes nothing, makes of it."""

    def __init__(self):
        super().__init__()
        self.compared = 0

    def run_timed(self, call, used_up):
        """Carry out one event without the slots; compare what it changed with the slot that has it."""
        s, small = self._helped, self.small
        s.ahead[L.AHEAD_SECTOR] = 0
        before, counted, summed = s.timing[:, L.SERIAL].copy(), s.count.copy(), s.scalars.copy()
        status = call(1)
        now = s.timing[:, L.SERIAL]
        for slot in tags(small):
            bead, partner = (int(small.slots[slot, k]) for k in (L.SLOT_BEAD, L.SLOT_PARTNER))
            m = s.segment[bead, L.MOLECULE]
            other = s.segment[partner, L.MOLECULE] if partner >= 0 else m
            serials = small.slots[slot, [L.SLOT_SERIAL, L.SLOT_OTHER_SERIAL]].tolist()
            begun = s.starts[bead, [L.START_TICKS, L.START_REM]].tolist()
            at = small.slots[slot, [L.SLOT_TICKS, L.SLOT_REM]].tolist()
            if now[m] != before[m] and serials == [before[m], before[other]] and begun == at:
                self.require_same(s, small, slot, m, other)
                made = small.slots[slot, L.SLOT_COUNTS :]
                looked = [L.N_CONTACTS, L.N_WALL_CONTACTS, L.N_GRAZES, L.N_ORDERS, L.N_SEGMENTS, L.N_STEPS, L.N_NODES]
                assert (s.count - counted)[looked].tolist() == made[looked].tolist()
                sums = small.slots[slot, L.SLOT_SUMS : L.SLOT_SUMS + L.SUMS]
                assert (s.scalars - summed)[L.SCALAR_SUMS : L.SCALAR_SUMS + L.SUMS].tolist() == sums.tolist()
                self.compared += 1
        return status

    def require_same(self, s, small, slot, m, other):
        """Fail where the segments of an event's molecules are not those that its slot has."""
        for r, k in ((2 * slot, m), (2 * slot + 1, other))[: 1 + (m != other)]:
            n, first, at = s.mol[k, L.MOL_BEADS], s.mol[k, L.MOL_FIRST], small.mol[r, L.MOL_FIRST]
            for name in ("starts", "bounds", "swept"):
                made = getattr(small, name)[at : at + n]
                assert getattr(s, name)[first : first + n].tobytes() == made.tobytes(), name
            assert s.segment[first : first + n, 0].tolist() == small.segment[at : at + n, 0].tolist()
            assert s.timing[k, L.LENGTH] == small.timing[r, L.LENGTH]
            assert s.running_length[k] == small.running_length[r]
            image = slice(L.MOL_IMAGE, L.MOL_IMAGE + L.AXES)
            assert s.mol[k, image].tolist() == small.mol[r, image].tolist()


@pytest.mark.parametrize("boundary", [(0, 0, 0), (0, 1, 1)])
def test_outcomes_are_what_the_engine_makes_of_the_events(boundary):
    """With periodic and with plain walls; the loop takes nothing here."""
    engine = Engine(gas([*NAMES, "ring"] if boundary[1] else NAMES, 1, 2.8, boundary=boundary), threads=2)
    engine.core.helper = engine.core.batch = compared = Compared()
    engine.advance(9.0)
    assert compared.compared > 50 and engine.counters["contacts"] > 10
    assert engine.sector.ahead[L.AHEAD_TAKEN] == 0
