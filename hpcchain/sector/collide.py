"""Carry out a contact: bring its molecules together in time, apply the impulse, start their new segments."""

import numpy as np
from numba import njit

from hpcchain.contact.impulse import MOST_TIES, approach, lane, separation, single_impulse, tied_impulses
from hpcchain.propagators.lanes import COEF, INVM, ROW, TILE
from hpcchain.propagators.molecule import load, prepare
from hpcchain.sector.clockmath import span as time_span
from hpcchain.sector.layout import (
    GROWTH,
    GROWTH_RATE,
    LOWER_WALL,
    MOL_BEADS,
    MOL_FIRST,
    MOL_ROOM,
    MOL_TILES,
    RESTITUTION,
    SIZE,
    TICK,
    TIE_GAP,
    TIE_TIME,
    UPPER_WALL,
)
from hpcchain.sector.lists import excluded
from hpcchain.sector.renew import new_segment

PACE_MEMORY = 0.2
PACE_RATIO = 2.0


@njit(cache=True)
def learn_pace(pace, m, realised):
    """Move a molecule's running segment length towards PACE_RATIO times the length that came true."""
    old = pace[m, 0] if pace[m, 0] > 0.0 else pace[m, 3]
    pace[m, 0] = old + PACE_MEMORY * (PACE_RATIO * realised - old)


@njit(cache=True)
def _bring(par, line, seg, mol, pace, table, graph, series, work, o, m, ticks, rest):
    first = mol[m, MOL_FIRST]
    dt = time_span(ticks, rest, line[first, 6], line[first, 7], par[TICK])
    load(work, o, mol, m, table, graph, series, line, dt)
    prepare(work, o, mol, m, graph)
    learn_pace(pace, m, dt)
    for i in range(first, first + mol[m, MOL_BEADS]):
        seg[i, 2] = 0


@njit(cache=True)
def _others_due(par, when, first, n, ticks, rest, a, b):
    """Whether another bead of the range has an event at this instant."""
    for i in range(first, first + n):
        if i != a and i != b and abs((when[i, 0] - ticks) * par[TICK] + (when[i, 1] - rest)) < par[TIE_TIME]:
            return True
    return False


@njit(cache=True)
def _growth_now(par, ticks, rest):
    return par[GROWTH] + par[GROWTH_RATE] * (ticks * par[TICK] + rest)


@njit(cache=True)
def gather_ties(
    par, line, span, seg, row, neighbour, mol, bonded, bond_row, work, oa, ob, ma, mb, scale, contacts, beads, normals,
    growths, only_a, only_b
):  # fmt: skip
    """List all contacts among two molecules and the walls that are touching and approaching; return how many.

    `only_a`, `only_b` (local beads, or -1 for all) restrict the search to contacts of these two.
    """
    count = 0
    n = np.empty(3)
    for side in range(2 if (mb >= 0 and mb != ma) else 1):
        m = ma if side == 0 else mb
        o = oa if side == 0 else ob
        start = mol[m, MOL_FIRST]
        for b in range(mol[m, MOL_BEADS]):
            i = start + b
            if only_a >= 0 and i != only_a and i != only_b:
                continue
            p = lane(o, b)
            for e in range(row[i, 0], row[i, 0] + row[i, 1]):
                j = neighbour[e]
                mj = seg[j, 3]
                if mj != ma and mj != mb:
                    continue
                if j < i and (only_a < 0 or j == only_a or j == only_b):
                    continue
                oj = oa if mj == ma else ob
                bj = j - mol[mj, MOL_FIRST]
                q = lane(oj, bj)
                r = separation(par, work, p, q, n)
                sigma = span[i, 2] + span[j, 2]
                if r - sigma * scale > par[TIE_GAP] * sigma or _direct_bond(par, work, p, q, bonded, bond_row, i, j):
                    continue
                growth = sigma * par[GROWTH_RATE]
                if approach(work, p, q, n) - growth >= 0.0:
                    continue
                count = _append(contacts, beads, normals, growths, count, o, b, oj, bj, i, j, n, growth)
            for axis in range(3):
                for wall in range(2):
                    place = par[LOWER_WALL + axis] if wall == 0 else par[UPPER_WALL + axis]
                    if place == np.inf or place == -np.inf:
                        continue
                    sign = 1.0 if wall == 0 else -1.0
                    gap = sign * (work[p + COEF + 8 * axis] - place) - span[i, 2] * scale
                    if gap > par[TIE_GAP] * span[i, 2]:
                        continue
                    n[:] = 0.0
                    n[axis] = sign
                    growth = span[i, 2] * par[GROWTH_RATE]
                    if approach(work, p, -1, n) - growth >= 0.0:
                        continue
                    count = _append(
                        contacts, beads, normals, growths, count, o, b, -1, 0, i, -1 - axis - 3 * wall, n, growth
                    )
    return count


@njit(cache=True)
def _direct_bond(par, work, p, q, bonded, bond_row, i, j):
    for e in range(bond_row[i], bond_row[i + 1]):
        if bonded[e] == j:
            for c in range(3):
                if par[SIZE + c] != 0.0:
                    if np.rint((work[p + COEF + 8 * c] - work[q + COEF + 8 * c]) / par[SIZE + c]) != 0.0:
                        return False
            return True
    return False


@njit(cache=True)
def _append(contacts, beads, normals, growths, count, o, b, oj, bj, i, j, n, growth):
    if count == MOST_TIES:
        return count
    contacts[count, 0] = o
    contacts[count, 1] = b
    contacts[count, 2] = oj
    contacts[count, 3] = bj
    beads[count, 0] = i
    beads[count, 1] = j
    for c in range(3):
        normals[count, c] = n[c]
    growths[count] = growth
    return count + 1


@njit(cache=True)
def record(log, count, time, gid_a, gid_b, size, log_rows):
    """Append one contact to the log: time, kind, ids (lower first; wall: bead, code), impulse."""
    if log_rows == 0:
        return
    at = count[12]
    log[at, 0] = time
    log[at, 1] = 0.0 if gid_b >= 0 else 1.0
    log[at, 2] = min(gid_a, gid_b) if gid_b >= 0 else gid_a
    log[at, 3] = max(gid_a, gid_b) if gid_b >= 0 else gid_b
    log[at, 4] = size
    count[12] += 1


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def collide(
    par, line, span, seg, when, what, row, neighbour, mol, pace, table, graph, series, work, kicks, bonded, bond_row, count,
    log, total, log_rows, i, partner, ticks, rest, depth, contacts, beads, normals, growths, matrix, sizes
):  # fmt: skip
    """Bring the molecules of a contact to its time, apply the contact law and start their new segments.

    Parameters
    ----------
    i, partner : int
        Bead, and other bead or wall code.
    ticks, rest, depth : float, float, int
        Key of the event.
    contacts, beads, normals, growths, matrix, sizes : arrays
        Scratch for contacts at one instant.
    """
    ma = seg[i, 3]
    mb = seg[partner, 3] if partner >= 0 else -1
    oa = 0
    ob = oa
    _bring(par, line, seg, mol, pace, table, graph, series, work, oa, ma, ticks, rest)
    if mb >= 0 and mb != ma:
        ob = mol[ma, MOL_ROOM]
        _bring(par, line, seg, mol, pace, table, graph, series, work, ob, mb, ticks, rest)
    scale = _growth_now(par, ticks, rest)
    time = ticks * par[TICK] + rest
    n = normals[0]
    growth = 0.0
    a = i - mol[ma, MOL_FIRST]
    p = lane(oa, a)
    q = -1
    b = 0
    r = 0.0
    found = 1
    alone = mol[ma, MOL_BEADS] == 1 and (mb >= 0 and mol[mb, MOL_BEADS] == 1)
    if not alone:
        everyone = _others_due(par, when, mol[ma, MOL_FIRST], mol[ma, MOL_BEADS], ticks, rest, i, partner)
        if not everyone and mb >= 0 and mb != ma:
            everyone = _others_due(par, when, mol[mb, MOL_FIRST], mol[mb, MOL_BEADS], ticks, rest, i, partner)
        found = gather_ties(
            par, line, span, seg, row, neighbour, mol, bonded, bond_row, work, oa, ob, ma, mb, scale, contacts, beads,
            normals, growths, -1 if everyone else i, partner if partner >= 0 else i,
        )  # fmt: skip
    if found > 1 and tied_impulses(
        work, oa, ob, mol, ma, mb, graph, contacts, normals, growths, found, par[RESTITUTION], kicks, matrix, sizes
    ) == 0:  # fmt: skip
        count[8] += 1
        for k in range(found):
            seg[beads[k, 0], 2] = 1
            other = beads[k, 1]
            if other >= 0:
                seg[other, 2] = 1
                q = lane(contacts[k, 2], contacts[k, 3])
                p = lane(contacts[k, 0], contacts[k, 1])
                r = separation(par, work, p, q, n)
                mk = seg[beads[k, 0], 3]
                total[0] += virial(
                    par, work, contacts[k, 0], contacts[k, 2], mol, mk, seg[other, 3], p, q, n, r, sizes[k]
                )
                count[0] += 1
            else:
                count[1] += 1
            record(log, count, time, what[beads[k, 0], 3], what[other, 3] if other >= 0 else other, sizes[k], log_rows)
    else:
        if partner >= 0:
            b = partner - mol[mb, MOL_FIRST]
            q = lane(ob, b)
            r = separation(par, work, p, q, n)
            growth = (span[i, 2] + span[partner, 2]) * par[GROWTH_RATE]
            seg[partner, 2] = 1
        else:
            code = -1 - partner
            n[:] = 0.0
            n[code % 3] = 1.0 if code < 3 else -1.0
            growth = span[i, 2] * par[GROWTH_RATE]
        seg[i, 2] = 1
        size = single_impulse(work, oa, ob, mol, ma, mb, graph, a, b, n, growth, par[RESTITUTION], kicks)
        if size == 0.0:
            count[7] += 1
        else:
            if partner >= 0:
                count[0] += 1
                total[0] += virial(par, work, oa, ob, mol, ma, mb, p, q, n, r, size)
            else:
                count[1] += 1
            record(log, count, time, what[i, 3], what[partner, 3] if partner >= 0 else partner, size, log_rows)
    new_segment(par, line, span, seg, mol, pace, graph, series, count, work, oa, ma, ticks, rest, depth)
    if mb >= 0 and mb != ma:
        new_segment(
            par, line, span, seg, mol, pace, graph, series, count, work, ob, mb, ticks, rest, depth
        )
    return mb
