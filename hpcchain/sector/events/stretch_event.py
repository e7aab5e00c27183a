"""Contacts and segment ends of long chains, of which stretches alone are moved (`segments.stretch`).

A side of a contact is a stretch of a long chain, another molecule as a whole, or a wall; what becomes of them is in
`stretch_law`. Where others touch at the same instant, `contact_event` has the whole chains.
"""

import numpy as np

from hpcchain.contact.coefficients import restitution
from hpcchain.contact.laws.contact import HARD
from hpcchain.contact.sides import Side, direction, meet_sides, met, of_one_chain
from hpcchain.contact.walls import is_thermal
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import is_part
from hpcchain.propagators.taylor.stretch_series import Tiles, stretch_series
from hpcchain.sector.events.contact_event import close
from hpcchain.sector.events.members import bring
from hpcchain.sector.events.note import graze
from hpcchain.sector.events.stretch_law import note_contact
from hpcchain.sector.events.stretch_reach import is_as_wide, loosened, reached
from hpcchain.sector.events.stretch_ties import ALONE, TOUCHED, look_about
from hpcchain.sector.segments.new_segment import new_segment
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
from hpcchain.sector.speculation.rollback import request_ahead

NOWHERE, TIED = np.int64(-1), np.int64(-2)
GO_ON, BEYOND = range(2)


@inlined
def ids_of(s, i, partner):
    """Return the lower and the higher id of a contact: of two beads, or of one and a wall's code."""
    if partner < 0:
        return s.bead_id[i], np.int64(partner)
    return min(s.bead_id[i], s.bead_id[partner]), max(s.bead_id[i], s.bead_id[partner])


@inlined
def _gone_beyond(s, side, ticks, remainder, depth, lower, higher):
    """Whether parts of a side, or beside it, have begun segments after an event in a window; they are to go back."""
    if s.scalars[L.SCALAR_WINDOWED] == 0 or not side.part:
        return False
    return request_ahead(s, side.low, side.high, ticks, remainder, depth, lower, higher)


@kernel
def _side_of(s, i):
    """Return the side of bead i, or of the wall with that code, which has not been loaded yet."""
    none = np.int64(0)
    if i < 0:
        return Side(np.int64(-1), False, none, none, none, none, none, none, none, 0.0, 0.0)
    m = s.segment[i, L.MOLECULE]
    low, high = m, m
    part = is_part(s, m)
    if part:
        low, high = rows_about(s, m, i)
    bead = i - s.mol[m, L.MOL_FIRST]
    return Side(m, part, low, high, none, s.mol[m, L.MOL_TILES], none, none, bead, 0.0, 0.0)


@kernel
def _widened(s, side, ticks, remainder, soon):
    """Return a side with what joins it (`segments.stretch.widened`)."""
    if not side.part:
        return side
    low, high, length = widened(s, side.low, side.high, ticks, remainder, soon)
    return Side(side.row, True, low, high, side.offset, side.tiles, side.before, side.behind, side.bead, length, 0.0)


@kernel
def _touch(s, a, b):
    """Whether two sides are stretches of one chain with no part between them."""
    return of_one_chain(s, a, b) and (
        s.block[b.low, L.BLOCK_PLACE] - s.block[a.high, L.BLOCK_PLACE] <= 1
        and s.block[a.low, L.BLOCK_PLACE] - s.block[b.high, L.BLOCK_PLACE] <= 1
    )


@kernel
def _joined(s, a, b):
    """Return side a with all that b has."""
    low = b.low if s.block[b.low, L.BLOCK_PLACE] < s.block[a.low, L.BLOCK_PLACE] else a.low
    high = b.high if s.block[b.high, L.BLOCK_PLACE] > s.block[a.high, L.BLOCK_PLACE] else a.high
    return Side(a.row, True, low, high, a.offset, a.tiles, a.before, a.behind, a.bead, a.length, 0.0)


@kernel
def _loaded(s, side, i, offset, ticks, remainder):
    """Return a side that has been brought to a time in the workspace at `offset`."""
    if side.row < 0:
        return side
    if not side.part:
        loss = bring(s, offset, side.row, ticks, remainder)
        low, high, none = side.low, side.high, np.int64(0)
        return Side(side.row, False, low, high, offset, side.tiles, none, none, side.bead, 0.0, loss)
    tiles, before, behind = load_stretch(s, offset, side.low, side.high, side.row, ticks, remainder)
    bead = lane_of(s, side.low, side.row, i, before)
    return Side(side.row, True, side.low, side.high, offset, tiles, before, behind, bead, side.length, 0.0)


@kernel
def _close_side(s, side, ticks, remainder):
    """End the present segments of a side."""
    if side.row < 0:
        return
    m = side.low
    close(s, m, ticks, remainder)
    while m != side.high:
        m = np.int64(s.block[m, L.BLOCK_BEHIND])
        close(s, m, ticks, remainder)


@inlined
def _tiles(side):
    """Return where the tiles of a side are that is a stretch."""
    return Tiles(side.offset, side.tiles, side.before, side.behind)


@kernel
def _begin_side(s, side, ticks, remainder, depth):
    """Make and write the new segments of a side."""
    if side.part:
        order, h = stretch_series(s.work, _tiles(side), side.length, tolerance_of(s, side.row))
        at = side.offset + side.before * W.TILE
        write_rows(s, at, side.low, side.high, side.row, order, h, ticks, remainder, depth)
    elif side.row >= 0:
        s.scalars[L.SCALAR_SERIAL] += 1
        new_segment(s, side.offset, side.row, ticks, remainder, s.scalars[L.SCALAR_SERIAL], depth)


@kernel
def _brought(s, i, partner, ticks, remainder, depth):
    """Bring the sides of a contact to its time, as wide as its impulse reaches.

    Where it would be felt beyond an end a part more is taken in, and at both ends of a stretch that is too straight. A
    side that stays as it was is not loaded again.

    Returns
    -------
    status : int
        GO_ON, or BEYOND where parts have begun segments after the contact, in a window: they have been asked to go back
        first.
    a, b : Side
    one : bool
        Whether both beads are of one stretch: then both sides are.
    rate, distance : float
        Rate of the gap, distance of bead centres.
    """
    lower, higher = ids_of(s, i, partner)
    a, b = _side_of(s, i), _side_of(s, partner)
    tried, other = a, b
    begin, middle = np.int64(0), np.int64(len(s.work) // (L.MOST_MEMBERS + 1))  # a whole chain has room in either
    loaded = False
    while True:
        a = _widened(s, a, ticks, remainder, SOON_AT_CONTACT)
        b = _widened(s, b, ticks, remainder, SOON_AT_CONTACT)
        one = _touch(s, a, b)
        if one:
            a = _widened(s, _joined(s, a, b), ticks, remainder, SOON_AT_CONTACT)
        if _gone_beyond(s, a, ticks, remainder, depth, lower, higher) or (
            not one and _gone_beyond(s, b, ticks, remainder, depth, lower, higher)
        ):
            return BEYOND, a, b, one, 0.0, 0.0
        if one or not (loaded and is_as_wide(a, tried)):
            a = _loaded(s, a, i, begin, ticks, remainder)
        if one:
            bead = lane_of(s, a.low, b.row, partner, a.before)
            b = Side(b.row, True, a.low, a.high, a.offset, a.tiles, a.before, a.behind, bead, a.length, 0.0)
        elif not (loaded and is_as_wide(b, other)):
            b = _loaded(s, b, partner, middle, ticks, remainder)
        loaded, tried, other = True, a, b
        a = reached(s, a, b.bead if one else a.bead)
        if not one:
            b = reached(s, b, b.bead)
        if is_as_wide(a, tried) and is_as_wide(b, other):
            break
    a, b = tried, other
    rate, distance = direction(s, i, partner, a, b)
    return GO_ON, a, b, one, rate, distance


@inlined
def _meets_alone(s, partner, extended):
    """Whether a contact with this partner is done by itself, whatever else is due: with a thermal wall."""
    if extended is not None:
        return is_thermal(s, partner)
    return False


@outlined
def stretch_contact(s, log_rows, i, partner, crowded, is_straggler, ticks, remainder, depth):
    """Carry out a contact in which a long chain takes part; all that it moves get new segments.

    Parameters
    ----------
    i, partner : int
        Bead, and other bead or wall code.
    crowded, is_straggler : bool
        As in `contact_event`.
    ticks, remainder, depth : float, float, int
        Key of the event.

    Returns
    -------
    low, high, first, last : int
        The rows with new segments: from `low` to `high`, and from `first` to `last`; NOWHERE where there are no
        others, and all where parts have to go back first (`speculation.rollback`); TIED where others touch as well, and
        nothing was done.
    """
    if partner >= 0 and s.bead_id[partner] < s.bead_id[i]:
        i, partner = partner, i
    status, a, b, one, rate, distance = _brought(s, i, partner, ticks, remainder, depth)
    if status == BEYOND:
        return NOWHERE, NOWHERE, NOWHERE, NOWHERE
    border = met(s, i, partner, distance)
    if crowded and border == HARD and not _meets_alone(s, partner, s.extended):
        lower, higher = ids_of(s, i, partner)
        about = look_about(s, i, partner, a, b, one, ticks, remainder, depth, lower, higher, is_straggler)
        if about != ALONE:
            return TIED if about == TOUCHED else NOWHERE, NOWHERE, NOWHERE, NOWHERE
    e, et = restitution(s, i, partner, ticks, remainder)
    _close_side(s, a, ticks, remainder)
    if not one:
        _close_side(s, b, ticks, remainder)
    done = meet_sides(s, i, partner, a, b, one, border, rate, e, et)
    if done.along == 0.0:
        graze(s, i, partner)
    else:
        note_contact(s, log_rows, i, partner, a, b, done, distance, ticks, remainder)
    _begin_side(s, a, ticks, remainder, depth)
    if one or b.row < 0:
        return a.low, a.high, NOWHERE, NOWHERE
    _begin_side(s, b, ticks, remainder, depth)
    return a.low, a.high, b.low, b.high


@kernel
def end_stretch(s, m, ticks, remainder):
    """Start the next segments of a part that nothing has hit, and of those beside it that end soon.

    Returns their first and last row, NOWHERE where parts have to go back first (`speculation.rollback`).
    """
    lower, depth = s.bead_id[s.mol[m, L.MOL_FIRST]], np.int64(0)
    side = _side_of(s, s.mol[m, L.MOL_FIRST])
    side = Side(m, True, m, m, side.offset, side.tiles, side.before, side.behind, side.bead, side.length, 0.0)
    while True:
        side = _widened(s, side, ticks, remainder, SOON_AT_END)
        if _gone_beyond(s, side, ticks, remainder, depth, lower, np.int64(L.SEGMENT_END)):
            return NOWHERE, NOWHERE
        side = _loaded(s, side, s.mol[m, L.MOL_FIRST], np.int64(0), ticks, remainder)
        tried = side
        side = loosened(s, side)
        if is_as_wide(side, tried):
            break
    _close_side(s, side, ticks, remainder)
    _begin_side(s, side, ticks, remainder, depth)
    return side.low, side.high
