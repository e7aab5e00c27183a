"""Next segments of what nothing here has hit: of free motion, with drawn velocities, or as a ghost's owner has them.

The Andersen thermostat draws a molecule's velocities anew at times of its own (Andersen 1980). Each bead's velocity is
drawn from Maxwell's distribution and the molecule's put on its bonds, in the metric of its masses: what is left is
distributed as the velocities of molecules with rigid bonds are. Of a long chain in parts the first part has the clock,
and all parts get new segments; the beads' numbers are those of whole chains.
"""

import numpy as np

from hpcchain.contact.draws import maxwell, set_next_redraw
from hpcchain.contact.falling import inverse_mass
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import age
from hpcchain.layout.segment_bits import is_chain_part, last_row
from hpcchain.propagators.interface import load, prepare, project
from hpcchain.propagators.taylor.chain import chain_prepare
from hpcchain.sector.ahead.taking import take
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import note_draw
from hpcchain.sector.events.refresh import refresh, set_back
from hpcchain.sector.events.stretch_sides import end_stretch
from hpcchain.sector.segments.monomer import move_on, set_off
from hpcchain.sector.segments.new_segment import begin, close_after, close_rows, make_own_series
from hpcchain.sector.segments.stretch import begin_all, load_stretch
from hpcchain.sector.speculation.ghost_messages import replay, sign_draw, sign_end
from hpcchain.sector.speculation.rollback import ready, request_adjacent


@inlined
def carry_on(s, m, holder):
    """Start the next segment of molecule m, of a part of a long chain with those that get new segments with it.

    All that this changes is renewed. Returns 0 or an error.
    """
    if holder == L.BY_HISTORY:
        replay(s, m)
        if s.stretched is not None:
            if is_chain_part(s, m):
                request_adjacent(s, m, 0)
                if s.scalars[L.SCALAR_ROLLED_BACK] != 0 and set_back(s):
                    return 1
        return refresh(s, m, m)
    logged, low, high, drawn = s.count[L.N_LOGGED], m, m, False
    if s.extended is not None:
        drawn = holder == L.BY_THERMOSTAT
        if drawn:
            high = redraw(s, m)
    if not drawn:
        low, high = _end_segment(s, m)
    if s.stretched is not None and high < 0:
        return set_back(s)
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    if not drawn:
        s.count[L.N_SEGMENT_ENDS] += 1
        if windowed:
            sign_end(s, low, high)
    elif windowed:
        sign_draw(s, m, high, logged)
    return refresh(s, low, high)


@inlined
def _end_segment(s, m):
    """Start the next segment of free motion, of a part of a long chain with others; return rows as `end_stretch`."""
    if s.stretched is not None:
        if is_chain_part(s, m):
            return end_stretch(s, m)
    first = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        move_on(s, first, m, s.timing[m, L.LENGTH], 0)
        set_off(s, first, m)
    elif s.ahead[L.AHEAD_SECTOR] == 0 or take(s, first, L.SEGMENT_END) == 0:
        end_segment(s, m)
    return m, m


@outlined
def end_segment(s, m):
    """Start the next segment of the free motion of a molecule that is no single bead."""
    length, offset = s.timing[m, L.LENGTH], np.int64(0)
    _bring_free(s, offset, m, length)
    close_after(s, m, length)
    begin(s, offset, m)


@kernel
def _bring_free(s, offset, m, dt):
    """Bring molecule m to a time dt after its segment's start in the workspace, at which nothing has hit it."""
    make_own_series(s, m)
    load(s, offset, m, dt)
    prepare(s, offset, m)


@outlined
def redraw(s, m):
    """Draw the velocities of molecule m anew, or of the long chain from row m on; start new segments.

    Returns the last row that has one, -1 where parts have to go back first (`speculation.rollback`).
    """
    first, last = s.mol[m, L.MOL_FIRST], m
    dt = age(s, first)
    if s.stretched is not None:
        if is_chain_part(s, m):
            last = last_row(s, m)
            if not ready(s, m, last):
                return np.int64(-1)
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        heat = _single(s, first, m, dt)
    else:
        heat = _several(s, m, last, dt)
    note_draw(s, first, heat)
    return last


@kernel
def _single(s, i, m, dt):
    """Draw a single bead's velocity; return the energy that comes in."""
    move_on(s, i, m, dt, 0)
    before = s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2
    mobility = inverse_mass(s, i)
    u, v, w = maxwell(s, i, mobility)
    s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ] = u, v, w
    set_next_redraw(s, i, np.int64(1))
    set_off(s, i, m)
    return 0.5 * (u * u + v * v + w * w - before) / mobility


@kernel
def _draw_velocities(s, offset, m, last):
    """Draw the velocities of the beads of rows m to `last` in the workspace but of those that are fixed; how many."""
    first = s.mol[m, L.MOL_FIRST]
    beads = s.mol[last, L.MOL_FIRST] + s.mol[last, L.MOL_BEADS] - first
    for b in range(beads):
        mobility = inverse_mass(s, first + b)
        if mobility > 0.0:
            W.put_vector(s.work, W.bead_offset(offset, b) + W.COEF + W.ROW, maxwell(s, first + b, mobility))
    return beads


@kernel
def _several(s, m, last, dt):
    """Draw the velocities of a molecule with bonds; return the energy that comes in."""
    offset, tiles = np.int64(0), s.mol[m, L.MOL_TILES]
    part = False
    if s.stretched is not None:
        part = is_chain_part(s, m)
        if part:
            tiles, _, _ = load_stretch(s, offset, m, last, m)
    if not part:
        _bring_free(s, offset, m, dt)
    before = kinetic_energy(s.work, offset, tiles)
    close_rows(s, m, last)
    beads = _draw_velocities(s, offset, m, last)
    set_next_redraw(s, s.mol[m, L.MOL_FIRST], beads)
    if part:
        chain_prepare(s.work, offset, tiles)
    else:
        project(s, offset, m)
    heat = kinetic_energy(s.work, offset, tiles) - before
    if s.stretched is not None:
        if part:
            begin_all(s, offset, tiles, m, last)
            return heat
    begin(s, offset, m)
    return heat
