"""The Andersen thermostat of long chains in parts: all of a chain's velocities are drawn at once (`redraw`).

The first part has the chain's clock, and all parts get new segments. The beads' numbers are those of whole chains.
"""

import numpy as np

from hpcchain.contact.draws import set_next_redraw
from hpcchain.jit.decorators import outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import start_depth
from hpcchain.propagators.taylor.chain import chain_prepare
from hpcchain.sector.events.contact_event import close
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import note_draw
from hpcchain.sector.events.redraw import draw_velocities
from hpcchain.sector.events.stretch_event import NOWHERE
from hpcchain.sector.segments.stretch import begin_all, last_row, load_stretch
from hpcchain.sector.speculation.rollback import request_ahead


@outlined
def redraw_chain(s, m, ticks, remainder, log_rows):
    """Draw the velocities of the chain anew that begins with row m, and start new segments.

    Returns its last row, NOWHERE where parts have to go back first (`speculation.rollback`).
    """
    first, beads = s.mol[m, L.MOL_FIRST], np.int64(0)
    dt = since_start(s, first, ticks, remainder)
    depth = start_depth(s.segment, first) + 1 if dt == 0.0 else np.int64(0)
    last = last_row(s, m)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        if request_ahead(s, m, last, ticks, remainder, depth, s.bead_id[first], np.int64(L.REDRAW)):
            return NOWHERE
    offset = np.int64(0)
    tiles, _, _ = load_stretch(s, offset, m, last, m, ticks, remainder)
    before = kinetic_energy(s.work, offset, tiles)
    at = offset
    for r in range(m, last + 1):
        close(s, r, ticks, remainder)
        draw_velocities(s, at, s.mol[r, L.MOL_FIRST], s.mol[r, L.MOL_BEADS])
        at += s.mol[r, L.MOL_TILES] * W.TILE
        beads += s.mol[r, L.MOL_BEADS]
    set_next_redraw(s, first, beads, ticks, remainder)
    chain_prepare(s.work, offset, tiles)
    heat = kinetic_energy(s.work, offset, tiles) - before
    begin_all(s, offset, tiles, m, last, ticks, remainder, depth)
    note_draw(s, first, ticks * s.par[L.TICK] + remainder, heat, log_rows)
    return last
