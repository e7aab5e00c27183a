"""The Andersen thermostat: at times of its own a molecule's velocities are drawn anew (Andersen 1980).

Each bead's velocity is drawn from Maxwell's distribution and the molecule's put on its bonds, in the metric of its
masses: what is left is distributed as the velocities of molecules with rigid bonds are.
"""

import numpy as np

from hpcchain.contact.draws import maxwell, set_next_redraw
from hpcchain.contact.falling import inverse_mass
from hpcchain.contact.tc_model import pass_time
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import set_struck, start_depth
from hpcchain.propagators.interface import load, prepare, project
from hpcchain.sector.events.contact_event import learn_pace
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import note_draw
from hpcchain.sector.search.broad_phase import store_path
from hpcchain.sector.segments.monomer import move_straight, set_bounds
from hpcchain.sector.segments.new_segment import make_own_series, new_segment
from hpcchain.sector.speculation.rollback import save_segment, sign_event


@outlined
def redraw(s, m, ticks, remainder, log_rows):
    """Draw molecule m's velocities anew at a time, and start its next segment."""
    first = s.mol[m, L.MOL_FIRST]
    dt = since_start(s, first, ticks, remainder)
    depth = start_depth(s.segment, first) + 1 if dt == 0.0 else np.int64(0)
    logged = s.count[L.N_LOGGED]
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        heat = _single(s, first, m, dt, ticks, remainder, depth)
    else:
        heat = _molecule(s, first, m, dt, ticks, remainder, depth)
    note_draw(s, first, ticks * s.par[L.TICK] + remainder, heat, log_rows)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        s.scalars[L.SCALAR_EVENT] += 1
        s.group[0] = m
        lower = s.bead_id[first]
        event = s.scalars[L.SCALAR_EVENT]
        sign_event(s.window_event, s.window_molecule, s.group, s.count, event, 1, lower, np.int64(L.REDRAW), logged)


@kernel
def _single(s, i, m, dt, ticks, remainder, depth):
    """Draw a single bead's velocity; return the energy that comes in."""
    save_segment(s, m)
    pass_time(s.par, s.segment, i, 1, dt)
    s.scalars[L.SCALAR_SERIAL] += 1
    move_straight(s, i, m, dt, ticks, remainder, s.scalars[L.SCALAR_SERIAL], depth, 0)
    before = s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2
    mobility = inverse_mass(s, i)
    u, v, w = maxwell(s, i, mobility)
    s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ] = u, v, w
    set_next_redraw(s, i, np.int64(1), ticks, remainder)
    set_bounds(s, i, m)
    store_path(s, i)
    s.count[L.N_SEGMENTS] += 1
    s.count[L.N_BEAD_SEGMENTS] += 1
    return 0.5 * (u * u + v * v + w * w - before) / mobility


@kernel
def draw_velocities(s, offset, first, beads):
    """Draw the velocities of beads in the workspace from a row on, but of those that are fixed."""
    for b in range(beads):
        mobility = inverse_mass(s, first + b)
        if mobility > 0.0:
            u, v, w = maxwell(s, first + b, mobility)
            p = offset + (b >> W.LANE_SHIFT) * W.TILE + (b & W.LANE_MASK) + W.COEF + W.ROW
            s.work[p] = u
            s.work[p + W.LANES] = v
            s.work[p + 2 * W.LANES] = w


@kernel
def _molecule(s, first, m, dt, ticks, remainder, depth):
    """Draw the velocities of a molecule with bonds; return the energy that comes in."""
    offset = np.int64(0)
    make_own_series(s, m)
    load(s.work, offset, s.mol, m, s.table, s.graph, s.series, s.starts, dt, s.stepper)
    prepare(s.work, offset, s.mol, m, s.graph, s.stepper)
    save_segment(s, m)
    learn_pace(s, m, dt)
    beads, tiles = s.mol[m, L.MOL_BEADS], s.mol[m, L.MOL_TILES]
    pass_time(s.par, s.segment, first, beads, dt)
    before = kinetic_energy(s.work, offset, tiles)
    for b in range(beads):
        set_struck(s.segment, first + b, 0)
    draw_velocities(s, offset, first, beads)
    set_next_redraw(s, first, beads, ticks, remainder)
    project(s.work, offset, s.mol, m, s.graph, s.stepper)
    heat = kinetic_energy(s.work, offset, tiles) - before
    s.scalars[L.SCALAR_SERIAL] += 1
    new_segment(s, offset, m, ticks, remainder, s.scalars[L.SCALAR_SERIAL], depth)
    return heat
