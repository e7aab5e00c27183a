"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math

import numpy as np

from hpcchain.contact.pair import NOISE, REST, curved_contact, straight_contact
from hpcchain.layout.segment_bits import same_start, series_order, start_depth, struck
from hpcchain.jit.decorators import apart, inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import after, earlier
from hpcchain.sector.search.prefetch import prefetch
from hpcchain.sector.search.solved_contact_time import exact_contact
from hpcchain.sector.queue.event_order import begins_after, comes_first, depth_of, stands, wall_before
from hpcchain.sector.search.broad_phase import all_listed, looking_back, on_course, within_reach
from hpcchain.sector.search.wall_time import SLACK, wall_time

EARLY = 2.0**-6
LACKING = -1.0


@inlined
def _candidates(s, i):
    """Write those of bead i's list whom it may meet to `found`, and ask for their segments; return how many.

    Steps' segments need not begin just where those before them end: looking back, all that are listed are met.
    """
    if s.row[i, L.OWNERSHIP] == L.GHOST and s.beside[i] == 0:
        return np.int64(0)
    back = earlier(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.LATEST], s.par[L.LATEST_REM])
    if s.span[i, L.ACCELERATION] != 0.0 and not (back and s.stepper is not None):
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
    tick = s.par[L.TICK]
    ticks = s.line[i, L.START_TICKS]
    rest = s.line[i, L.START_REM]
    length = s.span[i, L.LENGTH]
    leave = list_expiry(s, i)
    limit = min(length, leave)
    if stepper is not None:
        limit = length
        if leave < length:
            leave = max(leave - EARLY * s.par[L.SHELL] / s.span[i, L.SPEED], 0.0)
    best_ticks = np.inf
    best_rest = np.inf
    best_depth = 0
    best = L.NO_EVENT
    serial = 0
    tied = 0
    gid = s.what[i, L.BEAD_ID]
    sort = s.row[i, L.OWNERSHIP]
    number = _candidates(s, i)
    for e in range(number):
        j = s.found[e]
        if (
            sort != L.OWNED
            and s.row[j, L.OWNERSHIP] != L.OWNED
            and (sort == L.GHOST or s.row[j, L.OWNERSHIP] == L.GHOST)
        ):
            continue
        r = j
        newer = np.int64(-1)
        while r >= 0:
            time, lag = _meeting(s, i, r, newer, limit, stepper)
            if time == LACKING:
                return s.seg[i, L.MOLECULE] if series_order(s.seg, i) == L.UNMADE else s.seg[r, L.MOLECULE]
            if time < np.inf:
                if lag >= 0.0:
                    t, q = after(ticks, rest, time, tick)
                else:
                    t, q = after(s.line[r, L.START_TICKS], s.line[r, L.START_REM], time, tick)
                apart = (t - best_ticks) * tick + (q - best_rest)
                depth = depth_of(s.line, s.seg, i, r, t, q)
                if newer < 0 or stands(s, i, r, newer, t, q, depth, gid, s.what[j, L.BEAD_ID]):
                    if abs(apart) < s.par[L.TIE_TIME]:
                        tied = 1
                    elif apart < 0.0:
                        tied = 0
                    older = newer >= 0 and best == j and abs(apart) < s.par[L.TIE_TIME]
                    if older or comes_first(
                        t, q, depth, gid, s.what[j, L.BEAD_ID], best_ticks, best_rest, best_depth, best, s.what
                    ):
                        best_ticks = t
                        best_rest = q
                        best_depth = depth
                        best = j
                        serial = s.seg[r, L.SERIAL]
                        if stepper is None:
                            limit = min(limit, ((t - ticks) * tick + (q - rest)) * SLACK + s.par[L.TIE_TIME])
            if not _begun_since(s, i, r) or s.seg[j, L.MOLECULE] == s.seg[i, L.MOLECULE]:
                break
            h = s.mol[s.seg[r, L.MOLECULE], L.MOL_PREVIOUS]
            newer = r
            r = s.mol[h, L.MOL_FIRST] + j - s.mol[s.seg[j, L.MOLECULE], L.MOL_FIRST] if h >= 0 else np.int64(-1)
    if s.par[L.WALLS] != 0.0:
        if series_order(s.seg, i) == L.UNMADE:
            return s.seg[i, L.MOLECULE]
        best_ticks, best_rest, best_depth, best, serial, tied = _with_walls(
            s, i, limit, stepper, best_ticks, best_rest, best_depth, best, serial, tied
        )
    if stepper is not None and leave < length and best != L.NO_EVENT:
        t, q = after(ticks, rest, leave, tick)
        if earlier(t, q, best_ticks, best_rest):
            best = L.NO_EVENT
    if best == L.NO_EVENT and leave < length:
        best_ticks, best_rest = after(ticks, rest, leave, tick)
        best = L.RELIST
    s.when[i, L.EVENT_TICKS] = best_ticks
    s.when[i, L.EVENT_REM] = best_rest
    s.what[i, L.PARTNER] = best
    s.what[i, L.PARTNER_SERIAL] = serial
    s.what[i, L.DEPTH] = best_depth
    s.what[i, L.TIED] = tied
    s.count[L.N_SEARCHES] += 1
    return np.int64(-1)


@kernel
def _with_walls(s, i, limit, stepper, best_ticks, best_rest, best_depth, best, serial, tied):
    """Return `search_bead`'s best candidate so far, or a wall that comes before it, and whether others are due with it.
    """
    gid = s.what[i, L.BEAD_ID]
    ticks = s.line[i, L.START_TICKS]
    rest = s.line[i, L.START_REM]
    for axis in range(3):
        for side in range(2):
            time = wall_time(s, i, axis, side, limit, stepper)
            if time > limit:
                continue
            t, q = after(ticks, rest, time, s.par[L.TICK])
            apart = (t - best_ticks) * s.par[L.TICK] + (q - best_rest)
            if abs(apart) < s.par[L.TIE_TIME]:
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
    if s.line[r, L.START_TICKS] != s.par[L.NOW] or s.line[r, L.START_REM] != s.par[L.NOW_REM]:
        return earlier(s.par[L.NOW], s.par[L.NOW_REM], s.line[r, L.START_TICKS], s.line[r, L.START_REM])
    together = s.line[i, L.START_TICKS] == s.par[L.NOW] and s.line[i, L.START_REM] == s.par[L.NOW_REM]
    return together and s.book[L.BOOK_WINDOWED] != 0 and begins_after(s, r, i)


@inlined
def _meeting(s, i, r, newer, limit, stepper):
    """Return when bead i's segment and that in row r touch, from where both exist on, and r's lag behind i's start.

    The time is inf when they do not. They are first tried on straight lines with a bound of how far the paths can bend
    away from them (NUMERICS 9.2); only those that could touch are followed along their curves, or LACKING is returned
    where there is none. `newer` is the row of the segment that closed r, -1 for an open one: what comes later than that
    by more than TIE_TIME is of no interest.
    """
    tick = s.par[L.TICK]
    ui = s.line[i, L.VX]
    vi = s.line[i, L.VY]
    wi = s.line[i, L.VZ]
    length = s.span[i, L.LENGTH]
    lag = (s.line[i, L.START_TICKS] - s.line[r, L.START_TICKS]) * tick + (
        s.line[i, L.START_REM] - s.line[r, L.START_REM]
    )
    if lag >= 0.0:
        ti = 0.0
        tj = lag
    else:
        ti = -lag
        tj = 0.0
    horizon = limit - ti
    until = min(length - ti, s.span[r, L.LENGTH] - tj)
    if until < horizon:
        horizon = until
    if newer >= 0:
        known = _age(
            s.par,
            s.line[newer, L.START_TICKS] - s.line[r, L.START_TICKS],
            s.line[newer, L.START_REM] - s.line[r, L.START_REM],
        )
        horizon = min(horizon, known - tj + s.par[L.TIE_TIME])
    if horizon < 0.0:
        return np.inf, lag
    rx = (s.line[i, L.X] + ui * ti) - (s.line[r, L.X] + s.line[r, L.VX] * tj)
    ry = (s.line[i, L.Y] + vi * ti) - (s.line[r, L.Y] + s.line[r, L.VY] * tj)
    rz = (s.line[i, L.Z] + wi * ti) - (s.line[r, L.Z] + s.line[r, L.VZ] * tj)
    sx = -s.par[L.SIZE] * np.rint(rx * s.par[L.INVERSE])
    sy = -s.par[L.SIZE + L.Y] * np.rint(ry * s.par[L.INVERSE + L.Y])
    sz = -s.par[L.SIZE + L.Z] * np.rint(rz * s.par[L.INVERSE + L.Z])
    rx += sx
    ry += sy
    rz += sz
    ux = ui - s.line[r, L.VX]
    uy = vi - s.line[r, L.VY]
    uz = wi - s.line[r, L.VZ]
    rv = rx * ux + ry * uy + rz * uz
    uu = ux * ux + uy * uy + uz * uz
    off_i = ti + horizon
    off_j = tj + horizon
    sigma = s.span[i, L.RADIUS] + s.span[r, L.RADIUS]
    growing = s.par[L.GROWTH_RATE]
    near = sigma * s.par[L.GROWTH] + 0.5 * (
        s.span[i, L.ACCELERATION] * off_i * off_i + s.span[r, L.ACCELERATION] * off_j * off_j
    )
    if stepper is not None:
        near += s.pace[s.seg[i, L.MOLECULE], L.SERIES_ERROR] + s.pace[s.seg[r, L.MOLECULE], L.SERIES_ERROR]
    if growing != 0.0:
        near += sigma * growing * (_age(s.par, s.line[i, L.START_TICKS], s.line[i, L.START_REM]) + off_i)
    least = rx * rx + ry * ry + rz * rz
    if rv < 0.0:
        closest = -rv
        if closest < horizon * uu:
            least -= rv * rv / uu
        else:
            least += horizon * (2.0 * rv + horizon * uu)
    if least > near * near * SLACK:
        return np.inf, lag
    if s.par[L.SMALL_BOX] != 0.0 and sx == 0.0 and sy == 0.0 and sz == 0.0 and joined(s, i, r):
        return np.inf, lag
    same = lag == 0.0 and same_start(s.seg, i, r) and struck(s.seg, i) == 1
    if same and rv < -NOISE * sigma * (s.span[i, L.SPEED] + s.span[r, L.SPEED]):
        same = False
    d = sigma * s.par[L.GROWTH]
    growth = 0.0
    if growing != 0.0:
        late = i if lag >= 0.0 else r
        d = sigma * (s.par[L.GROWTH] + growing * _age(s.par, s.line[late, L.START_TICKS], s.line[late, L.START_REM]))
        growth = sigma * growing
    bend = s.span[i, L.ACCELERATION] + s.span[r, L.ACCELERATION]
    if bend == 0.0:
        least = REST * (s.span[i, L.SPEED] + s.span[r, L.SPEED])
        time = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, least, same)
        return (time if time <= horizon else np.inf), lag
    if series_order(s.seg, i) == L.UNMADE or series_order(s.seg, r) == L.UNMADE:
        return LACKING, lag
    s.count[L.N_ROOTS] += 1
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
    return ticks * par[L.TICK] + rest


@kernel
def joined(s, i, j):
    """Whether two beads never collide directly: bonded, or of one molecule without self-contact.

    Bonds of linear chains are known without a look at the table of bonds, which seldom is in the cache.
    """
    m = s.seg[i, L.MOLECULE]
    b = j - s.mol[m, L.MOL_FIRST]
    if b < 0 or b >= s.mol[m, L.MOL_BEADS]:
        return False
    if s.mol[m, L.MOL_SELF] == 0:
        return True
    if s.mol[m, L.MOL_SOLVER] == L.CHAIN:
        return j == i + 1 or i == j + 1
    for e in range(s.bond_row[i], s.bond_row[i + 1]):
        if s.bonded[e] == j:
            return True
    return False


@kernel
def list_expiry(s, i):
    """Return how long after its segment's start bead i surely stays within its list's shell [time]."""
    dx = s.line[i, L.X] - s.centre[i, L.X]
    dy = s.line[i, L.Y] - s.centre[i, L.Y]
    dz = s.line[i, L.Z] - s.centre[i, L.Z]
    dx -= s.par[L.SIZE] * np.rint(dx * s.par[L.INVERSE])
    dy -= s.par[L.SIZE + L.Y] * np.rint(dy * s.par[L.INVERSE + L.Y])
    dz -= s.par[L.SIZE + L.Z] * np.rint(dz * s.par[L.INVERSE + L.Z])
    shell = s.par[L.SHELL]
    dd = dx * dx + dy * dy + dz * dz
    if s.span[i, L.ACCELERATION] == 0.0:
        u = s.line[i, L.VX]
        v = s.line[i, L.VY]
        w = s.line[i, L.VZ]
        a = u * u + v * v + w * w
        if a == 0.0:
            return np.inf
        b = dx * u + dy * v + dz * w
        return (-b + math.sqrt(max(b * b + a * (shell * shell - dd), 0.0))) / a
    if s.span[i, L.SPEED] == 0.0:
        return np.inf
    if s.centre[i, L.CENTRE_TIME] >= 0.0:
        return s.centre[i, L.CENTRE_TIME] + shell / s.span[i, L.SPEED]
    return max(shell - math.sqrt(dd), 0.0) / s.span[i, L.SPEED]


