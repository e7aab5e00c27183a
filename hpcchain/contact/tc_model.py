"""Contacts that last: the TC model of Luding and McNamara (Marinkovic 2022, (35), which needs "and" for "or").

A contact takes energy only when neither of its beads has had another within the contact time before it; else e_n is 1.
Without this, beads that are pressed together while they lose energy meet infinitely often in a finite time.

What is left of a bead's last contact is a whole number, of WHOLE_CONTACT when it begins, and shrinks with the segments.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import WHOLE_CONTACT
from hpcchain.layout.segment_bits import in_contact, set_in_contact


def contact_rate(contact_time: float) -> float:
    """Return how fast what is left of a contact shrinks [1 / time]; 0 where contacts take no time."""
    return WHOLE_CONTACT / contact_time if contact_time > 0.0 else 0.0


@kernel
def left_after(par, segment, i, dt):
    """Return what is left of bead i's last contact a time dt after its segment began."""
    left = in_contact(segment, i)
    if left == 0 or dt <= 0.0:
        return left
    gone = dt * par[L.CONTACT_RATE]
    return left - np.int64(math.ceil(gone)) if gone < left else np.int64(0)


@inlined
def pass_time(par, segment, first, beads, dt):
    """Take a time dt, the length of their segment, off what is left of the contacts of beads first, first + 1, ..."""
    if par[L.CONTACT_RATE] != 0.0:
        for i in range(first, first + beads):
            set_in_contact(segment, i, left_after(par, segment, i, dt))


@inlined
def begin_contact(par, segment, i):
    """Note that a contact of bead i begins with its segment."""
    if par[L.CONTACT_RATE] != 0.0:
        set_in_contact(segment, i, WHOLE_CONTACT)
