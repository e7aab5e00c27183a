"""A first look at a bead's neighbours: sixteen bytes say where each may be during its segment.

They are the place that straight flight would have brought it to in half its segment, and how far the bead's surface may
ever be from there. The place is in 32-bit fractions of the box, whose differences wrap by themselves to the nearest
image. Both are in the frame of lists (`list_place`), which moves with the system. A bead that is too far by this test
is too far. All others are tested exactly, so this test leaves no trace.

Single beads have another test (`flights`).
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier, start_time, time_span
from hpcchain.layout.segment_bits import radius_of, series_error_of
from hpcchain.sector.search.broad_phase_simd import broad_phase_rows
from hpcchain.sector.search.flights import farther, store_path
from hpcchain.sector.search.list_place import HALF_TURN, TURN, list_fraction, list_speed


@kernel
def sweep(s, m):
    """Write down where the beads of molecule m may be during its segment, or the way of a single one.

    From the place after half the segment's length h it is at most |v| h / 2 on straight flight, and the greatest
    acceleration over the segment adds h^2 / 2 times itself: half of h times the bound of the speed.
    """
    first = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        store_path(s, first)
        if s.extended is not None:
            s.swept[first, L.SWEPT_RADIUS] = L.UNBOUNDED
        return
    half, scale = 0.5 * s.timing[m, L.LENGTH], _grown(s, m)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        for c in range(3):
            place = list_fraction(s, i, c, s.starts[i, c] + s.starts[i, L.VX + c] * half, half)
            s.swept[i, c] = np.int64(place * TURN) - HALF_TURN
        swept_radius = radius_of(s.radius, i) * scale + list_speed(s, i) * half + series_error_of(s, m)
        swept_radius = (swept_radius + 0.5 * farther(s)) / s.par[L.SWEPT_UNIT]
        swept_radius = math.ceil(swept_radius + s.par[L.SWEPT_MARGIN]) if swept_radius < L.UNBOUNDED else L.UNBOUNDED
        s.swept[i, L.SWEPT_RADIUS] = np.int64(min(swept_radius, L.UNBOUNDED))


@inlined
def _grown(s, m):
    """Return the contact distances at the end of molecule m's segment, as a fraction of the full ones."""
    first = s.mol[m, L.MOL_FIRST]
    end = start_time(s, first) + s.timing[m, L.LENGTH]
    return s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * end if s.par[L.GROWTH_RATE] != 0.0 else s.par[L.GROWTH]


@inlined
def looking_back(s):
    """Return how far a bead's present segment may begin from where the bead has been since NOW [length].

    In a window others may have been carried on past NOW: then their segments closed since count, too.
    """
    if not earlier(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.LATEST], s.par[L.LATEST_REM]):
        return 0.0
    return (
        time_span(s.par[L.LATEST], s.par[L.LATEST_REM], s.par[L.NOW], s.par[L.NOW_REM], s.par[L.TICK])
        * s.par[L.FASTEST]
    )


@inlined
def within_sweep(s, i, back, at):
    """Write those of bead i's list that it may touch during their segments, and those closed since NOW, to `found`.

    `back` is `looking_back`'s, `at` where in `found` they begin. Returns how many.
    """
    if len(s.swept) == 0:  # all beads are single
        return all_listed(s, i, at)
    px = np.int64(s.swept[i, L.FRACTION_X])
    py = np.int64(s.swept[i, L.FRACTION_Y])
    pz = np.int64(s.swept[i, L.FRACTION_Z])
    own = np.int64(s.swept[i, L.SWEPT_RADIUS])
    if own == L.UNBOUNDED:
        return all_listed(s, i, at)
    sx, sy, sz = s.par[L.SWEPT_SCALE], s.par[L.SWEPT_SCALE + L.Y], s.par[L.SWEPT_SCALE + L.Z]
    if back != 0.0:
        back /= s.par[L.SWEPT_UNIT]
    count = at
    e = np.int64(s.lists[i, L.LIST_FIRST])
    left = np.int64(s.lists[i, L.LIST_LENGTH])
    while left > 0:
        a = np.int64(s.neighbour[e])
        b = np.int64(s.neighbour[e + min(left - 1, 1)])
        c = np.int64(s.neighbour[e + min(left - 1, 2)])
        d = np.int64(s.neighbour[e + min(left - 1, 3)])
        bits = broad_phase_rows(s.swept, a, b, c, d, left, px, py, pz, own, sx, sy, sz, back)
        if bits != 0:  # of long chains seldom
            s.found[count] = a
            count += bits & 1
            s.found[count] = b
            count += (bits >> 4) & 1
            s.found[count] = c
            count += (bits >> 8) & 1
            s.found[count] = d
            count += bits >> 12
        e += 4
        left -= 4
    return count - at


@inlined
def all_listed(s, i, at):
    """Write bead i's whole list to `found`, from index `at` on; return how many."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    count = np.int64(s.lists[i, L.LIST_LENGTH])
    for e in range(count):
        s.found[at + e] = s.neighbour[first + e]
    return count
