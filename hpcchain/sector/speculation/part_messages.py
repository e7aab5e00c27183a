"""What ranks tell each other of a part of a long chain besides (`ghost_messages`): what does not follow from its start.

Behind the beads of its segment stand what the segment's event does to the centre of mass of the chain
(`layout.arrays`, `centre_change`), the order of the series, and its coefficients, bead by bead.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import segment_entry as E
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import set_order


@inlined
def part_size(s, h):
    """Return the floats that stand behind the beads of the segment in row h, a part of a long chain."""
    return E.OF_PART + s.mol[h, L.MOL_BEADS] * W.curve(s.mol[h, L.MOL_ORDER])


@inlined
def part_size_of(s, m, message, at):
    """Return the floats that stand at a place of a message behind the beads of a segment of row m, a part."""
    return E.OF_PART + s.mol[m, L.MOL_BEADS] * W.curve(np.int64(message[at + E.ORDER]))


@kernel
def parts_size(s, m, message, at, segments, own):
    """Return the floats at a place of a message of so many segments of row m, a part, each with `own` for its beads."""
    size = np.int64(0)
    for _ in range(segments):
        size += own + part_size_of(s, m, message, at + size + own)
    return size


@kernel
def write_part(s, h, out, at):
    """Write what a message has of the segment in row h behind its beads."""
    for c in range(L.CHANGE_COLUMNS):
        out[at + E.OF_CENTRE + c] = s.centre_change[h, c]
    out[at + E.ORDER] = s.mol[h, L.MOL_ORDER]
    begin = W.UNIT * s.mol[h, L.MOL_SERIES]
    at += E.OF_PART
    for k in range(s.mol[h, L.MOL_BEADS] * W.curve(s.mol[h, L.MOL_ORDER])):
        out[at + k] = s.series[begin + k]


@kernel
def same_part(s, h, begin, at):
    """Whether the segment in row h goes on with the bits of its owner's history, which begins there.

    Parameters
    ----------
    s : Sector
    h : int
    begin, at : int
        In `owner_history`: of the segment, and of what stands behind its beads.
    """
    if s.timing[h, L.LENGTH] != s.owner_history[begin + E.LENGTH]:
        return False
    if s.mol[h, L.MOL_ORDER] != s.owner_history[at + E.ORDER]:
        return False
    first = W.UNIT * s.mol[h, L.MOL_SERIES]
    at += E.OF_PART
    for k in range(s.mol[h, L.MOL_BEADS] * W.curve(s.mol[h, L.MOL_ORDER])):
        x, y = s.series[first + k], s.owner_history[at + k]
        if x != y or math.copysign(1.0, x) != math.copysign(1.0, y):
            return False
    return True


@kernel
def replay_part(s, m, at):
    """Take from its owner's history, at a place, what row m's segment has besides its beads."""
    for c in range(L.CHANGE_COLUMNS):
        s.centre_change[m, c] = s.owner_history[at + E.OF_CENTRE + c]
    s.mol[m, L.MOL_ORDER] = np.int64(s.owner_history[at + E.ORDER])
    for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
        set_order(s.segment, i, s.mol[m, L.MOL_ORDER])
    begin = W.UNIT * s.mol[m, L.MOL_SERIES]
    at += E.OF_PART
    for k in range(s.mol[m, L.MOL_BEADS] * W.curve(s.mol[m, L.MOL_ORDER])):
        s.series[begin + k] = s.owner_history[at + k]
