"""Which event began new segments: noted in windows, so that others know it, and it can be undone."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.sector.speculation.ghost_messages import match_with_owner
from hpcchain.sector.speculation.rollback import sign_event


@kernel
def sign_rows(s, low, high, event, lower, higher):
    """Mark the new segments of the rows from `low` to `high` with their event; see whether their owners have them.

    An `event` of 0 is the end of a segment, with which those adjacent to it have ended.
    """
    for m in range(low, high + 1):
        s.window_molecule[m, L.WINDOW_EVENT] = event
        s.window_molecule[m, L.WINDOW_LOWER] = lower
        s.window_molecule[m, L.WINDOW_HIGHER] = higher
        match_with_owner(s, m)


@kernel
def sign_members(s, members, lower, higher, logged):
    """Sign an event of the first members of the group, those below 0 left out; `logged`: contacts before it.

    What else of a long chain has new segments, `renewed` says, is undone with adjacent ones (`speculation.rollback`).
    """
    event = s.scalars[L.SCALAR_EVENT] = s.scalars[L.SCALAR_EVENT] + 1
    sign_event(s.window_event, s.window_molecule, s.group, s.count, event, members, lower, higher, logged)
    for k in range(members):
        m = s.group[k]
        if m < 0:
            continue
        if s.stretched is not None:
            if is_chain_part(s, m):
                sign_rows(s, s.renewed[k, L.FIRST_ROW], s.renewed[k, L.LAST_ROW], event, lower, higher)
                continue
        match_with_owner(s, m)


@kernel
def sign_draw(s, m, logged):
    """Sign a draw of the velocities of molecule m, or of all the chain that begins with row m (`renewed`)."""
    s.group[0] = m
    sign_members(s, np.int64(1), s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(L.REDRAW), logged)
