"""Potentials with steps and limits of distances: when beads meet the next of their distances, and what becomes of it.

Which others a bead is within a step of, and of which one, stands in its table (`model.physics.extended`); nothing here
reads where the beads are. Pairs with limits are on no list: a bead's search looks at all of its own.

The times are found as those of contacts are (`contact.pair`), outwards of the root of |r(s)|^2 = d^2: steps that cannot
pass it, by a bound of how fast d^2 - |r|^2 can bend. At a step of height D the rate of separation u changes so that the
energy is kept: u'^2 = u^2 - 2 D / m. Here m is the effective mass 1 / (n . y) of any bond graph
(docs/theory/impulses.md). Where that is not positive the beads are turned back, u' = -u (Alder & Wainwright 1959).

Which distance was met is the nearer one of the two that the pair is between (`borders`); these are never so near one
another that it is in doubt. Such events are carried out one by one, in the order of all events; contacts of hard beads
that are due at the same instant follow as events of their own, in the segments that begin here.
"""

import math

import numpy as np

from hpcchain.contact.falling import fallen, inverse_mass
from hpcchain.contact.laws.contact import HARD, INNER, OUTER, Outcome, along_normal, separates
from hpcchain.contact.pair import REST, TOUCHING, Pair, curved_contact, curved_exit, straight_contact
from hpcchain.contact.span import LACKING, SLACK, common_span, just_hit, least_square, separation_on_lines
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import radii_of, series_order
from hpcchain.model.physics.extended import LEVELS
from hpcchain.model.physics.step_potentials import BRIDGE, ENERGIES, PAIRS, TYPES

ENTERED, LEFT, TURNED_BACK, LIMIT = 2.0, 3.0, 4.0, 5.0
"""Kinds of events in the log."""


@kernel
def level_of(s, i, other):
    """Return on which level bead row i is with the bead of global id `other`, by its table."""
    for c in range(L.INSIDE, s.extra.shape[1]):
        found = np.int64(s.extra[i, c])
        if found == 0:
            return np.int64(0)
        if found // LEVELS - 1 == other:
            return found % LEVELS
    return np.int64(0)


@kernel
def set_level(s, i, other, level):
    """Write down in bead row i's table on which level it is with bead `other`; return whether it fits."""
    width = s.extra.shape[1]
    new = np.float64((other + 1) * LEVELS + level)
    at = L.INSIDE
    while at < width and s.extra[i, at] != 0.0 and np.int64(s.extra[i, at]) // LEVELS - 1 < other:
        at += 1
    there = at < width and s.extra[i, at] != 0.0 and np.int64(s.extra[i, at]) // LEVELS - 1 == other
    if there and level > 0:
        s.extra[i, at] = new
    elif there:
        _take_out(s.extra[i], at)
    elif level > 0:
        return _put_in(s.extra[i], at, new)
    return True


@kernel
def _take_out(row, at):
    """Take the entry at an index out of a bead's table; those behind it move up."""
    for k in range(at, len(row) - 1):
        row[k] = row[k + 1]
    row[len(row) - 1] = 0.0


@kernel
def _put_in(row, at, new):
    """Put an entry at an index into a bead's table, those behind it moving down; return whether it fits."""
    if row[len(row) - 1] != 0.0:
        return False
    for k in range(len(row) - 1, at, -1):
        row[k] = row[k - 1]
    row[at] = new
    return True


@kernel
def is_full(s, i, j):
    """Whether the table of bead i or j, a row or a wall, of those inside cannot take one more."""
    if s.extended is not None:
        last = s.extra.shape[1] - 1
        if last >= L.INSIDE:
            return s.extra[i, last] != 0.0 or (j >= 0 and s.extra[j, last] != 0.0)
    return False


@kernel
def potential_begin(s, i, j):
    """Return where the potential of beads in rows i and j begins in `potential`, 0 where they have none."""
    types = np.int64(s.potential[TYPES])
    if types == 1:
        return np.int64(s.potential[PAIRS])
    a = np.int64(s.extra[i, L.BEAD_TYPE])
    b = np.int64(s.extra[j, L.BEAD_TYPE])
    return np.int64(s.potential[PAIRS + a * types + b]) if types > 0 else np.int64(0)


@kernel
def borders(s, i, j, limits):
    """Return between which distances beads in rows i and j (the present one) stay, and where their potential stands.

    `limits` is the row of their limits in `s.limits`, -1 where they have none.

    Returns
    -------
    inner, outer : float
        [length]; the inner one is that of contact where nothing else comes before it, 0 where there is none.
    begin, level : int
        Of their potential in `potential`, 0 where they have none, and the level that they are on.
    """
    if limits >= 0 and s.limits[limits, L.ACTS] == 0.0:
        return s.limits[limits, L.LEAST], s.limits[limits, L.MOST], np.int64(0), np.int64(0)
    inner = radii_of(s, i, j)
    outer = np.inf
    begin = potential_begin(s, i, j)
    level = np.int64(0)
    if begin > 0:
        steps = np.int64(s.potential[begin])
        level = level_of(s, i, s.bead_id[j])
        at = begin + ENERGIES + steps + 1  # distance between levels 0 and 1
        if level < steps and s.potential[begin + BRIDGE] < 0.0:
            inner = s.potential[at + level]
        if level > 0:
            outer = s.potential[at + level - 1]
    if limits >= 0:
        inner = max(inner, s.limits[limits, L.LEAST])
        outer = min(outer, s.limits[limits, L.MOST])
    return inner, outer, begin, level


@kernel
def limit_of_pair(s, i, j):
    """Return the row of the limits of the distance of beads in rows i and j, -1 where they have none."""
    if s.extended is not None:
        for e in range(s.limited_row[i], s.limited_row[i + 1]):
            if s.limited[e] == j:
                return np.int64(e)
    return np.int64(-1)


@outlined
def step_time(s, i, r, j, newer, limit, limits, are_joined):
    """Return when beads meet the next distance of their potential or limits, or touch; and r's lag behind i's start.

    `i`, `r`, `newer` and `limit` are those of `earliest_event.contact_time`; `j` is the row of the other's present
    segment, `limits` that of the limits of their distance, -1 where they have none. Two fixed beads never meet, and of
    beads that `are_joined` only images do.
    """
    lag, ti, tj, until, horizon = common_span(s, i, r, newer, limit)
    if horizon < 0.0:
        return np.inf, lag
    fi, fj = fallen(s, i, ti), fallen(s, r, tj)
    rx, ry, rz, ux, uy, uz, sx, sy, sz = separation_on_lines(s, i, r, ti, tj, fi, fj)
    rv = rx * ux + ry * uy + rz * uz
    rr = rx * rx + ry * ry + rz * rz
    uu = ux * ux + uy * uy + uz * uz
    off_i = fi + horizon
    off_j = fj + horizon
    bend = 0.5 * (s.bounds[i, L.ACCELERATION] * off_i * off_i + s.bounds[r, L.ACCELERATION] * off_j * off_j)
    nearest = least_square(rr, rv, uu, horizon)
    edge = radii_of(s, i, r) + s.par[L.BEYOND] + bend
    if limits < 0 and nearest > edge * edge * SLACK:
        return np.inf, lag
    if inverse_mass(s, i) == 0.0 and inverse_mass(s, r) == 0.0:
        return np.inf, lag
    if are_joined and sx == 0.0 and sy == 0.0 and sz == 0.0:
        return np.inf, lag
    inner, outer, _, _ = borders(s, i, j, limits)
    edge = inner + bend
    enters = inner > 0.0 and nearest <= edge * edge * SLACK
    leaves = False
    if outer < np.inf:
        edge = max((outer - bend) / SLACK, 0.0)
        leaves = max(rr, rr + horizon * (2.0 * rv + horizon * uu)) >= edge * edge
    if not enters and not leaves:
        return np.inf, lag
    same = just_hit(s, i, r, lag, rv)
    acceleration = s.bounds[i, L.ACCELERATION] + s.bounds[r, L.ACCELERATION]
    time = np.inf
    if acceleration == 0.0:
        rest = REST * (s.bounds[i, L.SPEED] + s.bounds[r, L.SPEED])
        if enters:
            time = straight_contact(rx, ry, rz, ux, uy, uz, inner, 0.0, rest, same)
        if leaves:
            time = min(time, straight_exit(rx, ry, rz, ux, uy, uz, outer, rest))
        return (time if time <= horizon else np.inf), lag
    if series_order(s.segment, i) == L.UNMADE or series_order(s.segment, r) == L.UNMADE:
        return LACKING, lag
    s.count[L.N_ROOTS] += 1
    pair = Pair(i, r, ti, tj, sx, sy, sz, inner, 0.0, acceleration, until, same)
    if enters:
        time = curved_contact(s, pair, horizon * SLACK)
    if leaves:
        pair = Pair(i, r, ti, tj, sx, sy, sz, outer, 0.0, acceleration, until, same)
        time = min(time, curved_exit(s, pair, min(horizon * SLACK, time)))
    return (time if time <= horizon * SLACK else np.inf), lag


@kernel
def straight_exit(rx, ry, rz, vx, vy, vz, d, least):
    """Return when two beads in straight flight, within distance d, are as far apart as that; inf if never.

    Parameters
    ----------
    rx, ry, rz, vx, vy, vz : float
        Separation [length] and its rate [length / time].
    d : float
        [length]
    least : float
        Rate of separation that is round-off [length / time].
    """
    a = vx * vx + vy * vy + vz * vz
    b = rx * vx + ry * vy + rz * vz
    c = rx * rx + ry * ry + rz * rz - d * d
    if a == 0.0:
        return np.inf
    if c >= -TOUCHING * d * d and b > least * d:
        return 0.0
    root = math.sqrt(max(b * b - a * c, 0.0))
    return -c / (b + root) if b > 0.0 else (-b + root) / a


@kernel
def step_impulse(rate, height, mass):
    """Return the impulse of a step of a potential, above 0 where it drives the beads apart, and whether it is crossed.

    Parameters
    ----------
    rate : float
        Rate of separation, below 0 where the beads approach [length / time].
    height : float
        By how much the potential is higher beyond the step [mass length^2 / time^2]; inf: nothing crosses it.
    mass : float
        n . y [1 / mass].
    """
    left = rate * rate - 2.0 * height * mass
    if left > 0.0:
        return -2.0 * height / (rate + math.copysign(math.sqrt(left), rate)), True
    return -2.0 * rate / mass, False


@kernel
def distance_met(s, i, j, r):
    """Return what bead i and another, r apart, or a wall have met: surfaces (HARD), or a distance INNER or OUTER."""
    if s.extended is not None:
        if j >= 0 and (s.par[L.STEP_POTENTIALS] != 0.0 or len(s.limited) > 0):
            limits = limit_of_pair(s, i, j)
            inner, outer, _, _ = borders(s, i, j, limits)
            if outer < np.inf and abs(r - outer) < abs(r - inner):
                return OUTER
            acts = limits < 0 or s.limits[limits, L.ACTS] != 0.0
            if not acts or inner != radii_of(s, i, j):
                return INNER
    return HARD


@kernel
def outcome(s, c):
    """Return the Outcome of a distance that two beads have met, and write down the level that they are on from now."""
    if separates(c.border, c.rate):
        return along_normal(0.0)
    limits = limit_of_pair(s, c.i, c.j)
    inner, outer, begin, level = borders(s, c.i, c.j, limits)
    limited = False
    if limits >= 0:
        limited = inner <= s.limits[limits, L.LEAST] if c.border == INNER else outer >= s.limits[limits, L.MOST]
    if limited:
        return _along(-2.0 * c.rate / c.mass, LIMIT)
    beyond = level + 1 if c.border == INNER else level - 1
    return cross(s, c, s.potential[begin + ENERGIES + beyond] - s.potential[begin + ENERGIES + level], beyond)


@kernel
def cross(s, c, height, beyond):
    """Return the Outcome of a step of this height; where the beads cross it, write down the level beyond."""
    impulse, crossed = step_impulse(c.rate, height, c.mass)
    if not crossed:
        return _along(impulse, TURNED_BACK)
    set_level(s, c.i, s.bead_id[c.j], beyond)
    set_level(s, c.j, s.bead_id[c.i], beyond)
    return _along(impulse, ENTERED if c.border == INNER else LEFT)


@inlined
def _along(impulse, kind):
    return Outcome(impulse, 0.0, 0.0, 0.0, kind, 0.0, False)
