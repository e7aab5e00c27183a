"""Which event began new segments, of stretches too: noted in windows, so that others know it, and it can be undone."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_part
from hpcchain.sector.events.stretch_event import ids_of
from hpcchain.sector.segments.stretch import last_row
from hpcchain.sector.speculation.ghost_messages import match_with_owner
from hpcchain.sector.speculation.rollback import sign_event


@kernel
def _sign_rows(s, low, high, event, lower, higher):
    """Mark the new segments of the rows from `low` to `high` with their event; see whether their owners have them."""
    for m in range(low, high + 1):
        s.window_molecule[m, L.WINDOW_EVENT] = event
        s.window_molecule[m, L.WINDOW_LOWER] = lower
        s.window_molecule[m, L.WINDOW_HIGHER] = higher
        match_with_owner(s, m)


@kernel
def _new_event(s, members, lower, higher, logged):
    """Write down an event whose members stand in `group`; return its number."""
    event = s.scalars[L.SCALAR_EVENT] = s.scalars[L.SCALAR_EVENT] + 1
    sign_event(s.window_event, s.window_molecule, s.group, s.count, event, members, lower, higher, logged)
    return event


@kernel
def sign_members(s, members, lower, higher, logged):
    """Sign an event of the first members of the group, those below 0 left out; `logged`: contacts before it."""
    event = _new_event(s, members, lower, higher, logged)
    for k in range(members):
        m = s.group[k]
        if m < 0:
            continue
        if s.stretched is not None:
            if is_part(s, m):
                _sign_rows(s, m, last_row(s, m), event, lower, higher)
                continue
        if s.mol[m, L.MOL_OWNERSHIP] != L.OWNED:
            match_with_owner(s, m)


@kernel
def sign_stretches(s, i, partner, low, high, first, last, logged):
    """Sign a contact of bead i: its members are the two molecules that touch, or one; `logged`: contacts before it.

    What else has new segments, the rows from `low` to `high` and from `first` to `last`, is undone with those beside
    it (`speculation.rollback`).
    """
    lower, higher = ids_of(s, i, partner)
    members = np.int64(1)
    s.group[0] = s.segment[i, L.MOLECULE]
    if partner >= 0 and s.segment[partner, L.MOLECULE] != s.group[0]:
        s.group[1] = s.segment[partner, L.MOLECULE]
        members = np.int64(2)
    event = _new_event(s, members, lower, higher, logged)
    _sign_rows(s, low, high, event, lower, higher)
    if first >= 0:
        _sign_rows(s, first, last, event, lower, higher)


@kernel
def sign_redraw(s, m, last, logged):
    """Sign a draw of the velocities of the chain from row m to row `last`."""
    lower, higher = s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(L.REDRAW)
    s.group[0] = m
    event = _new_event(s, np.int64(1), lower, higher, logged)
    _sign_rows(s, m, last, event, lower, higher)


@kernel
def sign_end(s, m, low, high):
    """Sign the end of row m's segment, with which those of the rows from `low` to `high` have ended: no event."""
    lower, none = s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(0)
    _sign_rows(s, low, high, none, lower, np.int64(L.SEGMENT_END))
