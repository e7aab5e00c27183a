"""Beads that come to a distance at which their potential steps, or to a limit of it: crossed, or turned back.

Which distance was met is the nearer one of the two that the pair is between (`step_time.borders`); these are never so
near one another that it is in doubt. Such events are carried out one by one, in the order of all events; contacts of
hard beads that are due at the same instant follow as events of their own, in the segments that begin here.
"""

import math

import numpy as np

from hpcchain.contact.impulse import approach, bead_offset, inside_impulse, separation
from hpcchain.contact.rough import meet_rough
from hpcchain.contact.step import step_impulse
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import member_of, radius_of
from hpcchain.propagators.interface import kick, push
from hpcchain.sector.events.note import Outcome, along_normal
from hpcchain.sector.search.step_time import borders, limit_of_pair, set_level
from hpcchain.sector.segments.monomer import bounce

HARD, INNER, OUTER = range(3)
ENTERED, LEFT, TURNED_BACK, LIMIT = 2.0, 3.0, 4.0, 5.0
"""Kinds of events in the log."""


@kernel
def distance_met(s, i, j, r, extended):
    """Return what beads in rows i and j that are r apart have met: their surfaces (HARD), or a distance INNER or OUTER.

    `extended` is the sector's option.
    """
    if extended is not None:
        if s.par[L.STEP_POTENTIALS] != 0.0 or len(s.limited) > 0:
            limits = limit_of_pair(s, i, j, extended)
            inner, outer, _, _ = borders(s, i, j, limits)
            if outer < np.inf and abs(r - outer) < abs(r - inner):
                return OUTER
            acts = limits < 0 or s.limits[limits, L.ACTS] != 0.0
            if not acts or inner != radius_of(s.radius, i) + radius_of(s.radius, j):
                return INNER
    return HARD


@kernel
def pass_distance(s, i, j, side, rate, inverse_mass):
    """Decide what becomes of beads i and j at a distance, and write down the level that they are on from now on.

    Parameters
    ----------
    s : Sector
    i, j : int
        Rows of the beads.
    side : int
        INNER or OUTER.
    rate : float
        Of their separation [length / time].
    inverse_mass : float
        Of what an impulse along the line between them moves [1 / mass].

    Returns
    -------
    impulse, kind : float
        Impulse that drives them apart [mass length / time], and the kind of the event; 0, 0 where they no longer come
        to the distance: a graze.
    """
    limits = limit_of_pair(s, i, j, s.extended)
    inner, outer, begin, level = borders(s, i, j, limits)
    if (side == INNER and rate >= 0.0) or (side == OUTER and rate <= 0.0):
        return 0.0, 0.0
    limited = False
    if limits >= 0:
        limited = inner <= s.limits[limits, L.LEAST] if side == INNER else outer >= s.limits[limits, L.MOST]
    if limited:
        return -2.0 * rate / inverse_mass, LIMIT
    beyond = level + 1 if side == INNER else level - 1
    height = s.potential[begin + 1 + beyond] - s.potential[begin + 1 + level]
    impulse, crossed = step_impulse(rate, height, inverse_mass)
    if not crossed:
        return impulse, TURNED_BACK
    set_level(s, i, s.bead_id[j], beyond)
    set_level(s, j, s.bead_id[i], beyond)
    return impulse, ENTERED if side == INNER else LEFT


@kernel
def is_step(s, i, j, oa, ob, extended):
    """Whether a contact of beads i and j, whose molecules are in the workspace at oa and ob, is of no hard surfaces."""
    if extended is not None:
        if j >= 0:
            p = bead_offset(oa, i - s.mol[member_of(s, s.segment[i, L.MOLECULE]), L.MOL_FIRST])
            q = bead_offset(ob, j - s.mol[member_of(s, s.segment[j, L.MOLECULE]), L.MOL_FIRST])
            return distance_met(s, i, j, separation(s.par, s.work, p, q, s.normals[L.CONTACT_NORMAL]), extended) != HARD
    return False


@outlined
def cross(s, i, j, oa, ob):
    """Apply the impulse of a distance that beads i and j have met, their molecules in the workspace at oa and ob.

    Returns
    -------
    impulse, kind : float
        See `pass_distance`.
    """
    ma = s.segment[i, L.MOLECULE]
    mb = s.segment[j, L.MOLECULE]
    a = i - s.mol[ma, L.MOL_FIRST]
    b = j - s.mol[mb, L.MOL_FIRST]
    p = bead_offset(oa, a)
    q = bead_offset(ob, b)
    n = s.normals[L.CONTACT_NORMAL]
    side = distance_met(s, i, j, separation(s.par, s.work, p, q, n), s.extended)
    rate = approach(s.work, p, q, n)
    if ma == mb:
        mass = inside_impulse(s.work, oa, s.mol, ma, s.graph, a, b, n, s.impulse_response, s.stepper)
    else:
        mass = kick(s.work, oa, s.mol, ma, s.graph, a, n[0], n[1], n[2], s.stepper)
        mass += kick(s.work, ob, s.mol, mb, s.graph, b, n[0], n[1], n[2], s.stepper)
    impulse, kind = pass_distance(s, i, j, side, rate, mass)
    if impulse != 0.0:
        push(s.work, oa, s.mol[ma, L.MOL_TILES], impulse)
        if ma != mb:
            push(s.work, ob, s.mol[mb, L.MOL_TILES], -impulse)
    return impulse, kind


@kernel
def cross_free(s, i, j, wi, wj, side):
    """Apply the impulse of a distance that single beads i and j, of inverse masses wi and wj, have met.

    Returns
    -------
    impulse, kind, r : float
        As `pass_distance`, and their distance; the normal is in `normals`.
    """
    rx, ry, rz, r = between(s, i, j)
    ux = s.starts[i, L.VX] - s.starts[j, L.VX]
    uy = s.starts[i, L.VY] - s.starts[j, L.VY]
    uz = s.starts[i, L.VZ] - s.starts[j, L.VZ]
    impulse, kind = pass_distance(s, i, j, side, (rx * ux + ry * uy + rz * uz) / r, wi + wj)
    x = impulse / r
    s.starts[i, L.VX] += x * wi * rx
    s.starts[i, L.VY] += x * wi * ry
    s.starts[i, L.VZ] += x * wi * rz
    s.starts[j, L.VX] -= x * wj * rx
    s.starts[j, L.VY] -= x * wj * ry
    s.starts[j, L.VZ] -= x * wj * rz
    n = s.normals[L.CONTACT_NORMAL]
    n[0], n[1], n[2] = rx / r, ry / r, rz / r
    return impulse, kind, r


@kernel
def part_free(s, i, partner, mi, mj, e, et, extended):
    """Give two single beads that have met their impulse; return the Outcome and their distance.

    Their normal is in `normals`.
    """
    wi = s.mol[mi, L.MOL_TABLE]
    wj = s.mol[mj, L.MOL_TABLE]
    if extended is not None:
        side = distance_met(s, i, partner, between(s, i, partner)[3], extended)
        if side != HARD:
            impulse, kind, r = cross_free(s, i, partner, s.table[wi], s.table[wj], side)
            return Outcome(impulse, 0.0, 0.0, 0.0, kind, 0.0, False), r
        if et != 1.0:
            impulse, r = meet_rough(s, i, partner, mi, mj, e, et)
            return Outcome(impulse, s.tangential[0], s.tangential[1], s.tangential[2], 0.0, 0.0, True), r
    n = s.normals[L.CONTACT_NORMAL]
    impulse, r = bounce(s.par, s.starts, s.radius, s.table, wi, wj, i, partner, e, n)
    return along_normal(impulse), r


@kernel
def between(s, i, j):
    """Return the vector from bead j to bead i, of its nearest image, where their segments begin, and its length."""
    rx = s.starts[i, L.X] - s.starts[j, L.X]
    ry = s.starts[i, L.Y] - s.starts[j, L.Y]
    rz = s.starts[i, L.Z] - s.starts[j, L.Z]
    rx -= s.par[L.SIZE] * np.rint(rx * s.par[L.INVERSE])
    ry -= s.par[L.SIZE + L.Y] * np.rint(ry * s.par[L.INVERSE + L.Y])
    rz -= s.par[L.SIZE + L.Z] * np.rint(rz * s.par[L.INVERSE + L.Z])
    return rx, ry, rz, math.sqrt(rx * rx + ry * ry + rz * rz)


@kernel
def is_full(s, i, j, extended):
    """Whether the table of bead i or j, a row or a wall, of those inside has no room for one more."""
    if extended is not None:
        last = s.extra.shape[1] - 1
        if last >= L.INSIDE:
            return s.extra[i, last] != 0.0 or (j >= 0 and s.extra[j, last] != 0.0)
    return False
