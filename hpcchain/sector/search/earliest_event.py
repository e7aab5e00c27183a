"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math

import numpy as np

from hpcchain.contact.pair import NOISE, REST, Pair, curved_contact, straight_contact
from hpcchain.jit.decorators import apart, inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import after, earlier
from hpcchain.layout.segment_bits import same_start, series_order, start_depth, struck
from hpcchain.sector.queue.event_order import begins_after, comes_first, depth_of, is_current, wall_before
from hpcchain.sector.search.broad_phase import all_listed, candidates_straight, looking_back, within_reach
from hpcchain.sector.search.prefetch import prefetch
from hpcchain.sector.search.solved_contact_time import exact_contact
from hpcchain.sector.search.wall_time import SLACK, wall_time

EARLY = 2.0**-6
LACKING = -1.0


@inlined
def _candidates(s, i):
    """Write those of bead i's list whom it may meet to `found`, and ask for their segments; return how many.

    Steps' segments need not begin just where those before them end: looking back, all that are listed are met.
    """
    if s.row[i, L.OWNERSHIP] == L.GHOST and s.near_owned[i] == 0:
        return np.int64(0)
    back = earlier(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.LATEST], s.par[L.LATEST_REM])
    if s.bounds[i, L.ACCELERATION] != 0.0 and not (back and s.stepper is not None):
        number = within_reach(s, i, looking_back(s))
    elif back:
        number = all_listed(s, i)
    else:
        number = candidates_straight(s, i)
    for e in range(number):
        prefetch(s.starts, s.found[e])
    return number


@apart
def search_bead(s, i, stepper):
    """Find bead i's earliest event and store it in `event_time` and `next_event`.

    Every one of its `_candidates` is met on the common span of the two present segments; where its present one begins
    after NOW, those closed since are met too.
    Candidates are compared by (time, depth, lower id, higher id); of two with one partner that are one contact but for
    rounding, that with the older segment is it.

    `stepper` is None unless molecules are moved by a method whose contacts `exact_contact` finds. Candidates may
    then change places when their times are made exact: all on the common span are followed, and the list is renewed a
    little before it ends.

    Returns the row of a molecule that comes near and lacks its series, which the caller is to make (`make_series`)
    before searching again; -1 when nothing is lacking.
    """
    tick = s.par[L.TICK]
    ticks = s.starts[i, L.START_TICKS]
    rest = s.starts[i, L.START_REM]
    length = s.bounds[i, L.LENGTH]
    leave = list_expiry(s, i)
    limit = min(length, leave)
    if stepper is not None:
        limit = length
        if leave < length:
            leave = max(leave - EARLY * s.par[L.SHELL] / s.bounds[i, L.SPEED], 0.0)
    best_ticks = np.inf
    best_rest = np.inf
    best_depth = 0
    best = L.NO_EVENT
    serial = 0
    tied = 0
    gid = s.next_event[i, L.BEAD_ID]
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
            time, lag = contact_time(s, i, r, newer, limit, stepper)
            if time == LACKING:
                return s.segment[i, L.MOLECULE] if series_order(s.segment, i) == L.UNMADE else s.segment[r, L.MOLECULE]
            if time < np.inf:
                if lag >= 0.0:
                    t, q = after(ticks, rest, time, tick)
                else:
                    t, q = after(s.starts[r, L.START_TICKS], s.starts[r, L.START_REM], time, tick)
                apart = (t - best_ticks) * tick + (q - best_rest)
                depth = depth_of(s.starts, s.segment, i, r, t, q)
                if newer < 0 or is_current(s, i, r, newer, t, q, depth, gid, s.next_event[j, L.BEAD_ID]):
                    if abs(apart) < s.par[L.SIMULTANEOUS]:
                        tied = 1
                    elif apart < 0.0:
                        tied = 0
                    older = newer >= 0 and best == j and abs(apart) < s.par[L.SIMULTANEOUS]
                    if older or comes_first(
                        t,
                        q,
                        depth,
                        gid,
                        s.next_event[j, L.BEAD_ID],
                        best_ticks,
                        best_rest,
                        best_depth,
                        best,
                        s.next_event,
                    ):
                        best_ticks = t
                        best_rest = q
                        best_depth = depth
                        best = j
                        serial = s.segment[r, L.SERIAL]
                        if stepper is None:
                            limit = min(limit, ((t - ticks) * tick + (q - rest)) * SLACK + s.par[L.SIMULTANEOUS])
            if not _begun_since(s, i, r) or s.segment[j, L.MOLECULE] == s.segment[i, L.MOLECULE]:
                break
            h = s.mol[s.segment[r, L.MOLECULE], L.MOL_PREVIOUS]
            newer = r
            r = s.mol[h, L.MOL_FIRST] + j - s.mol[s.segment[j, L.MOLECULE], L.MOL_FIRST] if h >= 0 else np.int64(-1)
    if s.par[L.WALLS] != 0.0:
        if series_order(s.segment, i) == L.UNMADE:
            return s.segment[i, L.MOLECULE]
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
    s.event_time[i, L.EVENT_TICKS] = best_ticks
    s.event_time[i, L.EVENT_REM] = best_rest
    s.next_event[i, L.PARTNER] = best
    s.next_event[i, L.PARTNER_SERIAL] = serial
    s.next_event[i, L.DEPTH] = best_depth
    s.next_event[i, L.TIED] = tied
    s.count[L.N_SEARCHES] += 1
    return np.int64(-1)


@kernel
def _with_walls(s, i, limit, stepper, best_ticks, best_rest, best_depth, best, serial, tied):
    """Return `search_bead`'s best candidate, or a wall that comes before it, and whether others are due with it."""
    gid = s.next_event[i, L.BEAD_ID]
    ticks = s.starts[i, L.START_TICKS]
    rest = s.starts[i, L.START_REM]
    for axis in range(3):
        for side in range(2):
            time = wall_time(s, i, axis, side, limit, stepper)
            if time > limit:
                continue
            t, q = after(ticks, rest, time, s.par[L.TICK])
            apart = (t - best_ticks) * s.par[L.TICK] + (q - best_rest)
            if abs(apart) < s.par[L.SIMULTANEOUS]:
                tied = 1
            elif apart < 0.0:
                tied = 0
            depth = start_depth(s.segment, i) + 1 if t == ticks and q == rest else 0
            code = -1 - axis - 3 * side
            sooner = t < best_ticks or (t == best_ticks and q < best_rest)
            if t == best_ticks and q == best_rest:
                sooner = depth < best_depth or (depth == best_depth and wall_before(gid, code, best, s.next_event))
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
    if s.starts[r, L.START_TICKS] != s.par[L.NOW] or s.starts[r, L.START_REM] != s.par[L.NOW_REM]:
        return earlier(s.par[L.NOW], s.par[L.NOW_REM], s.starts[r, L.START_TICKS], s.starts[r, L.START_REM])
    together = s.starts[i, L.START_TICKS] == s.par[L.NOW] and s.starts[i, L.START_REM] == s.par[L.NOW_REM]
    return together and s.book[L.BOOK_WINDOWED] != 0 and begins_after(s, r, i)


@inlined
def contact_time(s, i, r, newer, limit, stepper):
    """Return when bead i's segment and that in row r touch, from where both exist on, and r's lag behind i's start.

    The time is inf when they do not. They are first tried on straight lines with a bound of how far the paths can bend
    away from them (NUMERICS 9.2); only those that could touch are followed along their curves, or LACKING is returned
    where there is none. `newer` is the row of the segment that closed r, -1 for an open one: what comes later than that
    by more than TIE_TIME is of no interest.
    """
    tick = s.par[L.TICK]
    ui = s.starts[i, L.VX]
    vi = s.starts[i, L.VY]
    wi = s.starts[i, L.VZ]
    length = s.bounds[i, L.LENGTH]
    lag = (s.starts[i, L.START_TICKS] - s.starts[r, L.START_TICKS]) * tick + (
        s.starts[i, L.START_REM] - s.starts[r, L.START_REM]
    )
    if lag >= 0.0:
        ti = 0.0
        tj = lag
    else:
        ti = -lag
        tj = 0.0
    horizon = limit - ti
    until = min(length - ti, s.bounds[r, L.LENGTH] - tj)
    if until < horizon:
        horizon = until
    if newer >= 0:
        known = _age(
            s.par,
            s.starts[newer, L.START_TICKS] - s.starts[r, L.START_TICKS],
            s.starts[newer, L.START_REM] - s.starts[r, L.START_REM],
        )
        horizon = min(horizon, known - tj + s.par[L.SIMULTANEOUS])
    if horizon < 0.0:
        return np.inf, lag
    rx = (s.starts[i, L.X] + ui * ti) - (s.starts[r, L.X] + s.starts[r, L.VX] * tj)
    ry = (s.starts[i, L.Y] + vi * ti) - (s.starts[r, L.Y] + s.starts[r, L.VY] * tj)
    rz = (s.starts[i, L.Z] + wi * ti) - (s.starts[r, L.Z] + s.starts[r, L.VZ] * tj)
    sx = -s.par[L.SIZE] * np.rint(rx * s.par[L.INVERSE])
    sy = -s.par[L.SIZE + L.Y] * np.rint(ry * s.par[L.INVERSE + L.Y])
    sz = -s.par[L.SIZE + L.Z] * np.rint(rz * s.par[L.INVERSE + L.Z])
    rx += sx
    ry += sy
    rz += sz
    ux = ui - s.starts[r, L.VX]
    uy = vi - s.starts[r, L.VY]
    uz = wi - s.starts[r, L.VZ]
    rv = rx * ux + ry * uy + rz * uz
    uu = ux * ux + uy * uy + uz * uz
    off_i = ti + horizon
    off_j = tj + horizon
    sigma = s.bounds[i, L.RADIUS] + s.bounds[r, L.RADIUS]
    growing = s.par[L.GROWTH_RATE]
    near = sigma * s.par[L.GROWTH] + 0.5 * (
        s.bounds[i, L.ACCELERATION] * off_i * off_i + s.bounds[r, L.ACCELERATION] * off_j * off_j
    )
    if stepper is not None:
        near += s.timing[s.segment[i, L.MOLECULE], L.SERIES_ERROR] + s.timing[s.segment[r, L.MOLECULE], L.SERIES_ERROR]
    if growing != 0.0:
        near += sigma * growing * (_age(s.par, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]) + off_i)
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
    same = lag == 0.0 and same_start(s.segment, i, r) and struck(s.segment, i) == 1
    if same and rv < -NOISE * sigma * (s.bounds[i, L.SPEED] + s.bounds[r, L.SPEED]):
        same = False
    d = sigma * s.par[L.GROWTH]
    growth = 0.0
    if growing != 0.0:
        late = i if lag >= 0.0 else r
        d = sigma * (
            s.par[L.GROWTH] + growing * _age(s.par, s.starts[late, L.START_TICKS], s.starts[late, L.START_REM])
        )
        growth = sigma * growing
    bend = s.bounds[i, L.ACCELERATION] + s.bounds[r, L.ACCELERATION]
    if bend == 0.0:
        least = REST * (s.bounds[i, L.SPEED] + s.bounds[r, L.SPEED])
        time = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, least, same)
        return (time if time <= horizon else np.inf), lag
    if series_order(s.segment, i) == L.UNMADE or series_order(s.segment, r) == L.UNMADE:
        return LACKING, lag
    s.count[L.N_ROOTS] += 1
    pair = Pair(i, r, ti, tj, sx, sy, sz, d, growth, bend, until, same)
    if stepper is not None:
        time = exact_contact(s, pair)
    else:
        time = curved_contact(s.starts, s.segment, s.series, pair, horizon * SLACK)
    return (time if time <= horizon * SLACK else np.inf), lag


@inlined
def _age(par, ticks, rest):
    return ticks * par[L.TICK] + rest


@kernel
def joined(s, i, j):
    """Whether two beads never collide directly: bonded, or of one molecule without self-contact.

    Bonds of linear chains are known without a look at the table of bonds, which seldom is in the cache.
    """
    m = s.segment[i, L.MOLECULE]
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
    dx = s.starts[i, L.X] - s.centre[i, L.X]
    dy = s.starts[i, L.Y] - s.centre[i, L.Y]
    dz = s.starts[i, L.Z] - s.centre[i, L.Z]
    dx -= s.par[L.SIZE] * np.rint(dx * s.par[L.INVERSE])
    dy -= s.par[L.SIZE + L.Y] * np.rint(dy * s.par[L.INVERSE + L.Y])
    dz -= s.par[L.SIZE + L.Z] * np.rint(dz * s.par[L.INVERSE + L.Z])
    shell = s.par[L.SHELL]
    dd = dx * dx + dy * dy + dz * dz
    if s.bounds[i, L.ACCELERATION] == 0.0:
        u = s.starts[i, L.VX]
        v = s.starts[i, L.VY]
        w = s.starts[i, L.VZ]
        a = u * u + v * v + w * w
        if a == 0.0:
            return np.inf
        b = dx * u + dy * v + dz * w
        return (-b + math.sqrt(max(b * b + a * (shell * shell - dd), 0.0))) / a
    if s.bounds[i, L.SPEED] == 0.0:
        return np.inf
    if s.centre[i, L.CENTRE_TIME] >= 0.0:
        return s.centre[i, L.CENTRE_TIME] + shell / s.bounds[i, L.SPEED]
    return max(shell - math.sqrt(dd), 0.0) / s.bounds[i, L.SPEED]
