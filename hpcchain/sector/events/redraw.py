"""The Andersen thermostat: at times of its own a molecule's velocities are drawn anew (Andersen 1980).

Each bead's velocity is drawn from Maxwell's distribution and the molecule's put on its bonds, in the metric of its
masses: what is left is distributed as the velocities of molecules with rigid bonds are. Of a long chain in parts the
first part has the clock, and all parts get new segments; the beads' numbers are those of whole chains.
"""

import numpy as np

from hpcchain.contact.draws import maxwell, set_next_redraw
from hpcchain.contact.falling import inverse_mass
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import is_chain_part, start_depth
from hpcchain.propagators.interface import load, prepare, project
from hpcchain.propagators.taylor.chain import chain_prepare
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import note_draw
from hpcchain.sector.segments.close_begin import begin, close_rows
from hpcchain.sector.segments.monomer import move_on, set_off
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.segments.stretch import begin_all, last_row, load_stretch
from hpcchain.sector.speculation.rollback import ready


@outlined
def redraw(s, m, ticks, remainder):
    """Draw the velocities of molecule m anew at a time, or of the long chain from row m on; start new segments.

    Returns the last row that has one, -1 where parts have to go back first (`speculation.rollback`).
    """
    first, last = s.mol[m, L.MOL_FIRST], m
    dt = since_start(s, first, ticks, remainder)
    depth = start_depth(s.segment, first) + 1 if dt == 0.0 else np.int64(0)
    if s.stretched is not None:
        if is_chain_part(s, m):
            last = last_row(s, m)
            if not ready(s, m, last, ticks, remainder, depth, s.bead_id[first], np.int64(L.REDRAW)):
                return np.int64(-1)
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        heat = _single(s, first, m, dt, ticks, remainder, depth)
    else:
        heat = _several(s, m, last, dt, ticks, remainder, depth)
    note_draw(s, first, ticks * s.par[L.TICK] + remainder, heat)
    return last


@kernel
def _single(s, i, m, dt, ticks, remainder, depth):
    """Draw a single bead's velocity; return the energy that comes in."""
    move_on(s, i, m, dt, ticks, remainder, depth, 0)
    before = s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2
    mobility = inverse_mass(s, i)
    u, v, w = maxwell(s, i, mobility)
    s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ] = u, v, w
    set_next_redraw(s, i, np.int64(1), ticks, remainder)
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
            u, v, w = maxwell(s, first + b, mobility)
            W.put_vector(s.work, W.bead_offset(offset, b) + W.COEF + W.ROW, u, v, w)
    return beads


@kernel
def _several(s, m, last, dt, ticks, remainder, depth):
    """Draw the velocities of a molecule with bonds; return the energy that comes in."""
    offset, tiles = np.int64(0), s.mol[m, L.MOL_TILES]
    part = False
    if s.stretched is not None:
        part = is_chain_part(s, m)
        if part:
            tiles, _, _ = load_stretch(s, offset, m, last, m, ticks, remainder)
    if not part:
        make_own_series(s, m)
        load(s.work, offset, s.mol, m, s.table, s.graph, s.series, s.starts, dt, s.stepper)
        prepare(s.work, offset, s.mol, m, s.graph, s.stepper)
    before = kinetic_energy(s.work, offset, tiles)
    close_rows(s, m, last, ticks, remainder)
    beads = _draw_velocities(s, offset, m, last)
    set_next_redraw(s, s.mol[m, L.MOL_FIRST], beads, ticks, remainder)
    if part:
        chain_prepare(s.work, offset, tiles)
    else:
        project(s.work, offset, s.mol, m, s.graph, s.stepper)
    heat = kinetic_energy(s.work, offset, tiles) - before
    if s.stretched is not None:
        if part:
            begin_all(s, offset, tiles, m, last, ticks, remainder, depth)
            return heat
    begin(s, offset, m, ticks, remainder, depth)
    return heat
