"""What the parts of a long chain owe one another in windows: each part's segment is made with those beside it.

A part's segment begins with the present motion of the parts beside it. So it is true only while these are: where one of
them drops a segment, or is given one that begins before it, it is dropped, too.
"""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import start_depth
from hpcchain.sector.queue.event_order import begins_later


@kernel
def request_rollback(s, m, number):
    """Ask for molecule m to be set back to its segment of that number in the window."""
    if s.window_molecule[m, L.WINDOW_TARGET] < 0:
        s.rolled_back[s.scalars[L.SCALAR_ROLLED_BACK]] = m
        s.scalars[L.SCALAR_ROLLED_BACK] += 1
        s.window_molecule[m, L.WINDOW_TARGET] = number
        s.rolled_back_to[m, L.OPENED_TICKS] = s.par[L.NOW]
        s.rolled_back_to[m, L.OPENED_REM] = s.par[L.NOW_REM]
    else:
        s.window_molecule[m, L.WINDOW_TARGET] = min(s.window_molecule[m, L.WINDOW_TARGET], number)


@kernel
def _request(s, m, ticks, remainder, depth, lower, higher):
    """Ask for row m to be set back to before all segments that begin after an event; return whether it has any."""
    h, kept = m, s.window_molecule[m, L.WINDOW_NUMBER]
    while kept > 0 and begins_later(s, s.mol[h, L.MOL_FIRST], ticks, remainder, depth, lower, higher):
        kept -= 1
        h = s.window_molecule[h, L.WINDOW_PREVIOUS]
    if kept == s.window_molecule[m, L.WINDOW_NUMBER]:
        return False
    request_rollback(s, m, kept)
    return True


@kernel
def request_beside(s, m):
    """Ask for the parts beside row m to be set back to before what they began since its present segment, or with it.

    That segment is dropped, so what began with the same event goes, too: the rows of a stretch have one key.
    """
    first = s.mol[m, L.MOL_FIRST]
    ticks, remainder = s.starts[first, L.START_TICKS], s.starts[first, L.START_REM]
    depth, lower = start_depth(s.segment, first), s.window_molecule[m, L.WINDOW_LOWER]
    higher = s.window_molecule[m, L.WINDOW_HIGHER] - 1  # so that the same event is after it
    for column in range(L.BLOCK_BEFORE, L.BLOCK_BEHIND + 1):
        beside = np.int64(s.block[m, column])
        if beside >= 0:
            _request(s, beside, ticks, remainder, depth, lower, higher)


@kernel
def request_ahead(s, low, high, ticks, remainder, depth, lower, higher):
    """Ask for those parts of a stretch, and beside it, to be set back that have gone beyond an event.

    What began with the event itself stays: rows of one stretch are replayed one after another.

    Parameters
    ----------
    s : Sector
    low, high : int
        Rows of the first and last part.
    ticks, remainder, depth, lower, higher :
        Key of the event.

    Returns
    -------
    bool
        Whether any has.
    """
    m, last = np.int64(s.block[low, L.BLOCK_BEFORE]), np.int64(s.block[high, L.BLOCK_BEHIND])
    m, last = low if m < 0 else m, high if last < 0 else last
    found = _request(s, m, ticks, remainder, depth, lower, higher)
    while m != last:
        m = np.int64(s.block[m, L.BLOCK_BEHIND])
        found = _request(s, m, ticks, remainder, depth, lower, higher) or found
    return found


@kernel
def ask_back_beside(s, m):
    """Ask for the parts beside row m to be set back to before what they began after its new segment."""
    i = s.mol[m, L.MOL_FIRST]
    lower, higher = s.window_molecule[m, L.WINDOW_LOWER], s.window_molecule[m, L.WINDOW_HIGHER]
    ticks, remainder = s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]
    request_ahead(s, m, m, ticks, remainder, start_depth(s.segment, i), lower, higher)
