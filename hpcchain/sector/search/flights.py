"""Single beads, which fly far and straight, or fall: which of its list one may meet, eight at a time.

Thirty-two bytes say a bead's way, in single precision. Those of its list are left out that surely pass it or part; all
others are tested exactly, so this test leaves no trace. What has no such way, a molecule's bead, has numbers that are
none, and is never left out.
"""

from collections import namedtuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.jit.simd import (
    above,
    add,
    as_bits,
    at_most,
    both,
    columns,
    div,
    either,
    larger,
    mul,
    nearest_whole,
    splat,
    sub,
    unlike,
    where,
)
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import start_time
from hpcchain.sector.prefetch import prefetch_segments

# Eight times one bead's flight: place, velocity, and the time of its start in two parts.
Flight = namedtuple("Flight", "x y z u v w high low")
# Of eight beads: how long a bead's flight began after theirs, the same up to 0, and squared distance, squared relative
# speed and their product (r . u), by the nearest images, where both flights exist.
Apart = namedtuple("Apart", "lag back rr uu ru")


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
def farther(s):
    """Return how much farther than contact beads may act on one another [length]."""
    if s.extended is not None:
        return s.par[L.BEYOND]
    return -0.0  # which no sum keeps a trace of


@inlined
def _own_flight(s, i):
    """Return single bead i's Flight."""
    x = splat(np.float64(s.flight[i, L.X]))
    y = splat(np.float64(s.flight[i, L.Y]))
    z = splat(np.float64(s.flight[i, L.Z]))
    u = splat(np.float64(s.flight[i, L.VX]))
    v = splat(np.float64(s.flight[i, L.VY]))
    w = splat(np.float64(s.flight[i, L.VZ]))
    high, low = splat(np.float64(s.flight[i, L.FLIGHT_HIGH])), splat(np.float64(s.flight[i, L.FLIGHT_LOW]))
    return Flight(x, y, z, u, v, w, high, low)


@inlined
def _flights_apart(s, own, e, left):
    """Return how a bead's Flight and those of up to eight beads are Apart, that are listed from entry e on."""
    x, y, z, u, v, w, high, low = columns(s.flight, s.neighbour, e, left)
    none = splat(0.0)
    lag = add(sub(own.high, high), sub(own.low, low))
    back, ahead = where(above(none, lag), lag, none), larger(lag, none)
    x = sub(sub(own.x, mul(own.u, back)), add(x, mul(u, ahead)))
    y = sub(sub(own.y, mul(own.v, back)), add(y, mul(v, ahead)))
    z = sub(sub(own.z, mul(own.w, back)), add(z, mul(w, ahead)))
    u, v, w = sub(own.u, u), sub(own.v, v), sub(own.w, w)
    if s.extended is not None:  # `contact.span.separation_on_lines`
        half = mul(splat(0.5), sub(mul(back, back), mul(ahead, ahead)))
        longer = add(back, ahead)
        gx, gy, gz = splat(s.par[L.GRAVITY]), splat(s.par[L.GRAVITY + L.Y]), splat(s.par[L.GRAVITY + L.Z])
        x, y, z = add(x, mul(gx, half)), add(y, mul(gy, half)), add(z, mul(gz, half))
        u, v, w = sub(u, mul(gx, longer)), sub(v, mul(gy, longer)), sub(w, mul(gz, longer))
    x, y, z = _nearest(s, L.X, x), _nearest(s, L.Y, y), _nearest(s, L.Z, z)
    rr = add(add(mul(x, x), mul(y, y)), mul(z, z))
    uu = add(add(mul(u, u), mul(v, v)), mul(w, w))
    ru = add(add(mul(x, u), mul(y, v)), mul(z, w))
    return Apart(lag, back, rr, uu, ru)


@inlined
def _nearest(s, c, x):
    """Return component c of eight separations, to the nearest images."""
    whole = nearest_whole(mul(x, splat(s.par[L.INVERSE + c])))
    return sub(x, mul(splat(s.par[L.SIZE + c]), whole))


@inlined
def _keep(s, e, left, bits, count):
    """Add those of up to eight listed beads whose bits are set to the first `count` in `found`; return how many."""
    for k in range(min(left, 8)):
        s.found[count] = s.neighbour[e + k]
        count += (bits >> k) & 1
    return count


@inlined
def _together(s):
    """Return the lag of flights that count as met, whatever their way.

    In a window those whose flights begin when a bead's does are: what began them may come after what began the bead's
    (`meet_candidates`).
    """
    return splat(0.0 if s.scalars[L.SCALAR_WINDOWED] != 0 else np.nan)


@inlined
def candidates_straight(s, i, at):
    """Write those of single bead i's list that their flights may bring to it to `found`, from index `at` on.

    Returns how many. They are left out where they part, or pass at more than the largest distance at which beads act on
    one another, by more than rounding can make (ASTRAY) of it. Those that part within it may yet leave it.
    """
    rough = 4.0 * s.par[L.ASTRAY] if s.par[L.GROWTH_RATE] == 0.0 else np.inf
    wide = s.par[L.WIDEST] * s.par[L.GROWTH] + rough + farther(s)
    together, own, none = _together(s), _own_flight(s, i), splat(0.0)
    count = at
    e = np.int64(s.lists[i, L.LIST_FIRST])
    left = np.int64(s.lists[i, L.LIST_LENGTH])
    while left > 0:
        lag, back, rr, uu, ru = _flights_apart(s, own, e, left)
        square = mul(ru, ru)
        parts = both(above(ru, none), above(square, mul(splat(rough * rough), uu)))
        if s.extended is not None:
            parts = both(parts, above(rr, splat((wide + rough) * (wide + rough))))
        most = add(splat(wide * wide), mul(splat(L.ROUGHNESS), rr))
        passes = above(sub(mul(rr, uu), square), mul(most, uu))
        count = _keep(s, e, left, ~as_bits(both(either(parts, passes), unlike(lag, together))), count)
        e += 8
        left -= 8
    return count - at


@outlined
def candidates_within(s, i, horizon):
    """Write those of single bead i's list with which it may meet a distance within a horizon to `found`.

    Returns how many. Those are left out with which it is nearer or farther than each distance of the run's potentials,
    and farther than contact, by more than rounding can make (`candidates_straight`). This must hold from where both
    segments exist to the horizon [time], which counts from bead i's segment's start.
    """
    rough = 4.0 * s.par[L.ASTRAY]
    touching = splat((s.par[L.WIDEST] + rough) * (s.par[L.WIDEST] + rough))
    together, own, none = _together(s), _own_flight(s, i), splat(0.0)
    last = len(s.potential) - 1
    first = last - np.int64(s.potential[last])
    count = np.int64(0)
    e = np.int64(s.lists[i, L.LIST_FIRST])
    left = np.int64(s.lists[i, L.LIST_LENGTH])
    while left > 0:
        lag, back, rr, uu, ru = _flights_apart(s, own, e, left)
        rest = add(splat(horizon), back)
        end = add(rr, mul(rest, add(mul(splat(2.0), ru), mul(rest, uu))))
        square = mul(ru, ru)
        turning = sub(rr, div(square, uu))
        least = where(above(mul(rest, uu), sub(none, ru)), turning, end)
        least = where(above(none, ru), least, rr)
        most = larger(rr, end)
        nears = either(above(none, ru), at_most(square, mul(splat(rough * rough), uu)))
        meets = both(at_most(least, touching), nears)
        for k in range(first, last):
            near, far = s.potential[k] - rough, s.potential[k] + rough
            meets = either(meets, both(at_most(least, splat(far * far)), at_most(splat(near * near), most)))
        known = as_bits(both(at_most(none, rr), unlike(lag, together)))
        count = _keep(s, e, left, (as_bits(meets) | ~known) & ~as_bits(above(none, rest)), count)
        e += 8
        left -= 8
    prefetch_segments(s, 0, count)
    return count
