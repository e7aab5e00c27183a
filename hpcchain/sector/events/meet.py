"""Carry out a contact: bring its sides to its time, call the law, apply what it returns, start new segments.

A side is a molecule, a stretch of a long chain (`stretch_sides`), or a wall. What else touches at the same instant is
resolved with it (`simultaneous`). Two single beads by themselves, or one and a wall, are left to `meet_alone`.
"""

import numpy as np

from hpcchain.contact.coefficients import restitution
from hpcchain.contact.laws.contact import HARD, Outcome
from hpcchain.contact.laws.step import distance_met
from hpcchain.contact.laws.variational import keep_velocities
from hpcchain.contact.separation import common_speed
from hpcchain.contact.sides import direction, meet_sides, of_one_chain, whole_side
from hpcchain.contact.virial import lever
from hpcchain.contact.walls import is_thermal
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.sector.ahead.taking import take
from hpcchain.sector.events.members import AGAIN, ALONE, BACK, FULL, MET, join
from hpcchain.sector.events.note import graze, note, note_rootless
from hpcchain.sector.events.simultaneous import company, share_of_law
from hpcchain.sector.events.stretch_sides import begin_stretch, bring_stretches
from hpcchain.sector.segments.chain_centre import lever_of_sides, push_centre
from hpcchain.sector.segments.new_segment import begin, close_rows


@outlined
def meet(s, i, partner, crowded, is_straggler):
    """Bring the sides of the contact at hand to it, apply what its law says and start new segments of what it moves.

    Parameters
    ----------
    s : Sector
    i, partner : int
        Bead, and other bead or wall code.
    crowded : bool
        Other events are due at this instant: look for contacts to be resolved together.
    is_straggler : bool
        In a window: others may have been carried on past this event.

    Returns
    -------
    status : int
        MET; BACK where parts of long chains have to go back first (`speculation.rollback`); FULL where a table of those
        inside is full; ALONE where single beads are by themselves, and nothing was done: one code, `meet_alone`,
        does them all.
    members : int
        How many rows of `member` took part, but for those whose MEMBER_ROW is below 0.
    """
    if partner >= 0 and s.bead_id[partner] < s.bead_id[i]:
        i, partner = partner, i
    none = np.int64(0)
    if s.ahead[L.AHEAD_SECTOR] != 0 and not crowded:
        members = take(s, i, partner)
        if members > 0:
            return MET, members
    known, a, b, one = _bring_two(s, i, partner)
    if not known:
        return BACK, none
    rate, distance = direction(s, i, partner, a, b)
    border = distance_met(s, i, partner, distance)
    if crowded and border == HARD and not _meets_alone(s, partner):
        status, members = company(s, i, partner, a, b, one, is_straggler)
        if status == MET or status == BACK or status == FULL:
            return status, members
        if s.stretched is not None:
            if status == AGAIN:
                known, a, b, one = bring_stretches(s, i, partner)
                if not known:
                    return BACK, none
        rate, distance = direction(s, i, partner, a, b)
    if _is_single(s, a) and (b.row < 0 or _is_single(s, b)):
        return ALONE, none
    members = _resolve(s, i, partner, a, b, one, border, rate, distance)
    _begin_side(s, a)
    if b.row >= 0 and not one:
        _begin_side(s, b)
    return MET, members


@inlined
def _resolve(s, i, partner, a, b, one, border, rate, distance):
    """End the segments of both sides of a contact, apply and note what its law says; return how many meet."""
    members = _seat(s, a, b, one)
    e, et = restitution(s, i, partner)
    close_rows(s, a.low, a.high)
    if b.row >= 0 and not one:
        close_rows(s, b.low, b.high)
    keep_velocities(s, members)
    before = _common_speed(s, a, b)
    done = meet_sides(s, i, partner, a, b, one, border, rate, e, et)
    if done.along == 0.0:
        graze(s, i, partner)
    else:
        kappa = share_of_law(s, members) if border == HARD else 1.0
        if kappa != 0.0:
            done = Outcome(done.along * kappa, done.x, done.y, done.z, done.kind, done.heat, done.turns)
        gained = 0.25 * done.along * (before + _common_speed(s, a, b))
        _note(s, i, partner, a, b, members, done, distance, gained)
        if kappa == 0.0:
            note_rootless(s)
    return members


@inlined
def _common_speed(s, a, b):
    """Return what `common_speed` does of the beads of a contact."""
    q = W.bead_offset(b.offset, b.bead) if b.row >= 0 else np.int64(-1)
    return common_speed(s.work, W.bead_offset(a.offset, a.bead), q, s.normals[L.CONTACT_NORMAL])


@inlined
def _bring_two(s, i, partner):
    """Bring both sides of a contact to its time; return what `bring_stretches` does."""
    ma = s.segment[i, L.MOLECULE]
    mb = s.segment[partner, L.MOLECULE] if partner >= 0 else np.int64(-1)
    if s.stretched is not None:
        if is_chain_part(s, ma) or (mb >= 0 and is_chain_part(s, mb)):
            return bring_stretches(s, i, partner)
    _, members, loss = join(s, np.int64(0), ma)
    a = whole_side(s, ma, i, s.member[0, L.MEMBER_OFFSET], loss)
    loss = 0.0
    if mb >= 0:
        _, members, loss = join(s, members, mb)
    return True, a, whole_side(s, mb, partner, s.member[members - 1, L.MEMBER_OFFSET], loss), ma == mb


@inlined
def _meets_alone(s, partner):
    """Whether a contact with this partner is done by itself, whatever else is due: with a thermal wall."""
    if s.extended is not None:
        return is_thermal(s, partner)
    return False


@inlined
def _is_single(s, side):
    """Whether a side is a single bead."""
    return s.mol[side.row, L.MOL_SOLVER] == L.BALLISTIC


@inlined
def _seat(s, a, b, one):
    """Return how many molecules meet; write down those that are stretches as `join` does whole ones."""
    if s.stretched is not None:
        if a.part or b.part:
            _place(s, 0, a, a.high)
            _place(s, 1, b, b.low - 1 if one else b.high)
    return np.int64(1 if b.row < 0 or b.row == a.row else 2)


@inlined
def _place(s, k, side, last):
    """Write down member k, which is a side of a contact, and the last row that gets a new segment with it."""
    row = s.member[k]
    row[L.MEMBER_ROW], row[L.FIRST_ROW], row[L.LAST_ROW] = side.row, side.low, last
    row[L.MEMBER_OFFSET] = side.offset + side.before * W.TILE
    row[L.MEMBER_TILES] = side.tiles - side.before - side.behind


@kernel
def _note(s, i, partner, a, b, members, done, distance, gained):
    """Note an impulse that has been applied: with long chains' centres of mass, and as `note` does."""
    n = s.normals[L.CONTACT_NORMAL]
    if s.stretched is not None:
        if a.part or b.part:
            x, y, z = done.along * n[0] + done.x, done.along * n[1] + done.y, done.along * n[2] + done.z
            lx, ly, lz = lever_of_sides(s, a, b, distance, x, y, z, gained)
            if b.row < 0 or not of_one_chain(s, a, b):
                push_centre(s, a, x, y, z)
                push_centre(s, b, -x, -y, -z)
            note(s, i, partner, n, done, lx, ly, lz, gained)
            return
    q = W.bead_offset(b.offset, b.bead) if b.row >= 0 else -1
    lx, ly, lz = lever(s, 0, members - 1, W.bead_offset(a.offset, a.bead), q)
    note(s, i, partner, n, done, lx, ly, lz, gained)


@kernel
def _begin_side(s, side):
    """Start the new segments of a side."""
    if s.stretched is not None:
        if side.part:
            begin_stretch(s, side)
            return
    begin(s, side.offset, side.row)
