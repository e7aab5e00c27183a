"""How far along a long chain an impulse is felt, and where the beads beside a stretch would hold it too tight."""

import numpy as np

from hpcchain.contact.separation import bead_offset
from hpcchain.contact.sides import Side
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

# What need not be told, of the most that what happens to the struck bead may do: it rounds off.
CUT = 1e-16
# What a bond hands on at least of a pull, while its angle to the next changes: at a right angle it is nothing.
LEAST_SHARE = 0.05
# Least share of its diagonal that the last pivot of T may have. Two beads that move as they are given leave a straight
# stretch between them no way to go: there the share is 0, in coils of thermal chains it is above a third.
TAUT = 1e-3


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
def _handed_on(s, side, low, high):
    """Return what bonds `low` to `high` of a stretch in the workspace hand on of a pull at the bond next to them."""
    # Of T's factors it is the product of the multipliers: of whatever acts there, contacts as well as what spins pull.
    share = 1.0
    for bond in range(low, high + 1):
        share *= max(abs(s.work[bead_offset(side.offset, bond) + W.FORWARD]), LEAST_SHARE)
    return share


@kernel
def _felt_before(s, side, bead):
    """Return the most that the bead before a stretch would be moved by what moves a struck one of it by 1."""
    m = np.int64(s.block[side.low, L.BLOCK_BEFORE])
    own = s.work[bead_offset(side.offset, bead) + W.INVM]
    return _handed_on(s, side, W.LANES, bead - 1) * _inverse_mass(s, m, s.mol[m, L.MOL_BEADS] - 1) / own


@kernel
def _felt_behind(s, side, bead):
    """Return the same of the bead behind it."""
    own = s.work[bead_offset(side.offset, bead) + W.INVM]
    share = _handed_on(s, side, bead + 1, (side.tiles - 1) * W.LANES - 1)
    return share * _inverse_mass(s, np.int64(s.block[side.high, L.BLOCK_BEHIND]), np.int64(0)) / own


@kernel
def reached(s, side, bead):
    """Return a side as it was loaded, wider by a part at each end where what happens is felt, or if it is too straight.

    What happens to its bead, and to another `bead` of the workspace, may be anything: an impulse right across a
    straight chain moves no other bead, but then all of the chain is pulled.
    """
    if not side.part:
        return side
    taut = _is_taut(s, side)
    before = taut or (side.before != 0 and max(_felt_before(s, side, side.bead), _felt_before(s, side, bead)) > CUT)
    behind = taut or (side.behind != 0 and max(_felt_behind(s, side, side.bead), _felt_behind(s, side, bead)) > CUT)
    return _wider(s, side, before, behind)


@kernel
def _is_taut(s, side):
    """Whether a side is too straight to be held at both ends."""
    if side.before == 0 or side.behind == 0:
        return False
    p = _last_bond(side)
    share = s.work[p + W.PIVOT] * s.work[p + W.INVM] * _square(s, p)
    return not share < 1.0 / TAUT  # what is not a number, too


@kernel
def loosened(s, side):
    """Return a side, wider by a part at each end if it is too straight to be held at both."""
    taut = _is_taut(s, side)
    return _wider(s, side, taut, taut)


@inlined
def is_as_wide(side, other):
    """Whether two sides have the same rows."""
    return side.low == other.low and side.high == other.high


@kernel
def _wider(s, side, before, behind):
    low = np.int64(s.block[side.low, L.BLOCK_BEFORE]) if before else side.low
    high = np.int64(s.block[side.high, L.BLOCK_BEHIND]) if behind else side.high
    return Side(
        side.row,
        side.part,
        low,
        high,
        side.offset,
        side.tiles,
        side.before,
        side.behind,
        side.bead,
        side.length,
        side.loss,
    )
