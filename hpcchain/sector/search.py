"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math

import numpy as np

from hpcchain.contact.pair import NOISE, REST, curved_contact, straight_contact
from hpcchain.contact.segment import same_start, series_order, start_depth, struck
from hpcchain.kernel import apart, inlined, kernel
from hpcchain.sector.clockmath import after, earlier
from hpcchain.sector.layout import (
    BOOK_WINDOWED,
    CHAIN,
    GHOST,
    GROWTH,
    GROWTH_RATE,
    INVERSE,
    LATEST,
    MOL_BEADS,
    MOL_FIRST,
    MOL_PREVIOUS,
    MOL_SELF,
    MOL_SOLVER,
    NO_EVENT,
    NOW,
    OWNED,
    RELIST,
    SHELL,
    SIZE,
    SMALL_BOX,
    TICK,
    TIE_TIME,
    UNMADE,
    WALLS,
)
from hpcchain.sector.prefetch import prefetch
from hpcchain.sector.refine import exact_contact
from hpcchain.sector.sequence import (
    begins_after,
    comes_first,
    depth_of,
    stands,
    wall_before,
)
from hpcchain.sector.swept import all_listed, looking_back, on_course, within_reach
from hpcchain.sector.walls import SLACK, wall_time

EARLY = 2.0**-6
LACKING = -1.0


@inlined
def _candidates(s, i):
    """Write those of bead i's list whom it may meet to `found`, and ask for their segments; return how many.

    Steps' segments need not begin just where those before them end: looking back, all that are listed are met.
    """
    if s.row[i, 3] == GHOST and s.beside[i] == 0:
        return np.int64(0)
    back = earlier(s.par[NOW], s.par[NOW + 1], s.par[LATEST], s.par[LATEST + 1])
    if s.span[i, 0] != 0.0 and not (back and s.stepper is not None):
        number = within_reach(s, i, looking_back(s))
    elif back:
        number = all_listed(s, i)
    else:
        number = on_course(s, i)
    for e in range(number):
        prefetch(s.line, s.found[e])
    return number


@apart
def search_bead(s, i, stepper):
    """Find bead i's earliest event and store it in `when` and `what`.

    Every one of its `_candidates` is met on the common span of the two present segments; where its present one begins
    after NOW, those closed since are met too.
    Candidates are compared by (time, depth, lower id, higher id); of two with one partner that are one contact but for
    rounding, that with the older segment is it.

    `stepper` is None unless molecules are moved by a method whose contacts `exact_contact` finds. Candidates may
    then change places when their times are made exact: all on the common span are followed, and the list is renewed a
    little before it ends.

    Returns the row of a molecule that comes near and lacks its series, which the caller is to make (`complete`) before
    searching again; -1 when nothing is lacking.
    """
    tick = s.par[TICK]
    ticks = s.line[i, 6]
    rest = s.line[i, 7]
    length = s.span[i, 3]
    leave = list_expiry(s, i)
    limit = min(length, leave)
    if stepper is not None:
        limit = length
        if leave < length:
            leave = max(leave - EARLY * s.par[SHELL] / s.span[i, 1], 0.0)
    best_ticks = np.inf
    best_rest = np.inf
    best_depth = 0
    best = NO_EVENT
    serial = 0
    tied = 0
    gid = s.what[i, 3]
    sort = s.row[i, 3]
    number = _candidates(s, i)
    for e in range(number):
        j = s.found[e]
        if sort != OWNED and s.row[j, 3] != OWNED and (sort == GHOST or s.row[j, 3] == GHOST):
            continue
        r = j
        newer = np.int64(-1)
        while r >= 0:
            time, lag = _meeting(s, i, r, newer, limit, stepper)
            if time == LACKING:
                return s.seg[i, 2] if series_order(s.seg, i) == UNMADE else s.seg[r, 2]
            if time < np.inf:
                if lag >= 0.0:
                    t, q = after(ticks, rest, time, tick)
                else:
                    t, q = after(s.line[r, 6], s.line[r, 7], time, tick)
                apart = (t - best_ticks) * tick + (q - best_rest)
                depth = depth_of(s.line, s.seg, i, r, t, q)
                if newer < 0 or stands(s, i, r, newer, t, q, depth, gid, s.what[j, 3]):
                    if abs(apart) < s.par[TIE_TIME]:
                        tied = 1
                    elif apart < 0.0:
                        tied = 0
                    older = newer >= 0 and best == j and abs(apart) < s.par[TIE_TIME]
                    if older or comes_first(
                        t, q, depth, gid, s.what[j, 3], best_ticks, best_rest, best_depth, best, s.what
                    ):
                        best_ticks = t
                        best_rest = q
                        best_depth = depth
                        best = j
                        serial = s.seg[r, 0]
                        if stepper is None:
                            limit = min(limit, ((t - ticks) * tick + (q - rest)) * SLACK + s.par[TIE_TIME])
            if not _begun_since(s, i, r) or s.seg[j, 2] == s.seg[i, 2]:
                break
            h = s.mol[s.seg[r, 2], MOL_PREVIOUS]
            newer = r
            r = s.mol[h, MOL_FIRST] + j - s.mol[s.seg[j, 2], MOL_FIRST] if h >= 0 else np.int64(-1)
    if s.par[WALLS] != 0.0:
        if series_order(s.seg, i) == UNMADE:
            return s.seg[i, 2]
        best_ticks, best_rest, best_depth, best, serial, tied = _with_walls(
            s, i, limit, stepper, best_ticks, best_rest, best_depth, best, serial, tied
        )
    if stepper is not None and leave < length and best != NO_EVENT:
        t, q = after(ticks, rest, leave, tick)
        if earlier(t, q, best_ticks, best_rest):
            best = NO_EVENT
    if best == NO_EVENT and leave < length:
        best_ticks, best_rest = after(ticks, rest, leave, tick)
        best = RELIST
    s.when[i, 0] = best_ticks
    s.when[i, 1] = best_rest
    s.what[i, 0] = best
    s.what[i, 1] = serial
    s.what[i, 2] = best_depth
    s.what[i, 4] = tied
    s.count[6] += 1
    return np.int64(-1)


@kernel
def _with_walls(s, i, limit, stepper, best_ticks, best_rest, best_depth, best, serial, tied):
    """Return `search_bead`'s best candidate so far, or a wall that comes before it, and whether others are due with it.
    """
    gid = s.what[i, 3]
    ticks = s.line[i, 6]
    rest = s.line[i, 7]
    for axis in range(3):
        for side in range(2):
            time = wall_time(s, i, axis, side, limit, stepper)
            if time > limit:
                continue
            t, q = after(ticks, rest, time, s.par[TICK])
            apart = (t - best_ticks) * s.par[TICK] + (q - best_rest)
            if abs(apart) < s.par[TIE_TIME]:
                tied = 1
            elif apart < 0.0:
                tied = 0
            depth = start_depth(s.seg, i) + 1 if t == ticks and q == rest else 0
            code = -1 - axis - 3 * side
            sooner = t < best_ticks or (t == best_ticks and q < best_rest)
            if t == best_ticks and q == best_rest:
                sooner = depth < best_depth or (depth == best_depth and wall_before(gid, code, best, s.what))
            if sooner:
                best_ticks = t
                best_rest = q
                best_depth = depth
                best = code
                serial = 0
    return best_ticks, best_rest, best_depth, best, serial, tied


@inlined
def _begun_since(s, i, r):
    """Whether the segment in row r begins later than NOW, or at NOW with an event after that which bead i's began with.

    Of what is due at one instant all has its order, and in a window what comes later may have been done before.
    """
    if s.line[r, 6] != s.par[NOW] or s.line[r, 7] != s.par[NOW + 1]:
        return earlier(s.par[NOW], s.par[NOW + 1], s.line[r, 6], s.line[r, 7])
    together = s.line[i, 6] == s.par[NOW] and s.line[i, 7] == s.par[NOW + 1]
    return together and s.book[BOOK_WINDOWED] != 0 and begins_after(s, r, i)


@inlined
def _meeting(s, i, r, newer, limit, stepper):
    """Return when bead i's segment and that in row r touch, from where both exist on, and r's lag behind i's start.

    The time is inf when they do not. They are first tried on straight lines with a bound of how far the paths can bend
    away from them (NUMERICS 9.2); only those that could touch are followed along their curves, or LACKING is returned
    where there is none. `newer` is the row of the segment that closed r, -1 for an open one: what comes later than that
    by more than TIE_TIME is of no interest.
    """
    tick = s.par[TICK]
    ui = s.line[i, 3]
    vi = s.line[i, 4]
    wi = s.line[i, 5]
    length = s.span[i, 3]
    lag = (s.line[i, 6] - s.line[r, 6]) * tick + (s.line[i, 7] - s.line[r, 7])
    if lag >= 0.0:
        ti = 0.0
        tj = lag
    else:
        ti = -lag
        tj = 0.0
    horizon = limit - ti
    until = min(length - ti, s.span[r, 3] - tj)
    if until < horizon:
        horizon = until
    if newer >= 0:
        known = _age(s.par, s.line[newer, 6] - s.line[r, 6], s.line[newer, 7] - s.line[r, 7])
        horizon = min(horizon, known - tj + s.par[TIE_TIME])
    if horizon < 0.0:
        return np.inf, lag
    rx = (s.line[i, 0] + ui * ti) - (s.line[r, 0] + s.line[r, 3] * tj)
    ry = (s.line[i, 1] + vi * ti) - (s.line[r, 1] + s.line[r, 4] * tj)
    rz = (s.line[i, 2] + wi * ti) - (s.line[r, 2] + s.line[r, 5] * tj)
    sx = -s.par[SIZE] * np.rint(rx * s.par[INVERSE])
    sy = -s.par[SIZE + 1] * np.rint(ry * s.par[INVERSE + 1])
    sz = -s.par[SIZE + 2] * np.rint(rz * s.par[INVERSE + 2])
    rx += sx
    ry += sy
    rz += sz
    ux = ui - s.line[r, 3]
    uy = vi - s.line[r, 4]
    uz = wi - s.line[r, 5]
    rv = rx * ux + ry * uy + rz * uz
    uu = ux * ux + uy * uy + uz * uz
    off_i = ti + horizon
    off_j = tj + horizon
    sigma = s.span[i, 2] + s.span[r, 2]
    growing = s.par[GROWTH_RATE]
    near = sigma * s.par[GROWTH] + 0.5 * (s.span[i, 0] * off_i * off_i + s.span[r, 0] * off_j * off_j)
    if stepper is not None:
        near += s.pace[s.seg[i, 2], 4] + s.pace[s.seg[r, 2], 4]
    if growing != 0.0:
        near += sigma * growing * (_age(s.par, s.line[i, 6], s.line[i, 7]) + off_i)
    least = rx * rx + ry * ry + rz * rz
    if rv < 0.0:
        closest = -rv
        if closest < horizon * uu:
            least -= rv * rv / uu
        else:
            least += horizon * (2.0 * rv + horizon * uu)
    if least > near * near * SLACK:
        return np.inf, lag
    if s.par[SMALL_BOX] != 0.0 and sx == 0.0 and sy == 0.0 and sz == 0.0 and joined(s, i, r):
        return np.inf, lag
    same = lag == 0.0 and same_start(s.seg, i, r) and struck(s.seg, i) == 1
    if same and rv < -NOISE * sigma * (s.span[i, 1] + s.span[r, 1]):
        same = False
    d = sigma * s.par[GROWTH]
    growth = 0.0
    if growing != 0.0:
        late = i if lag >= 0.0 else r
        d = sigma * (s.par[GROWTH] + growing * _age(s.par, s.line[late, 6], s.line[late, 7]))
        growth = sigma * growing
    bend = s.span[i, 0] + s.span[r, 0]
    if bend == 0.0:
        least = REST * (s.span[i, 1] + s.span[r, 1])
        time = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, least, same)
        return (time if time <= horizon else np.inf), lag
    if series_order(s.seg, i) == UNMADE or series_order(s.seg, r) == UNMADE:
        return LACKING, lag
    s.count[5] += 1
    if stepper is not None:
        time = exact_contact(
            (s.mol, s.table, s.graph, s.work, s.pace), s.line, s.seg, s.series, i, r, ti, tj, sx, sy, sz, d, growth,
            bend, until, same,
        )  # fmt: skip
    else:
        end = horizon * SLACK
        time = curved_contact(s.line, s.seg, s.series, i, r, ti, tj, sx, sy, sz, d, growth, bend, until, end, same)
    return (time if time <= horizon * SLACK else np.inf), lag


@inlined
def _age(par, ticks, rest):
    return ticks * par[TICK] + rest


@kernel
def joined(s, i, j):
    """Whether two beads never collide directly: bonded, or of one molecule without self-contact.

    Bonds of linear chains are known without a look at the table of bonds, which seldom is in the cache.
    """
    m = s.seg[i, 2]
    b = j - s.mol[m, MOL_FIRST]
    if b < 0 or b >= s.mol[m, MOL_BEADS]:
        return False
    if s.mol[m, MOL_SELF] == 0:
        return True
    if s.mol[m, MOL_SOLVER] == CHAIN:
        return j == i + 1 or i == j + 1
    for e in range(s.bond_row[i], s.bond_row[i + 1]):
        if s.bonded[e] == j:
            return True
    return False


@kernel
def list_expiry(s, i):
    """Return how long after its segment's start bead i surely stays within its list's shell [time]."""
    dx = s.line[i, 0] - s.centre[i, 0]
    dy = s.line[i, 1] - s.centre[i, 1]
    dz = s.line[i, 2] - s.centre[i, 2]
    dx -= s.par[SIZE] * np.rint(dx * s.par[INVERSE])
    dy -= s.par[SIZE + 1] * np.rint(dy * s.par[INVERSE + 1])
    dz -= s.par[SIZE + 2] * np.rint(dz * s.par[INVERSE + 2])
    shell = s.par[SHELL]
    dd = dx * dx + dy * dy + dz * dz
    if s.span[i, 0] == 0.0:
        u = s.line[i, 3]
        v = s.line[i, 4]
        w = s.line[i, 5]
        a = u * u + v * v + w * w
        if a == 0.0:
            return np.inf
        b = dx * u + dy * v + dz * w
        return (-b + math.sqrt(max(b * b + a * (shell * shell - dd), 0.0))) / a
    if s.span[i, 1] == 0.0:
        return np.inf
    if s.centre[i, 3] >= 0.0:
        return s.centre[i, 3] + shell / s.span[i, 1]
    return max(shell - math.sqrt(dd), 0.0) / s.span[i, 1]


