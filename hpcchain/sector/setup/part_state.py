"""What `State.parts` has: the segments of parts of long chains, which do not follow from where they begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import part_columns as P
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import set_order


def part_state(s: Any, beads: int) -> np.ndarray:
    """Return `State.parts` of a sector's first beads, (beads, COLUMNS) (`layout.part_columns`)."""
    parts = np.zeros((beads, P.COLUMNS))
    for m in _rows(s):
        own, begin, width = _places(s, m)
        parts[own, P.LENGTH], parts[own, P.ORDER] = s.timing[m, L.LENGTH], s.mol[m, L.MOL_ORDER]
        parts[own, P.ACCELERATION : P.SPEED + 1] = s.bounds[own]
        parts[own, P.CENTRE : P.SERIES] = s.centre[s.block[m, L.BLOCK_CHAIN], : L.START_COLUMNS]
        size = own.stop - own.start
        parts[own, P.SERIES : P.SERIES + width] = s.series[begin : begin + size * width].reshape(size, width)
    return parts


def put_part_state(s: Any, parts: np.ndarray) -> None:
    """Write `State.parts` of a sector's beads to its arrays; those without a segment as yet are left alone."""
    if not parts.shape[1]:
        return
    for m in _rows(s):
        s.mol[m, L.MOL_ORDER] = int(parts[s.mol[m, L.MOL_FIRST], P.ORDER])
        if s.mol[m, L.MOL_ORDER] == 0:
            continue
        own, begin, width = _places(s, m)
        first = own.start
        s.timing[m, L.LENGTH] = parts[first, P.LENGTH]
        s.bounds[own] = parts[own, P.ACCELERATION : P.SPEED + 1]
        s.centre[s.block[m, L.BLOCK_CHAIN], : L.START_COLUMNS] = parts[first, P.CENTRE : P.SERIES]
        s.series[begin : begin + (own.stop - first) * width] = parts[own, P.SERIES : P.SERIES + width].ravel()
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


def unite_images(s: Any, position: np.ndarray, image: np.ndarray) -> None:
    """Move the positions of a sector's first beads, whose parts have images of their own, to those of chains' first."""
    row = s.segment[: len(position), L.MOLECULE]
    lead = s.mol[row - s.block[row, L.BLOCK_PLACE], L.MOL_IMAGE : L.MOL_IMAGE + L.AXES]
    position += (image - lead) * s.par[L.SIZE : L.SIZE + L.AXES]
    image[:] = lead
