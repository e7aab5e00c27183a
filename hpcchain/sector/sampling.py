"""Where a sector's beads are at a time, for frames and checkpoints; and `State.parts`, to be read and written.

These are the segments of parts of long chains, which do not follow from where they begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import is_chain_part, set_order
from hpcchain.sector.search.solved_contact_time import bead_exactly, bring
from hpcchain.sector.segments.new_segment import make_own_series


@kernel
def frame(s, ticks, remainder, position, velocity, image):
    """Write owned beads' positions, velocities and image counts at one time, in local order."""
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] == L.OWNED:
            _read_off(s, m, ticks, remainder, position, velocity, image)


@kernel
def _read_off(s, m, ticks, remainder, position, velocity, image):
    make_own_series(s, m)  # its series may not have been needed since a rollback opened the segment again
    first = s.mol[m, L.MOL_FIRST]
    dt = since_start(s, first, ticks, remainder)
    offset = s.mol[m, L.MOL_WORKSPACE]
    bring(s, first, dt, offset)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        x, y, z, u, v, w = bead_exactly(s, i, dt, offset)
        position[i, 0], position[i, 1], position[i, 2] = x, y, z
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = u, v, w
        for c in range(3):
            image[i, c] = s.mol[m, L.MOL_IMAGE + c]


def chain_part_state(s: Any, beads: np.ndarray) -> np.ndarray:
    """Return `State.parts` of a sector's beads in these rows, (n, COLUMNS) (`layout.workspace`)."""
    parts = np.zeros((len(beads), W.PART_COLUMNS))
    _exchange(s, beads, parts, False)
    return parts


def put_chain_part_state(s: Any, beads: np.ndarray, parts: np.ndarray) -> None:
    """Write `State.parts` of the beads in these rows to a sector; those without a segment as yet are left alone."""
    if parts.shape[1]:
        _exchange(s, beads, parts, True)


@kernel
def _exchange(s, beads, parts, puts):
    """Write to the rows of `parts` what beads in these rows have; if it `puts`, give the beads what those have."""
    for k in range(len(beads)):
        i, row = beads[k], parts[k]
        m = s.segment[i, L.MOLECULE]
        if not is_chain_part(s, m):
            continue
        if puts:
            s.mol[m, L.MOL_ORDER] = np.int64(row[W.PART_ORDER])
            if s.mol[m, L.MOL_ORDER] == 0:
                continue
            s.timing[m, L.LENGTH] = row[W.PART_LENGTH]
            s.bounds[i, L.ACCELERATION], s.bounds[i, L.SPEED] = row[W.PART_ACCELERATION], row[W.PART_SPEED]
            set_order(s.segment, i, s.mol[m, L.MOL_ORDER])
        else:
            row[W.PART_LENGTH], row[W.PART_ORDER] = s.timing[m, L.LENGTH], s.mol[m, L.MOL_ORDER]
            row[W.PART_ACCELERATION], row[W.PART_SPEED] = s.bounds[i, L.ACCELERATION], s.bounds[i, L.SPEED]
        _swap(s.centre[s.chain_part[m, L.PART_CHAIN]], 0, row, W.PART_CENTRE, L.START_COLUMNS, puts)
        size = W.curve(s.mol[m, L.MOL_ORDER])
        begin = W.UNIT * s.mol[m, L.MOL_SERIES] + (i - s.mol[m, L.MOL_FIRST]) * size
        _swap(s.series, begin, row, W.PART_SERIES, size, puts)


@inlined
def _swap(own, at, row, begin, count, puts):
    """Copy so many numbers from one place to the other, or back if it `puts`."""
    for c in range(count):
        if puts:
            own[at + c] = row[begin + c]
        else:
            row[begin + c] = own[at + c]


def unite_images(s: Any, position: np.ndarray, image: np.ndarray) -> None:
    """Move the positions of a sector's first beads, whose parts have images of their own, to those of chains' first."""
    row = s.segment[: len(position), L.MOLECULE]
    lead = s.mol[row - s.chain_part[row, L.PART_PLACE], L.MOL_IMAGE : L.MOL_IMAGE + L.AXES]
    position += (image - lead) * s.par[L.SIZE : L.SIZE + L.AXES]
    image[:] = lead
