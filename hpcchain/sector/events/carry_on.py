"""Next segments of what nothing here has hit: of free motion, with drawn velocities, or as a ghost's owner has them."""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.propagators.interface import load, prepare
from hpcchain.sector.ahead.taking import take
from hpcchain.sector.events.redraw import redraw
from hpcchain.sector.events.refresh import refresh, refresh_rows, set_back
from hpcchain.sector.events.signs import sign_draw, sign_rows
from hpcchain.sector.events.stretch_sides import end_stretch
from hpcchain.sector.segments.close_begin import begin, close_after
from hpcchain.sector.segments.monomer import move_on, set_off
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.speculation.ghost_messages import match_with_owner, replay
from hpcchain.sector.speculation.rollback import request_back_adjacent


@inlined
def carry_on(s, m, holder, ticks, remainder):
    """Start the next segment of molecule m, and renew all that it changes; return 0 or an error."""
    if s.stretched is not None:
        if is_chain_part(s, m):
            return _carry_on_part(s, m, holder, ticks, remainder)
    if holder == L.BY_HISTORY:
        replay(s, m)
    else:
        _next_segment(s, m, holder, ticks, remainder)
    return refresh(s, m)


@inlined
def _next_segment(s, m, holder, ticks, remainder):
    """Start the next segment of a molecule's free motion, or the one with drawn velocities."""
    if s.extended is not None and holder == L.BY_THERMOSTAT:
        logged = s.count[L.N_LOGGED]
        redraw(s, m, ticks, remainder)
        if s.scalars[L.SCALAR_WINDOWED] != 0:
            sign_draw(s, m, m, logged)
        return
    s.count[L.N_SEGMENT_ENDS] += 1
    _end_segment(s, m, ticks, remainder)
    if s.mol[m, L.MOL_OWNERSHIP] != L.OWNED:
        match_with_owner(s, m)


@inlined
def _end_segment(s, m, ticks, remainder):
    """Start the next segment of a molecule's free motion."""
    first = s.mol[m, L.MOL_FIRST]
    length = s.timing[m, L.LENGTH]
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        move_on(s, first, m, length, ticks, remainder, 0, 0)
        set_off(s, first, m)
        return
    if s.ahead[L.AHEAD_SECTOR] == 0 or take(s, first, L.SEGMENT_END, ticks, remainder, 0) == 0:
        end_segment(s, m, ticks, remainder)


@outlined
def end_segment(s, m, ticks, remainder):
    """Start the next segment of the free motion of a molecule that is no single bead."""
    make_own_series(s, m)
    length, offset = s.timing[m, L.LENGTH], np.int64(0)
    load(s.work, offset, s.mol, m, s.table, s.graph, s.series, s.starts, length, s.stepper)
    prepare(s.work, offset, s.mol, m, s.graph, s.stepper)
    close_after(s, m, length)
    begin(s, offset, m, ticks, remainder, offset)


@kernel
def _carry_on_part(s, m, holder, ticks, remainder):
    """Do what `carry_on` does for a part of a long chain, with those parts that get new segments with it."""
    if holder == L.BY_HISTORY:
        replay(s, m)
        request_back_adjacent(s, m)
        if s.scalars[L.SCALAR_ROLLED_BACK] != 0 and set_back(s):
            return 1
        return refresh_rows(s, m, m)
    logged, low, high = s.count[L.N_LOGGED], m, np.int64(-1)
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    drawn = False
    if s.extended is not None:
        drawn = holder == L.BY_THERMOSTAT
        if drawn:
            high = redraw(s, m, ticks, remainder)
    if not drawn:
        low, high = end_stretch(s, m, ticks, remainder)
    if high < 0:
        return set_back(s)
    if drawn:
        if windowed:
            sign_draw(s, m, high, logged)
    else:
        s.count[L.N_SEGMENT_ENDS] += 1
        if windowed:
            sign_rows(s, low, high, np.int64(0), s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(L.SEGMENT_END))
    return refresh_rows(s, low, high)
