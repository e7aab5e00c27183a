"""The two sides of a contact in the workspace: a whole molecule, a stretch of a long chain, or a wall.

What laws need of them, the response to impulses on the struck beads, and what is done with a law's result.
"""

import math
from collections import namedtuple

import numpy as np

from hpcchain.contact.laws.contact import HARD, ROUGH, Contact, along_normal, separates
from hpcchain.contact.laws.rough import spin_response, spin_up, surface_velocity
from hpcchain.contact.laws.table import law_of, outcome, pushes_across
from hpcchain.contact.separation import approach, separation
from hpcchain.contact.walls import surface_of_wall, wall_normal
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import is_chain_part, radii_of, radius_of
from hpcchain.propagators.interface import kick, push
from hpcchain.propagators.taylor.chain import chain_kick

# A side of a contact: its molecule row (-1: a wall), whether that is a part of a long chain, the first and last row of
# the stretch, where it begins in the workspace, how many tiles it has, how many of them are of beads before and behind
# it, which bead of the workspace is struck, how long its new segments are to be, and the energy that bringing it took.
Side = namedtuple("Side", "row part low high offset tiles before behind bead length loss")


@inlined
def whole_side(s, m, i, offset, loss):
    """Return the side of bead i of molecule m, which is in the workspace at `offset`; of a wall (i < 0) m is -1."""
    none = np.int64(0)
    if i < 0:
        return Side(np.int64(-1), False, none, none, none, none, none, none, none, 0.0, 0.0)
    bead = i - s.mol[m, L.MOL_FIRST]
    return Side(m, False, m, m, offset, s.mol[m, L.MOL_TILES], none, none, bead, 0.0, loss)


@inlined
def of_one_chain(s, a, b):
    """Whether both sides are parts of one chain."""
    return a.part and b.part and s.chain_part[a.row, L.PART_CHAIN] == s.chain_part[b.row, L.PART_CHAIN]


@kernel
def direction(s, i, j, a, b):
    """Write the contact's normal to `normals`; return the rate of the gap and the distance of bead centres."""
    n = s.normals[L.CONTACT_NORMAL]
    p, q, distance = W.bead_offset(a.offset, a.bead), -1, 0.0
    growth = radius_of(s, i) * s.par[L.GROWTH_RATE]
    if b.row >= 0:
        q = W.bead_offset(b.offset, b.bead)
        distance = separation(s, p, q, n)
        growth = radii_of(s, i, j) * s.par[L.GROWTH_RATE]
    else:
        x, y, z = W.vector(s.work, p + W.COEF)
        growth += wall_normal(s, -1 - j, x, y, z, n)
    return approach(s.work, p, q, n) - growth, distance


@kernel
def kick_bead(s, m, offset, tiles, bead, x, y, z):
    """Fill KICK of what is in the workspace at `offset` for a unit impulse on one of its beads.

    m is its molecule row, of a stretch any of its parts, of a long chain as a whole the first. Returns the inverse
    effective mass.
    """
    if s.stretched is not None:
        if is_chain_part(s, m):
            return chain_kick(s.work, offset, tiles, np.int64(1), bead, x, y, z)
    return kick(s, offset, m, bead, x, y, z)


@inlined
def _kick_side(s, side, x, y, z):
    """Do what `kick_bead` does for the struck bead of a side; a wall's inverse effective mass is 0."""
    return kick_bead(s, side.row, side.offset, side.tiles, side.bead, x, y, z) if side.row >= 0 else 0.0


@kernel
def _kick_inside(s, a, b, x, y, z):
    """Do what `kick_both` does for two beads of one molecule or stretch."""
    _kick_side(s, b, x, y, z)
    for t in range(a.tiles):
        for k in range(W.ROW):
            s.impulse_response[t * W.ROW + k] = s.work[a.offset + t * W.TILE + W.KICK + k]
    _kick_side(s, a, x, y, z)
    for t in range(a.tiles):
        for k in range(W.ROW):
            s.work[a.offset + t * W.TILE + W.KICK + k] -= s.impulse_response[t * W.ROW + k]
    p, q = W.bead_offset(a.offset, a.bead) + W.KICK, W.bead_offset(a.offset, b.bead) + W.KICK
    mass = x * (s.work[p] - s.work[q])
    mass += y * (s.work[p + W.LANES] - s.work[q + W.LANES])
    return mass + z * (s.work[p + 2 * W.LANES] - s.work[q + 2 * W.LANES])


@kernel
def kick_both(s, a, b, one, x, y, z):
    """Fill KICK of both sides for unit impulses on their beads, of one of them, if they are, for one and its opposite.

    Returns the inverse effective mass.
    """
    if one:
        return _kick_inside(s, a, b, x, y, z)
    return _kick_side(s, a, x, y, z) + _kick_side(s, b, x, y, z)


@kernel
def push_sides(s, a, b, one, impulse):
    """Apply an impulse to side a and its opposite to side b, for which KICK is there."""
    push(s.work, a.offset, a.tiles, impulse)
    if b.row >= 0 and not one:
        push(s.work, b.offset, b.tiles, -impulse)


@kernel
def _respond_fully(s, a, b, one):
    """Write the rates of the contact's opening to unit impulses along the axes into the first rows of `matrix`."""
    p = W.bead_offset(a.offset, a.bead) + W.KICK
    for c in range(3):
        kick_both(s, a, b, one, 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        for d in range(3):
            s.matrix[d, c] = s.work[p + W.LANES * d]
        if b.row >= 0:
            q = W.bead_offset(b.offset, b.bead) + W.KICK
            for d in range(3):
                s.matrix[d, c] += -s.work[q + W.LANES * d] if one else s.work[q + W.LANES * d]


@kernel
def _velocity(s, i, j, a, b, c, rough):
    """Return component c of the first bead's velocity relative to the other, or wall; of surfaces if they are rough."""
    n = s.normals[L.CONTACT_NORMAL]
    at = W.COEF + W.ROW + W.LANES * c
    u = s.work[W.bead_offset(a.offset, a.bead) + at]
    if rough:
        u += surface_velocity(s, i, n, c)
    if b.row < 0:
        return u - surface_of_wall(s, j, n, c)
    if rough:
        u += surface_velocity(s, j, n, c)
    return u - s.work[W.bead_offset(b.offset, b.bead) + at]


@kernel
def _contact_across(s, i, j, law, border, rate, e, e_t, a, b, one):
    """Return the Contact of sides whose law is ROUGH or THERMAL; K is in `matrix`."""
    _respond_fully(s, a, b, one)
    rough, spin = law == ROUGH, 0.0
    if rough:
        spin = spin_response(s, i) + (spin_response(s, j) if j >= 0 else 0.0)
    ux = _velocity(s, i, j, a, b, L.X, rough)
    uy = _velocity(s, i, j, a, b, L.Y, rough)
    uz = _velocity(s, i, j, a, b, L.Z, rough)
    return Contact(i, j, law, border, rate, 0.0, ux, uy, uz, spin, e, e_t, a.loss + b.loss, False)


@kernel
def _contact_of(s, i, j, a, b, one, border, rate, e, e_t):
    """Return the Contact of two sides; KICK is that of a unit impulse along the normal where none is across it."""
    n = s.normals[L.CONTACT_NORMAL]
    law = np.int64(law_of(s, i, j, border, rate, e_t))
    if s.extended is not None:
        if pushes_across(law):
            return _contact_across(s, i, j, law, border, rate, e, e_t, a, b, one)
    mass = kick_both(s, a, b, one, n[0], n[1], n[2])
    return Contact(i, j, law, border, rate, mass, 0.0, 0.0, 0.0, 0.0, e, e_t, a.loss + b.loss, False)


@kernel
def _apply(s, c, o, a, b, one):
    """Apply an Outcome to the velocities of both sides, and to spins."""
    if not pushes_across(c.law):
        push_sides(s, a, b, one, o.along)
        return
    if s.extended is not None:
        n = s.normals[L.CONTACT_NORMAL]
        x, y, z = o.along * n[0] + o.x, o.along * n[1] + o.y, o.along * n[2] + o.z
        strength = math.sqrt(x * x + y * y + z * z)
        kick_both(s, a, b, one, x / strength, y / strength, z / strength)
        push_sides(s, a, b, one, strength)
        if o.turns:
            spin_up(s, c.i, n, x, y, z)
            if c.j >= 0:
                spin_up(s, c.j, n, x, y, z)


@outlined
def meet_sides(s, i, j, a, b, one, border, rate, e, e_t):
    """Do to two sides in the workspace what the law of their contact says; return the Outcome.

    Parameters
    ----------
    i, j : int
        Bead, and other bead or wall code.
    a, b : Side
    one : bool
        Whether both beads are of one molecule or stretch.
    border : int
        What they have met (`laws.step.distance_met`).
    rate : float
        Of the gap (`direction`, which has written the normal) [length / time].
    e, e_t : float
        Coefficients of restitution, 1 where the contact lasts.
    """
    if separates(border, rate) and (border != HARD or a.loss + b.loss == 0.0):
        return along_normal(0.0)
    c = _contact_of(s, i, j, a, b, one, border, rate, e, e_t)
    o = outcome(s, c)
    if o.along != 0.0:
        _apply(s, c, o, a, b, one)
    return o
