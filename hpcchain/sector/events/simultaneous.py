"""What is due at one instant with a contact is resolved together with it: `company`.

`gather_ties` finds the molecules that join it, all their contacts then, and their order. About a stretch of a long
chain its own beads decide whether anything else touches: others are as good as not there. If so, all of the chain takes
part, with all of its contacts.
"""

import numpy as np

from hpcchain.contact.coefficients import any_rough, restitutions
from hpcchain.contact.falling import fallen, inverse_mass
from hpcchain.contact.laws.contact import Outcome, along_normal
from hpcchain.contact.laws.joint import offset_in_tie, tied_impulses
from hpcchain.contact.laws.joint_rough import rub_together, tangential_impulse
from hpcchain.contact.laws.variational import any_takes_law, discrete_share, keep_velocities
from hpcchain.contact.laws.wet import bridges_fit
from hpcchain.contact.pair import NOISE, curve
from hpcchain.contact.separation import approach, common_speed, nearest, separation
from hpcchain.contact.virial import lever
from hpcchain.contact.walls import wall_gap, wall_normal
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import age, time_of_event, time_span
from hpcchain.layout.segment_bits import (
    is_chain_part,
    member_of,
    partner_of,
    radii_of,
    radius_of,
    row_before,
    series_error_of,
    tied_with,
)
from hpcchain.sector.events.members import (
    AGAIN,
    ALONE,
    BACK,
    FULL,
    MET,
    bring,
    chains_known,
    index_in,
    join,
    last_number,
    number_of,
    sort_members,
)
from hpcchain.sector.events.note import graze, note, note_rootless
from hpcchain.sector.queue.event_order import ids_of, in_queue, key_at_hand, key_of, segment_end
from hpcchain.sector.queue.tournament import others_before
from hpcchain.sector.search.broad_phase import all_listed, looking_back, within_sweep
from hpcchain.sector.search.neighbour_lists import excluded, joined
from hpcchain.sector.segments.new_segment import begin, close_rows, make_own_series
from hpcchain.sector.segments.stretch import begin_all
from hpcchain.sector.speculation.rollback import request_rollback, roll_back

ANY_MOLECULE = 2**62


@outlined
def gather_ties(s, i_main, j_main, members):
    """List all contacts at this instant that involve the event's two molecules, in the order of their ids.

    They are written to `contacts`, `tied`, `normals`, `growths`, and to `impulses` whether each closes (`_closing`).
    Touching within SIMULTANEOUS_GAP and approaching counts; by the rule MOREAU, resting on one another does, too. A
    third molecule in contact with either joins the group; its own further contacts do not, but by the rules GENERALISED
    and MOREAU, which take all that hangs together. Of more than MOST_MEMBERS molecules or MOST_TIES contacts those of
    the lowest ids are taken, and the others' events come after; where the event's own is not among them it is done
    alone. Returns the numbers of contacts and of members, and whether any contact but the event's own (i_main, j_main)
    closes within half of SIMULTANEOUS, or by MOREAU is there at all. That depends on the molecules alone: every search
    that meets such a contact finds it due. So the contact, and not which search found it, decides whether contacts are
    resolved together.
    """
    core = members
    highest = np.int64(ANY_MOLECULE)  # of the type that it may become: another would be compiled for itself
    count = -1
    while count < 0:
        count, members, highest = _touching(s, core, highest)
    beads = s.tied
    others = False
    own = count < L.MOST_TIES  # where not all fit, the event's own contact may have none
    for k in range(count):
        main = (beads[k, L.FIRST_BEAD] == i_main and beads[k, L.SECOND_BEAD] == j_main) or (
            beads[k, L.SECOND_BEAD] == i_main and beads[k, L.FIRST_BEAD] == j_main
        )
        own = own or main
        others = others or ((s.impulses[k] != 0.0 or counts_resting(s)) and not main)
    sort_members(s, core, members, count)
    _sort_ties(s, count)
    return count, members, others and own


@inlined
def near_to(s, i, back):
    """Write to `found` the beads that bead i may touch, on request also those that did not long ago; how many."""
    if s.stepper is None:  # where segments begin just where those before them end (`looking_back`)
        return within_sweep(s, i, looking_back(s) if back else 0.0, 0)
    return all_listed(s, i, 0)


@inlined
def _scale(s):
    """Return the contact distances at the event at hand, as a fraction of the full ones."""
    return s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * time_of_event(s)


@inlined
def _touching_at(s, i, j):
    """Return the distance at which beads i and j touch at the event at hand [length]."""
    return radii_of(s, i, j) * _scale(s)


@inlined
def counts_resting(s):
    """Whether beads that rest on one another take part in what happens at one instant."""
    if s.extended is not None:
        return s.par[L.INSTANT_RULE] == L.MOREAU
    return False


@inlined
def _separates(s, rate, speed):
    """Whether beads whose gap grows at a rate are not in contact; `speed` bounds the rate [length / time]."""
    return rate > NOISE * speed if counts_resting(s) else rate >= 0.0


@inlined
def _takes_all(s):
    """Whether all that contacts join to the event's molecules takes part, not those alone that touch these."""
    if s.extended is not None:
        return s.par[L.INSTANT_RULE] != L.JOINT
    return False


@kernel
def _touching(s, core, highest):
    """List the contacts of the first `core` members with each other, walls and molecules up to number `highest`.

    By some rules those of all that hang together with them follow.

    Returns their number, that of the members, and `highest`; where the members do not suffice -1, and the `highest` to
    try next, without the last of those that touch: in the end these are the lowest ones, however lists name them.
    """
    members = core
    count = np.int64(0)
    reached = (np.int64(1) << core) - 1  # bits of the event's members and of those that contacts have joined to them
    done = np.int64(0)
    while reached & ~done != 0:
        g = 0
        while ((reached & ~done) >> g) & 1 == 0:
            g += 1
        done |= np.int64(1) << g
        count, members, joined_to, highest = _add_contacts(s, g, core, members, count, done, highest)
        if count < 0:
            break
        if _takes_all(s):
            reached |= joined_to
    return count, members, highest


@kernel
def _add_contacts(s, g, core, members, count, done, highest):
    """List the contacts of member g but those with members that are done; return what the loop goes on with."""
    reached = np.int64(0)
    offset = s.member[g, L.MEMBER_OFFSET]
    start, last = s.mol[s.member[g, L.MEMBER_ROW], L.MOL_FIRST], s.member[g, L.LAST_ROW]
    for i in range(start, s.mol[last, L.MOL_FIRST] + s.mol[last, L.MOL_BEADS]):
        b = i - start
        p = W.bead_offset(offset, b)
        for e in range(near_to(s, i, False)):
            j = s.found[e]
            m = member_of(s, s.segment[j, L.MOLECULE])
            h = index_in(s, members, m)
            if h == g and s.bead_id[j] < s.bead_id[i]:
                continue
            if h >= 0 and h != g and (done >> h) & 1:
                continue
            if h < 0 and (number_of(s, m) > highest or not near(s, p, j, _touching_at(s, i, j))):
                continue
            h, members, _ = join(s, members, m)
            if h < 0:
                return np.int64(-1), core, reached, last_number(s, core, members, m) - 1
            other = j - s.mol[m, L.MOL_FIRST]
            q = W.bead_offset(s.member[h, L.MEMBER_OFFSET], other)
            if _direct_bond(s, p, q, i, j):
                continue
            row = count
            s.tied[row, L.FIRST_BEAD] = -1
            count = _pair_tie(s, p, q, g, b, h, other, i, j, count)
            if s.tied[row, L.FIRST_BEAD] >= 0:
                reached |= np.int64(1) << h
        count = _unlisted_ties(s, offset, g, b, i, count)
    return count, members, reached, highest


@kernel
def _request_back(s, low, high, offset):
    """Request a rollback of those that touch beads now but have been carried on past the event at hand; how many.

    The beads are those of molecule rows `low` to `high`, which are in the workspace from `offset` on. Events
    of one instant, too, may have been carried out although they come later.
    """
    requests = 0
    key = key_at_hand(s)
    first = s.mol[low, L.MOL_FIRST]
    for i in range(first, s.mol[high, L.MOL_FIRST] + s.mol[high, L.MOL_BEADS]):
        for e in range(near_to(s, i, True)):
            j = s.found[e]
            m = s.segment[j, L.MOLECULE]
            h = m
            while h >= 0 and key_of(s, s.mol[h, L.MOL_FIRST]) > key:
                h = row_before(s, h)
            if h == m or h < 0:
                continue
            r = s.mol[h, L.MOL_FIRST] + j - s.mol[m, L.MOL_FIRST]
            if near(s, W.bead_offset(offset, i - first), r, _touching_at(s, i, j)):
                request_rollback(s, m, np.int64(s.window_molecule[h, L.WINDOW_NUMBER]))
                requests += 1
    return requests


@outlined
def near(s, p, j, distance):
    """Whether a bead, read off its segment in row j, touches the bead at offset p, or may, its series being wrong."""
    dt = age(s, j)
    if dt < 0.0:
        return False
    far = distance * (1.0 + L.SIMULTANEOUS_GAP) + series_error_of(s, s.segment[j, L.MOLECULE])
    fall = dt
    x = s.starts[j, L.X] + s.starts[j, L.VX] * dt
    y = s.starts[j, L.Y] + s.starts[j, L.VY] * dt
    z = s.starts[j, L.Z] + s.starts[j, L.VZ] * dt
    if s.extended is not None:
        fall = fallen(s, j, dt)
        half = 0.5 * fall * fall
        x += s.par[L.GRAVITY] * half
        y += s.par[L.GRAVITY + L.Y] * half
        z += s.par[L.GRAVITY + L.Z] * half
    bend = 0.5 * s.bounds[j, L.ACCELERATION] * fall * fall
    if not _within(s, p, far + bend, x, y, z):
        return False
    make_own_series(s, s.segment[j, L.MOLECULE])
    x, y, z, u, v, w = curve(s, j, dt)
    return _within(s, p, far, x, y, z)


@kernel
def _within(s, p, far, x, y, z):
    """Whether a point is within a distance of the bead at offset p."""
    px, py, pz = W.vector(s.work, p + W.COEF)
    dx, dy, dz = nearest(s, px - x, py - y, pz - z)
    return dx * dx + dy * dy + dz * dz < far * far


@inlined
def _closing(s, gap, rate, speed):
    """Return 1 where a gap closes within half of SIMULTANEOUS, else 0: beads at rest on one another are not due."""
    # `speed` bounds the rate; below NOISE of it the search, too, finds none with what has just been hit.
    return 1.0 if gap < -0.5 * s.par[L.SIMULTANEOUS] * rate and rate < -NOISE * speed else 0.0


@kernel
def _pair_tie(s, p, q, g, b, h, bj, i, j, count):
    """Note a contact of two beads, i of member g and j of member h, if it is one; return the number of contacts."""
    n, sigma = s.normals[count], radii_of(s, i, j)
    if s.extended is not None:
        if inverse_mass(s, i) == 0.0 and inverse_mass(s, j) == 0.0:
            return count
    if s.bead_id[j] < s.bead_id[i]:
        g, b, h, bj, i, j, p, q = h, bj, g, b, j, i, q, p
    r = separation(s, p, q, n)
    s.growths[count] = sigma * s.par[L.GROWTH_RATE]
    gap = r - _touching_at(s, i, j)
    rate = approach(s.work, p, q, n) - s.growths[count]
    speed = s.bounds[i, L.SPEED] + s.bounds[j, L.SPEED]
    if gap > L.SIMULTANEOUS_GAP * sigma or _separates(s, rate, speed):
        return count
    s.impulses[count] = _closing(s, gap, rate, speed)
    return _one_more(s, count, g, b, h, bj, i, j)


@kernel
def _unlisted_ties(s, offset, g, b, i, count):
    """Note bead i's contacts that no list has, b of member g at `offset`: with walls, at limits; return how many."""
    p = W.bead_offset(offset, b)
    if s.extended is not None:
        for e in range(s.limited_row[i], s.limited_row[i + 1]):
            j = np.int64(s.limited[e])
            if s.limits[e, L.ACTS] != 0.0 and s.bead_id[i] < s.bead_id[j]:
                q = W.bead_offset(offset, b + j - i)
                count = _pair_tie(s, p, q, g, b, g, b + j - i, i, j, count)
    if s.par[L.WALLS] != 0.0:
        for number in range(len(s.walls)):
            count = _wall_tie(s, p, g, b, i, number, count)
    return count


@kernel
def _one_more(s, count, g, b, h, other, i, j):
    """Write down whose contact one more is; return their number. One too many fits, and then the last one goes."""
    s.contacts[count, L.MEMBER], s.contacts[count, L.MEMBER_BEAD] = g, b
    s.contacts[count, L.OTHER_MEMBER], s.contacts[count, L.OTHER_BEAD] = h, other
    s.tied[count, L.FIRST_BEAD], s.tied[count, L.SECOND_BEAD] = i, j
    if count == L.MOST_TIES:
        _sort_ties(s, count + 1)
        return count
    return count + 1


@kernel
def _wall_tie(s, p, g, b, i, number, count):
    """Note the contact of bead i, of member g, with a wall, if it is one; return the number of contacts."""
    radius = radius_of(s, i)
    x, y, z = W.vector(s.work, p + W.COEF)
    gap = wall_gap(s, number, x, y, z) - radius * _scale(s)
    if gap > L.SIMULTANEOUS_GAP * radius or _alone(s, i, number):
        return count
    growth = radius * s.par[L.GROWTH_RATE] + wall_normal(s, number, x, y, z, s.normals[count])
    rate = approach(s.work, p, -1, s.normals[count]) - growth
    if _separates(s, rate, s.bounds[i, L.SPEED]):
        return count
    s.impulses[count] = _closing(s, gap, rate, s.bounds[i, L.SPEED])
    s.growths[count] = growth
    return _one_more(s, count, g, b, np.int64(-1), np.int64(0), i, np.int64(-1 - number))


@inlined
def _alone(s, i, number):
    """Whether bead i meets a wall by itself, whatever else is due then: it is fixed, or the wall thermal."""
    if s.extended is not None:
        return s.walls[number, L.WALL_TEMPERATURE] > 0.0 or inverse_mass(s, i) == 0.0
    return False


@kernel
def _sort_ties(s, count):
    """Order contacts by (first id, second id or wall code), so that rounding does not depend on list order."""
    contacts, beads, normals, growths, closing = s.contacts, s.tied, s.normals, s.growths, s.impulses
    for k in range(1, count):
        at = k
        while at > 0 and _comes_before(s, at, at - 1):
            for c in range(4):
                contacts[at, c], contacts[at - 1, c] = contacts[at - 1, c], contacts[at, c]
            for c in range(3):
                normals[at, c], normals[at - 1, c] = normals[at - 1, c], normals[at, c]
            for c in range(2):
                beads[at, c], beads[at - 1, c] = beads[at - 1, c], beads[at, c]
            growths[at], growths[at - 1] = growths[at - 1], growths[at]
            closing[at], closing[at - 1] = closing[at - 1], closing[at]
            at -= 1


@kernel
def _comes_before(s, a, b):
    """Whether contact a of `tied`, whose bead of the lower id is first, comes before contact b."""
    lower, higher = ids_of(s, s.tied[a, L.FIRST_BEAD], s.tied[a, L.SECOND_BEAD])
    other_lower, other_higher = ids_of(s, s.tied[b, L.FIRST_BEAD], s.tied[b, L.SECOND_BEAD])
    return lower < other_lower or (lower == other_lower and higher < other_higher)


@kernel
def _direct_bond(s, p, q, i, j):
    """Whether two beads, at offsets p and q, never collide with each other, and are no images."""
    if not joined(s, i, j):
        return False
    for c in range(3):
        size = s.par[L.SIZE + c]
        if size != 0.0 and np.rint((s.work[p + W.COEF + W.LANES * c] - s.work[q + W.COEF + W.LANES * c]) / size) != 0.0:
            return False
    return True


@inlined
def _is_due(s, ticks, remainder):
    """Whether a time is within SIMULTANEOUS of the event at hand."""
    return abs(time_span(ticks, remainder, s.par[L.NOW], s.par[L.NOW_REM], s.par[L.TICK])) < s.par[L.SIMULTANEOUS]


@inlined
def _has_due(s, i):
    """Whether bead i's event is at this instant."""
    return _is_due(s, s.event_time[i, L.EVENT_TICKS], s.event_time[i, L.EVENT_REM])


@kernel
def others_due(s, first, n, a, b):
    """Whether another bead of the range than a and b has an event at this instant."""
    for i in range(first, first + n):
        if i != a and i != b and _has_due(s, i):
            return True
    return False


@inlined
def crowded_at(s, i, partner, m, other):
    """Whether anything else is due at this instant, so that contacts may have to be resolved together."""
    if s.mol[m, L.MOL_OWNERSHIP] != L.OWNED or (other >= 0 and s.mol[other, L.MOL_OWNERSHIP] != L.OWNED):
        return True  # what touches a ghost elsewhere is not in this queue
    if counts_resting(s):
        return True
    latest = in_queue(s, s.par[L.NOW], s.par[L.NOW_REM]) + s.par[L.SIMULTANEOUS]
    if others_before(s, m, other, latest):
        return True
    if tied_with(s.next_event, i) != 0 or (partner >= 0 and tied_with(s.next_event, partner) != 0):
        return True
    if partner >= 0 and partner_of(s.next_event, partner) != i and _has_due(s, partner):
        return True  # an event of its own, found before this one
    for k in (m, other):
        if k >= 0:
            end_ticks, end_remainder = segment_end(s, k)
            if _is_due(s, end_ticks, end_remainder):
                return True  # its next segment, in which others may be due, has not been searched
            n = s.mol[k, L.MOL_BEADS]
            if n > 1 and others_due(s, s.mol[k, L.MOL_FIRST], n, i, partner):
                return True
    return False


TIES_ROW = 2  # of the rows for contacts: those before it have the normal of the contact at hand, and scratch


@outlined
def company(s, i, partner, a, b, one, is_straggler):
    """Resolve a contact together with all others at its instant, if there are any.

    Parameters
    ----------
    i, partner, is_straggler :
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
    core = np.int64(1 if b.row < 0 or one else 2)
    status = ALONE
    if s.stretched is not None:
        if a.part or b.part:
            about = _look_about(s, i, partner, a, b, one, is_straggler)
            if about != AGAIN:
                return about, none
            status, core = _join_whole(s, a, b)
            if status != AGAIN:
                return status, none
    if is_straggler:
        _set_touching_back(s, core)
    found, members, others = gather_ties(s, i, partner, core)
    if s.extended is not None and is_straggler and s.par[L.INSTANT_RULE] != L.JOINT:
        while _set_touching_back(s, members) != 0:
            found, members, others = gather_ties(s, i, partner, core)
    known = chains_known(s, core, members)
    if known == BACK:
        return BACK, none
    if not bridges_fit(s, found):
        return FULL, none
    keep_velocities(s, members)
    if found > 1 and others and known == AGAIN and _resolve_together(s, members, found):
        _finish_together(s, members, found)
        for k in range(members):
            if s.member[k, L.MEMBER_ROW] >= 0:
                _begin_whole(s, k)
        return MET, members
    return status, none


@kernel
def _join_whole(s, a, b):
    """Bring all of the long chains and molecules that meet; return AGAIN, or why not, and how many they are."""
    first = second = member_of(s, a.row)
    last = np.int64(1)
    if b.row >= 0:
        second = member_of(s, b.row)
        last = np.int64(2)
    s.member[0, L.MEMBER_ROW], s.member[1, L.MEMBER_ROW] = first, second
    known = chains_known(s, 0, last)
    if known != AGAIN:
        return known, last
    _, members, _ = join(s, np.int64(0), first)
    _, members, _ = join(s, members, second)
    return AGAIN, members


@kernel
def _set_touching_back(s, members):
    """Set back those that touch the first members of the event but have been carried past it; how many."""
    count = 0
    for g in range(members):
        count += _request_back(s, s.member[g, L.MEMBER_ROW], s.member[g, L.LAST_ROW], s.member[g, L.MEMBER_OFFSET])
    roll_back(s)
    return count


@inlined
def _resolve_together(s, members, found):
    """Apply the impulses of several contacts at one instant; return whether there are any that part all of them."""
    restitutions(s, found)
    lost = _lost_in_ties(s, found)
    for k in range(found):
        s.matrix[L.BEFORE_ROW, k] = _speed_in_tie(s, k)
    return tied_impulses(s, members, found, lost) == 0


@inlined
def _speed_in_tie(s, k):
    """Return what `common_speed` does of the beads of tied contact k."""
    return common_speed(s.work, offset_in_tie(s, k, 0), offset_in_tie(s, k, 1), s.normals[k])


@inlined
def _finish_together(s, members, found):
    """Close the segments of those that several contacts involve, and count and log each contact."""
    impulses = s.impulses
    s.count[L.N_TIES] += 1
    _keep_used(s, members, found)
    rough = any_rough(s, found)
    for k in range(members):
        if s.member[k, L.MEMBER_ROW] >= 0:
            close_rows(s, s.member[k, L.FIRST_ROW], s.member[k, L.LAST_ROW])
    if s.extended is not None and rough:
        rub_together(s, found)
    kappa = share_of_law(s, members)
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
        note(s, i, j, s.normals[k], done, lx, ly, lz, gained)
        if kappa == 0.0:
            note_rootless(s)


@kernel
def _begin_whole(s, k):
    """Start the new segment of member k, or those of all its parts."""
    m, offset = s.member[k, L.MEMBER_ROW], s.member[k, L.MEMBER_OFFSET]
    if s.stretched is not None:
        if is_chain_part(s, m):
            begin_all(s, offset, s.member[k, L.MEMBER_TILES], m, s.member[k, L.LAST_ROW])
            return
    begin(s, offset, m)


@kernel
def _lost_in_ties(s, found):
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
                projection_loss += bring(s, offset, m)
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
def share_of_law(s, members):
    """Return the factor of the exact impulse by the molecules' law; 0: it has no root (`contact.laws.variational`)."""
    if s.stepper is not None:
        if s.par[L.LAW] != 0.0 and any_takes_law(s, members):
            return discrete_share(s, members)
    return 1.0


@outlined
def _look_about(s, i, partner, a, b, one, is_straggler):
    """Return whether anything else touches the sides of a contact of bead i, which are in the workspace.

    Returns ALONE, AGAIN if anything does or, where what touches has been carried on past the event and is requested to
    go back, BACK.
    """
    two = b.row >= 0 and not one
    if is_straggler:
        requests = _request_back(s, a.low, a.high, a.offset + a.before * W.TILE)
        if two:
            requests += _request_back(s, b.low, b.high, b.offset + b.before * W.TILE)
        if requests != 0:
            return BACK
    if _touches_another(s, i, partner, a):
        return AGAIN
    return AGAIN if two and _touches_another(s, i, partner, b) else ALONE


@kernel
def _touches_another(s, main, partner, side):
    """Whether a bead of a side touches anything else than `main` and `partner` do one another."""
    first = s.mol[side.low, L.MOL_FIRST]
    for i in range(first, s.mol[side.high, L.MOL_FIRST] + s.mol[side.high, L.MOL_BEADS]):
        b = side.before * W.LANES + i - first
        p = W.bead_offset(side.offset, b)
        for e in range(near_to(s, i, False)):
            j = s.found[e]
            its_own = (i == main and j == partner) or (i == partner and j == main)
            if not its_own and not excluded(s, i, j) and near(s, p, j, _touching_at(s, i, j)):
                return True
        for k in range(TIES_ROW, _unlisted_ties(s, side.offset, 0, b, i, TIES_ROW)):
            if (i != main or s.tied[k, L.SECOND_BEAD] != partner) and (s.impulses[k] != 0.0 or counts_resting(s)):
                return True
    return False
