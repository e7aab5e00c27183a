"""The earliest event of one bead: contacts with listed neighbours, walls, and the end of its list's validity."""

import math
from collections import namedtuple

import numpy as np

from hpcchain.contact.falling import fallen, falling_expiry, inverse_mass
from hpcchain.contact.laws.step import step_time
from hpcchain.contact.pair import REST, Pair, curved_contact, straight_contact
from hpcchain.contact.span import (
    LACKING,
    SLACK,
    closest_of_lines,
    common_span,
    contact_distance,
    just_hit,
    least_square,
    separation_on_lines,
)
from hpcchain.contact.walls import at_rest, gap_of, sense_of, shape_contact, swing_from, wall_contact
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import earlier, since_start, start_time, time_at
from hpcchain.layout.segment_bits import (
    event_depth,
    length_of,
    radius_of,
    row_before,
    serial_of,
    series_error_of,
    series_order,
    set_event,
    struck,
)
from hpcchain.sector.prefetch import prefetch_segments
from hpcchain.sector.queue.event_order import (
    Key,
    comes_first,
    depth_of,
    ids_of,
    is_current,
    key_of,
)
from hpcchain.sector.search.broad_phase import all_listed, looking_back, within_sweep
from hpcchain.sector.search.flights import candidates_straight, candidates_within
from hpcchain.sector.search.list_place import list_speed, way_from_origin
from hpcchain.sector.search.neighbour_lists import concerns_others, joined
from hpcchain.sector.search.solved_contact_time import exact_contact
from hpcchain.sector.segments.new_segment import make_own_series


@kernel
def wall_time(s, i, number, limit):
    """Return how long after its segment's start bead i meets the wall in row `number`, or inf.

    What is later than `limit` is of no interest.
    """
    if s.walls[number, L.WALL_SORT] == L.NO_WALL:
        return np.inf
    time = start_time(s, i)
    growth = radius_of(s, i) * s.par[L.GROWTH_RATE]
    radius = radius_of(s, i) * s.par[L.GROWTH] + growth * time
    swing = at_rest()
    if s.extended is not None:
        growth += s.walls[number, L.WALL_VELOCITY]
        swing = swing_from(s, number, time)
        if number >= L.SIDES:
            return _shape_time(s, i, number, radius, growth, swing, limit)
    return _side_time(s, i, number, radius, growth, swing, limit)


@kernel
def _side_time(s, i, number, radius, growth, swing, limit):
    """Return `wall_time` of a side of the box, which comes nearer to a surface at rest at a rate `growth`."""
    axis, sign, wall = number % L.AXES, sense_of(number), s.walls[number, L.WALL_PLACE]
    acceleration = s.bounds[i, L.ACCELERATION]
    if s.extended is not None:
        wall += sign * s.walls[number, L.WALL_VELOCITY] * start_time(s, i)
        acceleration += abs(s.par[L.GRAVITY + axis])
    gap = sign * (s.starts[i, axis] - wall) - radius - series_error_of(s, s.segment[i, L.MOLECULE])
    if gap - abs(swing.amplitude) > max(s.bounds[i, L.SPEED] + growth, 0.0) * limit * SLACK:
        return np.inf
    hit = struck(s.segment, i) == 1
    pair = Pair(i, -1 - number, 0.0, 0.0, wall, sign, 0.0, radius, growth, acceleration, limit, hit)
    if s.stepper is not None:
        if swing.amplitude == 0.0:  # all that meets one with a swing flies exactly
            return exact_contact(s, pair)
    return wall_contact(s, pair, swing, limit * SLACK)


@kernel
def _shape_time(s, i, number, radius, growth, swing, limit):
    """Return `wall_time` of a wall with a shape."""
    time = start_time(s, i)
    free = s.walls[number, L.WALL_PLACE] - s.walls[number, L.WALL_VELOCITY] * time - radius
    gap = gap_of(s, number, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], time) - radius
    if gap > (s.bounds[i, L.SPEED] + growth + abs(swing.amplitude) * swing.angular) * limit * SLACK:
        return np.inf
    acceleration = s.bounds[i, L.ACCELERATION] + s.par[L.FALL]
    return shape_contact(s, i, number, free, -growth, swing, acceleration, limit * SLACK, struck(s.segment, i) == 1)


FARTHER = 4.0
"""Times the horizon within which a bead has met nothing: how far it is looked for then."""
WIDER, NARROWER = 1.0 + 2.0**-3, 1.0 - 2.0**-6
"""What becomes of the horizon for all beads when one has met nothing within it, and when one has: one in nine does not.
Results do not depend on it."""


EARLY = 2.0**-6
SURELY = 1.0 - 2.0**-40  # beyond what rounding does to a square
# The earliest of a bead's events found so far: its time, depth and partner (a bead, or a code), the serial number of
# the partner's segment, and whether another is due at the same instant (0, 1).
Candidate = namedtuple("Candidate", "ticks remainder depth partner serial tied")


@kernel
def candidates(s, i, at):
    """Write those of bead i's list that it may meet to `found`, from index `at` on, and prefetch their segments.

    Returns how many.

    Steps' segments need not begin just where those before them end: looking back, all that are listed are met.
    """
    back = earlier(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.LATEST], s.par[L.LATEST_REM])
    if s.bounds[i, L.ACCELERATION] != 0.0 and not (back and s.stepper is not None):
        number = within_sweep(s, i, looking_back(s), at)
    elif back or len(s.flight) == 0:
        number = all_listed(s, i, at)
    else:
        number = candidates_straight(s, i, at)
    prefetch_segments(s, at, at + number)
    return number


@outlined
def search_by_horizon(s, i):
    """Do what `search_one` does, of single beads that meet distances of potentials up to a horizon first."""
    back = earlier(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.LATEST], s.par[L.LATEST_REM])
    listed = s.lists[i, L.LIST_LENGTH] > 0
    if s.par[L.ASTRAY] < np.inf and s.bounds[i, L.ACCELERATION] == 0.0 and not back and listed:
        horizon = s.par[L.HORIZON]
        if horizon >= length_of(s, i):
            s.par[L.HORIZON] *= NARROWER
        while horizon < length_of(s, i):
            meet_candidates(s, i, np.int64(0), candidates_within(s, i, horizon))
            time = since_start(s, i, s.event_time[i, L.EVENT_TICKS], s.event_time[i, L.EVENT_REM])
            if time * SLACK + s.par[L.SIMULTANEOUS] <= horizon:  # what is tied with the event comes within it, too
                s.par[L.HORIZON] *= NARROWER
                return
            s.par[L.HORIZON] *= WIDER
            s.count[L.N_SEARCHES] -= 1
            horizon *= FARTHER
    meet_candidates(s, i, np.int64(0), candidates(s, i, np.int64(0)))


@outlined
def meet_candidates(s, i, at, number):
    """Find bead i's earliest event, of `number` candidates in `found` from `at` on, and store it.

    Every one of its `candidates` is met on the common span of the two present segments; where its present one begins
    after NOW, those closed since are met too (`_against_bead`). Candidates are compared by (time, depth, lower id,
    higher id). If two with the same partner differ only by rounding, the one from the older segment wins.

    Where molecules are moved by a method whose contacts `exact_contact` finds (`stepper`), candidates may swap when
    their times are made exact: all on the common span are followed, and the list is renewed a little before it ends.
    """
    limit, expiry = _search_span(s, i)
    best = Candidate(np.inf, np.inf, np.int64(0), np.int64(L.NO_EVENT), np.int64(0), np.int64(0))
    for e in range(at, at + number):
        j = s.found[e]
        limit, best = _against_bead(s, i, j, np.int64(-1), limit, best)
    limit, best = _against_limited(s, i, limit, best)
    if s.par[L.WALLS] != 0.0:
        make_own_series(s, s.segment[i, L.MOLECULE])
        best = _against_walls(s, i, limit, best)
    _store_event(s, i, _until_expiry(s, i, expiry, best))


@inlined
def _store_event(s, i, best):
    """Store bead i's earliest event."""
    s.event_time[i, L.EVENT_TICKS] = best.ticks
    s.event_time[i, L.EVENT_REM] = best.remainder
    set_event(s.next_event, i, best.partner, best.serial, best.depth, best.tied)
    s.count[L.N_SEARCHES] += 1


@inlined
def search_alone(s, i, at):
    """Store bead i's earliest event if it may touch nothing during its segment; else keep its candidates for later.

    For beads of molecules without a stepper in a box without walls: without candidates, what is left is the renewal of
    the bead's list. Else the bead is AWAITED; its `next_event` says where in `found` the candidates are, from `at` on,
    and how many. Returns where they end.
    """
    if s.lists[i, L.OWNERSHIP] == L.DISTANT:  # it has no event throughout
        return at
    number = candidates(s, i, at)
    if number > 0:
        set_event(s.next_event, i, np.int64(L.NO_EVENT), at, number, np.int64(L.AWAITED))
        return at + number
    best = Candidate(np.inf, np.inf, np.int64(0), np.int64(L.NO_EVENT), np.int64(0), np.int64(0))
    if s.origin_time[i] != L.LISTED:
        best = _until_expiry(s, i, list_expiry(s, i), best)
    _store_event(s, i, best)
    return at


@inlined
def search_awaited(s, i):
    """Find and store the earliest event of bead i, whose candidates are known."""
    number = event_depth(s.next_event, i)
    meet_candidates(s, i, s.next_event[i, L.CANDIDATES_AT], number)


@inlined
def surely_listed(s, i, time):
    """Whether bead i surely stays within its list's shell for a time after its segment's start.

    That is decided without a root or a division, where the list was not made within the segment.
    """
    left = s.par[L.SAFE_SHELL] - list_speed(s, i) * time
    if left <= 0.0 or s.origin_time[i] >= 0.0:
        return False
    dx, dy, dz = _from_list_origin(s, i)
    return dx * dx + dy * dy + dz * dz < left * left * SURELY


@kernel
def _search_span(s, i):
    """Return how long after its segment's start bead i's contacts are of interest, and when its list expires [time]."""
    length = length_of(s, i)
    if s.stepper is None and s.origin_time[i] == L.LISTED:
        return length, np.inf
    expiry = list_expiry(s, i)
    limit = min(length, expiry)
    if s.stepper is not None:
        limit = length
        if expiry < length:
            expiry = max(expiry - EARLY * s.par[L.SHELL] / list_speed(s, i), 0.0)
    return limit, expiry


@inlined
def _against_bead(s, i, j, limits, limit, best):
    """Compare bead i's contacts with bead j's segment, and with those of j closed since NOW, with the best so far."""
    # `limits` is the row of the limits of their distance, -1 where they have none.
    # Returns what `limit` is now, and the best.
    ticks = s.starts[i, L.START_TICKS]
    remainder = s.starts[i, L.START_REM]
    tick = s.par[L.TICK]
    r = j
    newer = np.int64(-1)
    while r >= 0:
        time, lag = _meeting_time(s, i, r, j, newer, limits, limit)
        if time < np.inf:
            late = i if lag >= 0.0 else r  # whose segment begins where the common span does
            t, q = time_at(s, late, time)
            depth = depth_of(s, i, r, t, q)
            current, undoes = True, False
            if newer >= 0:
                lower, higher = ids_of(s, i, j)
                key = Key(t, q, depth, lower, higher)
                current, undoes = is_current(s, i, r, newer, key), key > key_of(s, newer)
            if current:
                after_best = (t - best.ticks) * tick + (q - best.remainder)
                tied = _tied(s, after_best, best.tied)
                if undoes:
                    # what closed the segment is done once more: now, since what comes before that may move bead i on
                    t, q, depth = s.starts[newer, L.START_TICKS], s.starts[newer, L.START_REM], np.int64(L.REOPENS)
                older = newer >= 0 and best.partner == j and abs(after_best) < s.par[L.SIMULTANEOUS]
                if older or comes_first(s, t, q, depth, i, j, best):
                    best = Candidate(t, q, depth, j, serial_of(s, r), tied)
                    if s.stepper is None:
                        limit = min(limit, ((t - ticks) * tick + (q - remainder)) * SLACK + s.par[L.SIMULTANEOUS])
                else:
                    best = Candidate(best.ticks, best.remainder, best.depth, best.partner, best.serial, tied)
        if not _begun_since(s, i, r) or s.segment[j, L.MOLECULE] == s.segment[i, L.MOLECULE]:
            break
        h = row_before(s, s.segment[r, L.MOLECULE])
        newer = r
        r = s.mol[h, L.MOL_FIRST] + j - s.mol[s.segment[j, L.MOLECULE], L.MOL_FIRST] if h >= 0 else np.int64(-1)
    return limit, best


@kernel
def _tied(s, after_best, tied):
    """Return whether an event is tied with the earliest (0, 1), once there is one more."""
    # That comes a time `after_best` after the best so far, below 0 where it is earlier, which was `tied`.
    if abs(after_best) < s.par[L.SIMULTANEOUS]:
        return np.int64(1)
    return np.int64(0) if after_best < 0.0 else tied


@kernel
def _against_walls(s, i, limit, best):
    """Return the best candidate of bead i, or a wall that comes before it, and whether others are due with it."""
    if s.extended is not None:
        if inverse_mass(s, i) == 0.0:
            return best
    for number in range(len(s.walls)):
        time = wall_time(s, i, number, limit)
        if time > limit:
            continue
        best = _with_wall(s, i, np.int64(-1 - number), time, best)
    return best


@inlined
def _with_wall(s, i, code, time, best):
    """Return the best candidate of bead i when it meets a wall a time after its segment's start."""
    t, q = time_at(s, i, time)
    tied = _tied(s, (t - best.ticks) * s.par[L.TICK] + (q - best.remainder), best.tied)
    depth = depth_of(s, i, i, t, q)
    if comes_first(s, t, q, depth, i, code, best):
        return Candidate(t, q, depth, code, np.int64(0), tied)
    return Candidate(best.ticks, best.remainder, best.depth, best.partner, best.serial, tied)


@kernel
def _until_expiry(s, i, expiry, best):
    """Return the best candidate, or the renewal of bead i's list where that comes before."""
    if expiry < length_of(s, i):
        t, q = time_at(s, i, expiry)
        sooner = s.stepper is not None and earlier(t, q, best.ticks, best.remainder)
        if sooner or best.partner == L.NO_EVENT:
            best = Candidate(t, q, best.depth, np.int64(L.RELIST), best.serial, best.tied)
    return best


@inlined
def _begun_since(s, i, r):
    """Whether row r's segment begins later than NOW, or at NOW with an event after that which bead i's began with."""
    # Of what is due at one instant all has its order, and in a window what comes later may have been done before.
    if s.starts[r, L.START_TICKS] != s.par[L.NOW] or s.starts[r, L.START_REM] != s.par[L.NOW_REM]:
        return earlier(s.par[L.NOW], s.par[L.NOW_REM], s.starts[r, L.START_TICKS], s.starts[r, L.START_REM])
    together = s.starts[i, L.START_TICKS] == s.par[L.NOW] and s.starts[i, L.START_REM] == s.par[L.NOW_REM]
    return together and s.scalars[L.SCALAR_WINDOWED] != 0 and key_of(s, r) > key_of(s, i)


@inlined
def _meeting_time(s, i, r, j, newer, limits, limit):
    """Return what `contact_time` does, where there are limits or potentials with steps of what beads meet first."""
    if s.extended is not None:
        if limits >= 0 or s.par[L.STEP_POTENTIALS] != 0.0:
            are_joined = limits < 0 and s.par[L.SMALL_BOX] != 0.0 and joined(s, i, r)
            time, lag = step_time(s, i, r, j, newer, limit, limits, are_joined)
            if time == LACKING:
                _make_series_of(s, i, r)
                time, lag = step_time(s, i, r, j, newer, limit, limits, are_joined)
            return time, lag
    return contact_time(s, i, r, newer, limit)


@kernel
def _against_limited(s, i, limit, best):
    """Compare with the best so far when bead i comes to the limits of its distance from others of its molecule."""
    # Returns as `_against_bead`.
    if s.extended is not None:
        for e in range(s.limited_row[i], s.limited_row[i + 1]):
            j = s.limited[e]
            if not concerns_others(s, i, j):
                limit, best = _against_bead(s, i, j, np.int64(e), limit, best)
    return limit, best


@inlined
def _make_series_of(s, i, r):
    """Make the series of the segments in two bead rows that have none as yet."""
    make_own_series(s, s.segment[i, L.MOLECULE])
    make_own_series(s, s.segment[r, L.MOLECULE])


@inlined
def contact_time(s, i, r, newer, limit):
    """Return when bead i's segment and that in row r touch, from where both exist on, and r's lag behind i's start.

    The time is inf when they do not. They are first tried on straight lines with a bound of how far the paths can bend
    away from them (docs/theory/contact_times.md); only those that could touch are followed along their curves. `newer`
    is the row of the segment that closed r, -1 for an open one: what comes later than that by more than SIMULTANEOUS is
    of no interest.
    """
    lag, ti, tj, until, horizon = common_span(s, i, r, newer, limit)
    if horizon < 0.0:
        return np.inf, lag
    off_i, off_j = ti, tj
    if s.extended is not None:
        off_i, off_j = fallen(s, i, ti), fallen(s, r, tj)
    rx, ry, rz, ux, uy, uz, sx, sy, sz = separation_on_lines(s, i, r, ti, tj, off_i, off_j)
    rv = rx * ux + ry * uy + rz * uz
    rr = rx * rx + ry * ry + rz * rz
    uu = ux * ux + uy * uy + uz * uz
    closest = closest_of_lines(s, i, r, off_i + horizon, off_j + horizon)
    if least_square(rr, rv, uu, horizon) > closest * closest * SLACK:
        return np.inf, lag
    if s.extended is not None:
        if inverse_mass(s, i) == 0.0 and inverse_mass(s, r) == 0.0:
            return np.inf, lag
    if s.par[L.SMALL_BOX] != 0.0 and sx == 0.0 and sy == 0.0 and sz == 0.0 and joined(s, i, r):
        return np.inf, lag
    same = just_hit(s, i, r, lag, rv)
    d, growth = contact_distance(s, i, r, lag)
    acceleration = s.bounds[i, L.ACCELERATION] + s.bounds[r, L.ACCELERATION]
    if acceleration == 0.0:
        least = REST * (s.bounds[i, L.SPEED] + s.bounds[r, L.SPEED])
        time = straight_contact(rx, ry, rz, ux, uy, uz, d, growth, least, same)
        return (time if time <= horizon else np.inf), lag
    _make_series_of(s, i, r)
    s.count[L.N_ROOTS] += 1
    pair = Pair(i, r, ti, tj, sx, sy, sz, d, growth, acceleration, until, same)
    if s.stepper is not None:
        time = exact_contact(s, pair)
    else:
        time = curved_contact(s, pair, horizon * SLACK)
    return (time if time <= horizon * SLACK else np.inf), lag


@inlined
def _from_list_origin(s, i):
    """Return from where bead i's list was made to where its segment starts (3), by the nearest image [length]."""
    return (
        way_from_origin(s, i, 0, s.starts[i, L.X], 0.0),
        way_from_origin(s, i, 1, s.starts[i, L.Y], 0.0),
        way_from_origin(s, i, 2, s.starts[i, L.Z], 0.0),
    )


@kernel
def list_expiry(s, i):
    """Return how long after its segment's start bead i surely stays within its list's shell, or needs none [time]."""
    if s.lists[i, L.OWNERSHIP] == L.DISTANT:
        return np.inf
    dx, dy, dz = _from_list_origin(s, i)
    shell = s.par[L.SAFE_SHELL]
    dd = dx * dx + dy * dy + dz * dz
    if s.extended is not None:
        if series_order(s.segment, i) == L.FALLING:
            return falling_expiry(s, i, shell, math.sqrt(dd))
    if s.bounds[i, L.ACCELERATION] == 0.0:
        u = s.starts[i, L.VX] - s.par[L.DRIFT]
        v = s.starts[i, L.VY] - s.par[L.DRIFT + L.Y]
        w = s.starts[i, L.VZ] - s.par[L.DRIFT + L.Z]
        a = u * u + v * v + w * w
        if a == 0.0:
            return np.inf
        if s.origin_time[i] >= 0.0:
            return s.origin_time[i] + shell / math.sqrt(a)
        b = dx * u + dy * v + dz * w
        return (-b + math.sqrt(max(b * b + a * (shell * shell - dd), 0.0))) / a
    speed = list_speed(s, i)
    if speed == 0.0:
        return np.inf
    if s.origin_time[i] >= 0.0:
        return s.origin_time[i] + shell / speed
    return max(shell - math.sqrt(dd), 0.0) / speed


@inlined
def outside_shell(s, i, dt):
    """Whether bead i may be out of its list's shell a time dt after its segment's start.

    Straight flight may have begun farther from where the list was made than half the box: where that is open, too far
    to say so (`way_from_origin`).
    """
    if s.bounds[i, L.ACCELERATION] != 0.0 or series_order(s.segment, i) == L.FALLING:
        return list_expiry(s, i) <= dt
    far = 0.0
    for c in range(3):
        if s.par[L.SIZE + c] == 0.0:
            return True
        d = way_from_origin(s, i, c, s.starts[i, c] + s.starts[i, L.VX + c] * dt, dt)
        far += d * d
    return far >= s.par[L.SAFE_SHELL] * s.par[L.SAFE_SHELL]
