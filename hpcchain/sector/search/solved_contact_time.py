"""The exact time of a contact of molecules whose dense polynomial is less accurate than their states.

A collocation polynomial of s stages is of order s + 1 inside its segment, a new solution over a shorter time of order
2s. The root of the polynomials is where to start. Each trial time is solved anew for the molecules involved, until
their own gap is zero (docs/theory/contact_times.md). Where the input has them, Hartmann et al. 2009's nested intervals
close in on it instead. The time found is a function of the two segments alone. Where the polynomials cross by a hair
and the solutions do not, the search goes on behind the graze.

`s` is the sector, whose workspace is used; `pair` a `Pair`, or a bead and a wall: then `j` is the wall's code, `sx` its
place, `sy` its side (+1 lower) and `distance` the bead's radius. Times `t` are those since the common span began.
"""

import math

import numpy as np

from hpcchain.contact.pair import Pair, curve, curved_contact, relative_state
from hpcchain.contact.walls import across, at_rest, wall_contact
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import series_error_of
from hpcchain.propagators.collocation.collocation import SOLVED
from hpcchain.propagators.collocation.collocation_molecule import (
    FALLING,
    FEWEST,
    STAGES,
    WIDTH,
    stage_table_size,
    stages_jump,
    stages_solve,
    stages_state,
)
from hpcchain.propagators.interface import load
from hpcchain.propagators.taylor.graph_molecule import constants_at

EXACT = 1e-15
NEAR = 1e-11
GOLDEN = 0.6180339887498949
MOST_NEWTON = 12
MOST_HALVINGS = 52
MOST_GRAZES = 64


@kernel
def bring(s, i, t, offset):
    """Bring bead i's molecule to the workspace, a time t after its segment's start, if it is to be solved anew."""
    m = s.segment[i, L.MOLECULE]
    if s.mol[m, L.MOL_SOLVER] >= L.COLLOCATION:
        load(s, offset, m, t)


@kernel
def bead_exactly(s, i, t, offset):
    """Return position and velocity of bead i at time t after its segment's start; its molecule was `bring`-ed there."""
    m = s.segment[i, L.MOLECULE]
    if s.mol[m, L.MOL_SOLVER] < L.COLLOCATION:
        return curve(s, i, t)
    b = i - s.mol[m, L.MOL_FIRST]
    work = s.work
    p = W.bead_offset(offset, b) + W.COEF
    q = p + W.ROW
    x, y, z = W.vector(work, p)
    u, v, w = W.vector(work, q)
    return x, y, z, u, v, w


@inlined
def _separate(s, pair):
    """Whether two beads are of two molecules."""
    return pair.j >= 0 and s.segment[pair.i, L.MOLECULE] != s.segment[pair.j, L.MOLECULE]


@outlined
def _gap(s, pair, t):
    """Return the gap and its rate, by the method that moves the beads."""
    oi = np.int64(0)
    bring(s, pair.i, pair.ti + t, oi)
    one = bead_exactly(s, pair.i, pair.ti + t, oi)
    if pair.j < 0:
        return _wall_gap(pair, one, t)
    oj = oi
    if _separate(s, pair):
        oj = s.mol[s.segment[pair.i, L.MOLECULE], L.MOL_WORKSPACE]
        bring(s, pair.j, pair.tj + t, oj)
    return _pair_gap(pair, one, bead_exactly(s, pair.j, pair.tj + t, oj), t)


@kernel
def _nearing(s, pair, t):
    """Whether the polynomials' gap falls at a time, as `curved_contact` and `wall_contact` see it."""
    if pair.j < 0:
        gap, rate = _wall_gap(pair, curve(s, pair.i, pair.ti + t), t)
        return rate < 0.0
    x, y, z, u, v, w = relative_state(s, pair, t)
    return x * u + y * v + z * w - (pair.distance + pair.growth * t) * pair.growth < 0.0


@kernel
def _wall_gap(pair, one, t):
    """Return the gap and its rate of a bead with this position and velocity and a wall."""
    x, y, z, u, v, w = one
    x, u = across(pair, x, y, z), across(pair, u, v, w)
    return pair.sy * (x - pair.sx) - (pair.distance + pair.growth * t), pair.sy * u - pair.growth


@kernel
def _pair_gap(pair, one, other, t):
    """Return the gap and its rate of two beads with these positions and velocities."""
    xi, yi, zi, ui, vi, wi = one
    xj, yj, zj, uj, vj, wj = other
    x, y, z = (xi - xj) + pair.sx, (yi - yj) + pair.sy, (zi - zj) + pair.sz
    r = math.sqrt(x * x + y * y + z * z)
    rate = (x * (ui - uj) + y * (vi - vj) + z * (wi - wj)) / r - pair.growth
    return r - (pair.distance + pair.growth * t), rate


@kernel
def _end_of_approach(s, pair, t):
    """Return when, from t on, the polynomials' gap stops falling, or `until`."""
    low = t
    high = t
    step = pair.until * 2.0**-12
    for _ in range(MOST_HALVINGS):
        if not _nearing(s, pair, high):
            break
        if high >= pair.until:
            return pair.until
        low = high
        high = min(high + step, pair.until)
        step *= 2.0
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        if _nearing(s, pair, middle):
            low = middle
        else:
            high = middle
    return high


@kernel
def _minimum_gap(s, pair, low, high):
    """Return where the gap is least between two times, or the first time tried where it is not positive, and it."""
    # By golden section: the gap's rate is less accurate than the gap, its velocities being as they come
    # (`collocation`).
    a = high - GOLDEN * (high - low)
    b = low + GOLDEN * (high - low)
    gap_a, rate = _gap(s, pair, a)
    gap_b, rate = _gap(s, pair, b)
    for _ in range(MOST_HALVINGS):
        if gap_a <= 0.0 or gap_b <= 0.0:
            break
        if gap_a < gap_b:
            high, b, gap_b = b, a, gap_a
            a = high - GOLDEN * (high - low)
            gap_a, rate = _gap(s, pair, a)
        else:
            low, a, gap_a = a, b, gap_b
            b = low + GOLDEN * (high - low)
            gap_b, rate = _gap(s, pair, b)
    if gap_a < gap_b:
        return a, gap_a
    return b, gap_b


@kernel
def _bisected(s, pair, series_error, t):
    """Return the contact near t by bisection, or inf, and when the gap begins to rise again."""
    until = pair.until
    turn = _end_of_approach(s, _from(pair, 0.0, pair.distance + series_error, pair.just_hit), t)
    gap, rate = _gap(s, pair, turn)
    low = turn
    if gap > 0.0:
        low, gap = _minimum_gap(s, pair, t, min(2.0 * turn - t, until))
        if gap > 0.0:
            return np.inf, turn
    high = low
    back = max(low - t, until * 2.0**-20)
    while gap <= 0.0:
        if low == 0.0:
            return 0.0, turn
        high = low
        low = max(low - back, 0.0)
        back *= 2.0
        gap, rate = _gap(s, pair, low)
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        gap, rate = _gap(s, pair, middle)
        if gap > 0.0:
            low = middle
        else:
            high = middle
    return low, turn


@inlined
def _from(pair, t, distance, just_hit):
    """Return what is left of a Pair from a time on, where its contact distance is another."""
    return Pair(
        pair.i,
        pair.j,
        pair.ti + t,
        pair.tj + t,
        pair.sx,
        pair.sy,
        pair.sz,
        distance,
        pair.growth,
        pair.acceleration,
        pair.until - t,
        just_hit,
    )


@kernel
def _bisects(s, i):
    """Whether contact times of bead i's molecule are to be found by bisection alone."""
    return s.table[s.mol[s.segment[i, L.MOLECULE], L.MOL_TABLE] + L.BISECTS_AT] != 0.0


@outlined
def _refined(s, pair, series_error, t):
    """Return the contact near t by Newton steps, else by bisection, and when the gap begins to rise again."""
    if _bisects(s, pair.i) or (pair.j >= 0 and _bisects(s, pair.j)):
        return _bisected(s, pair, series_error, t)
    last = np.inf
    time = t
    for _ in range(MOST_NEWTON):
        gap, rate = _gap(s, pair, time)
        distance = abs(gap)
        d = pair.distance
        if distance <= EXACT * d or (distance <= NEAR * d and distance > 0.25 * last) or (time == 0.0 and gap <= 0.0):
            return time, time
        if rate >= 0.0 or time - gap / rate > pair.until:
            break
        last = distance
        time = max(time - gap / rate, 0.0)
    return _bisected(s, pair, series_error, t)


@kernel
def _constants(s, pair):
    """Return where the constants for nested intervals begin in the static table, -1 where neither molecule has any."""
    # Where both do, it is the kind that comes first in the table that decides, whichever bead searches.
    first = _nesting(s, s.segment[pair.i, L.MOLECULE])
    other = _nesting(s, s.segment[pair.j, L.MOLECULE]) if pair.j >= 0 else np.int64(-1)
    return other if first < 0 or 0 <= other < first else first


@kernel
def _nesting(s, m):
    """Return where the constants of molecule m's stages begin if nested intervals find its contacts, or -1."""
    if s.mol[m, L.MOL_SOLVER] != L.COLLOCATION:
        return np.int64(-1)
    at = constants_at(s, m)
    return at if s.table[at + WIDTH] > 0.0 else np.int64(-1)


@kernel
def _nested(s, pair, series_error, t):
    """Return the contact by nested intervals, just before the solutions touch (Hartmann et al. 2009, IV A)."""
    # As printed stages fall from interval to interval; where that ends behind the contact all stages are kept.
    at = _constants(s, pair)
    if s.table[at + FALLING] > 0.0:
        low = _falling(s, pair)
        if low < pair.until and _is_before(s, pair, low):
            return low, low
    low = _closing(s, pair)
    if low < pair.until and _is_before(s, pair, low):
        return low, low
    return _refined(s, pair, series_error, t)


@kernel
def _is_before(s, pair, t):
    """Whether the solutions near each other at t and do not overlap."""
    gap, rate = _gap(s, pair, t)
    return gap >= 0.0 and rate < 0.0


@kernel
def _closing(s, pair):
    """Return a time before a contact by less than the width, or inf, all stages kept.

    The first of the collocation points at which the beads overlap and the point before it bound the next interval,
    whose points are those of one stage fewer, until it is no wider than the input says. The solutions run from the
    segments' starts with all stages. Overlaps between two points are not seen by this.
    """
    at = _constants(s, pair)
    points = np.int64(s.table[at + STAGES])
    node = at + stage_table_size(points)
    low = 0.0
    high = pair.until
    found = False
    for _ in range(MOST_HALVINGS):
        if high - low <= s.table[at + WIDTH]:
            break
        origin = low
        width = high - low
        for k in range(points):
            time = origin + width * s.table[node + k]
            gap, rate = _gap(s, pair, time)
            if gap <= 0.0:
                high = time
                found = True
                break
            low = time
        if not found:
            gap, rate = _gap(s, pair, high)
            found = gap <= 0.0
        if not found:
            return np.inf
        if points > 1:
            node += points
            points -= 1
    return low if found else np.inf


@kernel
def _falls(s, m, points):
    """Whether molecule m has solutions of that many falling stages and fewer; else its own one says where it is."""
    at = _nesting(s, m)
    return at >= 0 and s.table[at + FALLING] > 0.0 and s.table[at + STAGES] >= points


@kernel
def _at_stage(s, i, t, offset, falls, points, k):
    """Return position and velocity of bead i at stage k of so many, which is at time t of its segment."""
    if not falls:
        bring(s, i, t, offset)
        return bead_exactly(s, i, t, offset)
    m = s.segment[i, L.MOLECULE]
    return stages_state(s, offset, m, points, k, i - s.mol[m, L.MOL_FIRST])


@kernel
def _falling(s, pair):
    """Return a time just before a contact by nested intervals with falling stages, as printed, or inf.

    Each interval is solved from the state at the last stage without overlap of the one before, with one stage fewer.
    What that loses of the order stays in the time: by how much is tested in test_collocation_nested. A contact
    behind the last stage is taken to be between it and the interval's end, where the solutions must overlap.
    """
    at = _constants(s, pair)
    points = np.int64(s.table[at + STAGES])
    node = at + stage_table_size(points)
    separate = _separate(s, pair)
    mi = s.segment[pair.i, L.MOLECULE]
    mj = s.segment[pair.j, L.MOLECULE] if separate else mi
    oi = np.int64(0)
    oj = s.mol[mi, L.MOL_WORKSPACE] if separate else oi
    falls_i = _falls(s, mi, points)
    falls_j = pair.j >= 0 and _falls(s, mj, points)
    gap, rate = _gap(s, pair, pair.until)
    found = gap <= 0.0
    bring(s, pair.i, pair.ti, oi)
    if separate:
        bring(s, pair.j, pair.tj, oj)
    low = 0.0
    high = pair.until
    for _ in range(MOST_HALVINGS):
        if high - low <= s.table[at + WIDTH]:
            break
        width = high - low
        if falls_i and stages_solve(s, oi, mi, points, width) != SOLVED:
            return np.inf
        if separate and falls_j and stages_solve(s, oj, mj, points, width) != SOLVED:
            return np.inf
        start = low
        last = -1
        for k in range(points):
            t = start + width * s.table[node + k]
            one = _at_stage(s, pair.i, pair.ti + t, oi, falls_i, points, k)
            if pair.j < 0:
                gap, rate = _wall_gap(pair, one, t)
            else:
                gap, rate = _pair_gap(pair, one, _at_stage(s, pair.j, pair.tj + t, oj, falls_j, points, k), t)
            if gap <= 0.0:
                high = t
                found = True
                break
            low = t
            last = k
        if not found:
            return np.inf
        if last >= 0:
            if falls_i:
                stages_jump(s, oi, mi, points, last)
            if separate and falls_j:
                stages_jump(s, oj, mj, points, last)
        if points > FEWEST:
            node += points
            points -= 1
    return low if found else np.inf


@kernel
def _polynomial_contact(s, pair):
    """Return when the polynomials touch, or inf."""
    if pair.j < 0:
        return wall_contact(s, pair, at_rest(), pair.until)
    return curved_contact(s, pair, pair.until)


@outlined
def exact_contact(s, pair):
    """Return when two beads, or a bead and a wall, touch, or inf: `curved_contact`, made exact.

    The polynomials are searched for when they come as near as they may be wrong; what follows is decided by solutions.
    """
    series_error = series_error_of(s, s.segment[pair.i, L.MOLECULE])
    if pair.j >= 0:
        series_error += series_error_of(s, s.segment[pair.j, L.MOLECULE])
    t = 0.0
    just_hit = pair.just_hit
    nested = _constants(s, pair) >= 0
    for _ in range(MOST_GRAZES):
        rest = pair.until - t
        more = _polynomial_contact(s, _from(pair, t, pair.distance + series_error + pair.growth * t, just_hit))
        if more > rest:
            return np.inf
        if series_error == 0.0:
            return t + more
        if nested:
            time, turn = _nested(s, pair, series_error, t + more)
        else:
            time, turn = _refined(s, pair, series_error, t + more)
        if time < np.inf:
            return time
        just_hit = turn < pair.until
        if not just_hit:
            return np.inf
        t = turn
    return t
