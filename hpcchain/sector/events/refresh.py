"""After an event: renew lists, search and queue what has new segments, and what a rollback has set back."""

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.sector.search.earliest_event import outside_shell
from hpcchain.sector.segments.list_renewal import renew_list, renew_lists
from hpcchain.sector.segments.new_segment import schedule_molecule
from hpcchain.sector.segments.searches import search_beads, search_molecule
from hpcchain.sector.speculation.rollback import roll_back


@kernel
def refresh(s, low, high):
    """Renew lists, search and queue what has new segments: rows `low` to `high`, a molecule or parts of a long chain.

    Returns 0 or an error; of no rows if `high` is lower.
    """
    if high < low:
        return 0
    for m in range(low, high + 1):
        if s.extended is None and s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
            s.origin_time[s.mol[m, L.MOL_FIRST]] = -1.0
        elif renew_lists(s, m):
            return 1
    first = s.mol[low, L.MOL_FIRST]
    search_beads(s, first, s.mol[high, L.MOL_FIRST] + s.mol[high, L.MOL_BEADS] - first)
    for m in range(low, high + 1):
        schedule_molecule(s, m)
    return 0


@kernel
def refresh_members(s, members):
    """Do what `refresh` does for the first members of the event that took part."""
    for k in range(members):
        low = high = s.member[k, L.MEMBER_ROW]
        if low < 0:
            continue
        if s.stretched is not None:
            if is_chain_part(s, low):
                low, high = s.member[k, L.FIRST_ROW], s.member[k, L.LAST_ROW]
        if refresh(s, low, high):
            return 1
    return 0


@outlined
def refresh_rolled_back(s):
    """Renew lists, search and queue all molecules that a rollback has set back; return 0 or an error.

    Searches look only from where a molecule was set back to: events before that have been found already.
    """
    status = 0
    now, now_rem = s.par[L.NOW], s.par[L.NOW_REM]
    for k in range(s.scalars[L.SCALAR_ROLLED_BACK]):
        s.window_molecule[s.rolled_back[k], L.WINDOW_TARGET] = -1
    for k in range(s.scalars[L.SCALAR_ROLLED_BACK]):
        m = s.rolled_back[k]
        ticks = s.rolled_back_to[m, L.OPENED_TICKS]
        remainder = s.rolled_back_to[m, L.OPENED_REM]
        s.par[L.NOW] = ticks
        s.par[L.NOW_REM] = remainder
        for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
            s.origin_time[i] = -1.0
            dt = max(since_start(s, i, ticks, remainder), 0.0)
            if status == 0 and outside_shell(s, i, dt):
                status = renew_list(s, i, dt)
        if status == 0:
            search_molecule(s, m)
            schedule_molecule(s, m)
    s.scalars[L.SCALAR_ROLLED_BACK] = 0
    s.par[L.NOW], s.par[L.NOW_REM] = now, now_rem  # the event at hand may need more searches
    return status


@kernel
def set_back(s):
    """Roll back all that was requested, list and search anew what that changed; return 0 or an error."""
    roll_back(s)
    return refresh_rolled_back(s)
