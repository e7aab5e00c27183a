"""The sector loop: take the earliest event, carry it out, and search again for the molecules that it changed."""

import numpy as np

from hpcchain.contact.laws.step import is_full
from hpcchain.jit.decorators import concurrent, inlined, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import MOST_DEPTH
from hpcchain.layout.clock import age, earlier
from hpcchain.layout.segment_bits import partner_of, serial_of
from hpcchain.sector.events.carry_on import carry_on
from hpcchain.sector.events.meet import meet
from hpcchain.sector.events.meet_alone import meet_alone
from hpcchain.sector.events.members import ALONE, BACK, FULL
from hpcchain.sector.events.refresh import refresh_members, refresh_rolled_back, set_back
from hpcchain.sector.events.simultaneous import crowded_at
from hpcchain.sector.prefetch import prefetch_listed
from hpcchain.sector.queue.event_order import is_current, key_at_hand, key_of, next_key_of
from hpcchain.sector.segments.list_renewal import renew_list
from hpcchain.sector.segments.new_segment import schedule_molecule
from hpcchain.sector.segments.searches import search_one
from hpcchain.sector.speculation.ghost_messages import sign_members
from hpcchain.sector.speculation.rollback import closed_with_serial, request_rollback, roll_back

REACHED, PAUSED, LIST_FULL, LOG_FULL, STUCK, NOT_A_NUMBER, HISTORY_FULL, GO_ON, TABLE_FULL = range(9)
MOST_BACKS = 10000


@outlined
def _go_back(s, holder, partner):
    """Reopen the closed segment that an event is with, and undo what came after it; -1 if the event does not happen."""
    m = s.segment[partner, L.MOLECULE]
    serial = s.next_event[holder, L.PARTNER_SERIAL]
    h, newer = closed_with_serial(s, m, serial)
    if h < 0:
        return -1
    way = partner - s.mol[m, L.MOL_FIRST]
    r, after_r = s.mol[h, L.MOL_FIRST] + way, s.mol[newer, L.MOL_FIRST] + way
    key = key_at_hand(s)
    if not is_current(s, holder, r, after_r, key):
        return -1
    tied = key.depth == L.REOPENS or key > key_of(s, after_r)
    s.scalars[L.SCALAR_REOPENED] += 1
    request_rollback(s, m, np.int64(s.window_molecule[h, L.WINDOW_NUMBER]))
    roll_back(s)
    if tied:
        s.window_molecule[m, L.WINDOW_REOPENED] += 1
    return refresh_rolled_back(s)


@inlined
def _looks_further_back(s, i, j):
    """Whether bead i's event is at j's instant and with a segment of j that has been closed: then that comes first."""
    together = (
        s.event_time[i, L.EVENT_TICKS] == s.event_time[j, L.EVENT_TICKS]
        and s.event_time[i, L.EVENT_REM] == s.event_time[j, L.EVENT_REM]
    )
    return together and partner_of(s.next_event, i) == j and s.next_event[i, L.PARTNER_SERIAL] != serial_of(s, j)


@concurrent
def advance(s, until_ticks, until_remainder, most):
    """Run events in order until a time, at most `most` of them.

    1. Take the least key of the queue; stop when it is beyond the given time.
    2. A list that expires is renewed, an event whose partner has moved on is searched again: no trace is left. In a
       window the partner may have moved on too far, and is set back.
    3. The end of a segment starts the next one of that molecule; a contact that of both; a ghost does as its owner's
       history says, while it has followed it.
    4. New segments are listed and searched, and the molecules' entries in the queue renewed.

    Long, since its steps share the event at hand.

    Parameters
    ----------
    s : Sector
    until_ticks, until_remainder : float
        The time up to which (inclusive) events are carried out: all that have that time in the log, where it is one
        rounded number, so that events at one such instant stay together.
    most : int
        Events after which to return, so that Python can look at signals.

    Returns
    -------
    int
        REACHED, PAUSED (more to do), LIST_FULL (lists must be rebuilt with more capacity), LOG_FULL (log must be
        drained), STUCK (too many events at one instant). Or NOT_A_NUMBER, HISTORY_FULL (more rows for closed segments
        or events are needed), TABLE_FULL (a bead's table of those inside is).
    """
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    until = until_ticks * s.par[L.TICK] + until_remainder
    for _ in range(most):
        m = np.int64(s.winner[L.TOP, L.ROOT])
        if m < 0:
            return REACHED
        key = next_key_of(s, m)
        status = _halt(s, key, until_ticks, until_remainder, until, windowed)
        if status != GO_ON:
            return status
        s.par[L.NOW], s.par[L.NOW_REM] = key.ticks, key.remainder
        s.scalars[L.SCALAR_DEPTH], s.scalars[L.SCALAR_LOWER], s.scalars[L.SCALAR_HIGHER] = (
            key.depth,
            key.lower,
            key.higher,
        )
        is_straggler = windowed and not earlier(s.par[L.LATEST], s.par[L.LATEST_REM], key.ticks, key.remainder)
        if windowed and not is_straggler:
            s.par[L.LATEST], s.par[L.LATEST_REM] = key.ticks, key.remainder
        holder = np.int64(s.holder[m])
        if holder < 0:
            if s.extended is not None:
                if _is_log_full(s):
                    return LOG_FULL
            if carry_on(s, m, holder):
                return LIST_FULL
            continue
        partner = partner_of(s.next_event, holder)
        if partner == L.RELIST:
            if renew_list(s, holder, age(s, holder)):
                return LIST_FULL
            search_one(s, holder)
            schedule_molecule(s, m)
            continue
        if windowed and partner >= 0 and _looks_further_back(s, partner, holder):
            holder, partner = partner, holder
            m = s.segment[holder, L.MOLECULE]
        reopens = key.depth == L.REOPENS
        if partner >= 0 and (reopens or serial_of(s, partner) != s.next_event[holder, L.PARTNER_SERIAL]):
            s.count[L.N_RESCANS] += 1
            status = _go_back(s, holder, partner) if windowed else -1
            if status > 0:
                return LIST_FULL
            if status < 0 or reopens:
                search_one(s, holder)
                schedule_molecule(s, m)
            continue
        if _is_log_full(s):
            return LOG_FULL
        if is_full(s, holder, partner):
            s.count[L.N_FAILED_BEAD] = holder
            return TABLE_FULL
        if key.depth > MOST_DEPTH:
            s.count[L.N_FAILED_BEAD] = holder
            return STUCK
        status = _meet(s, m, holder, partner, windowed, is_straggler)
        if status != 0:
            return TABLE_FULL if status == TABLE_FULL else LIST_FULL
    return PAUSED


@inlined
def _is_log_full(s):
    """Whether the contacts of one event may not fit into the log, where there is one."""
    return len(s.log) > 0 and s.count[L.N_LOGGED] + L.MOST_TIES > len(s.log)


@inlined
def _halt(s, key, until_ticks, until_remainder, until, windowed):
    """Return why `advance` is to return before the first event, which has this Key, or GO_ON."""
    if not key.ticks < np.inf:
        return REACHED if key.ticks == np.inf else NOT_A_NUMBER
    beyond = earlier(until_ticks, until_remainder, key.ticks, key.remainder)
    if beyond and key.ticks * s.par[L.TICK] + key.remainder > until:
        return REACHED
    if s.scalars[L.SCALAR_REOPENED] > MOST_BACKS + s.scalars[L.SCALAR_MOLECULES]:
        return STUCK
    if s.scalars[L.SCALAR_OUT_OF_ROWS] != 0 or (windowed and s.scalars[L.SCALAR_EVENT] + 1 >= len(s.window_event)):
        return HISTORY_FULL
    return GO_ON


@inlined
def _meet(s, m, holder, partner, windowed, is_straggler):
    """Carry out the contact of bead `holder` of molecule m, and renew all that it changes; 0 or an error."""
    other = s.segment[partner, L.MOLECULE] if partner >= 0 else -1
    logged = s.count[L.N_LOGGED]
    crowded = crowded_at(s, holder, partner, m, other)
    free = s.mol[m, L.MOL_SOLVER] == L.BALLISTIC and (other < 0 or s.mol[other, L.MOL_SOLVER] == L.BALLISTIC)
    if free:
        prefetch_listed(s, s.flight, holder)
        if partner >= 0:
            prefetch_listed(s, s.flight, partner)
    members = np.int64(1 if other < 0 else 2)
    if crowded or not free:
        status, met = meet(s, holder, partner, crowded, is_straggler)
        if status == BACK:
            return set_back(s)
        if status == FULL:
            return TABLE_FULL if refresh_rolled_back(s) == 0 else LIST_FULL
        free = status == ALONE
        members = members if free else met
    if free:
        meet_alone(s, holder, partner)
    if windowed:
        sign_members(s, members, logged)
    if free:
        s.origin_time[holder] = -1.0
        search_one(s, holder)
        schedule_molecule(s, m)
        if other >= 0:
            s.origin_time[partner] = -1.0
            search_one(s, partner)
            schedule_molecule(s, other)
    elif refresh_members(s, members):
        return LIST_FULL
    return refresh_rolled_back(s) if s.scalars[L.SCALAR_ROLLED_BACK] != 0 else 0
