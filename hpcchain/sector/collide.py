"""Carry out a contact: bring its molecules together in time, apply the impulse, start their new segments."""

import numpy as np

from hpcchain.contact.discrete import any_takes_law, discrete_share, keep_velocities
from hpcchain.contact.duration import begin_contact, pass_time, restitution_at, restitution_now
from hpcchain.contact.impulse import lane, separation, single_impulse, tied_impulses
from hpcchain.contact.segment import set_struck
from hpcchain.kernel import apart, inlined, kernel
from hpcchain.propagators.lanes import COEF, INVM, TILE
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.history import ROOTLESS, STANDS, remember, withdraw
from hpcchain.sector.layout import (
    BALLISTIC,
    BOOK_PUSH,
    BOOK_SERIAL,
    BOOK_VIRIAL,
    BOOK_WINDOWED,
    CHAIN,
    COLLOCATION,
    GROWTH_RATE,
    IMPULSE_QUANTUM,
    LAW,
    MOL_BEADS,
    MOL_FIRST,
    MOL_SOLVER,
    MOL_TILES,
    MOST_TIES,
    QUANTUM,
    SIZE,
    TICK,
    TIE_TIME,
)
from hpcchain.sector.renew import new_segment, two_segments
from hpcchain.sector.ties import bring, gather_ties, join, rewind_touching

PACE_MEMORY = 0.2
PACE_RATIO = 2.0


@kernel
def learn_pace(pace, m, realised):
    """Move a molecule's running segment length towards PACE_RATIO times the length that came true."""
    old = pace[m, 0] if pace[m, 0] > 0.0 else pace[m, 3]
    pace[m, 0] = old + PACE_MEMORY * (PACE_RATIO * realised - old)


@kernel
def _close(s, m, ticks, rest):
    """End molecule m's present segment at a time: learn from its length, forget who was struck at its start."""
    remember(s, m)
    first = s.mol[m, MOL_FIRST]
    length = time_span(ticks, rest, s.line[first, 6], s.line[first, 7], s.par[TICK])
    learn_pace(s.pace, m, length)
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        set_struck(s.seg, i, 0)
    pass_time(s.par, s.seg, first, s.mol[m, MOL_BEADS], length)


@kernel
def others_due(par, when, first, n, ticks, rest, a, b):
    """Whether another bead of the range than a and b has an event at this instant."""
    for i in range(first, first + n):
        if i != a and i != b and abs((when[i, 0] - ticks) * par[TICK] + (when[i, 1] - rest)) < par[TIE_TIME]:
            return True
    return False


@kernel
def record(s, log_rows, time, gid_a, gid_b, size, moment):
    """Count a contact and its virial `moment`, and log it: time, kind, ids (lower first; wall: bead, code), impulse.

    Of walls the impulse is counted, for each axis. In a window contacts are counted when it is final.
    """
    quanta = np.rint(moment / s.par[QUANTUM]) if gid_b >= 0 else np.rint(size / s.par[IMPULSE_QUANTUM])
    if s.book[BOOK_WINDOWED] == 0:
        s.count[0 if gid_b >= 0 else 1] += 1
        s.book[BOOK_VIRIAL if gid_b >= 0 else BOOK_PUSH + (-1 - gid_b) % 3] += np.int64(quanta)
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
    set_struck(s.seg, i, 1)
    begin_contact(s.par, s.seg, i)
    moment = 0.0
    if other >= 0:
        n = s.normals[MOST_TIES]
        r = separation(s.par, s.work, p, q, n)
        set_struck(s.seg, other, 1)
        begin_contact(s.par, s.seg, other)
        moment = virial(s.par, s.work, oa, ob, s.mol, s.seg[i, 2], s.seg[other, 2], p, q, n, r, size)
    gid = s.what[other, 3] if other >= 0 else other
    record(s, log_rows, time, s.what[i, 3], gid, size, moment)


@inlined
def _leave(s, i, other):
    """Mark the beads of a contact that others at the same instant part without an impulse of its own: a graze."""
    set_struck(s.seg, i, 1)
    if other >= 0:
        set_struck(s.seg, other, 1)
    s.count[7] += 1


@apart
def collide(s, log_rows, i, partner, crowded, passed, ticks, rest, depth, group, offset, contacts, beads, normals,
            growths, matrix, sizes):  # fmt: skip
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
    passed : bool
        In a window: others may have been carried on past this event.
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
    ma = s.seg[i, 2]
    mb = s.seg[partner, 2] if partner >= 0 else -1
    _, members, lost = join(s, group, offset, np.int64(0), ma, ticks, rest)
    if mb >= 0:
        _, members, more = join(s, group, offset, members, mb, ticks, rest)
        lost += more
    time = ticks * par[TICK] + rest
    found = 0
    others = False
    if crowded:
        if passed:
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
        s.work, mol, s.graph, group, offset, members, contacts, normals, growths, found,
        restitution_at(par, s.line, s.seg, beads, found, ticks, rest), s.kicks,
        matrix, sizes, _lost_in_ties(s, group, offset, contacts, found, ticks, rest),
    ) == 0:  # fmt: skip
        s.count[8] += 1
        _keep_used(group, members, contacts, found)
        for k in range(members):
            if group[k] >= 0:
                _close(s, group[k], ticks, rest)
        kappa = _law(s, group, offset, members, ticks, rest, s.stepper)
        for k in range(found):
            if sizes[k] == 0.0:
                _leave(s, beads[k, 0], beads[k, 1])
                continue
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
                lost += bring(s, offset[g], group[g], ticks, rest)
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
        set_struck(s.seg, partner, 1)
    else:
        code = -1 - partner
        n[:] = 0.0
        n[code % 3] = 1.0 if code < 3 else -1.0
        growth = s.span[i, 2] * s.par[GROWTH_RATE]
    set_struck(s.seg, i, 1)
    e = restitution_now(s.par, s.seg, i, partner)
    size = single_impulse(s.work, oa, ob, s.mol, ma, mb, s.graph, a, b, n, growth, e, s.kicks, lost)
    if size == 0.0:
        s.count[7] += 1
    else:
        kappa = _law(s, group, offset, members, ticks, rest, s.stepper)
        _book(s, ticks * s.par[TICK] + rest, i, partner, p, q, oa, ob, size * kappa if kappa > 0.0 else size, log_rows)
        if kappa == 0.0:
            _note_rootless(s, log_rows)
