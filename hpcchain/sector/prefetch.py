"""Prefetch: bring to the cache what is read soon. Whoever knows the method can skip this file.

What has to come from memory takes as long as some hundred operations. Eight hooks say early what will be read; they
change nothing but when it arrives. `prefetch_next` looks at the events to come, the others at the search at hand. A row
that is not there may be prefetched, but not read.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import partner_of, row_before, series_begin, series_order
from hpcchain.sector.queue.tournament import ROW_BITS, leaf_of, parent
from hpcchain.sector.search.list_place import cell_along, list_fraction, list_time

FIRST_ROW, ROWS = 2, 4  # of the queue, whose places have the first of its PARTS (`tournament`)
PARTS = ROWS * L.MATCH
STEPS = 6  # `prefetch_state` has the molecule chosen last in each part of the queue, then those of the last steps
COLD_ROWS = 3  # of the queue, from an entry's leaf on: those before them are in the cache
SOON = 4  # molecules, cells or pairs ahead, in walks over those that a window has altered
LONG = 100  # beads, of a molecule that is left out: what lies in a row for so long comes by itself


def _line(context: Any, builder: Any, signature: Any, args: Any, level: int) -> Any:
    """Write the instruction that brings the line in which a row of an array begins to a level of the cache."""
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    data = make_array(signature.args[0])(context, builder, args[0])
    way = builder.mul(args[1], builder.extract_value(data.strides, 0))
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    call = builder.module.declare_intrinsic("llvm.prefetch", [byte], fnty=kind)
    place = builder.gep(builder.bitcast(data.data, byte), [way])
    builder.call(call, [place, word(0), word(level), word(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(typing, array, row):
    """Bring the cache line in which a row, or an entry, of an array begins to the first-level cache."""
    return types.void(array, types.intp), lambda *call: _line(*call, 3)


@intrinsic
def prefetch_far(typing, array, row):
    """Bring the cache line in which a row, or an entry, of an array begins to the second-level cache."""
    return types.void(array, types.intp), lambda *call: _line(*call, 2)


if config.DISABLE_JIT:

    def prefetch(array: Any, row: Any) -> None:
        """Do nothing."""

    def prefetch_far(array: Any, row: Any) -> None:
        """Do nothing."""


@outlined
def prefetch_next(s):
    """Prefetch what the next events read and write: of each molecule chosen lately a step, then of its event's partner.

    A step reads what those before it have prefetched. Called after each search.
    """
    for k in range(PARTS + STEPS - 1, PARTS, -1):
        s.prefetch_state[k] = s.prefetch_state[k - 1]
    s.prefetch_state[PARTS] = _next_in_queue(s)
    if s.scalars[L.SCALAR_MOLECULES] == s.scalars[L.SCALAR_BEADS]:
        _single_bead(s, _chosen(s, 0))
        _lists(s, _chosen(s, 1))
        _single_bead(s, _partner(s, _chosen(s, 1)))
        _listed(s, _chosen(s, 2))
        _lists(s, _partner(s, _chosen(s, 2)))
    else:
        _rows(s, _chosen(s, 0))
        _beads(s, _chosen(s, 1))
        _lists(s, _chosen(s, 2))
        prefetch_far(s.segment, _partner(s, _chosen(s, 2)))
        _rows(s, _molecule(s, _partner(s, _chosen(s, 3))))
        _beads(s, _molecule(s, _partner(s, _chosen(s, 4))))
        _lists(s, _molecule(s, _partner(s, _chosen(s, 5))))


@inlined
def _next_in_queue(s):
    """Return the earliest molecule of those first in a part of the queue and not chosen last there, -1 for none."""
    best = np.int64(-1)
    least = np.inf
    if len(s.key) > 2 * (FIRST_ROW + ROWS):
        for part in range(0, PARTS, 2):  # two at a time, which do not wait for one another
            key, other = _key(s, part), _key(s, part + 1)
            first = part + 1 if other < key else part
            key = other if other < key else key
            best = first if key < least else best
            least = key if key < least else least
    if best < 0:
        return best
    s.prefetch_state[best] = s.winner[FIRST_ROW + best // L.MATCH, best % L.MATCH]
    return s.prefetch_state[best]


@inlined
def _key(s, part):
    """Return the least key of a part of the queue, inf if the molecule that has it was chosen last there."""
    row, c = FIRST_ROW + part // L.MATCH, part % L.MATCH
    return s.key[row, c] if s.winner[row, c] != s.prefetch_state[part] else np.inf


@inlined
def _chosen(s, step):
    """Return the molecule chosen so many steps ago; -1: none, or the sector has been rebuilt since."""
    m = s.prefetch_state[PARTS + step]
    return m if m < s.scalars[L.SCALAR_MOLECULES] else np.int64(-1)


@inlined
def _partner(s, m):
    """Return the bead that molecule m's next event is with, -1 for none."""
    i = np.int64(s.holder[m]) if m >= 0 else np.int64(-1)
    partner = partner_of(s.next_event, i) if i >= 0 else np.int64(-1)
    return partner if 0 <= partner < s.scalars[L.SCALAR_BEADS] else np.int64(-1)


@inlined
def _molecule(s, i):
    """Return bead i's molecule, -1 for none."""
    return s.segment[i, L.MOLECULE] if i >= 0 else np.int64(-1)


@kernel
def _rows(s, m):
    """Prefetch what says where the memory of molecule m is, and its places in the queue."""
    prefetch_far(s.mol_own, m)
    prefetch_far(s.timing, m)
    prefetch_far(s.running_length, m)
    prefetch_far(s.holder, m)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        prefetch_far(s.window_molecule, m)
        prefetch_far(s.top_speed, m)
    place = leaf_of(s, m)
    for _ in range(COLD_ROWS):
        prefetch_far(s.key, place >> ROW_BITS)
        place = parent(place)


@kernel
def _single_bead(s, i):
    """Prefetch what a new flight of single bead i reads and writes."""
    _rows(s, i)
    _bead(s, i)
    prefetch_far(s.bead_id, i)
    prefetch_far(s.lists, i)
    prefetch_far(s.origin_time, i)


@inlined
def _bead(s, i):
    """Prefetch what a new segment of bead i reads and writes of it alone."""
    prefetch_far(s.starts, i)
    prefetch_far(s.bounds, i)
    prefetch_far(s.next_event, i)
    if s.extended is not None:
        if i >= 0:
            for k in range(0, s.extra.shape[1], 8):
                prefetch_far(s.extra[i], k)


@kernel
def _listed(s, i):
    """Prefetch how those on single bead i's list fly and, if that expires next, what renewing it reads."""
    if i < 0:
        return
    if partner_of(s.next_event, i) == L.RELIST:
        lag = since_start(s, i, s.event_time[i, L.EVENT_TICKS], s.event_time[i, L.EVENT_REM])
        prefetch_renewal(s, i, list_time(s, i, lag))
    else:
        _lines_of_listed(s, i)


@kernel
def _lines_of_listed(s, i):
    """Prefetch list origins and flights of those on bead i's list."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        prefetch_far(s.lists, np.int64(s.neighbour[e]))


@kernel
def _beads(s, m):
    """Prefetch what new segments of molecule m's beads read and write."""
    if m < 0 or s.mol[m, L.MOL_BEADS] > LONG:
        return
    first, beads = s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_BEADS]
    prefetch_far(s.bead_id, first)
    prefetch_far(s.origin_time, first)
    for i in range(first, first + beads):
        _bead(s, i)
        prefetch_far(s.lists, i)
        if i == first or i % 4 == 0:  # four rows are a line
            prefetch_far(s.swept, i)
    if s.ahead[L.AHEAD_SECTOR] == 0:  # else the second thread reads it
        begin = W.UNIT * s.mol[m, L.MOL_SERIES]
        for k in range(begin, begin + beads * W.curve(s.mol[m, L.MOL_ORDER]), 8):
            prefetch_far(s.series, k)


@kernel
def _lists(s, m):
    """Prefetch the lists of molecule m's beads."""
    if m < 0 or s.mol[m, L.MOL_BEADS] > LONG:
        return
    for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
        prefetch_far(s.neighbour, np.int64(s.lists[i, L.LIST_FIRST]))
        prefetch_far(s.neighbour, np.int64(s.lists[i, L.LIST_FIRST]) + s.lists[i, L.LIST_LENGTH])


@kernel
def prefetch_renewal(s, i, t):
    """Prefetch what renewing bead i's list reads, about where it is a time t after its segment's start."""
    ny, nz, last = s.cells[L.CELLS_Y], s.cells[L.CELLS_Z], s.cells[L.CELL_COUNT] - 1
    cx = cell_along(s, 0, list_fraction(s, i, 0, s.starts[i, L.X] + s.starts[i, L.VX] * t, t))
    cy = cell_along(s, 1, list_fraction(s, i, 1, s.starts[i, L.Y] + s.starts[i, L.VY] * t, t))
    cz = cell_along(s, 2, list_fraction(s, i, 2, s.starts[i, L.Z] + s.starts[i, L.VZ] * t, t))
    own = (cx * ny + cy) * nz + cz
    prefetch_far(s.where, i)
    for row in range(9):
        cell = own + ((row // 3 - 1) * ny + row % 3 - 1) * nz
        prefetch_far(s.next_line, min(max(cell, 0), last))
        for shift in range(-1, 2):
            prefetch_far(s.cell_entries, min(max(cell + shift, 0), last) * L.CELL_LINE)
    _lines_of_listed(s, i)


@inlined
def prefetch_found(s, rows, begin, end, unit):
    """Prefetch the rows of an array that entries of `found` say: so many times the entry."""
    for e in range(begin, end):
        prefetch(rows, unit * s.found[e])


@inlined
def prefetch_listed(s, rows, i):
    """Prefetch the rows that an array has of those on bead i's list."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        prefetch(rows, np.int64(s.neighbour[e]))


@inlined
def prefetch_segments(s, begin, end):
    """Prefetch the segments of beads that are entries of `found`."""
    for e in range(begin, end):
        prefetch(s.starts, s.found[e])
        prefetch(s.bounds, s.found[e])
        if len(s.swept) == 0:  # all are single beads, whose molecules have the same rows
            prefetch(s.timing, s.found[e])


@inlined
def prefetch_series(s, number):
    """Prefetch the molecules, and the series from their ends on, of the beads that are the first entries of `found`."""
    for e in range(number):
        m = s.segment[s.found[e], L.MOLECULE]
        prefetch(s.mol_own, m)
        prefetch(s.timing, m)
    for e in range(number):
        end = series_begin(s.mol, s.segment, s.found[e]) + W.curve(series_order(s.segment, s.found[e]))
        for k in range(1, 25, 8):
            prefetch(s.series, end - k)


@inlined
def prefetch_row(s, h):
    """Prefetch row h, in which the next closed segment is kept, and what says where the one after it is."""
    if h < 0:
        return
    after = row_before(s, h)
    if after >= 0:
        prefetch(s.mol_own, after)
        prefetch(s.window_molecule, after)
    prefetch(s.timing, h)
    for j in range(s.mol[h, L.MOL_FIRST], s.mol[h, L.MOL_FIRST] + s.mol[h, L.MOL_BEADS]):
        prefetch(s.starts, j)
        prefetch(s.bounds, j)


@inlined
def prefetch_altered(s, k):
    """Prefetch what walks at a window's end come to behind number k.

    These go over altered molecules, cells with former list origins, and pairs whose list origins have been far apart.
    """
    later, soon = k + 2 * SOON, k + SOON
    if later < s.scalars[L.SCALAR_ALTERED]:
        prefetch(s.mol_own, s.altered[later])
        prefetch(s.window_molecule, s.altered[later])
    if soon < s.scalars[L.SCALAR_ALTERED]:
        h = row_before(s, s.altered[soon])
        if h >= 0:
            prefetch(s.mol_own, h)
            prefetch(s.window_molecule, h)
    if later < s.scalars[L.SCALAR_STALE]:
        prefetch(s.cell_entries, L.CELL_LINE * s.stale_cells[later])
        prefetch(s.next_line, s.stale_cells[later])
    if soon < s.scalars[L.SCALAR_STALE]:
        for c in range(L.CELL_LINE):
            prefetch(s.where, s.cell_entries[L.CELL_LINE * s.stale_cells[soon] + L.OCCUPANT, c])
    if later < s.scalars[L.SCALAR_DRIFTED_PAIRS]:
        for c in range(2):
            prefetch(s.origin_fractions, s.drifted_pairs[later, c])
    if soon < s.scalars[L.SCALAR_DRIFTED_PAIRS]:
        for c in range(2):
            prefetch(s.neighbour, np.int64(s.lists[s.drifted_pairs[soon, c], L.LIST_FIRST]))
