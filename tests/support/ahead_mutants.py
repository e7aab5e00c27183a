"""The engine with outcomes ahead of time, read at the worst moments, with one fault at a time put in; in plain Python.

A program, because kernels are taken apart: with NUMBA_DISABLE_JIT=1 they are Python functions that can be exchanged.
What a second thread might do at any time is done in the midst of events here: outcomes are made while segments are
half written, and while a slot is half taken. It prints a JSON object: fault -> what differs from a run without slots,
or null, and how many events were taken.

    NUMBA_DISABLE_JIT=1 python ahead_mutants.py
"""

import json
import sys

import numpy as np

from hpcchain.errors import HpcchainError
from hpcchain.layout import arrays as L
from hpcchain.sector.ahead import look, taking
from hpcchain.sector.segments import new_segment
from hpcchain.sector.speculation import rollback
from tests.support import ahead
from tests.support.ahead import InTurn, in_turn, in_turn_on_ranks, taken_by
from tests.support.gases import gas
from tests.support.identity import first_difference, serial

NAMES, END = ["chain3", "dimer", "chain3", "dimer", "dimer", "chain3", "chain3", "dimer"], 3.0
HELPERS = []
"""Those of the sectors built so far."""


class Interleaved(InTurn):
    """Looks ahead in the midst of events alone."""

    def __init__(self):
        super().__init__(most=0)
        HELPERS.append(self)


def glance(s):
    """Look while an event is carried out in sector s, but not in that of an outcome."""
    for helper in HELPERS:
        if s is helper._helped:
            ahead.look(s, helper.small, 1)


def watch(old):
    """Have helpers look while segments are half written, and between the two molecules of a slot that is taken."""

    def write_serial(s, m, number):
        glance(s)
        old["write_serial"](s, m, number)

    def write_start(s, i, p):
        glance(s)
        old["_write_start"](s, i, p)

    def copy_extra(s, i, j, n):
        glance(s)
        old["_copy_extra"](s, i, j, n)

    def take_molecule(s, w, r, m, number):
        old["_take_molecule"](s, w, r, m, number)
        if r % 2 == 0:
            glance(s)

    new_segment.write_serial = write_serial
    new_segment._write_start = write_start
    rollback._copy_extra = copy_extra
    taking._take_molecule = take_molecule


def slot_at_hand_is_free(old):
    """Use the slot again whose event the loop may be taking."""

    def free_slot(s, w):
        return int(np.argmax(w.slots[:, L.SLOT_KEY] <= s.key[L.TOP, L.ROOT]))

    look._free_slot = free_slot


def any_event_of_the_pair(old):
    """Take what was made for another time and of other segments."""
    taking._is_of = lambda w, k, i, partner, *key: (w.slots[k, L.SLOT_BEAD], w.slots[k, L.SLOT_PARTNER]) == (i, partner)


def nothing_kept(old):
    """Take outcomes in windows without keeping the segments that they end."""
    taking.save_segment = lambda s, m: None


FAULTS = {
    "none": lambda old: None,
    "a slot used too early": slot_at_hand_is_free,
    "a slot out of date": any_event_of_the_pair,
}
FAULTS_IN_WINDOWS = {
    "none in windows": lambda old: None,
    "segments not kept": nothing_kept,
}
PLACES = {
    "write_serial": (new_segment,),
    "_write_start": (new_segment,),
    "_copy_extra": (rollback,),
    "_take_molecule": (taking,),
    "save_segment": (taking,),
    "_free_slot": (look,),
    "_is_of": (taking,),
}


def found(run, expected, fault):
    """Return what differs with a fault, or None; and how many events were taken from slots by a run of Interleaved."""
    old = {name: getattr(places[0], name) for name, places in PLACES.items()}
    HELPERS.clear()
    try:
        watch(old)
        fault(old)
        outcome = run()
    except (HpcchainError, AssertionError) as error:
        return str(error) or repr(error), 0
    finally:
        for name, places in PLACES.items():
            for place in places:
                setattr(place, name, old[name])
    return first_difference(expected, outcome), taken_by(HELPERS)[0]


def main():
    """Print what is found of each fault."""
    alone, together = gas(NAMES, 1, 2.6), gas(["chain3", "dimer", "dimer"] * 4, 5, 2.5)
    one, other = serial(alone, END), serial(together, END)
    result = {name: found(lambda: in_turn(alone, END, Interleaved())[0], one, FAULTS[name]) for name in FAULTS}
    for name, fault in FAULTS_IN_WINDOWS.items():
        result[name] = found(lambda: in_turn_on_ranks(together, END, 2, Interleaved, window=1.0)[0], other, fault)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
