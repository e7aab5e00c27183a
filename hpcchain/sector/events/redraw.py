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
from hpcchain.layout.segment_bits import start_depth
from hpcchain.propagators.interface import load, prepare, project
from hpcchain.propagators.taylor.chain import chain_prepare
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import note_draw
from hpcchain.sector.segments.close_begin import begin, close_after, close_rows
from hpcchain.sector.segments.monomer import move_on, set_off
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.segments.stretch import begin_all, last_row, load_stretch
from hpcchain.sector.speculation.rollback import ready


@outlined
def redraw(s, m, ticks, remainder, log_rows):
    """Draw molecule m's velocities anew at a time, and start its next segment."""
    first = s.mol[m, L.MOL_FIRST]
    dt = since_start(s, first, ticks, remainder)
    depth = start_depth(s.segment, first) + 1 if dt == 0.0 else np.int64(0)
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        heat = _single(s, first, m, dt, ticks, remainder, depth)
    else:
        heat = _molecule(s, first, m, dt, ticks, remainder, depth)
    note_draw(s, first, ticks * s.par[L.TICK] + remainder, heat, log_rows)


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
def _draw_velocities(s, offset, first, beads):
    """Draw the velocities of beads in the workspace from a row on, but of those that are fixed."""
    for b in range(beads):
        mobility = inverse_mass(s, first + b)
        if mobility > 0.0:
            u, v, w = maxwell(s, first + b, mobility)
            p = W.bead_offset(offset, b) + W.COEF + W.ROW
            W.put_vector(s.work, p, u, v, w)


@kernel
def _molecule(s, first, m, dt, ticks, remainder, depth):
    """Draw the velocities of a molecule with bonds; return the energy that comes in."""
    offset = np.int64(0)
    make_own_series(s, m)
    load(s.work, offset, s.mol, m, s.table, s.graph, s.series, s.starts, dt, s.stepper)
    prepare(s.work, offset, s.mol, m, s.graph, s.stepper)
    close_after(s, m, dt)
    beads, tiles = s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_TILES]
    before = kinetic_energy(s.work, offset, tiles)
    _draw_velocities(s, offset, first, beads)
    set_next_redraw(s, first, beads, ticks, remainder)
    project(s.work, offset, s.mol, m, s.graph, s.stepper)
    heat = kinetic_energy(s.work, offset, tiles) - before
    begin(s, offset, m, ticks, remainder, depth)
    return heat


@outlined
def redraw_chain(s, m, ticks, remainder, log_rows):
    """Draw the velocities of the chain anew that begins with row m, and start new segments.

    Returns its last row, -1 where parts have to go back first (`speculation.rollback`).
    """
    first, beads = s.mol[m, L.MOL_FIRST], np.int64(0)
    dt = since_start(s, first, ticks, remainder)
    depth = start_depth(s.segment, first) + 1 if dt == 0.0 else np.int64(0)
    last = last_row(s, m)
    if not ready(s, m, last, ticks, remainder, depth, s.bead_id[first], np.int64(L.REDRAW)):
        return np.int64(-1)
    offset = np.int64(0)
    tiles, _, _ = load_stretch(s, offset, m, last, m, ticks, remainder)
    before = kinetic_energy(s.work, offset, tiles)
    at = offset
    close_rows(s, m, last, ticks, remainder)
    for r in range(m, last + 1):
        _draw_velocities(s, at, s.mol[r, L.MOL_FIRST], s.mol[r, L.MOL_BEADS])
        at += s.mol[r, L.MOL_TILES] * W.TILE
        beads += s.mol[r, L.MOL_BEADS]
    set_next_redraw(s, first, beads, ticks, remainder)
    chain_prepare(s.work, offset, tiles)
    heat = kinetic_energy(s.work, offset, tiles) - before
    begin_all(s, offset, tiles, m, last, ticks, remainder, depth)
    note_draw(s, first, ticks * s.par[L.TICK] + remainder, heat, log_rows)
    return last
