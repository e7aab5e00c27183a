"""Carry out a contact: bring its molecules together in time, apply the impulse, start their new segments."""

import numpy as np

from hpcchain.contact.discrete import any_takes_law, discrete_share, keep_velocities, takes_law
from hpcchain.contact.impulse import approach, lane, separation, single_impulse, tied_impulses
from hpcchain.contact.pair import NOISE, curve
from hpcchain.kernel import apart, inlined, kernel
from hpcchain.propagators.lanes import COEF, INVM, ROW, TILE
from hpcchain.propagators.molecule import iterations, load, note_iterations, project
from hpcchain.propagators.steppers import steps_excess
from hpcchain.sector.clockmath import earlier
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.history import ROOTLESS, STANDS, aim_back, remember, withdraw
from hpcchain.sector.layout import (
    BALLISTIC,
    BOOK_SERIAL,
    BOOK_VIRIAL,
    BOOK_WINDOWED,
    CHAIN,
    COLLOCATION,
    GROWTH,
    GROWTH_RATE,
    INVERSE,
    LATEST,
    LAW,
    LOWER_WALL,
    MOL_BEADS,
    MOL_FIRST,
    MOL_GRAPH,
    MOL_HIGHER,
    MOL_LOWER,
    MOL_NUMBER,
    MOL_PREVIOUS,
    MOL_ROOM,
    MOL_SOLVER,
    MOL_TILES,
    MOST_MEMBERS,
    MOST_TIES,
    QUANTUM,
    RESTITUTION,
    SIZE,
    TICK,
    TIE_GAP,
    TIE_TIME,
    UPPER_WALL,
    WALLS,
)
from hpcchain.sector.renew import complete_one, new_segment, two_segments
from hpcchain.sector.search import joined
from hpcchain.sector.swept import looking_back, may_meet

PACE_MEMORY = 0.2
PACE_RATIO = 2.0


@kernel
def learn_pace(pace, m, realised):
    """Move a molecule's running segment length towards PACE_RATIO times the length that came true."""
    old = pace[m, 0] if pace[m, 0] > 0.0 else pace[m, 3]
    pace[m, 0] = old + PACE_MEMORY * (PACE_RATIO * realised - old)


@apart
def _bring(s, o, m, ticks, rest):
    """Bring molecule m to a time in the workspace and onto its bonds; return the energy that this took (`project`)."""
    first = s.mol[m, MOL_FIRST]
    complete_one(s, m)
    dt = time_span(ticks, rest, s.line[first, 6], s.line[first, 7], s.par[TICK])
    load(s.work, o, s.mol, m, s.table, s.graph, s.series, s.line, dt, s.stepper)
    if dt != 0.0:
        note_iterations(s.count, 20, iterations(s.work, o, s.mol, m, s.graph, s.stepper))
    if s.par[LAW] != 0.0 and takes_law(s.table, s.mol, m) and _struck(s.seg, first, s.mol[m, MOL_BEADS]):
        excess = steps_excess(s.work, o, s.mol[m, MOL_TILES], s.graph, s.mol[m, MOL_GRAPH])
        s.work[excess] = s.pace[m, 7] - kinetic_energy(s.work, o, s.mol[m, MOL_TILES])
    return project(s.work, o, s.mol, m, s.graph, s.stepper)


@kernel
def _struck(seg, first, n):
    """Whether a contact began the segment of these beads: then the energy of its step is what that contact's law kept.
    """
    for i in range(first, first + n):
        if seg[i, 2] != 0:
            return True
    return False


@kernel
def kinetic_energy(work, o, nt):
    """Return the kinetic energy of the molecule in the workspace at o [mass length^2 / time^2]."""
    energy = 0.0
    for t in range(nt):
        w = o + t * TILE
        for k in range(ROW):
            if work[w + INVM + k % 8] > 0.0:
                energy += 0.5 * work[w + COEF + ROW + k] ** 2 / work[w + INVM + k % 8]
    return energy


@kernel
def _close(s, m, ticks, rest):
    """End molecule m's present segment at a time: learn from its length, forget who was struck at its start."""
    remember(s, m)
    first = s.mol[m, MOL_FIRST]
    learn_pace(s.pace, m, time_span(ticks, rest, s.line[first, 6], s.line[first, 7], s.par[TICK]))
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        s.seg[i, 2] = 0


@kernel
def others_due(par, when, first, n, ticks, rest, a, b):
    """Whether another bead of the range than a and b has an event at this instant."""
    for i in range(first, first + n):
        if i != a and i != b and abs((when[i, 0] - ticks) * par[TICK] + (when[i, 1] - rest)) < par[TIE_TIME]:
            return True
    return False


@kernel
def _join(s, group, offset, members, m, ticks, rest):
    """Bring molecule m into the group of an event; return its member number, the number of members and `_bring`'s."""
    for g in range(members):
        if group[g] == m:
            return g, members, 0.0
    if members == MOST_MEMBERS:
        return -1, members, 0.0
    if members:
        offset[members] = offset[members - 1] + s.mol[group[members - 1], MOL_ROOM]
    else:
        offset[0] = 0
    group[members] = m
    return members, members + 1, _bring(s, offset[members], m, ticks, rest)


@apart
def gather_ties(s, i_main, j_main, group, offset, members, ticks, rest, contacts, beads, normals, growths, closing):
    """List all contacts at this instant that involve the event's two molecules, in the order of their ids.

    Touching within TIE_GAP and approaching counts. A third molecule in contact with either joins the group; its own
    further contacts do not. Returns the numbers of contacts and of members, and whether any contact but the event's own
    (i_main, j_main) closes within half of TIE_TIME: that depends on the molecules alone, and such a contact is due for
    everyone who looks, so it, and not who happened to look, decides whether contacts are resolved together.
    """
    par, span, mol = s.par, s.span, s.mol
    scale = par[GROWTH] + par[GROWTH_RATE] * (ticks * par[TICK] + rest)
    core = members
    count = 0
    close = s.stepper is None
    for g in range(core):
        m = group[g]
        start = mol[m, MOL_FIRST]
        for b in range(mol[m, MOL_BEADS]):
            i = start + b
            p = lane(offset[g], b)
            for e in range(s.row[i, 0], s.row[i, 0] + s.row[i, 1]):
                j = np.int64(s.neighbour[e])
                if close and not may_meet(s, i, j, 0.0):
                    continue
                sigma = s.span[i, 2] + s.span[j, 2]
                mj = s.seg[j, 3]
                inner = mj == group[0] or (core > 1 and mj == group[1])
                if inner and s.what[j, 3] < s.what[i, 3]:
                    continue
                if not inner and not _near(s, s.work, p, j, sigma * scale, ticks, rest):
                    continue
                h, members, _ = _join(s, group, offset, members, mj, ticks, rest)
                if h < 0:
                    continue
                q = lane(offset[h], j - mol[mj, MOL_FIRST])
                if _direct_bond(s, p, q, i, j):
                    continue
                count = _pair_tie(s, p, q, g, b, h, j - mol[mj, MOL_FIRST], i, j, sigma, scale, contacts, beads,
                                  normals, growths, closing, count)  # fmt: skip
            if par[WALLS] != 0.0:
                count = _wall_ties(
                    par, s.work, span, p, g, b, i, scale, contacts, beads, normals, growths, closing, count
                )
    others = False
    for k in range(count):
        main = (beads[k, 0] == i_main and beads[k, 1] == j_main) or (beads[k, 1] == i_main and beads[k, 0] == j_main)
        others = others or (closing[k] != 0.0 and not main)
    _sort_ties(s.what, contacts, beads, normals, growths, count)
    return count, members, others


@kernel
def rewind_touching(s, group, offset, members, ticks, rest, depth, lower, higher):
    """Ask for those to be set back (`aim_back`) that touch the event's molecules now but have been carried on since.

    The event's key is (ticks, rest, depth, lower, higher): of one instant, too, what comes later may have been done.
    """
    if earlier(s.par[LATEST], s.par[LATEST + 1], ticks, rest):
        return
    scale = s.par[GROWTH] + s.par[GROWTH_RATE] * (ticks * s.par[TICK] + rest)
    close = s.stepper is None  # where segments begin just where those before them end (`looking_back`)
    back = looking_back(s)
    for g in range(members):
        start = s.mol[group[g], MOL_FIRST]
        for b in range(s.mol[group[g], MOL_BEADS]):
            i = start + b
            for e in range(s.row[i, 0], s.row[i, 0] + s.row[i, 1]):
                j = np.int64(s.neighbour[e])
                if close and not may_meet(s, i, j, back):
                    continue
                m = s.seg[j, 3]
                h = m
                while h >= 0 and _begins_later(s, h, ticks, rest, depth, lower, higher):
                    h = s.mol[h, MOL_PREVIOUS]
                if h == m or h < 0:
                    continue
                r = s.mol[h, MOL_FIRST] + j - s.mol[m, MOL_FIRST]
                far = (s.span[i, 2] + s.span[j, 2]) * scale
                if _near(s, s.work, lane(offset[g], b), r, far, ticks, rest):
                    aim_back(s, m, s.mol[h, MOL_NUMBER])


@inlined
def _begins_later(s, h, ticks, rest, depth, lower, higher):
    """Whether the segment in molecule row h begins with an event after that of this key."""
    first = s.mol[h, MOL_FIRST]
    if s.line[first, 6] != ticks or s.line[first, 7] != rest:
        return earlier(ticks, rest, s.line[first, 6], s.line[first, 7])
    if s.seg[first, 1] != depth:
        return s.seg[first, 1] > depth
    if s.mol[h, MOL_LOWER] != lower:
        return s.mol[h, MOL_LOWER] > lower
    return s.mol[h, MOL_HIGHER] > higher


@apart
def _near(s, work, p, j, distance, ticks, rest):
    """Whether a bead, read off its segment in row j, touches the bead at place p."""
    dt = time_span(ticks, rest, s.line[j, 6], s.line[j, 7], s.par[TICK])
    if dt < 0.0:
        return False
    far = distance * (1.0 + s.par[TIE_GAP])
    bend = 0.5 * s.span[j, 0] * dt * dt
    x = s.line[j, 0] + s.line[j, 3] * dt
    y = s.line[j, 1] + s.line[j, 4] * dt
    z = s.line[j, 2] + s.line[j, 5] * dt
    if not _within(s.par, work, p, far + bend, x, y, z):
        return False
    complete_one(s, s.seg[j, 3])
    x, y, z, u, v, w = curve(s.line, s.seg, s.series, j, dt)
    return _within(s.par, work, p, far, x, y, z)


@kernel
def _within(par, work, p, far, x, y, z):
    """Whether a point is within a distance of the bead at place p."""
    dx = work[p + COEF] - x
    dy = work[p + COEF + 8] - y
    dz = work[p + COEF + 16] - z
    dx -= par[SIZE] * np.rint(dx * par[INVERSE])
    dy -= par[SIZE + 1] * np.rint(dy * par[INVERSE + 1])
    dz -= par[SIZE + 2] * np.rint(dz * par[INVERSE + 2])
    return dx * dx + dy * dy + dz * dz < far * far


@inlined
def _closing(par, gap, rate, speed):
    """Return 1 where a gap closes within half of TIE_TIME, else 0: at rest on one another is no contact that is due.

    `speed` bounds the rate; below NOISE of it the search, too, finds none with what has just been hit.
    """
    return 1.0 if gap < -0.5 * par[TIE_TIME] * rate and rate < -NOISE * speed else 0.0


@kernel
def _pair_tie(s, p, q, g, b, h, bj, i, j, sigma, scale, contacts, beads, normals, growths, closing, count):
    if count == MOST_TIES:
        return count
    n = normals[count]
    if s.what[j, 3] < s.what[i, 3]:
        g, b, h, bj, i, j, p, q = h, bj, g, b, j, i, q, p
    r = separation(s.par, s.work, p, q, n)
    growths[count] = sigma * s.par[GROWTH_RATE]
    gap = r - sigma * scale
    rate = approach(s.work, p, q, n) - growths[count]
    if gap > s.par[TIE_GAP] * sigma or rate >= 0.0:
        return count
    closing[count] = _closing(s.par, gap, rate, s.span[i, 1] + s.span[j, 1])
    contacts[count, 0] = g
    contacts[count, 1] = b
    contacts[count, 2] = h
    contacts[count, 3] = bj
    beads[count, 0] = i
    beads[count, 1] = j
    return count + 1


@kernel
def _wall_ties(par, work, span, p, g, b, i, scale, contacts, beads, normals, growths, closing, count):
    for axis in range(3):
        for wall in range(2):
            place = par[LOWER_WALL + axis] if wall == 0 else par[UPPER_WALL + axis]
            if count == MOST_TIES or place == np.inf or place == -np.inf:
                continue
            sign = 1.0 if wall == 0 else -1.0
            growth = span[i, 2] * par[GROWTH_RATE]
            gap = sign * (work[p + COEF + 8 * axis] - place) - span[i, 2] * scale
            rate = sign * work[p + COEF + ROW + 8 * axis] - growth
            if gap > par[TIE_GAP] * span[i, 2] or rate >= 0.0:
                continue
            closing[count] = _closing(par, gap, rate, span[i, 1])
            normals[count, :] = 0.0
            normals[count, axis] = sign
            growths[count] = growth
            contacts[count, 0] = g
            contacts[count, 1] = b
            contacts[count, 2] = -1
            contacts[count, 3] = 0
            beads[count, 0] = i
            beads[count, 1] = -1 - axis - 3 * wall
            count += 1
    return count


@kernel
def _sort_ties(what, contacts, beads, normals, growths, count):
    """Order contacts by (first id, second id or wall code), so that rounding does not depend on list order."""
    for k in range(1, count):
        at = k
        while at > 0 and _before(what, beads, at, at - 1):
            for c in range(4):
                contacts[at, c], contacts[at - 1, c] = contacts[at - 1, c], contacts[at, c]
            for c in range(3):
                normals[at, c], normals[at - 1, c] = normals[at - 1, c], normals[at, c]
            for c in range(2):
                beads[at, c], beads[at - 1, c] = beads[at - 1, c], beads[at, c]
            growths[at], growths[at - 1] = growths[at - 1], growths[at]
            at -= 1


@kernel
def _before(what, beads, a, b):
    first = what[beads[a, 0], 3] - what[beads[b, 0], 3]
    if first != 0:
        return first < 0
    x = what[beads[a, 1], 3] if beads[a, 1] >= 0 else beads[a, 1]
    y = what[beads[b, 1], 3] if beads[b, 1] >= 0 else beads[b, 1]
    return x < y


@kernel
def _direct_bond(s, p, q, i, j):
    """Whether two beads, at places p and q, never collide with each other, and are no images."""
    if not joined(s, i, j):
        return False
    for c in range(3):
        size = s.par[SIZE + c]
        if size != 0.0 and np.rint((s.work[p + COEF + 8 * c] - s.work[q + COEF + 8 * c]) / size) != 0.0:
            return False
    return True


@kernel
def record(s, log_rows, time, gid_a, gid_b, size, moment):
    """Count a contact and its virial `moment`, and log it: time, kind, ids (lower first; wall: bead, code), impulse.

    In a window contacts are counted when it is final.
    """
    quanta = np.rint(moment / s.par[QUANTUM])
    if s.book[BOOK_WINDOWED] == 0:
        s.count[0 if gid_b >= 0 else 1] += 1
        s.book[BOOK_VIRIAL] += np.int64(quanta)
    if log_rows == 0:
        return
    row = s.log[s.count[12]]
    row[0] = time
    row[1] = 0.0 if gid_b >= 0 else 1.0
    row[2] = min(gid_a, gid_b) if gid_b >= 0 else gid_a
    row[3] = max(gid_a, gid_b) if gid_b >= 0 else gid_b
    row[4] = size
    row[5] = quanta
    row[6] = 1.0
    s.count[12] += 1


@kernel
def centre_of_mass(work, o, nt, c):
    """Return component c of the centre of mass of the molecule in the workspace at o."""
    total = 0.0
    moment = 0.0
    for t in range(nt):
        for i in range(8):
            im = work[o + t * TILE + INVM + i]
            if im > 0.0:
                total += 1.0 / im
                moment += work[o + t * TILE + COEF + 8 * c + i] / im
    return moment / total


@kernel
def virial(par, work, oa, ob, mol, ma, mb, p, q, n, r, size):
    """Return the contact's part of the molecular virial: impulse times the vector between the centres of mass.

    The vector is that between the images that touch; inside one molecule only a contact with an image counts.
    """
    w = 0.0
    for c in range(3):
        shift = r * n[c] - (work[p + COEF + 8 * c] - work[q + COEF + 8 * c])
        apart = shift
        if ma != mb:
            apart += centre_of_mass(work, oa, mol[ma, MOL_TILES], c) - centre_of_mass(work, ob, mol[mb, MOL_TILES], c)
        elif abs(shift) < 0.5 * par[SIZE + c] or par[SIZE + c] == 0.0:
            apart = 0.0
        w += size * n[c] * apart
    return w


@kernel
def _book(s, time, i, other, p, q, oa, ob, size, log_rows):
    """Mark a contact's beads, count and log it."""
    s.seg[i, 2] = 1
    moment = 0.0
    if other >= 0:
        n = s.normals[MOST_TIES]
        r = separation(s.par, s.work, p, q, n)
        s.seg[other, 2] = 1
        moment = virial(s.par, s.work, oa, ob, s.mol, s.seg[i, 3], s.seg[other, 3], p, q, n, r, size)
    gid = s.what[other, 3] if other >= 0 else other
    record(s, log_rows, time, s.what[i, 3], gid, size, moment)


@apart
def collide(s, log_rows, i, partner, crowded, ticks, rest, depth, group, offset, contacts, beads, normals, growths,
            matrix, sizes):  # fmt: skip
    """Bring the molecules of a contact to its time, apply the contact law and start their new segments.

    Parameters
    ----------
    s : Sector
    log_rows : int
        Rows of the contact log, 0 for none.
    i, partner : int
        Bead, and other bead or wall code.
    crowded : bool
        Other events are due at this instant: look for contacts to be resolved together.
    ticks, rest, depth : float, float, int
        Key of the event.
    group, offset, contacts, beads, normals, growths, matrix, sizes : arrays
        Scratch; `group` holds the molecules that took part on return, -1 for one that in the end did not.

    Returns
    -------
    int
        How many molecules took part; 0 when nothing was done, because it is a contact of single beads that nothing else
        has part in: one code must do these (`free`).
    """
    par, mol = s.par, s.mol
    if partner >= 0 and s.what[partner, 3] < s.what[i, 3]:
        i, partner = partner, i
    ma = s.seg[i, 3]
    mb = s.seg[partner, 3] if partner >= 0 else -1
    _, members, lost = _join(s, group, offset, np.int64(0), ma, ticks, rest)
    if mb >= 0:
        _, members, more = _join(s, group, offset, members, mb, ticks, rest)
        lost += more
    time = ticks * par[TICK] + rest
    found = 0
    others = False
    if crowded:
        if s.book[BOOK_WINDOWED] != 0:
            higher = s.what[partner, 3] if partner >= 0 else partner
            rewind_touching(s, group, offset, members, ticks, rest, depth, s.what[i, 3], higher)
            withdraw(s)
        found, members, others = gather_ties(
            s, i, partner, group, offset, members, ticks, rest, contacts, beads, normals, growths, sizes
        )
    if par[LAW] != 0.0:
        for k in range(members):
            keep_velocities(s.work, offset[k], mol[group[k], MOL_TILES])
    if found > 1 and others and tied_impulses(
        s.work, mol, s.graph, group, offset, members, contacts, normals, growths, found, par[RESTITUTION], s.kicks,
        matrix, sizes, _lost_in_ties(s, group, offset, contacts, found, ticks, rest),
    ) == 0:  # fmt: skip
        s.count[8] += 1
        _keep_used(group, members, contacts, found)
        for k in range(members):
            if group[k] >= 0:
                _close(s, group[k], ticks, rest)
        kappa = _law(s, group, offset, members, ticks, rest, s.stepper)
        for k in range(found):
            sizes[k] *= kappa if kappa > 0.0 else 1.0
            oa = offset[contacts[k, 0]]
            ob = offset[contacts[k, 2]] if contacts[k, 2] >= 0 else -1
            p = lane(oa, contacts[k, 1])
            q = lane(ob, contacts[k, 3]) if ob >= 0 else -1
            _book(s, time, beads[k, 0], beads[k, 1], p, q, oa, ob, sizes[k], log_rows)
            if kappa == 0.0:
                _note_rootless(s, log_rows)
    elif mol[ma, MOL_SOLVER] == BALLISTIC and (mb < 0 or mol[mb, MOL_SOLVER] == BALLISTIC):
        return 0
    else:
        members = 1 if mb < 0 or mb == ma else 2
        for k in range(members):
            _close(s, group[k], ticks, rest)
        _single(s, log_rows, i, partner, ma, mb, group, offset, members, ticks, rest, normals[0], lost)
    _new_segments(s, group, offset, members, ticks, rest, depth)
    return members


@inlined
def _new_segments(s, group, offset, members, ticks, rest, depth):
    """Start new segments of all of a group; those of two chains are made together."""
    if members == 2 and min(group[0], group[1]) >= 0 and s.mol[group[0], MOL_SOLVER] == CHAIN:
        if s.mol[group[1], MOL_SOLVER] == CHAIN:
            two_segments(s, offset[0], group[0], offset[1], group[1], ticks, rest, depth)
            return
    for k in range(members):
        if group[k] >= 0:
            s.book[BOOK_SERIAL] += 1
            new_segment(s, offset[k], group[k], ticks, rest, s.book[BOOK_SERIAL], depth)


@kernel
def _lost_in_ties(s, group, offset, contacts, found, ticks, rest):
    """Return the energy that putting the molecules of tied contacts on their bonds took, summed in the contacts' order.

    Members without a contact do not count, nor does the order in which lists name them. Those moved by collocation, the
    only ones that lose any, are brought once more: ties are rare.
    """
    lost = 0.0
    if s.stepper is not None:
        for k in range(2 * found):
            g = contacts[k >> 1, 2 * (k & 1)]
            seen = g < 0 or s.mol[group[g], MOL_SOLVER] != COLLOCATION
            for e in range(k):
                seen = seen or contacts[e >> 1, 2 * (e & 1)] == g
            if not seen:
                lost += _bring(s, offset[g], group[g], ticks, rest)
    return lost


@kernel
def _keep_used(group, members, contacts, found):
    """Set to -1 those members of a group, past the event's own two, that no contact involves."""
    for g in range(members):
        used = False
        for k in range(found):
            used = used or contacts[k, 0] == g or contacts[k, 2] == g
        if not used:
            group[g] = -1


@kernel
def _law(s, group, offset, members, ticks, rest, stepper):
    """Return how many times the exact impulse the molecules' law takes; 0: it has no root (`contact.discrete`)."""
    if stepper is not None:
        if s.par[LAW] != 0.0 and any_takes_law(s.table, s.mol, group, members):
            return discrete_share(
                s.work, s.mol, s.table, s.graph, group, offset, members, ticks, rest, s.par[TICK]
            )
    return 1.0


@kernel
def _note_rootless(s, log_rows):
    """Count the contact just booked as one without a root; in a window, mark it for when that is final."""
    if s.book[BOOK_WINDOWED] == 0:
        s.count[15] += 1
    if log_rows > 0:
        s.log[s.count[12] - 1, STANDS] = ROOTLESS


@apart
def _single(s, log_rows, i, partner, ma, mb, group, offset, members, ticks, rest, n, lost):
    """Apply one contact's impulse and book it; a graze that rounds to parting gets none."""
    oa = offset[0]
    ob = offset[members - 1]
    a = i - s.mol[ma, MOL_FIRST]
    p = lane(oa, a)
    q = -1
    b = 0
    if partner >= 0:
        b = partner - s.mol[mb, MOL_FIRST]
        q = lane(ob, b)
        separation(s.par, s.work, p, q, n)
        growth = (s.span[i, 2] + s.span[partner, 2]) * s.par[GROWTH_RATE]
        s.seg[partner, 2] = 1
    else:
        code = -1 - partner
        n[:] = 0.0
        n[code % 3] = 1.0 if code < 3 else -1.0
        growth = s.span[i, 2] * s.par[GROWTH_RATE]
    s.seg[i, 2] = 1
    size = single_impulse(s.work, oa, ob, s.mol, ma, mb, s.graph, a, b, n, growth, s.par[RESTITUTION], s.kicks, lost)
    if size == 0.0:
        s.count[7] += 1
    else:
        kappa = _law(s, group, offset, members, ticks, rest, s.stepper)
        _book(s, ticks * s.par[TICK] + rest, i, partner, p, q, oa, ob, size * kappa if kappa > 0.0 else size, log_rows)
        if kappa == 0.0:
            _note_rootless(s, log_rows)
