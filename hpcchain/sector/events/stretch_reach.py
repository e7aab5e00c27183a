"""How far along a long chain an impulse is felt, and where the beads beside a stretch would hold it too tight."""

from collections import namedtuple

import numpy as np

from hpcchain.contact.impulse import bead_offset
from hpcchain.contact.thermal import tangents
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.interface import kick, push
from hpcchain.propagators.taylor.chain import chain_kick

# Of a unit impulse's change of the struck bead's velocity: what is less need not be told, a tenth of what rounds off.
CUT = 1e-17
# Least share of its diagonal that the last pivot of T may have. Two beads that move as they are given leave a straight
# stretch between them no way to go: there the share is 0, in coils of thermal chains it is above a third.
TAUT = 1e-3
# A side of a contact: its molecule row (-1: a wall), whether that is a part of a long chain, the first and last row of
# the stretch, where it begins in the workspace, how many tiles it has, how many of them are of beads before and behind
# it, which bead of the workspace is struck, and how long its new segments are to be.
Side = namedtuple("Side", "row part low high offset tiles before behind bead length")
# What is `felt` at the ends of both sides, of one stretch at those of the first.
Ends = namedtuple("Ends", "before behind first last")


@kernel
def _inverse_mass(s, m, bead):
    """Return the inverse mass of a bead of row m."""
    return s.table[s.mol[m, L.MOL_TABLE] + (bead >> W.LANE_SHIFT) * W.TABLE + (bead & W.LANE_MASK)]


@inlined
def _square(s, p):
    """Return the square of the bond at p of the workspace."""
    x, y, z = s.work[p + W.HIST], s.work[p + W.HIST + W.LANES], s.work[p + W.HIST + 2 * W.LANES]
    return x * x + y * y + z * z


@inlined
def _last_bond(side):
    """Return where in the workspace the bond to the bead behind a stretch is."""
    return side.offset + (side.tiles - 2) * W.TILE + W.LANES - 1


@kernel
def felt(s, side):
    """Return how the unit impulse that was tried last on a stretch would change the beads beside it, if it could.

    These are the squares of the changes of velocity of the bead before it and of the one behind: by what the bonds to
    them pull, which are held by beads of inverse mass 0 here.
    """
    before, behind = 0.0, 0.0
    if side.before != 0:
        m = np.int64(s.block[side.low, L.BLOCK_BEFORE])
        p = side.offset + W.LANES - 1
        pull = s.work[p + W.RHS] * _inverse_mass(s, m, s.mol[m, L.MOL_BEADS] - 1)
        before = pull * pull * _square(s, p)
    if side.behind != 0:
        p = _last_bond(side)
        pull = s.work[p + W.RHS] * _inverse_mass(s, np.int64(s.block[side.high, L.BLOCK_BEHIND]), np.int64(0))
        behind = pull * pull * _square(s, p)
    return before, behind


@kernel
def kick_side(s, side, x, y, z):
    """Fill KICK of a side for a unit impulse on its bead; return the inverse effective mass, 0 of a wall."""
    if side.row < 0:
        return 0.0
    if not side.part:
        return kick(s.work, side.offset, s.mol, side.row, s.graph, side.bead, x, y, z, s.stepper)
    return chain_kick(s.work, side.offset, side.tiles, np.int64(1), side.bead, x, y, z)


@kernel
def _kick_inside(s, a, b, x, y, z):
    """Do what `kick_both` does for two beads of one stretch."""
    kick_side(s, b, x, y, z)
    before, behind = felt(s, b)
    for t in range(a.tiles):
        for k in range(W.ROW):
            s.impulse_response[t * W.ROW + k] = s.work[a.offset + t * W.TILE + W.KICK + k]
    kick_side(s, a, x, y, z)
    first, last = felt(s, a)
    for t in range(a.tiles):
        for k in range(W.ROW):
            s.work[a.offset + t * W.TILE + W.KICK + k] -= s.impulse_response[t * W.ROW + k]
    p, q = bead_offset(a.offset, a.bead) + W.KICK, bead_offset(a.offset, b.bead) + W.KICK
    mass = x * (s.work[p] - s.work[q])
    mass += y * (s.work[p + W.LANES] - s.work[q + W.LANES])
    mass += z * (s.work[p + 2 * W.LANES] - s.work[q + 2 * W.LANES])
    return mass, Ends(max(before, first), max(behind, last), 0.0, 0.0)


@kernel
def kick_both(s, a, b, one, x, y, z):
    """Fill KICK of both sides for unit impulses on their beads, of one stretch for one and its opposite.

    Returns the inverse effective mass and the Ends.
    """
    if one:
        return _kick_inside(s, a, b, x, y, z)
    mass = kick_side(s, a, x, y, z) + kick_side(s, b, x, y, z)
    before, behind = felt(s, a)
    first, last = felt(s, b)
    return mass, Ends(before, behind, first, last)


@kernel
def felt_across(s, a, b, one, n, ends):
    """Return the Ends of unit impulses in two directions across n, or those that are given where that is more."""
    tx, ty, tz, bx, by, bz = tangents(n[0], n[1], n[2])
    _, tried = kick_both(s, a, b, one, tx, ty, tz)
    _, other = kick_both(s, a, b, one, bx, by, bz)
    return Ends(
        max(ends.before, tried.before, other.before),
        max(ends.behind, tried.behind, other.behind),
        max(ends.first, tried.first, other.first),
        max(ends.last, tried.last, other.last),
    )


@kernel
def push_sides(s, a, b, one, impulse):
    """Apply an impulse to side a and its opposite to side b, for which KICK is there."""
    push(s.work, a.offset, a.tiles, impulse)
    if b.row >= 0 and not one:
        push(s.work, b.offset, b.tiles, -impulse)


@kernel
def reached(s, side, mass, before, behind):
    """Return a side, wider by a part at each end where what is `felt` is more than need not be told."""
    least = CUT * CUT * mass * mass
    return _wider(s, side, before > least, behind > least)


@kernel
def loosened(s, side):
    """Return a side, wider by a part at each end if it is too straight to be held at both."""
    if side.before == 0 or side.behind == 0:
        return side
    p = _last_bond(side)
    share = s.work[p + W.PIVOT] * s.work[p + W.INVM] * _square(s, p)
    taut = not share < 1.0 / TAUT  # what is not a number, too
    return _wider(s, side, taut, taut)


@inlined
def of_one_chain(s, a, b):
    """Whether both sides are parts of one chain."""
    return a.part and b.part and s.block[a.row, L.BLOCK_CHAIN] == s.block[b.row, L.BLOCK_CHAIN]


@inlined
def is_as_wide(side, other):
    """Whether two sides have the same rows."""
    return side.low == other.low and side.high == other.high


@kernel
def _wider(s, side, before, behind):
    low = np.int64(s.block[side.low, L.BLOCK_BEFORE]) if before else side.low
    high = np.int64(s.block[side.high, L.BLOCK_BEHIND]) if behind else side.high
    return Side(
        side.row, side.part, low, high, side.offset, side.tiles, side.before, side.behind, side.bead, side.length
    )
