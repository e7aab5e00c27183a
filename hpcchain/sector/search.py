"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math

import numpy as np

from hpcchain.contact.pair import NOISE, curved_contact, straight_contact
from hpcchain.contact.wall import wall_contact
from hpcchain.kernel import inlined, kernel
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.layout import (
    GROWTH,
    GROWTH_RATE,
    INVERSE,
    LOWER_WALL,
    MOL_SELF,
    NO_EVENT,
    RELIST,
    SHELL,
    SIZE,
    SMALL_BOX,
    TICK,
    TIE_TIME,
    UPPER_WALL,
    WALLS,
)
from hpcchain.sector.refine import exact_contact

SLACK = 1.0 + 1e-9
EARLY = 2.0**-6


@kernel
def search_bead(
    par, line, span, seg, when, what, centre, row, neighbour, series, count, mol, bonded, bond_row, i, solve
):
    """Find bead i's earliest event and store it in `when` and `what`.

    Every neighbour is met on the common span of the two present segments. Neighbours are first tried on straight
    lines with a bound of how far the paths can bend away from them (NUMERICS 9.2); only those that could touch are
    followed along their curves. Candidates are compared by (time, depth, lower id, higher id).

    `solve` is None, or the tuple that `exact_contact` needs where molecules are moved by collocation. Candidates may
    then change places when their times are made exact: all on the common span are followed, and the list is renewed a
    little before it ends.
    """
    tick = par[TICK]
    xi = line[i, 0]
    yi = line[i, 1]
    zi = line[i, 2]
    ui = line[i, 3]
    vi = line[i, 4]
    wi = line[i, 5]
    ticks = line[i, 6]
    rest = line[i, 7]
    bend_i = span[i, 0]
    radius = span[i, 2]
    length = span[i, 3]
    leave = list_expiry(par, line, span, centre, i)
    limit = min(length, leave)
    if solve is not None:
        limit = length
        if leave < length:
            leave = max(leave - EARLY * par[SHELL] / span[i, 1], 0.0)
    growing = par[GROWTH_RATE]
    small = par[SMALL_BOX] != 0.0
    size_x = par[SIZE]
    size_y = par[SIZE + 1]
    size_z = par[SIZE + 2]
    inv_x = par[INVERSE]
    inv_y = par[INVERSE + 1]
    inv_z = par[INVERSE + 2]
    best_ticks = np.inf
    best_rest = np.inf
    best_depth = 0
    best = NO_EVENT
    tied = 0
    gid = what[i, 3]
    first = row[i, 0]
    for e in range(first, first + row[i, 1]):
        j = neighbour[e]
        lag = (ticks - line[j, 6]) * tick + (rest - line[j, 7])
        if lag >= 0.0:
            ti = 0.0
            tj = lag
        else:
            ti = -lag
            tj = 0.0
        horizon = limit - ti
        until = min(length - ti, span[j, 3] - tj)
        if until < horizon:
            horizon = until
        if horizon < 0.0:
            continue
        rx = (xi + ui * ti) - (line[j, 0] + line[j, 3] * tj)
        ry = (yi + vi * ti) - (line[j, 1] + line[j, 4] * tj)
        rz = (zi + wi * ti) - (line[j, 2] + line[j, 5] * tj)
        sx = -size_x * np.rint(rx * inv_x)
        sy = -size_y * np.rint(ry * inv_y)
        sz = -size_z * np.rint(rz * inv_z)
        if small and sx == 0.0 and sy == 0.0 and sz == 0.0 and joined(seg, mol, bonded, bond_row, i, j):
            continue
        rx += sx
        ry += sy
        rz += sz
        ux = ui - line[j, 3]
        uy = vi - line[j, 4]
        uz = wi - line[j, 5]
        rv = rx * ux + ry * uy + rz * uz
        uu = ux * ux + uy * uy + uz * uz
        bend_j = span[j, 0]
        off_i = ti + horizon
        off_j = tj + horizon
        sigma = radius + span[j, 2]
        near = sigma * par[GROWTH] + 0.5 * (bend_i * off_i * off_i + bend_j * off_j * off_j)
        if solve is not None:
            near += solve[4][seg[i, 3], 4] + solve[4][seg[j, 3], 4]
        if growing != 0.0:
            near += sigma * growing * (_age(par, ticks, rest) + off_i)
        least = rx * rx + ry * ry + rz * rz
        if rv < 0.0:
            closest = -rv
            if closest < horizon * uu:
                least -= rv * rv / uu
            else:
                least += horizon * (2.0 * rv + horizon * uu)
        if least > near * near * SLACK:
            continue
        same = lag == 0.0 and seg[i, 1] == seg[j, 1] and seg[i, 2] == 1 and seg[j, 2] == 1
        if same and rv < -NOISE * sigma * (span[i, 1] + span[j, 1]):
            same = False
        d = sigma * par[GROWTH]
        growth = 0.0
        if growing != 0.0:
            late = i if lag >= 0.0 else j
            d = sigma * (par[GROWTH] + growing * _age(par, line[late, 6], line[late, 7]))
            growth = sigma * growing
        bend = bend_i + bend_j
        if bend == 0.0:
            s = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, same)
            if s > horizon:
                continue
        else:
            count[5] += 1
            if solve is not None:
                s = exact_contact(
                    solve, line, seg, series, i, np.int64(j), ti, tj, sx, sy, sz, d, growth, bend, until, same
                )
            else:
                s = curved_contact(
                    line, seg, series, i, j, ti, tj, sx, sy, sz, d, growth, bend, until, horizon * SLACK, same
                )
            if s > horizon * SLACK:
                continue
        if lag >= 0.0:
            t, r = after(ticks, rest, s, tick)
        else:
            t, r = after(line[j, 6], line[j, 7], s, tick)
        apart = (t - best_ticks) * tick + (r - best_rest)
        if abs(apart) < par[TIE_TIME]:
            tied = 1
        elif apart < 0.0:
            tied = 0
        if t > best_ticks or (t == best_ticks and r > best_rest):
            continue
        depth = _depth(line, seg, i, j, t, r)
        if t == best_ticks and r == best_rest:
            if best < 0 or depth > best_depth:
                continue
            if depth == best_depth and not _pair_before(gid, what[j, 3], what[best, 3]):
                continue
        best_ticks = t
        best_rest = r
        best_depth = depth
        best = j
        if solve is None:
            limit = min(limit, (ti + s) * SLACK + par[TIE_TIME])
    if par[WALLS] != 0.0:
        for axis in range(3):
            for side in range(2):
                if solve is not None:
                    s = _exact_wall(par, line, span, seg, series, i, axis, side, limit, solve)
                else:
                    s = _wall(par, line, span, seg, series, i, axis, side, limit)
                if s > limit:
                    continue
                t, r = after(ticks, rest, s, tick)
                apart = (t - best_ticks) * tick + (r - best_rest)
                if abs(apart) < par[TIE_TIME]:
                    tied = 1
                elif apart < 0.0:
                    tied = 0
                if t < best_ticks or (t == best_ticks and r < best_rest):
                    best_ticks = t
                    best_rest = r
                    best_depth = seg[i, 1] + 1 if t == ticks and r == rest else 0
                    best = -1 - axis - 3 * side
    if solve is not None and leave < length and best != NO_EVENT:
        t, r = after(ticks, rest, leave, tick)
        if earlier(t, r, best_ticks, best_rest):
            best = NO_EVENT
    if best == NO_EVENT and leave < length:
        best_ticks, best_rest = after(ticks, rest, leave, tick)
        best = RELIST
    when[i, 0] = best_ticks
    when[i, 1] = best_rest
    what[i, 0] = best
    what[i, 1] = seg[best, 0] if best >= 0 else 0
    what[i, 2] = best_depth
    what[i, 4] = tied
    count[6] += 1


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
