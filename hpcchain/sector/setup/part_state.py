"""What `State.parts` has: the segments of parts of long chains, which do not follow from where they begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import set_order

# Columns of a bead: length and order of its part's segment, its own bounds, the centre of its chain with velocity and
# time, and the coefficients of its polynomial from order FIRST_TERM on, zeros behind the order.
LENGTH, ORDER, ACCELERATION, SPEED = range(4)
CENTRE = 4
SERIES = CENTRE + L.START_COLUMNS
COLUMNS = SERIES + L.AXES * (W.KMAX + 1 - W.FIRST_TERM)


def part_state(s: Any, beads: int) -> np.ndarray:
    """Return `State.parts` of a sector's first beads, (beads, COLUMNS)."""
    parts = np.zeros((beads, COLUMNS))
    for m in _rows(s):
        own, begin, width = _places(s, m)
        parts[own, LENGTH], parts[own, ORDER] = s.timing[m, L.LENGTH], s.mol[m, L.MOL_ORDER]
        parts[own, ACCELERATION : SPEED + 1] = s.bounds[own]
        parts[own, CENTRE:SERIES] = s.centre[s.block[m, L.BLOCK_CHAIN], : L.START_COLUMNS]
        size = own.stop - own.start
        parts[own, SERIES : SERIES + width] = s.series[begin : begin + size * width].reshape(size, width)
    return parts


def put_part_state(s: Any, parts: np.ndarray) -> None:
    """Write `State.parts` of a sector's beads to its arrays; those without a segment as yet are left alone."""
    if not parts.shape[1]:
        return
    for m in _rows(s):
        s.mol[m, L.MOL_ORDER] = int(parts[s.mol[m, L.MOL_FIRST], ORDER])
        if s.mol[m, L.MOL_ORDER] == 0:
            continue
        own, begin, width = _places(s, m)
        first = own.start
        s.timing[m, L.LENGTH] = parts[first, LENGTH]
        s.bounds[own] = parts[own, ACCELERATION : SPEED + 1]
        s.centre[s.block[m, L.BLOCK_CHAIN], : L.START_COLUMNS] = parts[first, CENTRE:SERIES]
        s.series[begin : begin + (own.stop - first) * width] = parts[own, SERIES : SERIES + width].ravel()
        for i in range(first, own.stop):
            set_order(s.segment, i, s.mol[m, L.MOL_ORDER])


def _rows(s: Any) -> np.ndarray:
    """Return the molecule rows that are parts of long chains."""
    return np.flatnonzero((s.block[:, L.BLOCK_PLACE] > 0) | (s.block[:, L.BLOCK_BEHIND] >= 0))


def _places(s: Any, m: int) -> tuple[slice, int, int]:
    """Return a row's beads, where its coefficients begin, and how many each bead has."""
    first = int(s.mol[m, L.MOL_FIRST])
    width = int(W.curve(int(s.mol[m, L.MOL_ORDER])))
    return slice(first, first + int(s.mol[m, L.MOL_BEADS])), W.UNIT * int(s.mol[m, L.MOL_SERIES]), width
