"""A first look at a bead's neighbours: sixteen bytes tell where each may be during its segment (NUMERICS 9, item 3).

They are the place that straight flight would have brought it to in half its segment, in 32-bit fractions of the box,
whose differences wrap by themselves to the nearest image, and how far the bead's surface may ever be from there.
Whoever is too far by this is too far; all others are looked at exactly, so this leaves no trace.

Single beads fly far and straight: of these, thirty-two bytes tell the way, in single precision.
"""

import math

import numpy as np

from hpcchain.kernel import inlined, kernel
from hpcchain.sector.clockmath import earlier
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.fours import met_rows
from hpcchain.sector.layout import (
    ASTRAY,
    BALLISTIC,
    BOOK_WINDOWED,
    FASTEST,
    GROWTH,
    GROWTH_RATE,
    IDLE,
    INVERSE,
    INVERSE_PERIOD,
    LATEST,
    MOL_BEADS,
    MOL_FIRST,
    MOL_SOLVER,
    NOW,
    ORIGIN,
    PERIOD,
    REACH_MARGIN,
    REACH_UNIT,
    ROUGHNESS,
    SIZE,
    TICK,
    UNBOUNDED,
    WIDEST,
)

TURN = 4294967296.0
HALF_TURN = 2147483648


@inlined
def fraction(par, k, x):
    """Return the place of a coordinate in its period, in [0, 1)."""
    u = (x - par[ORIGIN + k]) * par[INVERSE_PERIOD + k]
    u -= np.floor(u)
    return u if u < 1.0 else 0.0


@kernel
def sweep(s, m):
    """Write down where the beads of molecule m may be during its segment, or the way of a single one.

    From the place after half the segment's length h it is at most |v| h / 2 on straight flight, and the greatest
    acceleration over the segment adds h^2 / 2 times itself: half of h times the greatest speed that `span` has.
    """
    first = s.mol[m, MOL_FIRST]
    if s.mol[m, MOL_SOLVER] == BALLISTIC:
        take_course(s, first)
        return
    end = s.line[first, 6] * s.par[TICK] + s.line[first, 7] + s.span[first, 3]
    scale = s.par[GROWTH] + s.par[GROWTH_RATE] * end if s.par[GROWTH_RATE] != 0.0 else s.par[GROWTH]
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        if s.row[i, 3] == IDLE:
            continue
        half = 0.5 * s.span[i, 3]
        for c in range(3):
            s.swept[i, c] = np.int64(fraction(s.par, c, s.line[i, c] + s.line[i, 3 + c] * half) * TURN) - HALF_TURN
        reach = (s.span[i, 2] * scale + s.span[i, 1] * half + s.pace[m, 4]) / s.par[REACH_UNIT]
        reach = math.ceil(reach + s.par[REACH_MARGIN]) if reach < UNBOUNDED else UNBOUNDED
        s.swept[i, 3] = np.int64(min(reach, UNBOUNDED))


@kernel
def take_course(s, i):
    """Write down from where, when and how fast single bead i flies, time as the sum of two numbers."""
    for c in range(3):
        s.flight[i, c] = s.line[i, c] - s.par[ORIGIN + c]
        s.flight[i, 3 + c] = s.line[i, 3 + c]
    time = s.line[i, 6] * s.par[TICK] + s.line[i, 7]
    whole = np.float64(np.float32(time))
    s.flight[i, 6] = whole
    s.flight[i, 7] = time - whole


@inlined
def on_course(s, i):
    """Write those of single bead i's list to `found` that straight flight may bring to it; return how many.

    They are left out where they part, or pass at more than the largest contact distance, by more than rounding can make
    (ASTRAY) of it. Molecules' beads, whose place here is not a number, are not; nor, in a window, are those whose
    flights begin when bead i's does: what began them may come after what began bead i's (`search_bead`).
    """
    xi = np.float64(s.flight[i, 0])
    yi = np.float64(s.flight[i, 1])
    zi = np.float64(s.flight[i, 2])
    ui = np.float64(s.flight[i, 3])
    vi = np.float64(s.flight[i, 4])
    wi = np.float64(s.flight[i, 5])
    high = np.float64(s.flight[i, 6])
    low = np.float64(s.flight[i, 7])
    rough = 4.0 * s.par[ASTRAY] if s.par[GROWTH_RATE] == 0.0 else np.inf
    wide = s.par[WIDEST] * s.par[GROWTH] + rough
    together = 0.0 if s.book[BOOK_WINDOWED] != 0 else np.nan
    count = 0
    first = np.int64(s.row[i, 0])
    for e in range(first, first + s.row[i, 1]):
        j = np.int64(s.neighbour[e])
        lag = (high - s.flight[j, 6]) + (low - s.flight[j, 7])
        own = min(lag, 0.0)
        far = max(lag, 0.0)
        rx = (xi - ui * own) - (s.flight[j, 0] + s.flight[j, 3] * far)
        ry = (yi - vi * own) - (s.flight[j, 1] + s.flight[j, 4] * far)
        rz = (zi - wi * own) - (s.flight[j, 2] + s.flight[j, 5] * far)
        rx -= s.par[SIZE] * np.rint(rx * s.par[INVERSE])
        ry -= s.par[SIZE + 1] * np.rint(ry * s.par[INVERSE + 1])
        rz -= s.par[SIZE + 2] * np.rint(rz * s.par[INVERSE + 2])
        ux = ui - s.flight[j, 3]
        uy = vi - s.flight[j, 4]
        uz = wi - s.flight[j, 5]
        rr = rx * rx + ry * ry + rz * rz
        uu = ux * ux + uy * uy + uz * uz
        ru = rx * ux + ry * uy + rz * uz
        parts = (ru > 0.0) & (ru * ru > rough * rough * uu)
        passes = rr * uu - ru * ru > (wide * wide + ROUGHNESS * rr) * uu
        s.found[count] = j
        count += 0 if (parts | passes) & (lag != together) else 1
    return count


@inlined
def looking_back(s):
    """Return how far a bead's present segment may begin from where the bead has been since NOW [length].

    In a window others may have been carried on past NOW: then their segments closed since count, too.
    """
    if not earlier(s.par[NOW], s.par[NOW + 1], s.par[LATEST], s.par[LATEST + 1]):
        return 0.0
    return time_span(s.par[LATEST], s.par[LATEST + 1], s.par[NOW], s.par[NOW + 1], s.par[TICK]) * s.par[FASTEST]


@inlined
def within_reach(s, i, back):
    """Write those of bead i's list to `found` that it may touch during their segments, and those closed since NOW.

    `back` is `looking_back`'s. Returns how many.
    """
    px = np.int64(s.swept[i, 0])
    py = np.int64(s.swept[i, 1])
    pz = np.int64(s.swept[i, 2])
    own = np.int64(s.swept[i, 3])
    if own == UNBOUNDED:
        return all_listed(s, i)
    sx = s.par[PERIOD] / TURN
    sy = s.par[PERIOD + 1] / TURN
    sz = s.par[PERIOD + 2] / TURN
    unit = s.par[REACH_UNIT]
    count = 0
    e = np.int64(s.row[i, 0])
    left = np.int64(s.row[i, 1])
    while left > 0:
        a = np.int64(s.neighbour[e])
        b = np.int64(s.neighbour[e + min(left - 1, 1)])
        c = np.int64(s.neighbour[e + min(left - 1, 2)])
        d = np.int64(s.neighbour[e + min(left - 1, 3)])
        bits = met_rows(s.swept, a, b, c, d, left, px, py, pz, own, sx, sy, sz, unit, back, UNBOUNDED)
        s.found[count] = a
        count += bits & 1
        s.found[count] = b
        count += (bits >> 1) & 1
        s.found[count] = c
        count += (bits >> 2) & 1
        s.found[count] = d
        count += bits >> 3
        e += 4
        left -= 4
    return count


@inlined
def all_listed(s, i):
    """Write bead i's whole list to `found`; return how many."""
    first = np.int64(s.row[i, 0])
    count = np.int64(s.row[i, 1])
    for e in range(count):
        s.found[e] = s.neighbour[first + e]
    return count
