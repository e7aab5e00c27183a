"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math

import numpy as np

from hpcchain.contact.pair import NOISE, curved_contact, straight_contact
from hpcchain.contact.wall import wall_contact
from hpcchain.kernel import inlined, kernel
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.layout import (
    GHOST,
    GROWTH,
    GROWTH_RATE,
    INVERSE,
    LOWER_WALL,
    MOL_FIRST,
    MOL_HIGHER,
    MOL_LOWER,
    MOL_PREVIOUS,
    MOL_REOPENED,
    MOL_SELF,
    NO_EVENT,
    NOW,
    OWNED,
    RELIST,
    SEGMENT_END,
    SHELL,
    SIZE,
    SMALL_BOX,
    TICK,
    TIE_TIME,
    UNMADE,
    UPPER_WALL,
    WALLS,
)
from hpcchain.sector.refine import exact_contact

SLACK = 1.0 + 1e-9
EARLY = 2.0**-6
MOST_REOPENED = 4
LACKING = -1.0


@kernel
def search_bead(
    par, line, span, seg, when, what, centre, row, neighbour, series, count, mol, bonded, bond_row, i, solve
):
    """Find bead i's earliest event and store it in `when` and `what`.

    Every neighbour is met on the common span of the two present segments; where its present one begins after NOW, those
    closed since are met too. Candidates are compared by (time, depth, lower id, higher id).

    `solve` is None, or the tuple that `exact_contact` needs where molecules are moved by collocation. Candidates may
    then change places when their times are made exact: all on the common span are followed, and the list is renewed a
    little before it ends.

    Returns the row of a molecule that comes near and lacks its series, which the caller is to make (`complete`) before
    searching again; -1 when nothing is lacking.
    """
    tick = par[TICK]
    ticks = line[i, 6]
    rest = line[i, 7]
    length = span[i, 3]
    leave = list_expiry(par, line, span, centre, i)
    limit = min(length, leave)
    if solve is not None:
        limit = length
        if leave < length:
            leave = max(leave - EARLY * par[SHELL] / span[i, 1], 0.0)
    best_ticks = np.inf
    best_rest = np.inf
    best_depth = 0
    best = NO_EVENT
    serial = 0
    tied = 0
    gid = what[i, 3]
    sort = row[i, 3]
    first = np.int64(row[i, 0])
    for e in range(first, first + row[i, 1]):
        j = np.int64(neighbour[e])
        if sort != OWNED and row[j, 3] != OWNED and (sort == GHOST or row[j, 3] == GHOST):
            continue
        r = j
        newer = np.int64(-1)
        while r >= 0:
            s, lag = _meeting(par, line, span, seg, series, count, mol, bonded, bond_row, i, r, newer, limit, solve)
            if s == LACKING:
                return seg[i, 3] if seg[i, 5] == UNMADE else seg[r, 3]
            if s < np.inf:
                if lag >= 0.0:
                    t, q = after(ticks, rest, s, tick)
                else:
                    t, q = after(line[r, 6], line[r, 7], s, tick)
                apart = (t - best_ticks) * tick + (q - best_rest)
                depth = _depth(line, seg, i, r, t, q)
                if newer < 0 or stands(par, line, seg, mol, r, newer, t, q, depth, gid, what[j, 3]):
                    if abs(apart) < par[TIE_TIME]:
                        tied = 1
                    elif apart < 0.0:
                        tied = 0
                    if _comes_first(t, q, depth, gid, what[j, 3], best_ticks, best_rest, best_depth, best, what):
                        best_ticks = t
                        best_rest = q
                        best_depth = depth
                        best = j
                        serial = seg[r, 0]
                        if solve is None:
                            limit = min(limit, ((t - ticks) * tick + (q - rest)) * SLACK + par[TIE_TIME])
            if not earlier(par[NOW], par[NOW + 1], line[r, 6], line[r, 7]) or seg[j, 3] == seg[i, 3]:
                break
            h = mol[seg[r, 3], MOL_PREVIOUS]
            newer = r
            r = mol[h, MOL_FIRST] + j - mol[seg[j, 3], MOL_FIRST] if h >= 0 else np.int64(-1)
    if par[WALLS] != 0.0:
        for axis in range(3):
            for side in range(2):
                if seg[i, 5] == UNMADE:
                    return seg[i, 3]
                if solve is not None:
                    s = _exact_wall(par, line, span, seg, series, i, axis, side, limit, solve)
                else:
                    s = _wall(par, line, span, seg, series, i, axis, side, limit)
                if s > limit:
                    continue
                t, q = after(ticks, rest, s, tick)
                apart = (t - best_ticks) * tick + (q - best_rest)
                if abs(apart) < par[TIE_TIME]:
                    tied = 1
                elif apart < 0.0:
                    tied = 0
                depth = seg[i, 1] + 1 if t == ticks and q == rest else 0
                code = -1 - axis - 3 * side
                sooner = t < best_ticks or (t == best_ticks and q < best_rest)
                if t == best_ticks and q == best_rest:
                    sooner = depth < best_depth or (depth == best_depth and _wall_before(gid, code, best, what))
                if sooner:
                    best_ticks = t
                    best_rest = q
                    best_depth = depth
                    best = code
                    serial = 0
    if solve is not None and leave < length and best != NO_EVENT:
        t, q = after(ticks, rest, leave, tick)
        if earlier(t, q, best_ticks, best_rest):
            best = NO_EVENT
    if best == NO_EVENT and leave < length:
        best_ticks, best_rest = after(ticks, rest, leave, tick)
        best = RELIST
    when[i, 0] = best_ticks
    when[i, 1] = best_rest
    what[i, 0] = best
    what[i, 1] = serial
    what[i, 2] = best_depth
    what[i, 4] = tied
    count[6] += 1
    return np.int64(-1)


@inlined
def _meeting(par, line, span, seg, series, count, mol, bonded, bond_row, i, r, newer, limit, solve):
    """Return when bead i's segment and that in row r touch, from where both exist on, and r's lag behind i's start.

    The time is inf when they do not. They are first tried on straight lines with a bound of how far the paths can bend
    away from them (NUMERICS 9.2); only those that could touch are followed along their curves, or LACKING is returned
    where there is none. `newer` is the row of the segment that closed r, -1 for an open one: what comes later than that
    by more than TIE_TIME is of no interest.
    """
    tick = par[TICK]
    ui = line[i, 3]
    vi = line[i, 4]
    wi = line[i, 5]
    length = span[i, 3]
    lag = (line[i, 6] - line[r, 6]) * tick + (line[i, 7] - line[r, 7])
    if lag >= 0.0:
        ti = 0.0
        tj = lag
    else:
        ti = -lag
        tj = 0.0
    horizon = limit - ti
    until = min(length - ti, span[r, 3] - tj)
    if until < horizon:
        horizon = until
    if newer >= 0:
        horizon = min(horizon, _age(par, line[newer, 6] - line[r, 6], line[newer, 7] - line[r, 7]) - tj + par[TIE_TIME])
    if horizon < 0.0:
        return np.inf, lag
    rx = (line[i, 0] + ui * ti) - (line[r, 0] + line[r, 3] * tj)
    ry = (line[i, 1] + vi * ti) - (line[r, 1] + line[r, 4] * tj)
    rz = (line[i, 2] + wi * ti) - (line[r, 2] + line[r, 5] * tj)
    sx = -par[SIZE] * np.rint(rx * par[INVERSE])
    sy = -par[SIZE + 1] * np.rint(ry * par[INVERSE + 1])
    sz = -par[SIZE + 2] * np.rint(rz * par[INVERSE + 2])
    rx += sx
    ry += sy
    rz += sz
    ux = ui - line[r, 3]
    uy = vi - line[r, 4]
    uz = wi - line[r, 5]
    rv = rx * ux + ry * uy + rz * uz
    uu = ux * ux + uy * uy + uz * uz
    off_i = ti + horizon
    off_j = tj + horizon
    sigma = span[i, 2] + span[r, 2]
    growing = par[GROWTH_RATE]
    near = sigma * par[GROWTH] + 0.5 * (span[i, 0] * off_i * off_i + span[r, 0] * off_j * off_j)
    if solve is not None:
        near += solve[4][seg[i, 3], 4] + solve[4][seg[r, 3], 4]
    if growing != 0.0:
        near += sigma * growing * (_age(par, line[i, 6], line[i, 7]) + off_i)
    least = rx * rx + ry * ry + rz * rz
    if rv < 0.0:
        closest = -rv
        if closest < horizon * uu:
            least -= rv * rv / uu
        else:
            least += horizon * (2.0 * rv + horizon * uu)
    if least > near * near * SLACK:
        return np.inf, lag
    if par[SMALL_BOX] != 0.0 and sx == 0.0 and sy == 0.0 and sz == 0.0 and joined(seg, mol, bonded, bond_row, i, r):
        return np.inf, lag
    same = lag == 0.0 and seg[i, 1] == seg[r, 1] and seg[i, 2] == 1 and seg[r, 2] == 1
    if same and rv < -NOISE * sigma * (span[i, 1] + span[r, 1]):
        same = False
    d = sigma * par[GROWTH]
    growth = 0.0
    if growing != 0.0:
        late = i if lag >= 0.0 else r
        d = sigma * (par[GROWTH] + growing * _age(par, line[late, 6], line[late, 7]))
        growth = sigma * growing
    bend = span[i, 0] + span[r, 0]
    if bend == 0.0:
        s = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, same)
        return (s if s <= horizon else np.inf), lag
    if seg[i, 5] == UNMADE or seg[r, 5] == UNMADE:
        return LACKING, lag
    count[5] += 1
    if solve is not None:
        s = exact_contact(solve, line, seg, series, i, r, ti, tj, sx, sy, sz, d, growth, bend, until, same)
    else:
        s = curved_contact(line, seg, series, i, r, ti, tj, sx, sy, sz, d, growth, bend, until, horizon * SLACK, same)
    return (s if s <= horizon * SLACK else np.inf), lag


@kernel
def stands(par, line, seg, mol, r, newer, ticks, rest, depth, a, b):
    """Whether a contact with a closed segment comes before what closed it, or is part of it.

    What touches within TIE_TIME of a contact may have to be resolved together with it: that contact is then done once
    more, now with the other bead there, at most MOST_REOPENED times.

    Parameters
    ----------
    r, newer : int
        The segment's row, and that of the one that followed it.
    ticks, rest, depth : float, float, int
        The contact's time and depth.
    a, b : int
        Its beads' global ids.
    """
    if precedes(par, line, seg, mol, newer, ticks, rest, depth, a, b):
        return True
    apart = (ticks - line[newer, 6]) * par[TICK] + (rest - line[newer, 7])
    contact = mol[seg[newer, 3], MOL_HIGHER] != SEGMENT_END
    return contact and apart < par[TIE_TIME] and mol[seg[r, 3], MOL_REOPENED] < MOST_REOPENED


@kernel
def precedes(par, line, seg, mol, newer, ticks, rest, depth, a, b):
    """Whether a contact comes before the event that began the segment in row `newer`, or is it; see `stands`."""
    h = seg[newer, 3]
    apart = (ticks - line[newer, 6]) * par[TICK] + (rest - line[newer, 7])
    if apart != 0.0:
        return apart < 0.0
    if depth != seg[newer, 1]:
        return depth < seg[newer, 1]
    lower = min(a, b)
    return lower < mol[h, MOL_LOWER] or (lower == mol[h, MOL_LOWER] and max(a, b) <= mol[h, MOL_HIGHER])


@inlined
def _comes_first(t, q, depth, gid, other, best_ticks, best_rest, best_depth, best, what):
    """Whether a contact comes before the best candidate so far."""
    first = t < best_ticks or (t == best_ticks and q < best_rest)
    if t == best_ticks and q == best_rest and best >= 0:
        first = depth < best_depth or (depth == best_depth and _pair_before(gid, other, what[best, 3]))
    return first


@inlined
def _age(par, ticks, rest):
    return ticks * par[TICK] + rest


@inlined
def _depth(line, seg, i, j, t, r):
    """Depth of an event: one more than that of a parent segment that starts at the same time."""
    depth = 0
    if line[i, 6] == t and line[i, 7] == r:
        depth = seg[i, 1] + 1
    if line[j, 6] == t and line[j, 7] == r:
        depth = max(depth, seg[j, 1] + 1)
    return depth


@inlined
def _pair_before(gid, new, old):
    """Whether the pair (gid, new) orders before (gid, old) by lower, then higher id."""
    lower_new = min(gid, new)
    lower_old = min(gid, old)
    return lower_new < lower_old or (lower_new == lower_old and max(gid, new) < max(gid, old))


@inlined
def _wall_before(gid, code, best, what):
    """Whether bead gid's contact with a wall orders before its contact with `best`, a bead or another wall."""
    lower = min(gid, what[best, 3]) if best >= 0 else gid
    higher = max(gid, what[best, 3]) if best >= 0 else best
    return gid < lower or (gid == lower and code < higher)


@kernel
def joined(seg, mol, bonded, bond_row, i, j):
    """Whether two beads never collide directly: bonded, or of one molecule without self-contact."""
    if seg[i, 3] != seg[j, 3]:
        return False
    if mol[seg[i, 3], MOL_SELF] == 0:
        return True
    for e in range(bond_row[i], bond_row[i + 1]):
        if bonded[e] == j:
            return True
    return False


@kernel
def list_expiry(par, line, span, centre, i):
    """Return how long after its segment's start bead i surely stays within its list's shell [time]."""
    dx = line[i, 0] - centre[i, 0]
    dy = line[i, 1] - centre[i, 1]
    dz = line[i, 2] - centre[i, 2]
    dx -= par[SIZE] * np.rint(dx * par[INVERSE])
    dy -= par[SIZE + 1] * np.rint(dy * par[INVERSE + 1])
    dz -= par[SIZE + 2] * np.rint(dz * par[INVERSE + 2])
    shell = par[SHELL]
    dd = dx * dx + dy * dy + dz * dz
    if span[i, 0] == 0.0:
        u = line[i, 3]
        v = line[i, 4]
        w = line[i, 5]
        a = u * u + v * v + w * w
        if a == 0.0:
            return np.inf
        b = dx * u + dy * v + dz * w
        return (-b + math.sqrt(max(b * b + a * (shell * shell - dd), 0.0))) / a
    if span[i, 1] == 0.0:
        return np.inf
    if centre[i, 3] >= 0.0:
        return centre[i, 3] + shell / span[i, 1]
    return max(shell - math.sqrt(dd), 0.0) / span[i, 1]


@kernel
def _wall(par, line, span, seg, series, i, axis, side, limit):
    wall = par[LOWER_WALL + axis] if side == 0 else par[UPPER_WALL + axis]
    if wall == np.inf or wall == -np.inf:
        return np.inf
    sign = 1.0 if side == 0 else -1.0
    growth = span[i, 2] * par[GROWTH_RATE]
    radius = span[i, 2] * par[GROWTH] + growth * _age(par, line[i, 6], line[i, 7])
    gap = sign * (line[i, axis] - wall) - radius
    if gap > (span[i, 1] + growth) * limit * SLACK:
        return np.inf
    return wall_contact(
        line, seg, series, i, 0.0, axis, sign, wall, radius, growth, span[i, 0], limit * SLACK, seg[i, 2] == 1
    )


@kernel
def _exact_wall(par, line, span, seg, series, i, axis, side, limit, solve):
    wall = par[LOWER_WALL + axis] if side == 0 else par[UPPER_WALL + axis]
    if wall == np.inf or wall == -np.inf:
        return np.inf
    sign = 1.0 - 2.0 * side
    growth = span[i, 2] * par[GROWTH_RATE]
    radius = span[i, 2] * par[GROWTH] + growth * _age(par, line[i, 6], line[i, 7])
    gap = sign * (line[i, axis] - wall) - radius - solve[4][seg[i, 3], 4]
    if gap > (span[i, 1] + growth) * limit * SLACK:
        return np.inf
    return exact_contact(
        solve, line, seg, series, i, -1 - axis - 3 * side, 0.0, 0.0, wall, sign, 0.0, radius, growth, span[i, 0], limit,
        seg[i, 2] == 1,
    )  # fmt: skip
