"""Carry out a contact: bring its molecules together in time, apply the impulse, start their new segments."""

import numpy as np

from hpcchain.contact.coefficients import any_rough, restitution, restitutions
from hpcchain.contact.laws.contact import HARD, Outcome, along_normal
from hpcchain.contact.laws.joint import Ties, tied_impulses
from hpcchain.contact.laws.joint_rough import rub_together, tangential_impulse
from hpcchain.contact.laws.step import distance_met
from hpcchain.contact.laws.variational import any_takes_law, discrete_share, keep_velocities
from hpcchain.contact.separation import bead_offset, separation
from hpcchain.contact.sides import direction, meet_sides, met, whole_side
from hpcchain.contact.tc_model import pass_time
from hpcchain.contact.virial import lever
from hpcchain.contact.walls import is_thermal
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import is_part, member_of, set_struck
from hpcchain.sector.events.members import (
    GONE_BEYOND,
    KNOWN,
    bring,
    chains_known,
    is_long,
    join,
)
from hpcchain.sector.events.note import graze, note, note_rootless
from hpcchain.sector.events.simultaneous import gather_ties, rewind_touching
from hpcchain.sector.segments.new_segment import new_segment, two_segments
from hpcchain.sector.segments.stretch import begin_all, last_row
from hpcchain.sector.speculation.rollback import roll_back, save_segment

PACE_MEMORY = 0.2
PACE_RATIO = 2.0
# Of a part of a long chain: its segments end early because those beside it do, too, so they are to be longer.
PART_RATIO = 3.2
BACK = -1  # in place of a number of molecules: parts of long chains have to go back first (`speculation.rollback`)


@kernel
def learn_pace(s, m, realised):
    """Move a molecule's running segment length towards PACE_RATIO, or PART_RATIO, times the length that came true."""
    ratio = PACE_RATIO
    if s.stretched is not None:
        ratio = PART_RATIO if is_part(s, m) else PACE_RATIO
    old = s.running_length[m]
    if not old > 0.0:
        old = s.timing[m, L.LENGTH]
    s.running_length[m] = old + PACE_MEMORY * (ratio * realised - old)


@kernel
def close(s, m, ticks, remainder):
    """End molecule m's present segment at a time: learn from its length, forget what was struck at its start."""
    save_segment(s, m)
    first = s.mol[m, L.MOL_FIRST]
    length = since_start(s, first, ticks, remainder)
    if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
        learn_pace(s, m, length)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        set_struck(s.segment, i, 0)
    pass_time(s.par, s.segment, first, s.mol[m, L.MOL_BEADS], length)


@kernel
def others_due(par, event_time, first, n, ticks, remainder, a, b):
    """Whether another bead of the range than a and b has an event at this instant."""
    for i in range(first, first + n):
        if (
            i != a
            and i != b
            and abs((event_time[i, L.EVENT_TICKS] - ticks) * par[L.TICK] + (event_time[i, L.EVENT_REM] - remainder))
            < par[L.SIMULTANEOUS]
        ):
            return True
    return False


@outlined
def contact_event(s, log_rows, i, partner, crowded, is_straggler, ticks, remainder, depth):
    """Bring the molecules of a contact to its time, apply the contact law and start their new segments.

    Parameters
    ----------
    s : Sector
        Its `group` holds the molecules that took part on return, -1 for one that in the end did not.
    log_rows : int
        Rows of the contact log, 0 for none.
    i, partner : int
        Bead, and other bead or wall code.
    crowded : bool
        Other events are due at this instant: look for contacts to be resolved together.
    is_straggler : bool
        In a window: others may have been carried on past this event.
    ticks, remainder, depth : float, float, int
        Key of the event.

    Returns
    -------
    int
        How many molecules took part; 0 when nothing was done: contacts of two single beads alone are left to `monomer`,
        so that one code does them all, and those of long chains to `stretch_event`. BACK where something goes back.
    """
    mol, group, offset = s.mol, s.group, s.offset
    if partner >= 0 and s.bead_id[partner] < s.bead_id[i]:
        i, partner = partner, i
    ma = member_of(s, s.segment[i, L.MOLECULE])
    mb = member_of(s, s.segment[partner, L.MOLECULE]) if partner >= 0 else -1
    s.group[0], s.group[1] = ma, mb
    lower, higher = s.bead_id[i], s.bead_id[partner] if partner >= 0 else np.int64(partner)
    known = chains_known(s, 0, 1 if mb < 0 else 2, ticks, remainder, depth, lower, higher)
    if known != KNOWN:
        return BACK if known == GONE_BEYOND else 0
    members, projection_loss = _join_two(s, ma, mb, ticks, remainder)
    found, others, core = 0, False, members
    if crowded and not _is_step(s, i, partner, offset[0], offset[members - 1], s.extended):
        found, members, others = _all_touching(s, i, partner, core, is_straggler, ticks, remainder, depth)
        known = chains_known(s, core, members, ticks, remainder, depth, lower, higher)
        if known == GONE_BEYOND:
            return BACK
        others = others and known == KNOWN
    if s.par[L.LAW] != 0.0:
        for k in range(members):
            keep_velocities(s.work, offset[k], s.member[k, L.MOL_TILES])
    if found > 1 and others and _part_together(s, members, found, ticks, remainder):
        _finish_together(s, log_rows, members, found, ticks, remainder)
    elif is_long(s, ma) or (mb >= 0 and is_long(s, mb)):
        return 0
    elif mol[ma, L.MOL_SOLVER] == L.BALLISTIC and (mb < 0 or mol[mb, L.MOL_SOLVER] == L.BALLISTIC):
        return 0
    else:
        members = 1 if mb < 0 or mb == ma else 2
        e, et = restitution(s, i, partner, ticks, remainder)
        for k in range(members):
            close(s, group[k], ticks, remainder)
        _single(s, log_rows, i, partner, members, e, et, ticks, remainder, projection_loss)
    _new_segments(s, group, offset, members, ticks, remainder, depth)
    return members


@inlined
def _join_two(s, ma, mb, ticks, remainder):
    """Bring the two that meet, or the one that meets a wall, into the group; return how many, and `bring`'s energy."""
    _, members, loss = join(s, s.group, s.offset, np.int64(0), ma, ticks, remainder)
    if mb >= 0:
        _, members, more = join(s, s.group, s.offset, members, mb, ticks, remainder)
        loss += more
    return members, loss


@kernel
def _all_touching(s, i, partner, core, is_straggler, ticks, remainder, depth):
    """Return what `gather_ties` does, once what touches has been set back that has been carried past this event."""
    if s.extended is not None:
        if is_thermal(s, partner):  # whose contact is done by itself
            return np.int64(0), core, False
    if is_straggler:
        _set_touching_back(s, i, partner, core, ticks, remainder, depth)
    found, members, others = gather_ties(s, i, partner, core, ticks, remainder)
    if s.extended is not None and is_straggler and s.par[L.INSTANT_RULE] != L.JOINT:
        while _set_touching_back(s, i, partner, members, ticks, remainder, depth) != 0:
            found, members, others = gather_ties(s, i, partner, core, ticks, remainder)
    return found, members, others


@kernel
def _set_touching_back(s, i, partner, members, ticks, remainder, depth):
    """Set back those that touch the first members of the group but have been carried past this event; how many."""
    lower = s.bead_id[i]
    higher = s.bead_id[partner] if partner >= 0 else partner
    count = rewind_touching(s, s.offset, members, ticks, remainder, depth, lower, higher)
    roll_back(s)
    return count


@inlined
def _part_together(s, members, found, ticks, remainder):
    """Apply the impulses of several contacts at one instant; return whether there are any that part all of them."""
    ties = Ties(s.offset, members, s.contacts, s.normals, s.growths, found)
    restitutions(s, found, ticks, remainder)
    e = s.matrix[L.RESTITUTION_ROW]
    lost = _lost_in_ties(s, s.group, s.offset, s.contacts, found, ticks, remainder)
    scratch, matrix, impulses = s.impulse_response, s.matrix, s.impulses
    return tied_impulses(s.work, s.member, s.graph, ties, e, scratch, matrix, impulses, lost, s.stepper) == 0


@inlined
def _finish_together(s, log_rows, members, found, ticks, remainder):
    """Close the segments of those that several contacts involve, and count and log each contact."""
    group, offset, contacts, beads, impulses = s.group, s.offset, s.contacts, s.tied, s.impulses
    s.count[L.N_TIES] += 1
    _keep_used(group, members, contacts, found)
    rough = any_rough(s, found, ticks, remainder)
    for k in range(members):
        if group[k] >= 0:
            _close_member(s, group[k], ticks, remainder)
    if s.extended is not None and rough:
        rub_together(s, found)
    kappa = _law(s, group, offset, members, ticks, remainder, s.stepper)
    for k in range(found):
        i, j = beads[k, L.FIRST_BEAD], beads[k, L.SECOND_BEAD]
        if impulses[k] == 0.0:  # others at the same instant part the two
            graze(s, i, j)
            continue
        impulses[k] *= kappa if kappa > 0.0 else 1.0
        a, b = contacts[k, L.MEMBER], contacts[k, L.OTHER_MEMBER]
        p = bead_offset(offset[a], contacts[k, L.MEMBER_BEAD])
        q = bead_offset(offset[b], contacts[k, L.OTHER_BEAD]) if b >= 0 else -1
        done = along_normal(impulses[k])
        if s.extended is not None and rough:
            x, y, z = tangential_impulse(s, k)
            done = Outcome(impulses[k], x, y, z, 0.0, 0.0, True)
        lx, ly, lz = lever(s, a, b, p, q)
        note(s, log_rows, i, j, s.normals[k], done, lx, ly, lz, ticks, remainder)
        if kappa == 0.0:
            note_rootless(s, log_rows)


@kernel
def _close_member(s, m, ticks, remainder):
    """End the present segments of member m."""
    close(s, m, ticks, remainder)
    if s.stretched is not None:
        for r in range(m + 1, last_row(s, m) + 1):
            close(s, r, ticks, remainder)


@inlined
def _new_segments(s, group, offset, members, ticks, remainder, depth):
    """Start new segments of all of a group; those of two chains are made together."""
    if members == 2 and min(group[0], group[1]) >= 0 and s.mol[group[0], L.MOL_SOLVER] == L.CHAIN:
        if s.mol[group[1], L.MOL_SOLVER] == L.CHAIN and not (is_long(s, group[0]) or is_long(s, group[1])):
            two_segments(s, offset[0], group[0], offset[1], group[1], ticks, remainder, depth)
            return
    for k in range(members):
        if group[k] >= 0:
            _new_segment(s, offset[k], k, ticks, remainder, depth)


@kernel
def _new_segment(s, offset, k, ticks, remainder, depth):
    """Start the new segment of member k, or those of all its parts."""
    m = s.group[k]
    if s.stretched is not None:
        if is_part(s, m):
            begin_all(s, offset, s.member[k, L.MOL_TILES], m, last_row(s, m), ticks, remainder, depth)
            return
    s.scalars[L.SCALAR_SERIAL] += 1
    new_segment(s, offset, m, ticks, remainder, s.scalars[L.SCALAR_SERIAL], depth)


@kernel
def _lost_in_ties(s, group, offset, contacts, found, ticks, remainder):
    """Return the energy that putting the molecules of tied contacts on their bonds took, summed in the contacts' order.

    Members without a contact do not count, nor does the order in which lists name them. Those moved by collocation, the
    only ones that lose any, are brought once more: ties are rare.
    """
    projection_loss = 0.0
    if s.stepper is not None:
        for k in range(2 * found):
            g = contacts[k >> 1, L.MEMBER + L.SIDE * (k & 1)]
            seen = g < 0 or s.mol[group[g], L.MOL_SOLVER] != L.COLLOCATION
            for e in range(k):
                seen = seen or contacts[e >> 1, L.MEMBER + L.SIDE * (e & 1)] == g
            if not seen:
                projection_loss += bring(s, offset[g], group[g], ticks, remainder)
    return projection_loss


@kernel
def _keep_used(group, members, contacts, found):
    """Set to -1 those members of a group that no contact involves."""
    for g in range(members):
        used = False
        for k in range(found):
            used = used or contacts[k, L.MEMBER] == g or contacts[k, L.OTHER_MEMBER] == g
        if not used:
            group[g] = -1


@kernel
def _law(s, group, offset, members, ticks, remainder, stepper):
    """Return the factor of the exact impulse by the molecules' law; 0: it has no root (`contact.laws.variational`)."""
    if stepper is not None:
        if s.par[L.LAW] != 0.0 and any_takes_law(s.table, s.mol, group, members):
            return discrete_share(
                s.work, s.member, s.table, s.graph, group, offset, members, ticks, remainder, s.par[L.TICK]
            )
    return 1.0


@kernel
def _is_step(s, i, j, oa, ob, extended):
    """Whether a contact of beads i and j, whose molecules are in the workspace at oa and ob, is of no hard surfaces."""
    if extended is not None:
        if j >= 0:
            p = bead_offset(oa, i - s.mol[member_of(s, s.segment[i, L.MOLECULE]), L.MOL_FIRST])
            q = bead_offset(ob, j - s.mol[member_of(s, s.segment[j, L.MOLECULE]), L.MOL_FIRST])
            return distance_met(s, i, j, separation(s.par, s.work, p, q, s.normals[L.CONTACT_NORMAL]), extended) != HARD
    return False


@kernel
def _single(s, log_rows, i, partner, members, e, et, ticks, remainder, projection_loss):
    """Carry out one contact of molecules in the workspace and log it; a graze gets no impulse but for the loss."""
    ma = s.segment[i, L.MOLECULE]
    mb = s.segment[partner, L.MOLECULE] if partner >= 0 else np.int64(-1)
    a = whole_side(s, ma, i, s.offset[0], projection_loss)
    b = whole_side(s, mb, partner, s.offset[members - 1], 0.0)
    rate, distance = direction(s, i, partner, a, b)
    border = met(s, i, partner, distance)
    done = meet_sides(s, i, partner, a, b, ma == mb, border, rate, e, et)
    if done.along == 0.0:
        graze(s, i, partner)
        return
    kappa = _law(s, s.group, s.offset, members, ticks, remainder, s.stepper) if border == HARD else 1.0
    if kappa != 0.0:
        done = Outcome(done.along * kappa, done.x, done.y, done.z, done.kind, done.heat, done.turns)
    q = bead_offset(b.offset, b.bead) if partner >= 0 else -1
    lx, ly, lz = lever(s, 0, members - 1, bead_offset(a.offset, a.bead), q)
    note(s, log_rows, i, partner, s.normals[L.CONTACT_NORMAL], done, lx, ly, lz, ticks, remainder)
    if kappa == 0.0:
        note_rootless(s, log_rows)
