"""The exact time of a contact of molecules whose dense polynomial is less accurate than their states.

A collocation polynomial of s stages is of order s + 1 inside its segment, a new solution over a shorter time of order
2s. The root of the polynomials is where to start; each trial time is solved anew for the molecules involved, until
their own gap is zero (paper 001, whose nested intervals this replaces; NUMERICS 3). The time found is a function of the
two segments alone. Where the polynomials cross by a hair and the solutions do not, the search goes on behind the graze.
"""

import numpy as np

from hpcchain.contact.pair import curve, curved_contact
from hpcchain.contact.wall import wall_contact
from hpcchain.kernel import kernel
from hpcchain.propagators.lanes import COEF, ROW, TILE
from hpcchain.propagators.molecule import load
from hpcchain.sector.layout import COLLOCATION, MOL_FIRST, MOL_ROOM, MOL_SOLVER

EXACT = 1e-15
NEAR = 1e-11
MOST_NEWTON = 12
MOST_HALVINGS = 52
MOST_GRAZES = 64


@kernel
def bead_exactly(solve, line, seg, series, i, t, exact, o, ready):
    """Return position and velocity of bead i at time t after its segment's start, solved anew if `exact`.

    The whole molecule is brought to workspace offset o for that, unless it is `ready` there.
    """
    mol, table, graph, work = solve
    m = seg[i, 3]
    if not exact or mol[m, MOL_SOLVER] != COLLOCATION:
        return curve(line, seg, series, i, t)
    if not ready:
        load(work, o, mol, m, table, graph, series, line, t)
    b = i - mol[m, MOL_FIRST]
    p = o + (b >> 3) * TILE + (b & 7) + COEF
    q = p + ROW
    return work[p], work[p + 8], work[p + 16], work[q], work[q + 8], work[q + 16]


@kernel
def _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, s, exact):
    """Return the gap of a pair, or of bead i and a wall (j < 0, at sx, its side in sy), and the rate of the gap."""
    width = d + growth * s
    x, y, z, u, v, w = bead_exactly(solve, line, seg, series, i, ti + s, exact, 0, False)
    if j < 0:
        axis = (-1 - j) % 3
        if axis == 1:
            x, u = y, v
        elif axis == 2:
            x, u = z, w
        return sy * (x - sx) - width, sy * u - growth
    same = seg[i, 3] == seg[j, 3]
    o = 0 if same else solve[0][seg[i, 3], MOL_ROOM]
    xj, yj, zj, uj, vj, wj = bead_exactly(solve, line, seg, series, j, tj + s, exact, o, same)
    rx = (x - xj) + sx
    ry = (y - yj) + sy
    rz = (z - zj) + sz
    r = np.sqrt(rx * rx + ry * ry + rz * rz)
    return r - width, (rx * (u - uj) + ry * (v - vj) + rz * (w - wj)) / r - growth


@kernel
def _turn(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s):
    """Return when, from s on, the polynomials' gap stops falling, or `until`."""
    low = s
    high = s
    step = until * 2.0**-12
    for _ in range(MOST_HALVINGS):
        gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, high, False)
        if not rate < 0.0:
            break
        if high >= until:
            return until
        low = high
        high = min(high + step, until)
        step *= 2.0
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, middle, False)
        if rate < 0.0:
            low = middle
        else:
            high = middle
    return high


@kernel
def _bisected(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s):
    """Return the contact near s by bisection, or inf, and when the gap begins to rise again."""
    turn = _turn(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s)
    gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, turn, True)
    if gap > 0.0:
        return np.inf, turn
    low = turn
    high = turn
    back = max(turn - s, until * 2.0**-20)
    while gap <= 0.0:
        if low == 0.0:
            return 0.0, turn
        high = low
        low = max(low - back, 0.0)
        back *= 2.0
        gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, low, True)
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, middle, True)
        if gap > 0.0:
            low = middle
        else:
            high = middle
    return low, turn


@kernel
def _refined(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s):
    """Return the contact near s by Newton steps, else by bisection, and when the gap begins to rise again."""
    last = np.inf
    time = s
    for _ in range(MOST_NEWTON):
        gap, rate = _gap(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, time, True)
        size = abs(gap)
        if size <= EXACT * d or (size <= NEAR * d and size > 0.25 * last) or (time == 0.0 and gap <= 0.0):
            return time, time
        if rate >= 0.0 or time - gap / rate > until:
            break
        last = size
        time = max(time - gap / rate, 0.0)
    return _bisected(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s)


@kernel
def exact_contact(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, bend, until, s):
    """Return the time of the contact that the polynomials have at s, or of the next one that is real, or inf.

    Parameters
    ----------
    solve : tuple
        mol, table, graph, work of the sector; the workspace is used.
    j : int
        The other bead, or a wall's code; then sx is the wall's place, sy its side (+1 lower), d the bead's radius.
    ti, tj, sx, sy, sz, d, growth, bend, until : float
        As for `curved_contact`.
    s : float
        The polynomials' contact, within [0, until] [time].
    """
    solver = solve[0][seg[i, 3], MOL_SOLVER]
    if solver != COLLOCATION and (j < 0 or solve[0][seg[j, 3], MOL_SOLVER] != COLLOCATION):
        return s
    for _ in range(MOST_GRAZES):
        time, turn = _refined(solve, line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, until, s)
        if time < np.inf:
            return time
        rest = until - turn
        if rest <= 0.0:
            return np.inf
        width = d + growth * turn
        if j < 0:
            axis = (-1 - j) % 3
            more = wall_contact(line, seg, series, i, ti + turn, axis, sy, sx, width, growth, bend, rest, True)
        else:
            more = curved_contact(
                line, seg, series, i, j, ti + turn, tj + turn, sx, sy, sz, width, growth, bend, rest, rest, True
            )
        if more > rest:
            return np.inf
        s = turn + more
    return s
