"""Whether several events are due at one instant, so that they may have to be done together."""

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import time_span
from hpcchain.layout.segment_bits import partner_of, tied_with
from hpcchain.sector.events.simultaneous import counts_resting
from hpcchain.sector.queue.event_order import segment_end
from hpcchain.sector.queue.tournament import others_before


@kernel
def others_due(par, event_time, first, n, ticks, remainder, a, b):
    """Whether another bead of the range than a and b has an event at this instant."""
    for i in range(first, first + n):
        if (
            i != a
            and i != b
            and abs((event_time[i, L.EVENT_TICKS] - ticks) * par[L.TICK] + (event_time[i, L.EVENT_REM] - remainder))
            < par[L.SIMULTANEOUS]
        ):
            return True
    return False


@inlined
def crowded_at(s, i, partner, m, other, ticks, remainder, base):
    """Whether anything else is due at this instant, so that contacts may have to be resolved together."""
    if s.mol[m, L.MOL_OWNERSHIP] != L.OWNED or (other >= 0 and s.mol[other, L.MOL_OWNERSHIP] != L.OWNED):
        return True  # what touches a ghost elsewhere is not in this queue
    if counts_resting(s):
        return True
    latest = (ticks - base) * s.par[L.TICK] + remainder + s.par[L.SIMULTANEOUS]
    if others_before(s, m, other, latest):
        return True
    if tied_with(s.next_event, i) != 0 or (partner >= 0 and tied_with(s.next_event, partner) != 0):
        return True
    if partner >= 0 and partner_of(s.next_event, partner) != i:  # an event of its own, found before this one
        if (
            abs(
                time_span(
                    s.event_time[partner, L.EVENT_TICKS],
                    s.event_time[partner, L.EVENT_REM],
                    ticks,
                    remainder,
                    s.par[L.TICK],
                )
            )
            < s.par[L.SIMULTANEOUS]
        ):
            return True
    for k in (m, other):
        if k >= 0:
            end_ticks, end_remainder = segment_end(s, k)
            if abs(time_span(end_ticks, end_remainder, ticks, remainder, s.par[L.TICK])) < s.par[L.SIMULTANEOUS]:
                return True  # its next segment, in which others may be due, has not been searched
            if s.mol[k, L.MOL_BEADS] > 1 and others_due(
                s.par, s.event_time, s.mol[k, L.MOL_FIRST], s.mol[k, L.MOL_BEADS], ticks, remainder, i, partner
            ):
                return True
    return False
