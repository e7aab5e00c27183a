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
from tests.support import ahead
from tests.support.ahead import InTurn, in_turn, taken
from tests.support.gases import gas
from tests.support.identity import first_difference, serial

NAMES, END = ["chain3", "dimer", "chain3", "dimer", "dimer", "chain3", "chain3", "dimer"], 2.0


class Interleaved(InTurn):
    """Looks ahead in the midst of events, too."""

    def working(self, s, small):
        """Look once, and note what is to be looked at."""
        return super().working(s, small)

    def glance(self, s):
        """Look while an event is carried out in sector s, but not in that of an outcome."""
        if s is self._helped:
            ahead.look(s, self.small, 1)


def watch(helper, old):
    """Have a helper look before serial numbers are written, and between the two molecules of a slot that is taken."""

    def write_serial(s, m, number):
        helper.glance(s)
        old["write_serial"](s, m, number)

    def take_molecule(s, w, r, m, number):
        old["_take_molecule"](s, w, r, m, number)
        if r % 2 == 0:
            helper.glance(s)

    new_segment.write_serial = write_serial
    taking._take_molecule = take_molecule


def slot_at_hand_is_free(old):
    """Use the slot again whose event the loop may be taking."""

    def free_slot(w, now):
        tags = w.ahead[L.AHEAD_TAGS :]
        return int(np.argmax((tags == L.NO_TAG) | (w.slots[:, L.SLOT_KEY] <= now)))

    look._free_slot = free_slot


def any_event_of_the_pair(old):
    """Take what was made for another time and of other segments."""
    taking._is_of = lambda w, k, i, partner, *key: (w.slots[k, L.SLOT_BEAD], w.slots[k, L.SLOT_PARTNER]) == (i, partner)


FAULTS = {
    "none": lambda old: None,
    "a slot used too early": slot_at_hand_is_free,
    "a slot out of date": any_event_of_the_pair,
}
PLACES = {
    "write_serial": (new_segment,),
    "_take_molecule": (taking,),
    "_free_slot": (look,),
    "_is_of": (taking,),
}


def found(system, expected, fault):
    """Return what differs with a fault, or None; and how many events were taken from slots."""
    old = {name: getattr(places[0], name) for name, places in PLACES.items()}
    try:
        helper = Interleaved(most=0)  # all outcomes are made in the midst of events
        watch(helper, old)
        FAULTS[fault](old)
        outcome, engine = in_turn(system, END, helper)
    except HpcchainError as error:
        return str(error), 0
    finally:
        for name, places in PLACES.items():
            for place in places:
                setattr(place, name, old[name])
    return first_difference(expected, outcome), taken(engine)[0]


def main():
    """Print what is found of each fault."""
    system = gas(NAMES, 1, 2.6)
    expected = serial(system, END)
    print(json.dumps({fault: found(system, expected, fault) for fault in FAULTS}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
