"""Sides of a contact that are stretches of long chains: how wide they are, brought to a time, and begun anew.

A stretch begins with the parts about the struck bead (`segments.stretch`), and is made wider by what ends soon, and at
an end beyond which the impulse would be felt. A pull is felt along a chain by the share that each bond hands on.
"""

import numpy as np

from hpcchain.contact.falling import inverse_mass_in
from hpcchain.contact.sides import Side, of_one_chain, whole_side
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import is_chain_part, part_before, part_behind
from hpcchain.propagators.taylor.chain_series import Tiles, stretch_series
from hpcchain.sector.events.members import bring
from hpcchain.sector.segments.new_segment import close_rows
from hpcchain.sector.segments.stretch import (
    SOON_AT_CONTACT,
    SOON_AT_END,
    lane_of,
    load_stretch,
    rows_about,
    tolerance_of,
    widened,
    write_rows,
)
from hpcchain.sector.speculation.rollback import ready

# What need not be known, of the most that what happens to the struck bead may do: it rounds off.
CUT = 1e-16
# What a bond hands on at least of a pull, while its angle to the next changes: at a right angle it is nothing.
LEAST_SHARE = 0.05
# Least share of its diagonal that the last pivot of T may have. Two beads that move as they are given leave a straight
# stretch between them no way to go: there the share is 0, in coils of thermal chains it is above a third.
TAUT = 1e-3


@kernel
def _side_of(s, i):
    """Return the side of bead i, or of the wall with that code, which has not been loaded yet."""
    m = s.segment[i, L.MOLECULE] if i >= 0 else np.int64(-1)
    side = whole_side(s, m, i, np.int64(0), 0.0)
    if i >= 0 and is_chain_part(s, m):
        low, high = rows_about(s, m, i)
        return _of_rows(side, low, high, 0.0)
    return side


@inlined
def _of_rows(side, low, high, length):
    """Return a side that is a stretch with other rows and another length."""
    return Side(side.row, True, low, high, side.offset, side.tiles, side.before, side.behind, side.bead, length, 0.0)


@inlined
def _is_as_wide(side, other):
    """Whether two sides have the same rows."""
    return side.low == other.low and side.high == other.high


@kernel
def _widened(s, side, soon):
    """Return a side with what joins it (`segments.stretch.widened`)."""
    if not side.part:
        return side
    low, high, length = widened(s, side.low, side.high, soon)
    return _of_rows(side, low, high, length)


@kernel
def _adjoin(s, a, b):
    """Whether two sides are stretches of one chain with no part between them."""
    return of_one_chain(s, a, b) and (
        s.chain_part[b.low, L.PART_PLACE] - s.chain_part[a.high, L.PART_PLACE] <= 1
        and s.chain_part[a.low, L.PART_PLACE] - s.chain_part[b.high, L.PART_PLACE] <= 1
    )


@kernel
def _joined(s, a, b):
    """Return side a with all that b has."""
    low = b.low if s.chain_part[b.low, L.PART_PLACE] < s.chain_part[a.low, L.PART_PLACE] else a.low
    high = b.high if s.chain_part[b.high, L.PART_PLACE] > s.chain_part[a.high, L.PART_PLACE] else a.high
    return _of_rows(a, low, high, a.length)


@kernel
def _is_ready(s, side):
    """Whether an event may move a side (`rollback.ready`)."""
    return not side.part or ready(s, side.low, side.high)


@kernel
def _loaded(s, side, i, offset):
    """Return a side that has been brought to the event at hand in the workspace at `offset`."""
    if side.row < 0:
        return side
    if not side.part:
        return whole_side(s, side.row, i, offset, bring(s, offset, side.row))
    tiles, before, behind = load_stretch(s, offset, side.low, side.high, side.row)
    bead = lane_of(s, side.low, side.row, i, before)
    return Side(side.row, True, side.low, side.high, offset, tiles, before, behind, bead, side.length, 0.0)


@outlined
def bring_stretches(s, i, partner):
    """Bring the sides of a contact to its time, as wide as its impulse reaches; one of them is a stretch at least.

    Where it would be felt beyond an end a part more is taken in, and at both ends of a stretch that is too straight. A
    side that stays as it was is not loaded again.

    Returns
    -------
    known : bool
        False where parts have begun segments after the contact, in a window: they have been requested to go back first.
    a, b : Side
    one : bool
        Whether both beads are of one stretch: then both sides are.
    """
    a, b = _side_of(s, i), _side_of(s, partner)
    tried, other = a, b
    begin, middle = np.int64(0), np.int64(len(s.work) // (L.MOST_MEMBERS + 1))  # a whole chain fits in either
    loaded = False
    while True:
        a = _widened(s, a, SOON_AT_CONTACT)
        b = _widened(s, b, SOON_AT_CONTACT)
        one = _adjoin(s, a, b)
        if one:
            a = _widened(s, _joined(s, a, b), SOON_AT_CONTACT)
        if not _is_ready(s, a) or not (one or _is_ready(s, b)):
            return False, a, b, one
        if one or not (loaded and _is_as_wide(a, tried)):
            a = _loaded(s, a, i, begin)
        if one:
            bead = lane_of(s, a.low, b.row, partner, a.before)
            b = Side(b.row, True, a.low, a.high, a.offset, a.tiles, a.before, a.behind, bead, a.length, 0.0)
        elif not (loaded and _is_as_wide(b, other)):
            b = _loaded(s, b, partner, middle)
        loaded, tried, other = True, a, b
        a = _reached(s, a, b.bead if one else a.bead)
        if not one:
            b = _reached(s, b, b.bead)
        if _is_as_wide(a, tried) and _is_as_wide(b, other):
            return True, tried, other, one


@kernel
def begin_stretch(s, side):
    """Make and write the new segments of a side that is a stretch."""
    parts = Tiles(side.offset, side.tiles, side.before, side.behind)
    order, h = stretch_series(s.work, parts, side.length, tolerance_of(s, side.row))
    at = side.offset + side.before * W.TILE
    write_rows(s, at, side.low, side.high, side.row, order, h)


@kernel
def end_stretch(s, m):
    """Start the next segments of a part that nothing has hit, and of those adjacent to it that end soon.

    Returns the first and the last row with new segments; (-1, -1) where parts have to go back first
    (`speculation.rollback`).
    """
    first = s.mol[m, L.MOL_FIRST]
    side = _of_rows(_side_of(s, first), m, m, 0.0)
    while True:
        side = _widened(s, side, SOON_AT_END)
        if not _is_ready(s, side):
            return np.int64(-1), np.int64(-1)
        side = _loaded(s, side, first, np.int64(0))
        tried = side
        side = _loosened(s, side)
        if _is_as_wide(side, tried):
            break
    close_rows(s, side.low, side.high)
    begin_stretch(s, side)
    return side.low, side.high


@inlined
def _square(s, p):
    """Return the square of the bond at p of the workspace."""
    x, y, z = W.vector(s.work, p + W.HIST)
    return x * x + y * y + z * z


@kernel
def _handed_on(s, side, low, high):
    """Return what bonds `low` to `high` of a stretch in the workspace hand on of a pull at the bond next to them."""
    # Of T's factors it is the product of the multipliers: of whatever acts there, contacts as well as what spins pull.
    share = 1.0
    for bond in range(low, high + 1):
        share *= max(abs(s.work[W.bead_offset(side.offset, bond) + W.FORWARD]), LEAST_SHARE)
    return share


@kernel
def _felt_before(s, side, bead):
    """Return the most that the bead before a stretch would be moved by what moves a struck one of it by 1."""
    m = part_before(s, side.low)
    own = s.work[W.bead_offset(side.offset, bead) + W.INVM]
    return _handed_on(s, side, W.LANES, bead - 1) * inverse_mass_in(s, m, s.mol[m, L.MOL_BEADS] - 1) / own


@kernel
def _felt_behind(s, side, bead):
    """Return the same of the bead behind it."""
    own = s.work[W.bead_offset(side.offset, bead) + W.INVM]
    share = _handed_on(s, side, bead + 1, (side.tiles - 1) * W.LANES - 1)
    return share * inverse_mass_in(s, part_behind(s, side.high), np.int64(0)) / own


@kernel
def _is_taut(s, side):
    """Whether a side is too straight to be held at both ends."""
    if side.before == 0 or side.behind == 0:
        return False
    p = side.offset + (side.tiles - 2) * W.TILE + W.LANES - 1  # the bond to the bead behind it
    share = s.work[p + W.PIVOT] * s.work[p + W.INVM] * _square(s, p)
    return not share < 1.0 / TAUT  # what is not a number, too


@kernel
def _reached(s, side, bead):
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
def _loosened(s, side):
    """Return a side, wider by a part at each end if it is too straight to be held at both."""
    taut = _is_taut(s, side)
    return _wider(s, side, taut, taut)


@kernel
def _wider(s, side, before, behind):
    low = part_before(s, side.low) if before else side.low
    high = part_behind(s, side.high) if behind else side.high
    return _of_rows(side, low, high, side.length)
