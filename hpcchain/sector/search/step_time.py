"""When beads that have a potential with steps, or limits of their distance, meet the next of its distances.

Which others a bead is within a step of, and of which one, stands in its table (`model.physics.extended`); nothing here
asks where the beads are. Pairs with limits are on no list: a bead's search looks at all of its own.
"""

import numpy as np

from hpcchain.contact.pair import REST, Pair, curved_contact, straight_contact
from hpcchain.contact.step import curved_exit, straight_exit
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import radius_of, series_order
from hpcchain.model.physics.extended import LEVELS
from hpcchain.model.physics.step_potentials import PAIRS, TYPES
from hpcchain.sector.search.pair_span import LACKING, common_span, just_hit, least_square, separation_falling
from hpcchain.sector.search.wall_time import SLACK
from hpcchain.sector.segments.falling import inverse_mass


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
    """Write down in bead row i's table on which level it is with bead `other`; return whether there was room."""
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
    """Put an entry at an index into a bead's table, those behind it moving down; return whether there was room."""
    if row[len(row) - 1] != 0.0:
        return False
    for k in range(len(row) - 1, at, -1):
        row[k] = row[k - 1]
    row[at] = new
    return True


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
    inner = radius_of(s.radius, i) + radius_of(s.radius, j)
    outer = np.inf
    begin = potential_begin(s, i, j)
    level = np.int64(0)
    if begin > 0:
        steps = np.int64(s.potential[begin])
        level = level_of(s, i, s.bead_id[j])
        at = begin + 2 + steps  # distance between levels 0 and 1
        if level < steps:
            inner = s.potential[at + level]
        if level > 0:
            outer = s.potential[at + level - 1]
    if limits >= 0:
        inner = max(inner, s.limits[limits, L.LEAST])
        outer = min(outer, s.limits[limits, L.MOST])
    return inner, outer, begin, level


@kernel
def limit_of_pair(s, i, j, extended):
    """Return the row of the limits of the distance of beads in rows i and j, -1 where they have none."""
    if extended is not None:
        for e in range(s.limited_row[i], s.limited_row[i + 1]):
            if s.limited[e] == j:
                return np.int64(e)
    return np.int64(-1)


@outlined
def step_time(s, i, r, j, newer, limit, limits):
    """Return when beads meet the next distance of their potential or limits, or touch; and r's lag behind i's start.

    `i`, `r`, `newer` and `limit` are those of `earliest_event.contact_time`; `j` is the row of the other's present
    segment, `limits` that of the limits of their distance, -1 where they have none. Two fixed beads never meet.
    """
    lag, ti, tj, until, horizon = common_span(s, i, r, newer, limit)
    if horizon < 0.0:
        return np.inf, lag
    rx, ry, rz, ux, uy, uz, sx, sy, sz = separation_falling(s, i, r, ti, tj)
    rv = rx * ux + ry * uy + rz * uz
    rr = rx * rx + ry * ry + rz * rz
    uu = ux * ux + uy * uy + uz * uz
    off_i = ti + horizon
    off_j = tj + horizon
    bend = 0.5 * (s.bounds[i, L.ACCELERATION] * off_i * off_i + s.bounds[r, L.ACCELERATION] * off_j * off_j)
    nearest = least_square(rr, rv, uu, horizon)
    reach = radius_of(s.radius, i) + radius_of(s.radius, r) + s.par[L.BEYOND] + bend
    if limits < 0 and nearest > reach * reach * SLACK:
        return np.inf, lag
    if inverse_mass(s, i) == 0.0 and inverse_mass(s, r) == 0.0:
        return np.inf, lag
    inner, outer, _, _ = borders(s, i, j, limits)
    reach = inner + bend
    enters = inner > 0.0 and nearest <= reach * reach * SLACK
    leaves = False
    if outer < np.inf:
        reach = max((outer - bend) / SLACK, 0.0)
        leaves = max(rr, rr + horizon * (2.0 * rv + horizon * uu)) >= reach * reach
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
        time = curved_contact(s.mol, s.starts, s.segment, s.series, pair, horizon * SLACK)
    if leaves:
        pair = Pair(i, r, ti, tj, sx, sy, sz, outer, 0.0, acceleration, until, same)
        time = min(time, curved_exit(s.mol, s.starts, s.segment, s.series, pair, min(horizon * SLACK, time)))
    return (time if time <= horizon * SLACK else np.inf), lag
