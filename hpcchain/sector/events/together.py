"""What a contact that may not be the only one at its instant does: all that touch then are resolved together.

About a stretch of a long chain its own beads decide whether anything else touches: others are as good as not there. If
so, all of the chain takes part, with all of its contacts.
"""

import numpy as np

from hpcchain.contact.coefficients import any_rough, restitutions
from hpcchain.contact.laws.contact import Outcome, along_normal
from hpcchain.contact.laws.joint import offset_in_tie, tied_impulses
from hpcchain.contact.laws.joint_rough import rub_together, tangential_impulse
from hpcchain.contact.laws.variational import any_takes_law, discrete_share, keep_velocities
from hpcchain.contact.laws.wet import bridges_fit
from hpcchain.contact.separation import common_speed
from hpcchain.contact.virial import lever
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import is_chain_part, member_of, radius_of
from hpcchain.sector.events.members import GONE_BEYOND, KNOWN, bring, chains_known, join
from hpcchain.sector.events.note import graze, note, note_rootless
from hpcchain.sector.events.simultaneous import (
    counts_resting,
    gather_ties,
    limited_ties,
    near,
    near_to,
    rewind_touching,
    wall_ties,
)
from hpcchain.sector.events.stretch_sides import ids_of
from hpcchain.sector.queue.event_order import begins_later
from hpcchain.sector.search.neighbour_lists import joined
from hpcchain.sector.segments.close_begin import begin, close_rows
from hpcchain.sector.segments.stretch import begin_all
from hpcchain.sector.speculation.rollback import request_rollback, roll_back

ALONE, AGAIN, MET, BACK, FULL = range(5)
TIES_ROW = 2  # of the rows for contacts: those before it have the normal of the contact at hand, and scratch


@outlined
def company(s, i, partner, a, b, one, is_straggler, ticks, remainder, depth):
    """Resolve a contact together with all others at its instant, if there are any.

    Parameters
    ----------
    i, partner, is_straggler, ticks, remainder, depth :
        As of `meet`.
    a, b : Side
        In the workspace. Those that are molecules are the first members of the event (`join`).
    one : bool
        Whether both beads are of one molecule or stretch.

    Returns
    -------
    status : int
        MET; BACK where parts of long chains have to go back first. ALONE where the contact is the only one, AGAIN if
        its stretches are no more in the workspace. FULL where a bead cannot take the bridges that it may get.
    members : int
        As of `meet`.
    """
    none = np.int64(0)
    lower, higher = ids_of(s, i, partner)
    core = np.int64(1 if b.row < 0 or one else 2)
    status = ALONE
    if s.stretched is not None:
        if a.part or b.part:
            about = _look_about(s, i, partner, a, b, one, ticks, remainder, depth, lower, higher, is_straggler)
            if about != AGAIN:
                return about, none
            status, core = _join_whole(s, a, b, ticks, remainder, depth, lower, higher)
            if status != AGAIN:
                return status, none
    if is_straggler:
        _set_touching_back(s, core, ticks, remainder, depth, lower, higher)
    found, members, others = gather_ties(s, i, partner, core, ticks, remainder)
    if s.extended is not None and is_straggler and s.par[L.INSTANT_RULE] != L.JOINT:
        while _set_touching_back(s, members, ticks, remainder, depth, lower, higher) != 0:
            found, members, others = gather_ties(s, i, partner, core, ticks, remainder)
    known = chains_known(s, core, members, ticks, remainder, depth, lower, higher)
    if known == GONE_BEYOND:
        return BACK, none
    if not bridges_fit(s, found, s.extended):
        return FULL, none
    if s.par[L.LAW] != 0.0:
        for k in range(members):
            keep_velocities(s.work, s.member[k, L.MEMBER_OFFSET], s.member[k, L.MEMBER_TILES])
    if found > 1 and others and known == KNOWN and _part_together(s, members, found, ticks, remainder):
        _finish_together(s, members, found, ticks, remainder)
        for k in range(members):
            if s.member[k, L.MEMBER_ROW] >= 0:
                _begin_whole(s, k, ticks, remainder, depth)
        return MET, members
    return status, none


@kernel
def _join_whole(s, a, b, ticks, remainder, depth, lower, higher):
    """Bring all of the long chains and molecules that meet; return AGAIN, or why not, and how many they are."""
    first = second = member_of(s, a.row)
    last = np.int64(1)
    if b.row >= 0:
        second = member_of(s, b.row)
        last = np.int64(2)
    s.member[0, L.MEMBER_ROW], s.member[1, L.MEMBER_ROW] = first, second
    known = chains_known(s, 0, last, ticks, remainder, depth, lower, higher)
    if known != KNOWN:
        return BACK if known == GONE_BEYOND else ALONE, last  # ALONE: a ghost's part waits for what its owner sends
    _, members, _ = join(s, np.int64(0), first, ticks, remainder)
    _, members, _ = join(s, members, second, ticks, remainder)
    return AGAIN, members


@kernel
def _set_touching_back(s, members, ticks, remainder, depth, lower, higher):
    """Set back those that touch the first members of the event but have been carried past it; how many."""
    count = rewind_touching(s, members, ticks, remainder, depth, lower, higher)
    roll_back(s)
    return count


@inlined
def _part_together(s, members, found, ticks, remainder):
    """Apply the impulses of several contacts at one instant; return whether there are any that part all of them."""
    restitutions(s, found, ticks, remainder)
    lost = _lost_in_ties(s, found, ticks, remainder)
    for k in range(found):
        s.matrix[L.BEFORE_ROW, k] = _speed_in_tie(s, k)
    return tied_impulses(s, members, found, lost) == 0


@inlined
def _speed_in_tie(s, k):
    """Return what `common_speed` does of the beads of tied contact k."""
    return common_speed(s.work, offset_in_tie(s, k, 0), offset_in_tie(s, k, 1), s.normals[k])


@inlined
def _finish_together(s, members, found, ticks, remainder):
    """Close the segments of those that several contacts involve, and count and log each contact."""
    impulses = s.impulses
    s.count[L.N_TIES] += 1
    _keep_used(s, members, found)
    rough = any_rough(s, found, ticks, remainder)
    for k in range(members):
        if s.member[k, L.MEMBER_ROW] >= 0:
            close_rows(s, s.member[k, L.FIRST_ROW], s.member[k, L.LAST_ROW], ticks, remainder)
    if s.extended is not None and rough:
        rub_together(s, found)
    kappa = share_of_law(s, members, ticks, remainder)
    for k in range(found):
        i, j = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]
        if impulses[k] == 0.0:  # others at the same instant part the two
            graze(s, i, j)
            continue
        impulses[k] *= kappa if kappa > 0.0 else 1.0
        a, b = s.contacts[k, L.MEMBER], s.contacts[k, L.OTHER_MEMBER]
        done = along_normal(impulses[k])
        if s.extended is not None and rough:
            x, y, z = tangential_impulse(s, k)
            done = Outcome(impulses[k], x, y, z, 0.0, 0.0, True)
        lx, ly, lz = lever(s, a, b, offset_in_tie(s, k, 0), offset_in_tie(s, k, 1))
        gained = 0.25 * impulses[k] * (s.matrix[L.BEFORE_ROW, k] + _speed_in_tie(s, k))
        note(s, i, j, s.normals[k], done, lx, ly, lz, gained, ticks, remainder)
        if kappa == 0.0:
            note_rootless(s)


@kernel
def _begin_whole(s, k, ticks, remainder, depth):
    """Start the new segment of member k, or those of all its parts."""
    m, offset = s.member[k, L.MEMBER_ROW], s.member[k, L.MEMBER_OFFSET]
    if s.stretched is not None:
        if is_chain_part(s, m):
            begin_all(s, offset, s.member[k, L.MEMBER_TILES], m, s.member[k, L.LAST_ROW], ticks, remainder, depth)
            return
    begin(s, offset, m, ticks, remainder, depth)


@kernel
def _lost_in_ties(s, found, ticks, remainder):
    """Return the energy that putting the molecules of tied contacts on their bonds took, summed in the contacts' order.

    Members without a contact do not count, nor does the order in which lists name them. Those moved by collocation, the
    only ones that lose any, are brought once more: ties are rare.
    """
    projection_loss = 0.0
    if s.stepper is not None:
        for k in range(2 * found):
            g = s.contacts[k >> 1, L.MEMBER + L.SIDE * (k & 1)]
            seen = g < 0 or s.mol[s.member[g, L.MEMBER_ROW], L.MOL_SOLVER] != L.COLLOCATION
            for e in range(k):
                seen = seen or s.contacts[e >> 1, L.MEMBER + L.SIDE * (e & 1)] == g
            if not seen:
                m, offset = s.member[g, L.MEMBER_ROW], s.member[g, L.MEMBER_OFFSET]
                projection_loss += bring(s, offset, m, ticks, remainder)
    return projection_loss


@kernel
def _keep_used(s, members, found):
    """Set the row of those members to -1 that no contact involves."""
    for g in range(members):
        used = False
        for k in range(found):
            used = used or s.contacts[k, L.MEMBER] == g or s.contacts[k, L.OTHER_MEMBER] == g
        if not used:
            s.member[g, L.MEMBER_ROW] = -1


@kernel
def share_of_law(s, members, ticks, remainder):
    """Return the factor of the exact impulse by the molecules' law; 0: it has no root (`contact.laws.variational`)."""
    if s.stepper is not None:
        if s.par[L.LAW] != 0.0 and any_takes_law(s, members):
            return discrete_share(s, members, ticks, remainder)
    return 1.0


@outlined
def _look_about(s, i, partner, a, b, one, ticks, remainder, depth, lower, higher, is_straggler):
    """Return whether anything else touches the sides of a contact of bead i, which are in the workspace.

    Returns ALONE, AGAIN if anything does or, where what touches has been carried on past the event and is requested to
    go back, BACK.
    """
    found = _about_side(s, i, partner, a, ticks, remainder, depth, lower, higher, is_straggler)
    if b.row >= 0 and not one:
        found = max(found, _about_side(s, i, partner, b, ticks, remainder, depth, lower, higher, is_straggler))
    return found


@kernel
def _about_side(s, main, partner, side, ticks, remainder, depth, lower, higher, is_straggler):
    """Do what `_look_about` does for one side."""
    found = ALONE
    scale = s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * (ticks * s.par[L.TICK] + remainder)
    first = s.mol[side.low, L.MOL_FIRST]
    for i in range(first, s.mol[side.high, L.MOL_FIRST] + s.mol[side.high, L.MOL_BEADS]):
        b = side.before * W.LANES + i - first
        p = W.bead_offset(side.offset, b)
        for e in range(near_to(s, i, is_straggler)):
            j = s.found[e]
            far = (radius_of(s.radius, i) + radius_of(s.radius, j)) * scale
            if is_straggler and _sent_back(s, p, j, far, ticks, remainder, depth, lower, higher):
                found = BACK
                continue
            its_own = (i == main and j == partner) or (i == partner and j == main)
            if found == ALONE and not its_own and not joined(s, i, j):
                if near(s, s.work, p, j, far, ticks, remainder):
                    found = AGAIN
        if found == ALONE:
            ties = limited_ties(s, side.offset, 0, b, i, scale, TIES_ROW)
            if s.par[L.WALLS] != 0.0:
                ties = wall_ties(s, p, 0, b, i, scale, ties)
            for k in range(TIES_ROW, ties):
                if (i != main or s.tied[k, L.SECOND_BEAD] != partner) and (s.impulses[k] != 0.0 or counts_resting(s)):
                    found = AGAIN
    return found


@inlined
def _sent_back(s, p, j, far, ticks, remainder, depth, lower, higher):
    """Request that bead j's molecule go back if it touches the bead at p but has gone on; return whether so."""
    m = s.segment[j, L.MOLECULE]
    h = m
    while h >= 0 and begins_later(s, s.mol[h, L.MOL_FIRST], ticks, remainder, depth, lower, higher):
        h = s.window_molecule[h, L.WINDOW_PREVIOUS]
    if h == m or h < 0:
        return False
    if not near(s, s.work, p, s.mol[h, L.MOL_FIRST] + j - s.mol[m, L.MOL_FIRST], far, ticks, remainder):
        return False
    request_rollback(s, m, s.window_molecule[h, L.WINDOW_NUMBER])
    return True
