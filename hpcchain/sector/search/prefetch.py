"""Ask the processor for memory that is wanted soon: it changes nothing but when data arrive."""

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
from hpcchain.layout.segment_bits import is_part, partner_of, series_begin, series_order
from hpcchain.sector.queue.tournament import ROW_BITS, leaf_of, parent
from hpcchain.sector.search.list_place import list_fraction, list_time

BYTE = ir.IntType(8).as_pointer()
INT32 = ir.IntType(32)
FIRST_ROW, ROWS = 2, 4  # of the queue, whose places have the first of its PARTS (`tournament`)
PARTS = ROWS * L.MATCH
# In a sector's `prefetch_state`, behind the entry asked for last in each part of the queue: the molecule that is asked
# for now, its bead that comes next, counted from 1 (0: none yet, -1: nobody is asked for), and what comes after it.
NEXT, BEAD, THEN = range(PARTS, PARTS + 3)
# In a gas: the bead that was asked for last, and the two partners.
LAST, MET, MET_BEFORE = range(PARTS + 3, PARTS + 6)
PARTNER, ANOTHER = -1, -2  # the partner of its next event, or another molecule; else the bead that is that partner
AT_ONCE = 4  # beads
ROWS_IN_LINE = 4  # of `lists`, in a cache line
COLD_ROWS = 3  # of the queue, from an entry's leaf on: what lies before them is in the cache
# Beads of a molecule beyond which nobody is asked for, nor for parts of such: what lies in a row for so long comes by
# itself.
LONG = 100
SHORT = 32  # beads of which all neighbours are asked for at once: of more they would be gone when they are wanted


def _ask(context: Any, builder: Any, kind: Any, array: Any, row: Any, lines: int, nearness: int) -> Any:
    """Ask for that many cache lines from where a row, or an entry, of an array begins."""
    data = make_array(kind)(context, builder, array)
    stride = builder.extract_value(data.strides, 0)
    start = builder.gep(builder.bitcast(data.data, BYTE), [builder.mul(row, stride)])
    kind_of_call = ir.FunctionType(ir.VoidType(), [BYTE, INT32, INT32, INT32])
    call = builder.module.declare_intrinsic("llvm.prefetch", [BYTE], fnty=kind_of_call)
    for starts in range(lines):
        builder.call(call, [builder.gep(start, [INT32(64 * starts)]), INT32(0), INT32(nearness), INT32(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(typing, array, row):
    """Ask for the two cache lines that begin with a row of an array with two axes."""

    def generate(context, builder, signature, args):
        return _ask(context, builder, signature.args[0], *args, 2, 3)

    return types.void(array, types.intp), generate


@intrinsic
def ask(typing, array, row):
    """Ask for the cache line in which a row, or an entry, of an array begins, to wait in the second-level cache."""

    def generate(context, builder, signature, args):
        return _ask(context, builder, signature.args[0], *args, 1, 2)

    return types.void(array, types.intp), generate


@intrinsic
def ask_pair(typing, array, row):
    """Ask for the two cache lines that begin with a row of an array, as a molecule's in `window_molecule`."""

    def generate(context, builder, signature, args):
        return _ask(context, builder, signature.args[0], *args, 2, 2)

    return types.void(array, types.intp), generate


@intrinsic
def ask_row(typing, array, row):
    """Ask for the four cache lines that begin with a row of an array, as `ask` does."""

    def generate(context, builder, signature, args):
        return _ask(context, builder, signature.args[0], *args, 4, 2)

    return types.void(array, types.intp), generate


@intrinsic
def ask_first(typing, array, row):
    """Ask for the cache line in which a row, or an entry, of an array begins, to wait in the first-level cache."""

    def generate(context, builder, signature, args):
        return _ask(context, builder, signature.args[0], *args, 1, 3)

    return types.void(array, types.intp), generate


@inlined
def ask_for_molecule(s, m):
    """Ask for what a window has of a molecule."""
    ask(s.mol_own, m)
    ask_pair(s.window_molecule, m)


@inlined
def ask_for_listed(s, i):
    """Ask for what a first look at those on bead i's list reads (`broad_phase`)."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        ask_first(s.swept, np.int64(s.neighbour[e]))


@outlined
def ask_for_all_listed(s, m):
    """Ask for what first looks at those on the lists of molecule m read, if these are few.

    Not for rows of closed segments, which have no lists.
    """
    first = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_BEADS] <= SHORT:
        for i in range(first, first + s.mol[m, L.MOL_BEADS]):
            ask_for_listed(s, i)


@inlined
def ask_for_series(s, i):
    """Ask for the end of bead i's series."""
    end = series_begin(s.mol, s.segment, i) + W.curve(series_order(s.segment, i))
    ask_first(s.series, end - 1)
    ask_first(s.series, end - 9)
    ask_first(s.series, end - 17)


@inlined
def _part_key(s, part):
    """Return the least key of a part of the queue, inf if the entry that has it was the last asked for there."""
    row = FIRST_ROW + part // L.MATCH
    c = part % L.MATCH
    return s.key[row, c] if s.winner[row, c] != s.prefetch_state[part] else np.inf


@kernel
def choose_next(s):
    """Choose whose memory to ask for next: of those that are first in a part of the queue, the earliest not asked for.

    What a processor has to fetch from memory takes as long as some hundred operations. The molecules of events to come
    are known: they are asked for a few beads at a time while others are searched, and have come when they are wanted.
    """
    best = np.int64(-1)
    least = np.inf
    if len(s.key) > 2 * (FIRST_ROW + ROWS):
        for part in range(0, PARTS, 2):
            key = _part_key(s, part)
            later = _part_key(s, part + 1)
            first = part + 1 if later < key else part
            key = later if later < key else key
            best = first if key < least else best
            least = key if key < least else least
    s.prefetch_state[BEAD] = -1
    if best < 0:
        return
    m = np.int64(s.winner[FIRST_ROW + best // L.MATCH, best % L.MATCH])
    s.prefetch_state[best] = m
    if m >= 0:
        s.prefetch_state[THEN] = PARTNER
        _begin_with(s, m)


@inlined
def _begin_with(s, m):
    """Ask for what tells where the memory of molecule m is; the rest follows, a step for each bead that is searched."""
    s.prefetch_state[NEXT] = m
    s.prefetch_state[BEAD] = 0
    _ask_for_molecule(s, m)


@inlined
def _ask_for_molecule(s, m):
    """Ask for a molecule's rows, and that of the list of its bead if it is a gas's."""
    ask_first(s.mol_own, m)
    ask(s.lists, m)
    ask(s.timing, m)
    ask(s.holder, m)
    place = leaf_of(s, m)
    for _ in range(COLD_ROWS):
        ask(s.key, place >> ROW_BITS)
        place = parent(place)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        ask_pair(s.window_molecule, m)
        ask(s.window_timing, m)
        ask(s.inside, m)


@inlined
def ask_for_next(s):
    """Ask for some more beads of the molecule that was chosen, or go on; called once for each bead that is searched.

    Each step reads only what was asked for a step or more before. After a molecule comes the partner of its next event,
    which lies beside it in the queue as in space, and so is seldom first in another part. In a gas of single beads
    there are too few searches for so many steps: each asks for one, and goes on with those of the steps before.
    """
    b = s.prefetch_state[BEAD]
    m = s.prefetch_state[NEXT]
    if b < 0:
        return
    if m >= s.scalars[L.SCALAR_MOLECULES]:  # the sector has been made anew since
        s.prefetch_state[BEAD] = -1
    elif s.mol[m, L.MOL_BEADS] > LONG or (s.stretched is not None and is_part(s, m)):
        s.prefetch_state[BEAD] = -1
    elif b == 0 and s.mol[m, L.MOL_BEADS] == 1 and s.mol[m, L.MOL_FIRST] == m:
        _ask_for_single_beads(s, m)
        choose_next(s)
    elif b == 0:
        _ask_for_all_beads(s, m)
        s.prefetch_state[BEAD] = 1
    elif b <= s.mol[m, L.MOL_BEADS]:
        _ask_for_beads(s, m, b - 1)
        s.prefetch_state[BEAD] = b + AT_ONCE
    else:
        _ask_for_lists(s, m, b - 1 - AT_ONCE)
        _ask_for_partner(s, m)


@inlined
def _ask_for_single_beads(s, i):
    """Ask for single bead i, then for what those before it tell: the partner of the last, and their lists' flights."""
    _ask_for_single(s, i)
    ask(s.neighbour, np.int64(s.lists[i, L.LIST_FIRST]))
    partner = np.int64(-1)
    last = _still_there(s, LAST)
    if last >= 0:
        partner = partner_of(s.next_event, last)
        if partner == L.RELIST:
            _ask_for_origins(s, last)
            _ask_for_cells(s, last)
        _ask_for_flights(s, last)
        if partner >= 0:
            _ask_for_molecule(s, partner)
            _ask_for_single(s, partner)
    met = _still_there(s, MET)
    if met >= 0:
        ask(s.neighbour, np.int64(s.lists[met, L.LIST_FIRST]))
    met_before = _still_there(s, MET_BEFORE)
    if met_before >= 0:
        _ask_for_flights(s, met_before)
    s.prefetch_state[LAST] = i
    s.prefetch_state[MET_BEFORE] = met
    s.prefetch_state[MET] = partner


@inlined
def _still_there(s, k):
    """Return the bead in entry k of `prefetch_state`; below 0: there is none, or the sector has been rebuilt since."""
    return s.prefetch_state[k] if s.prefetch_state[k] < s.scalars[L.SCALAR_BEADS] else np.int64(-1)


@inlined
def _ask_for_single(s, i):
    """Ask for what a new flight of single bead i will read and write."""
    _ask_for_state(s, i)
    ask(s.bead_id, i)
    ask(s.flight, i)
    ask(s.origin_fractions, i)
    ask(s.origin_time, i)
    if s.extended is not None:
        ask_row(s.extra, i)


@inlined
def _ask_for_state(s, i):
    """Ask for what every bead's new segment reads and writes."""
    ask(s.starts, i)
    ask(s.bounds, i)
    ask(s.next_event, i)


@inlined
def _ask_for_flights(s, i):
    """Ask for the flights of those on bead i's list."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        ask(s.flight, np.int64(s.neighbour[e]))


@inlined
def _ask_for_origins(s, i):
    """Ask for the list origins of those on bead i's list."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        ask(s.origin_fractions, np.int64(s.neighbour[e]))


@inlined
def _ask_for_cells(s, i):
    """Ask for the cells that single bead i's list will be renewed from, the lines behind them, and its own entry."""
    ny = s.cells[L.CELLS_Y]
    nz = s.cells[L.CELLS_Z]
    lag = since_start(s, i, s.event_time[i, L.EVENT_TICKS], s.event_time[i, L.EVENT_REM])
    t = list_time(s, i, lag)
    cx = np.int64(list_fraction(s, i, 0, s.starts[i, L.X] + s.starts[i, L.VX] * t, t) * s.cells[L.GRID_X])
    cy = np.int64(list_fraction(s, i, 1, s.starts[i, L.Y] + s.starts[i, L.VY] * t, t) * s.cells[L.GRID_Y])
    cz = np.int64(list_fraction(s, i, 2, s.starts[i, L.Z] + s.starts[i, L.VZ] * t, t) * s.cells[L.GRID_Z])
    own = (cx % s.cells[L.CELLS_X] * ny + cy % ny) * nz + cz % nz
    last = s.cells[L.CELL_COUNT] - 1
    ask(s.where, i)
    for ax in range(-1, 2):
        for ay in range(-1, 2):
            cell = own + (ax * ny + ay) * nz
            if 0 < cell < last:
                ask(s.next_line, cell)
                for az in range(-1, 2):
                    ask(s.cell_entries, (cell + az) * L.CELL_LINE)


@inlined
def _ask_for_all_beads(s, m):
    """Ask for what tells of molecule m, and of its beads in few lines: lists' beginnings are read a step later."""
    first = s.mol[m, L.MOL_FIRST]
    ask(s.running_length, m)
    if len(s.free_series) > 0:
        ask(s.series_room, m)
    ask(s.bead_id, first)
    ask(s.bead_id, first + s.mol[m, L.MOL_BEADS] - 1)
    ask(s.origin_time, first)
    for i in range(first, first + s.mol[m, L.MOL_BEADS], ROWS_IN_LINE):
        ask(s.lists, i)


@inlined
def _ask_for_beads(s, m, b):
    """Ask for beads of molecule m from number b on, and for the lists of those before."""
    first = s.mol[m, L.MOL_FIRST]
    size = W.curve(s.mol[m, L.MOL_ORDER])
    if b == 0:
        ask(s.swept, first)
        ask(s.origin_fractions, first)
    for k in range(b, min(b + AT_ONCE, s.mol[m, L.MOL_BEADS])):
        _ask_for_bead(s, first + k, W.UNIT * s.mol[m, L.MOL_SERIES] + k * size, size)
    if b > 0:
        _ask_for_lists(s, m, b - AT_ONCE)


@inlined
def _ask_for_lists(s, m, b):
    """Ask for the lists of molecule m's beads from number b on."""
    first = s.mol[m, L.MOL_FIRST]
    for i in range(first + b, first + min(b + AT_ONCE, s.mol[m, L.MOL_BEADS])):
        begin = np.int64(s.lists[i, L.LIST_FIRST])
        ask(s.neighbour, begin)
        ask(s.neighbour, begin + s.lists[i, L.LIST_LENGTH])


@inlined
def _ask_for_partner(s, m):
    """Ask where the partner of molecule m's event is; once that is known begin with it, and then with another."""
    then = s.prefetch_state[THEN]
    if then == PARTNER and s.holder[m] >= 0:
        then = partner_of(s.next_event, np.int64(s.holder[m]))
        if then >= 0:
            ask(s.segment, then)
            s.prefetch_state[THEN] = then
            return
    if then < 0 or then >= s.scalars[L.SCALAR_BEADS] or s.segment[then, L.MOLECULE] == m:
        choose_next(s)
    else:
        s.prefetch_state[THEN] = ANOTHER
        _begin_with(s, s.segment[then, L.MOLECULE])


@inlined
def _ask_for_bead(s, i, at, size):
    """Ask for what a new segment of bead i, with a series of that many floats from `at` on, will read and write."""
    _ask_for_state(s, i)
    for k in range(0, size, 8):
        ask(s.series, at + k)
    if i % 4 == 0:
        ask(s.swept, i)
        ask(s.origin_fractions, i)
        ask(s.origin_time, i)


if config.DISABLE_JIT:

    def prefetch(array: Any, row: Any) -> None:
        """Do nothing."""

    def ask(array: Any, row: Any) -> None:
        """Do nothing."""

    def ask_pair(array: Any, row: Any) -> None:
        """Do nothing."""

    def ask_row(array: Any, row: Any) -> None:
        """Do nothing."""

    def ask_first(array: Any, row: Any) -> None:
        """Do nothing."""
