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
from hpcchain.jit.simd import (
    add,
    as_bits,
    at_most,
    either,
    halves_turned,
    in_rows,
    last_of_rows,
    mul,
    pairs_turned,
    splat_single,
    sub,
    ways_from_rows,
)
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier, start_time, time_span
from hpcchain.layout.segment_bits import radius_of, series_error_of
from hpcchain.sector.search.flights import farther, store_path
from hpcchain.sector.search.list_place import HALF_TURN, TURN, list_fraction, list_speed

WIDER = 1.0 + 2.0**-19
"""What single precision may round of a distance, several times over."""


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
        swept_radius = radius_of(s, i) * scale + list_speed(s, i) * half + series_error_of(s, m)
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
def met_rows(rows, four, count, place, scale, far):
    """Return which of the first `count` of four rows of `swept` a bead may meet: of row k bit 4 k is set.

    Distances are compared in single precision, in units of `SWEPT_UNIT`, and with more than that rounds: some that are
    just too far count as near. All operations are within the four lanes of a row, which take less time than those that
    bring lanes of several rows together. No branch is needed whose outcome no processor can foresee.

    Parameters
    ----------
    rows : (n, 4) int32 array
    four : (int, int, int, int)
        Which rows.
    count : int
    place : (int, int, int)
        The bead's, in fractions of the box.
    scale : (float, float, float)
        Of these fractions.
    far : float
        The bead's own swept radius, and how much farther to look.
    """
    apart = ways_from_rows(rows, four[0], four[1], four[2], four[3], place[0], place[1], place[2])
    square = mul(apart, in_rows(scale[0], scale[1], scale[2], 0.0))
    square = mul(square, square)
    square = add(square, pairs_turned(square))
    square = add(square, halves_turned(square))
    radii = last_of_rows(apart)  # below 0
    most = mul(sub(splat_single(far), radii), splat_single(WIDER))
    met = as_bits(either(at_most(square, mul(most, most)), at_most(radii, splat_single(-float(L.UNBOUNDED)))))
    return met & 0x1111 & ((1 << 4 * min(count, 4)) - 1)


@inlined
def within_sweep(s, i, back, at):
    """Write those of bead i's list that it may touch during their segments, and those closed since NOW, to `found`.

    `back` is `looking_back`'s, `at` where in `found` they begin. Returns how many.
    """
    if len(s.swept) == 0:  # all beads are single
        return all_listed(s, i, at)
    place = s.swept[i, L.FRACTION_X], s.swept[i, L.FRACTION_Y], s.swept[i, L.FRACTION_Z]
    if s.swept[i, L.SWEPT_RADIUS] == L.UNBOUNDED:
        return all_listed(s, i, at)
    far = np.float64(s.swept[i, L.SWEPT_RADIUS])
    if back != 0.0:
        far += back / s.par[L.SWEPT_UNIT]
    scale = s.par[L.SWEPT_SCALE], s.par[L.SWEPT_SCALE + L.Y], s.par[L.SWEPT_SCALE + L.Z]
    count = at
    e = np.int64(s.lists[i, L.LIST_FIRST])
    left = np.int64(s.lists[i, L.LIST_LENGTH])
    while left > 0:
        a = np.int64(s.neighbour[e])
        b = np.int64(s.neighbour[e + min(left - 1, 1)])
        c = np.int64(s.neighbour[e + min(left - 1, 2)])
        d = np.int64(s.neighbour[e + min(left - 1, 3)])
        bits = met_rows(s.swept, (a, b, c, d), left, place, scale, far)
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
