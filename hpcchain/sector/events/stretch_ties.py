"""Whether a contact of a long chain is the only one at its instant; if not, all are carried out together.

Looked at are the beads that the contact's impulse reaches, since others are as good as not there. What is found leads
to `contact_event`, which has the whole chains and looks at all of their contacts.
"""

from hpcchain.contact.separation import bead_offset
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import radius_of
from hpcchain.sector.events.simultaneous import counts_resting, limited_ties, near, reaches_to, wall_ties
from hpcchain.sector.queue.event_order import begins_later
from hpcchain.sector.search.neighbour_lists import joined
from hpcchain.sector.speculation.rollback import request_rollback

ALONE, TOUCHED, GONE_BEYOND = range(3)
TIES_ROW = 2  # of the rows for contacts: those before it have the normal of the contact at hand, and scratch


@outlined
def look_about(s, i, partner, a, b, one, ticks, remainder, depth, lower, higher, is_straggler):
    """Return whether anything else touches the sides of a contact of bead i, which are in the workspace.

    Parameters
    ----------
    i, partner : int
        Bead, and other bead or wall code.
    a, b : Side
    one : bool
        Whether both beads are of one stretch.
    ticks, remainder, depth, lower, higher :
        Key of the event.
    is_straggler : bool
        In a window: others may have been carried on past this event.

    Returns
    -------
    int
        ALONE, TOUCHED or, where what touches has been carried on past the event and is asked to go back, GONE_BEYOND.
    """
    found = _about_side(s, i, partner, a, ticks, remainder, depth, lower, higher, is_straggler)
    if b.row >= 0 and not one:
        found = max(found, _about_side(s, i, partner, b, ticks, remainder, depth, lower, higher, is_straggler))
    return found


@kernel
def _about_side(s, main, partner, side, ticks, remainder, depth, lower, higher, is_straggler):
    """Do what `look_about` does for one side."""
    found = ALONE
    scale = s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * (ticks * s.par[L.TICK] + remainder)
    first = s.mol[side.low, L.MOL_FIRST]
    for i in range(first, s.mol[side.high, L.MOL_FIRST] + s.mol[side.high, L.MOL_BEADS]):
        b = side.before * W.LANES + i - first
        p = bead_offset(side.offset, b)
        for e in range(reaches_to(s, i, is_straggler)):
            j = s.found[e]
            far = (radius_of(s.radius, i) + radius_of(s.radius, j)) * scale
            if is_straggler and _sent_back(s, p, j, far, ticks, remainder, depth, lower, higher):
                found = GONE_BEYOND
                continue
            its_own = (i == main and j == partner) or (i == partner and j == main)
            if found == ALONE and not its_own and not joined(s, i, j):
                if near(s, s.work, p, j, far, ticks, remainder):
                    found = TOUCHED
        if found == ALONE:
            ties = limited_ties(s, side.offset, 0, b, i, scale, TIES_ROW)
            if s.par[L.WALLS] != 0.0:
                ties = wall_ties(s, p, 0, b, i, scale, ties)
            for k in range(TIES_ROW, ties):
                if (i != main or s.tied[k, L.SECOND_BEAD] != partner) and (s.impulses[k] != 0.0 or counts_resting(s)):
                    found = TOUCHED
    return found


@inlined
def _sent_back(s, p, j, far, ticks, remainder, depth, lower, higher):
    """Ask bead j's molecule to go back if it touches the bead at p but has gone on from an event; return whether so."""
    m = s.segment[j, L.MOLECULE]
    h = m
    while h >= 0 and begins_later(s, s.mol[h, L.MOL_FIRST], ticks, remainder, depth, lower, higher):
        h = s.window_molecule[h, L.WINDOW_PREVIOUS]
    if h == m or h < 0:
        return False
    if not near(s, s.work, p, s.mol[h, L.MOL_FIRST] + j - s.mol[m, L.MOL_FIRST], far, ticks, remainder):
        return False
    request_rollback(s, m, s.window_molecule[h, L.WINDOW_NUMBER])
    return True
