"""Renew the lists of beads that leave their shells, and those of new segments that would soon."""

from hpcchain.contact.pair import curve
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import length_of, series_error_of, series_order
from hpcchain.sector.prefetch import prefetch_renewal
from hpcchain.sector.search.earliest_event import list_expiry, surely_listed
from hpcchain.sector.search.list_place import list_speed, list_time
from hpcchain.sector.search.neighbour_lists import EARLY, rebuild_list
from hpcchain.sector.segments.new_segment import make_own_series

SOON = 0.5
DUE = -3.0  # in `origin_time`, until the list is renewed
MOST_BEND = 0.25  # of the lists' shell, that a bead may be off the place about which its list is made


@inlined
def renew_list(s, i, dt):
    """Make bead i's list anew about where it is a time dt after its segment's start; 0 or an error.

    A series is not made for that alone: without one the place is on the straight line, and how far the bead may have
    bent away from it makes the list so much older. That of a single bead is made about a place before it (`list_time`).
    """
    s.count[L.N_RELISTS] += 1
    m = s.segment[i, L.MOLECULE]
    dt = list_time(s, i, dt)
    if dt == 0.0:
        return rebuild_list(s, i, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], dt)
    if s.stepper is None and series_order(s.segment, s.mol[m, L.MOL_FIRST]) == L.UNMADE:
        bend = 0.5 * s.bounds[i, L.ACCELERATION] * dt * dt + series_error_of(s, m)
        if s.extended is not None:
            bend += 0.5 * s.par[L.FALL] * dt * dt
        speed = list_speed(s, i)
        if bend <= MOST_BEND * s.par[L.SHELL] and bend < speed * dt:
            x = s.starts[i, L.X] + s.starts[i, L.VX] * dt
            y = s.starts[i, L.Y] + s.starts[i, L.VY] * dt
            z = s.starts[i, L.Z] + s.starts[i, L.VZ] * dt
            status = rebuild_list(s, i, x, y, z, dt)
            s.origin_time[i] = (dt - bend / speed) * EARLY
            return status
    make_own_series(s, m)
    x, y, z, u, v, w = curve(s, i, dt)
    return rebuild_list(s, i, x, y, z, dt)


@kernel
def renew_lists(s, m):
    """Renew the lists of the beads of a new segment that would soon leave their shells; return 0 or an error.

    What that reads is prefetched. Segments last half as long as requested (`new_segment`): later than that a list is
    renewed when it comes to it.
    """
    first = s.mol[m, L.MOL_FIRST]
    due = 0
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        s.origin_time[i] = -1.0
        if s.bounds[i, L.ACCELERATION] == 0.0 or s.lists[i, L.OWNERSHIP] == L.DISTANT:
            continue
        if surely_listed(s, i, length_of(s, i)):
            s.origin_time[i] = L.LISTED
            continue
        if surely_listed(s, i, SOON * length_of(s, i)):
            continue
        if list_expiry(s, i) < SOON * length_of(s, i):
            s.origin_time[i] = DUE
            due += 1
            prefetch_renewal(s, i, 0.0)
    for i in range(first, first + s.mol[m, L.MOL_BEADS] if due > 0 else first):
        if s.origin_time[i] == DUE:
            status = renew_list(s, i, 0.0)
            if status:
                return status
    return 0
