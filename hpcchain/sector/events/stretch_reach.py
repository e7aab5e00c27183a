"""How far along a long chain an impulse is felt, and where the beads beside a stretch would hold it too tight."""

from collections import namedtuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

# Of a unit impulse's change of the struck bead's velocity: what is less need not be told, a tenth of what rounds off.
CUT = 1e-17
# Least share of its diagonal that the last pivot of T may have. Two beads that move as they are given leave a straight
# stretch between them no way to go: there the share is 0, in coils of thermal chains it is above a third.
TAUT = 1e-3
# A side of a contact: its molecule row (-1: a wall), whether that is a part of a long chain, the first and last row of
# the stretch, where it begins in the workspace, how many tiles it has, how many of them are of beads before and behind
# it, which bead of the workspace is struck, and how long its new segments are to be.
Side = namedtuple("Side", "row part low high offset tiles before behind bead length")


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
