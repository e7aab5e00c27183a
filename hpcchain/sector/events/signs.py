"""Which event began new segments: noted in windows, so that others know it, and it can be undone."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.sector.speculation.ghost_messages import match_with_owner


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
    """Write down an event of the first members that took part and what it logged, behind the first `logged` rows.

    All of their new segments are signed. Of a long chain some are undone with adjacent ones (`speculation.rollback`).
    """
    event = s.scalars[L.SCALAR_EVENT] = s.scalars[L.SCALAR_EVENT] + 1
    row = s.window_event[event]
    number = 0
    for k in range(members):
        m = s.member[k, L.MEMBER_ROW]
        if m < 0:
            continue
        row[L.EVENT_MEMBERS + number] = m
        number += 1
        low, high = m, m
        if s.stretched is not None:
            if is_chain_part(s, m):
                low, high = s.member[k, L.FIRST_ROW], s.member[k, L.LAST_ROW]
        sign_rows(s, low, high, event, lower, higher)
    row[L.EVENT_SIZE] = number
    row[L.EVENT_LOG] = logged
    row[L.EVENT_LOGS] = s.count[L.N_LOGGED] - logged


@kernel
def sign_draw(s, m, last, logged):
    """Sign a draw of the velocities of molecule m, or of all the chain from row m to `last`."""
    row = s.member[0]
    row[L.MEMBER_ROW], row[L.FIRST_ROW], row[L.LAST_ROW] = m, m, last
    sign_members(s, np.int64(1), s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(L.REDRAW), logged)
