"""The exact time of a contact of molecules whose dense polynomial is less accurate than their states.

A collocation polynomial of s stages is of order s + 1 inside its segment, a new solution over a shorter time of order
2s. The root of the polynomials is where to start; each trial time is solved anew for the molecules involved, until
their own gap is zero (NUMERICS 3), or, where the input asks for them, paper 001's nested intervals close in on it. The
time found is a function of the two segments alone. Where the polynomials cross by a hair and the solutions do not, the
search goes on behind the graze.
"""

import math

import numpy as np

from hpcchain.contact.pair import curve, curved_contact
from hpcchain.contact.wall import wall_contact
from hpcchain.jit.decorators import apart, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.collocation.collocation import SOLVED
from hpcchain.propagators.collocation.collocation_molecule import (
    FALLING,
    FEWEST,
    STAGES,
    WIDTH,
    stage_table_size,
    stages_jump,
    stages_place,
    stages_solve,
    stages_state,
)
from hpcchain.propagators.interface import load

EXACT = 1e-15
NEAR = 1e-11
GOLDEN = 0.6180339887498949
MOST_NEWTON = 12
MOST_HALVINGS = 52
MOST_GRAZES = 64


@kernel
def bring(solve, starts, segment, series, i, t, o):
    """Bring bead i's molecule to workspace offset o, a time t after its segment's start, if it is to be solved anew."""
    mol, table, graph, work, timing = solve
    m = segment[i, L.MOLECULE]
    if mol[m, L.MOL_SOLVER] >= L.COLLOCATION:
        load(work, o, mol, m, table, graph, series, starts, t, True)


@kernel
def bead_exactly(solve, starts, segment, series, i, t, o):
    """Return position and velocity of bead i at time t after its segment's start; its molecule was `bring`-ed there."""
    mol, table, graph, work, timing = solve
    m = segment[i, L.MOLECULE]
    if mol[m, L.MOL_SOLVER] < L.COLLOCATION:
        return curve(starts, segment, series, i, t)
    b = i - mol[m, L.MOL_FIRST]
    p = o + (b >> W.LANE_SHIFT) * W.TILE + (b & W.LANE_MASK) + W.COEF
    q = p + W.ROW
    return work[p], work[p + W.LANES], work[p + 2 * W.LANES], work[q], work[q + W.LANES], work[q + 2 * W.LANES]


@apart
def _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, s):
    """Return the gap of a pair, or of bead i and a wall (j < 0, at sx, its side in sy), and the rate of the gap."""
    oi = np.int64(0)
    bring(solve, starts, segment, series, i, ti + s, oi)
    x, y, z, u, v, w = bead_exactly(solve, starts, segment, series, i, ti + s, oi)
    if j < 0:
        return _wall_gap(j, x, y, z, u, v, w, sx, sy, d + growth * s, growth)
    oj = oi
    if segment[i, L.MOLECULE] != segment[j, L.MOLECULE]:
        mol, table, graph, work, timing = solve
        oj = mol[segment[i, L.MOLECULE], L.MOL_ROOM]
        bring(solve, starts, segment, series, j, tj + s, oj)
    xj, yj, zj, uj, vj, wj = bead_exactly(solve, starts, segment, series, j, tj + s, oj)
    return _pair_gap((x - xj) + sx, (y - yj) + sy, (z - zj) + sz, u - uj, v - vj, w - wj, d + growth * s, growth)


@kernel
def _nearing(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, s):
    """Whether the polynomials' gap falls at a time s, as `curved_contact` and `wall_contact` see it."""
    x, y, z, u, v, w = curve(starts, segment, series, i, ti + s)
    if j < 0:
        gap, rate = _wall_gap(j, x, y, z, u, v, w, sx, sy, d + growth * s, growth)
        return rate < 0.0
    xj, yj, zj, uj, vj, wj = curve(starts, segment, series, j, tj + s)
    x, y, z = (x - xj) + sx, (y - yj) + sy, (z - zj) + sz
    return x * (u - uj) + y * (v - vj) + z * (w - wj) - (d + growth * s) * growth < 0.0


@kernel
def _wall_gap(j, x, y, z, u, v, w, place, side, width, growth):
    axis = (-1 - j) % 3
    if axis == 1:
        x, u = y, v
    elif axis == 2:
        x, u = z, w
    return side * (x - place) - width, side * u - growth


@kernel
def _pair_gap(x, y, z, u, v, w, width, growth):
    r = math.sqrt(x * x + y * y + z * z)
    return r - width, (x * u + y * v + z * w) / r - growth


@kernel
def _end_of_approach(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s):
    """Return when, from s on, the polynomials' gap stops falling, or `until`."""
    low = s
    high = s
    step = until * 2.0**-12
    for _ in range(MOST_HALVINGS):
        if not _nearing(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, high):
            break
        if high >= until:
            return until
        low = high
        high = min(high + step, until)
        step *= 2.0
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        if _nearing(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, middle):
            low = middle
        else:
            high = middle
    return high


@kernel
def _minimum_gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, low, high):
    """Return where the gap is least between two times, or the first place tried where it is not positive, and it.

    By golden section: the gap's rate is less accurate than the gap, its velocities being as they come (see `stages`).
    """
    a = high - GOLDEN * (high - low)
    b = low + GOLDEN * (high - low)
    gap_a, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, a)
    gap_b, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, b)
    for _ in range(MOST_HALVINGS):
        if gap_a <= 0.0 or gap_b <= 0.0:
            break
        if gap_a < gap_b:
            high, b, gap_b = b, a, gap_a
            a = high - GOLDEN * (high - low)
            gap_a, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, a)
        else:
            low, a, gap_a = a, b, gap_b
            b = low + GOLDEN * (high - low)
            gap_b, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, b)
    if gap_a < gap_b:
        return a, gap_a
    return b, gap_b


@kernel
def _bisected(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s):
    """Return the contact near s by bisection, or inf, and when the gap begins to rise again."""
    turn = _end_of_approach(starts, segment, series, i, j, ti, tj, sx, sy, sz, d + series_error, growth, until, s)
    gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, turn)
    low = turn
    if gap > 0.0:
        end = min(2.0 * turn - s, until)
        low, gap = _minimum_gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, s, end)
        if gap > 0.0:
            return np.inf, turn
    high = low
    back = max(low - s, until * 2.0**-20)
    while gap <= 0.0:
        if low == 0.0:
            return 0.0, turn
        high = low
        low = max(low - back, 0.0)
        back *= 2.0
        gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, low)
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, middle)
        if gap > 0.0:
            low = middle
        else:
            high = middle
    return low, turn


@kernel
def _bisects(solve, m):
    """Whether molecule m's contact times are to be found by bisection alone."""
    mol, table, graph, work, timing = solve
    return table[mol[m, L.MOL_TABLE] + L.BISECTS_AT] != 0.0


@apart
def _refined(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s):
    """Return the contact near s by Newton steps, else by bisection, and when the gap begins to rise again."""
    if _bisects(solve, segment[i, L.MOLECULE]) or (j >= 0 and _bisects(solve, segment[j, L.MOLECULE])):
        return _bisected(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s)
    last = np.inf
    time = s
    for _ in range(MOST_NEWTON):
        gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, time)
        size = abs(gap)
        if size <= EXACT * d or (size <= NEAR * d and size > 0.25 * last) or (time == 0.0 and gap <= 0.0):
            return time, time
        if rate >= 0.0 or time - gap / rate > until:
            break
        last = size
        time = max(time - gap / rate, 0.0)
    return _bisected(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s)


@kernel
def _constants(solve, segment, i, j):
    """Return where in the static table the constants for nested intervals begin; -1 where neither molecule wants them.

    Where both do, it is the kind that comes first in the table that decides, whoever asks.
    """
    first = _nesting(solve, segment[i, L.MOLECULE])
    other = _nesting(solve, segment[j, L.MOLECULE]) if j >= 0 else np.int64(-1)
    return other if first < 0 or 0 <= other < first else first


@kernel
def _nesting(solve, m):
    """Return where the constants of molecule m's stages begin if nested intervals find its contacts, or -1."""
    mol, table, graph, work, timing = solve
    if mol[m, L.MOL_SOLVER] != L.COLLOCATION:
        return np.int64(-1)
    at = stages_place(mol[m, L.MOL_TILES], graph, mol[m, L.MOL_GRAPH], mol[m, L.MOL_TABLE])
    return at if table[at + WIDTH] > 0.0 else np.int64(-1)


@kernel
def _nested(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s):
    """Return the contact by nested intervals, as `_refined` does: just before the solutions touch (paper 001, IV A).

    As printed stages fall from interval to interval; where that ends behind the contact all stages are kept.
    """
    mol, table, graph, work, timing = solve
    at = _constants(solve, segment, i, j)
    if table[at + FALLING] > 0.0:
        low = _falling(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until)
        if low < until and _is_before(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, low):
            return low, low
    low = _closing(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until)
    if low < until and _is_before(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, low):
        return low, low
    return _refined(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s)


@kernel
def _is_before(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, s):
    """Whether the solutions near each other at s and do not overlap."""
    gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, s)
    return gap >= 0.0 and rate < 0.0


@kernel
def _closing(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until):
    """Return a time before a contact by less than the width, or inf, all stages kept.

    The first of the collocation points at which the beads overlap and the point before it bound the next interval,
    whose points are those of one stage fewer, until it is no wider than the input says. The solutions run from the
    segments' starts with all stages. Overlaps between two points are not seen by this.
    """
    mol, table, graph, work, timing = solve
    at = _constants(solve, segment, i, j)
    points = np.int64(table[at + STAGES])
    node = at + stage_table_size(points)
    low = 0.0
    high = until
    found = False
    for _ in range(MOST_HALVINGS):
        if high - low <= table[at + WIDTH]:
            break
        origin = low
        bounds = high - low
        for k in range(points):
            time = origin + bounds * table[node + k]
            gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, time)
            if gap <= 0.0:
                high = time
                found = True
                break
            low = time
        if not found:
            gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, high)
            found = gap <= 0.0
        if not found:
            return np.inf
        if points > 1:
            node += points
            points -= 1
    return low if found else np.inf


@kernel
def _falls(solve, m, points):
    """Whether molecule m has solutions of that many falling stages and fewer; else its own one says where it is."""
    mol, table, graph, work, timing = solve
    at = _nesting(solve, m)
    return at >= 0 and table[at + FALLING] > 0.0 and table[at + STAGES] >= points


@kernel
def _solved(solve, m, o, points, bounds):
    """Solve that many stages over a span from the state at workspace offset o; return whether they were found."""
    mol, table, graph, work, timing = solve
    go = mol[m, L.MOL_GRAPH]
    return stages_solve(work, o, mol[m, L.MOL_TILES], graph, go, table, mol[m, L.MOL_TABLE], points, bounds) == SOLVED


@kernel
def _at_stage(solve, starts, segment, series, i, t, o, falls, k):
    """Return position and velocity of bead i at stage k, which is at time t of its segment."""
    if not falls:
        bring(solve, starts, segment, series, i, t, o)
        return bead_exactly(solve, starts, segment, series, i, t, o)
    mol, table, graph, work, timing = solve
    m = segment[i, L.MOLECULE]
    return stages_state(work, o, mol[m, L.MOL_TILES], graph, mol[m, L.MOL_GRAPH], k, i - mol[m, L.MOL_FIRST])


@kernel
def _falling(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until):
    """Return a time just before a contact by nested intervals with falling stages, as printed, or inf.

    Each interval is solved from the state at the last stage without overlap of the one before, with one stage fewer.
    What that loses of the order stays in the time: by how much is tested in test_collocation_nested. A contact
    behind the last stage is taken to be between it and the interval's end, where the solutions must overlap.
    """
    mol, table, graph, work, timing = solve
    at = _constants(solve, segment, i, j)
    points = np.int64(table[at + STAGES])
    node = at + stage_table_size(points)
    apart = j >= 0 and segment[i, L.MOLECULE] != segment[j, L.MOLECULE]
    oi = np.int64(0)
    oj = mol[segment[i, L.MOLECULE], L.MOL_ROOM] if apart else oi
    falls_i = _falls(solve, segment[i, L.MOLECULE], points)
    falls_j = j >= 0 and _falls(solve, segment[j, L.MOLECULE], points)
    gap, rate = _gap(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, until)
    found = gap <= 0.0
    bring(solve, starts, segment, series, i, ti, oi)
    if apart:
        bring(solve, starts, segment, series, j, tj, oj)
    low = 0.0
    high = until
    for _ in range(MOST_HALVINGS):
        if high - low <= table[at + WIDTH]:
            break
        bounds = high - low
        if falls_i and not _solved(solve, segment[i, L.MOLECULE], oi, points, bounds):
            return np.inf
        if apart and falls_j and not _solved(solve, segment[j, L.MOLECULE], oj, points, bounds):
            return np.inf
        start = low
        last = -1
        for k in range(points):
            s = start + bounds * table[node + k]
            x, y, z, u, v, w = _at_stage(solve, starts, segment, series, i, ti + s, oi, falls_i, k)
            if j < 0:
                gap, rate = _wall_gap(j, x, y, z, u, v, w, sx, sy, d + growth * s, growth)
            else:
                xj, yj, zj, uj, vj, wj = _at_stage(solve, starts, segment, series, j, tj + s, oj, falls_j, k)
                gap, rate = _pair_gap(
                    (x - xj) + sx, (y - yj) + sy, (z - zj) + sz, u - uj, v - vj, w - wj, d + growth * s, growth
                )
            if gap <= 0.0:
                high = s
                found = True
                break
            low = s
            last = k
        if not found:
            return np.inf
        if last >= 0:
            _jump(solve, segment[i, L.MOLECULE], oi, falls_i, last)
            if apart:
                _jump(solve, segment[j, L.MOLECULE], oj, falls_j, last)
        if points > FEWEST:
            node += points
            points -= 1
    return low if found else np.inf


@kernel
def _jump(solve, m, o, falls, k):
    """Put molecule m's state of stage k in the workspace, if its stages fall."""
    if falls:
        mol, table, graph, work, timing = solve
        stages_jump(work, o, mol[m, L.MOL_TILES], graph, mol[m, L.MOL_GRAPH], k)


@kernel
def _polynomial_contact(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, bend, until, just_hit):
    """Return when the polynomials touch, or inf."""
    if j < 0:
        axis = (-1 - j) % 3
        return wall_contact(starts, segment, series, i, ti, axis, sy, sx, d, growth, bend, until, just_hit)
    return curved_contact(starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, bend, until, until, just_hit)


@apart
def exact_contact(solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, bend, until, just_hit):
    """Return when two beads, or a bead and a wall, touch, or inf: `curved_contact`, made exact.

    The polynomials are searched for when they come as near as they may be wrong; what follows is decided by solutions.

    Parameters
    ----------
    solve : tuple
        mol, table, graph, work, pace of the sector; the workspace is used.
    j : int
        The other bead, or a wall's code; then sx is the wall's place, sy its side (+1 lower), d the bead's radius.
    ti, tj, sx, sy, sz, d, growth, bend, until, just_hit :
        As for `curved_contact`.
    """
    mol, table, graph, work, timing = solve
    series_error = timing[segment[i, L.MOLECULE], L.SERIES_ERROR]
    if j >= 0:
        series_error += timing[segment[j, L.MOLECULE], L.SERIES_ERROR]
    s = 0.0
    constants = _constants(solve, segment, i, j)
    nested = constants >= 0
    for _ in range(MOST_GRAZES):
        rest = until - s
        more = _polynomial_contact(
            starts,
            segment,
            series,
            i,
            j,
            ti + s,
            tj + s,
            sx,
            sy,
            sz,
            d + series_error + growth * s,
            growth,
            bend,
            rest,
            just_hit,
        )
        if more > rest:
            return np.inf
        if series_error == 0.0:
            return s + more
        if nested:
            time, turn = _nested(
                solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s + more
            )
        else:
            time, turn = _refined(
                solve, starts, segment, series, i, j, ti, tj, sx, sy, sz, d, growth, series_error, until, s + more
            )
        if time < np.inf:
            return time
        just_hit = turn < until
        if not just_hit:
            return np.inf
        s = turn
    return s
