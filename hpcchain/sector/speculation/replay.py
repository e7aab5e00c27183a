"""Ghosts follow their owners' histories (`ghost_messages`): the next segment is written, then listed and searched.

That is an event of the queue like others. What a message tells of most ghosts is carried out at once, though, when the
message is read (`replay_at_once`): its words and the ghost's rows are in the cache then, and the ghost need not be put
into the queue and found there. It makes no difference in which order events are carried out that are earlier than what
has been done already: whatever they change is searched against all that has been since.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import segment_entry as E
from hpcchain.layout.clock import after, earlier
from hpcchain.layout.segment_bits import set_in_contact, set_order, set_start
from hpcchain.sector.search.broad_phase import sweep
from hpcchain.sector.segments.falling import falls
from hpcchain.sector.segments.new_segment import renew_molecule
from hpcchain.sector.speculation.rollback import save_segment

FROM_OWNER = -1


@kernel
def _read_extra(s, i, at, extended):
    """Read bead row i's `extra` from its owner's history; `at` and what is returned as in `ghost_messages`."""
    at += E.PER_BEAD
    if extended is not None:
        for c in range(s.extra.shape[1]):
            s.extra[i, c] = s.owner_history[at + c]
        at += s.extra.shape[1]
    return at


@kernel
def replay(s, m):
    """Write the next segment of ghost m's owner, as yet without a series, over its present one, which is kept."""
    begin = s.owner_history_at[m, s.mol[m, L.MOL_NUMBER] + 1]
    save_segment(s, m)
    s.scalars[L.SCALAR_SERIAL] += 1
    s.mol[m, L.MOL_EVENT] = FROM_OWNER
    s.mol[m, L.MOL_LOWER] = np.int64(s.owner_history[begin + E.LOWER])
    s.mol[m, L.MOL_HIGHER] = np.int64(s.owner_history[begin + E.HIGHER])
    s.timing[m, L.RUNNING_LENGTH] = s.owner_history[begin + E.RUNNING_LENGTH]
    for c in range(3):
        s.mol[m, L.MOL_IMAGE + c] = np.int64(s.owner_history[begin + E.IMAGE + c])
    first = s.mol[m, L.MOL_FIRST]
    at = begin + E.BEADS
    fastest = 0.0
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        fastest = max(fastest, s.owner_history[at + E.BEAD_SPEED])
        for c in range(6):
            s.starts[i, c] = s.owner_history[at + c]
        s.starts[i, L.START_TICKS] = s.owner_history[begin + E.TICKS]
        s.starts[i, L.START_REM] = s.owner_history[begin + E.REM]
        s.segment[i, L.SERIAL] = s.scalars[L.SCALAR_SERIAL]
        marks = np.int64(s.owner_history[at + E.BEAD_MARKS])
        set_start(s.segment, i, np.int64(s.owner_history[begin + E.DEPTH]), marks & 1)
        set_in_contact(s.segment, i, marks >> 1)
        set_order(s.segment, i, _order_of_replayed(s, m))
        s.bounds[i, L.ACCELERATION] = s.owner_history[at + E.BEAD_ACCELERATION]
        s.bounds[i, L.SPEED] = s.owner_history[at + E.BEAD_SPEED]
        s.bounds[i, L.LENGTH] = s.owner_history[begin + E.LENGTH]
        at = _read_extra(s, i, at, s.extended)
    s.timing[m, L.END_TICKS], s.timing[m, L.END_REM] = after(
        s.owner_history[begin + E.TICKS],
        s.owner_history[begin + E.REM],
        s.owner_history[begin + E.LENGTH],
        s.par[L.TICK],
    )
    s.timing[m, L.SEGMENT_LENGTH] = s.owner_history[begin + E.LENGTH]
    s.timing[m, L.SERIES_ERROR] = s.owner_history[begin + E.WRONG]
    s.timing[m, L.TOP_SPEED] = fastest
    if fastest > s.par[L.FASTEST]:
        s.par[L.FASTEST] = fastest
    sweep(s, m)
    s.mol[m, L.MOL_MATCH] = 1


@inlined
def _order_of_replayed(s, m):
    """Return the order of a segment that has no series as yet."""
    if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
        return L.UNMADE
    if s.extended is not None:
        if falls(s, m):
            return L.FALLING
    return 1


@inlined
def may_replay(s, m):
    """Whether what comes next for ghost m, of all that is known here, is the next segment of its owner's history."""
    if s.mol[m, L.MOL_OWNERSHIP] != L.GHOST or s.mol[m, L.MOL_MATCH] != 1 or s.mol[m, L.MOL_TARGET] >= 0:
        return False
    if s.mol[m, L.MOL_NUMBER] >= s.mol[m, L.MOL_HISTORY] or s.scalars[L.SCALAR_OUT_OF_ROWS] != 0:
        return False
    begin = s.owner_history_at[m, s.mol[m, L.MOL_NUMBER] + 1]
    return s.owner_history[begin + E.ALONE] != 0.0 and earlier(
        s.owner_history[begin + E.TICKS],
        s.owner_history[begin + E.REM],
        s.first[m, L.EVENT_TICKS],
        s.first[m, L.EVENT_REM],
    )


@outlined
def replay_at_once(s, m, base):
    """Carry out the next segments of ghost m's owner, which `may_replay` has found to come next; 0 or an error.

    It ends where something here comes before the next one: that is then in the queue, as is a next one for which there
    is no room to keep the present one.
    """
    while True:
        begin = s.owner_history_at[m, s.mol[m, L.MOL_NUMBER] + 1]
        ticks = s.owner_history[begin + E.TICKS]
        remainder = s.owner_history[begin + E.REM]
        s.par[L.NOW] = ticks
        s.par[L.NOW_REM] = remainder
        if earlier(s.par[L.LATEST], s.par[L.LATEST_REM], ticks, remainder):
            s.par[L.LATEST] = ticks
            s.par[L.LATEST_REM] = remainder
        replay(s, m)
        status = renew_molecule(s, m, base)
        if status != 0 or s.molecule_event[m, L.NEXT_HOLDER] != L.BY_HISTORY or s.scalars[L.SCALAR_OUT_OF_ROWS] != 0:
            return status
