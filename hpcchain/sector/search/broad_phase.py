"""A first look at a bead's neighbours: sixteen bytes say where each may be during its segment.

They are the place that straight flight would have brought it to in half its segment, and how far the bead's surface may
ever be from there. The place is in 32-bit fractions of the box, whose differences wrap by themselves to the nearest
image. Both are in the frame of lists (`list_place`), which moves with the system. A bead that is too far by this test
is too far. All others are tested exactly, so this test leaves no trace.

Single beads fly far and straight: of these, thirty-two bytes say the way, in single precision.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.jit.simd import NOT_COMPILED
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier, start_time, time_span
from hpcchain.layout.segment_bits import radius_of, series_error_of
from hpcchain.sector.search.broad_phase_simd import broad_phase_rows, straight_rows
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
        swept_radius = (swept_radius + 0.5 * farther(s.par, s.extended)) / s.par[L.SWEPT_UNIT]
        swept_radius = math.ceil(swept_radius + s.par[L.SWEPT_MARGIN]) if swept_radius < L.UNBOUNDED else L.UNBOUNDED
        s.swept[i, L.SWEPT_RADIUS] = np.int64(min(swept_radius, L.UNBOUNDED))


@inlined
def _grown(s, m):
    """Return the contact distances at the end of molecule m's segment, as a fraction of the full ones."""
    first = s.mol[m, L.MOL_FIRST]
    end = start_time(s, first) + s.timing[m, L.LENGTH]
    return s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * end if s.par[L.GROWTH_RATE] != 0.0 else s.par[L.GROWTH]


@kernel
def store_path(s, i):
    """Write down from where, when and how fast single bead i flies, time as the sum of two numbers.

    What is fixed has no straight way for those that fall: its numbers are none.
    """
    for c in range(3):
        s.flight[i, c] = s.starts[i, c] - s.par[L.ORIGIN + c]
        s.flight[i, L.VX + c] = s.starts[i, L.VX + c]
    time = start_time(s, i)
    whole = np.float64(np.float32(time))
    s.flight[i, L.FLIGHT_HIGH] = whole
    s.flight[i, L.FLIGHT_LOW] = time - whole
    if s.extended is not None:
        if s.bounds[i, L.ACCELERATION] != 0.0:
            for c in range(8):
                s.flight[i, c] = np.nan


@kernel
def farther(par, extended):
    """Return how much farther than contact beads may act on one another [length]."""
    if extended is not None:
        return par[L.BEYOND]
    return -0.0  # which no sum keeps a trace of


@kernel
def _is_outside(rr, wide, rough, extended):
    """Whether beads that part do not act on one another; those within a step of their potential may leave it."""
    if extended is not None:
        return rr > (wide + rough) * (wide + rough)
    return True


@inlined
def own_flight(s, i):
    """Return place (3), velocity (3) and time, in two parts, of single bead i's flight, in single precision."""
    x = np.float64(s.flight[i, L.X])
    y = np.float64(s.flight[i, L.Y])
    z = np.float64(s.flight[i, L.Z])
    u = np.float64(s.flight[i, L.VX])
    v = np.float64(s.flight[i, L.VY])
    w = np.float64(s.flight[i, L.VZ])
    return x, y, z, u, v, w, np.float64(s.flight[i, L.FLIGHT_HIGH]), np.float64(s.flight[i, L.FLIGHT_LOW])


@inlined
def flights_apart(s, j, xi, yi, zi, ui, vi, wi, high, low):
    """Return lag behind bead j's flight, the same up to 0, separation (3) and its rate (3) of two single beads.

    The one is bead j, the other that of `own_flight`; they are where both flights exist, by the nearest image.
    """
    lag = (high - s.flight[j, L.FLIGHT_HIGH]) + (low - s.flight[j, L.FLIGHT_LOW])
    own = min(lag, 0.0)
    far = max(lag, 0.0)
    rx = (xi - ui * own) - (s.flight[j, L.X] + s.flight[j, L.VX] * far)
    ry = (yi - vi * own) - (s.flight[j, L.Y] + s.flight[j, L.VY] * far)
    rz = (zi - wi * own) - (s.flight[j, L.Z] + s.flight[j, L.VZ] * far)
    if s.extended is not None:
        half = 0.5 * (own * own - far * far)
        rx += s.par[L.GRAVITY] * half
        ry += s.par[L.GRAVITY + L.Y] * half
        rz += s.par[L.GRAVITY + L.Z] * half
    rx -= s.par[L.SIZE] * np.rint(rx * s.par[L.INVERSE])
    ry -= s.par[L.SIZE + L.Y] * np.rint(ry * s.par[L.INVERSE + L.Y])
    rz -= s.par[L.SIZE + L.Z] * np.rint(rz * s.par[L.INVERSE + L.Z])
    ux = ui - s.flight[j, L.VX]
    uy = vi - s.flight[j, L.VY]
    uz = wi - s.flight[j, L.VZ]
    if s.extended is not None:  # `contact.span.separation_on_lines`
        ux -= s.par[L.GRAVITY] * (own + far)
        uy -= s.par[L.GRAVITY + L.Y] * (own + far)
        uz -= s.par[L.GRAVITY + L.Z] * (own + far)
    return lag, own, rx, ry, rz, ux, uy, uz


@inlined
def candidates_straight(s, i, at, extended):
    """Write those of single bead i's list that straight flight may bring to it to `found`, from index `at` on.

    Returns how many.

    They are left out where they part, or pass at more than the largest contact distance, by more than rounding can make
    (ASTRAY) of it. Molecules' beads, whose place here is not a number, are not; nor, in a window, are those whose
    flights begin when bead i's does: what began them may come after what began bead i's (`search_bead`).
    """
    rough = 4.0 * s.par[L.ASTRAY] if s.par[L.GROWTH_RATE] == 0.0 else np.inf
    wide = s.par[L.WIDEST] * s.par[L.GROWTH] + rough + farther(s.par, extended)
    together = 0.0 if s.scalars[L.SCALAR_WINDOWED] != 0 else np.nan
    if extended is not None:
        return _candidates_one_by_one(s, i, at, rough, wide, together, extended)
    if NOT_COMPILED:  # only compiled code looks at eight flights at a time
        return _candidates_one_by_one(s, i, at, rough, wide, together, extended)
    count = at
    e = np.int64(s.lists[i, L.LIST_FIRST])
    left = np.int64(s.lists[i, L.LIST_LENGTH])
    while left > 0:
        bits = straight_rows(s.flight, i, s.neighbour, e, left, s.par, rough, wide, together)
        for k in range(min(left, 8)):
            s.found[count] = s.neighbour[e + k]
            count += (bits >> k) & 1
        e += 8
        left -= 8
    return count - at


@kernel
def _candidates_one_by_one(s, i, at, rough, wide, together, extended):
    """Do what `candidates_straight` does, also of beads that may fall, or act on one another from afar."""
    xi, yi, zi, ui, vi, wi, high, low = own_flight(s, i)
    count = at
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        j = np.int64(s.neighbour[e])
        lag, own, rx, ry, rz, ux, uy, uz = flights_apart(s, j, xi, yi, zi, ui, vi, wi, high, low)
        rr = rx * rx + ry * ry + rz * rz
        uu = ux * ux + uy * uy + uz * uz
        ru = rx * ux + ry * uy + rz * uz
        parts = (ru > 0.0) & (ru * ru > rough * rough * uu) & _is_outside(rr, wide, rough, extended)
        passes = rr * uu - ru * ru > (wide * wide + L.ROUGHNESS * rr) * uu
        s.found[count] = j
        count += 0 if (parts | passes) & (lag != together) else 1
    return count - at


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
