"""What is due at one instant with a contact: what joins it, all contacts of its molecules then, and in which order.

An event's scratch is the sector's: `group` and `offset` are its member molecules and where each is in the workspace;
`contacts`, `tied`, `normals`, `growths` and `sizes` have a row for each contact. Until the impulses are known, `sizes`
says which contacts close within half of TIE_TIME (`_closing`).
"""

import numpy as np

from hpcchain.contact.impulse import approach, lane, separation
from hpcchain.contact.pair import NOISE, curve
from hpcchain.contact.variational_law import takes_law
from hpcchain.jit.decorators import apart, inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import bounds as time_span
from hpcchain.layout.segment_bits import struck
from hpcchain.propagators.interface import iterations, load, note_iterations, project
from hpcchain.propagators.steps.step_molecule import steps_excess
from hpcchain.sector.queue.event_order import begins_later
from hpcchain.sector.search.broad_phase import all_listed, looking_back, within_reach
from hpcchain.sector.search.earliest_event import joined
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.speculation.rollback import request_rollback

ANY_MOLECULE = 2**62


@apart
def bring(s, o, m, ticks, rest):
    """Bring molecule m to a time in the workspace and onto its bonds; return the energy that this took (`project`)."""
    first = s.mol[m, L.MOL_FIRST]
    make_own_series(s, m)
    dt = time_span(ticks, rest, s.starts[first, L.START_TICKS], s.starts[first, L.START_REM], s.par[L.TICK])
    load(s.work, o, s.mol, m, s.table, s.graph, s.series, s.starts, dt, s.stepper)
    if dt != 0.0:
        note_iterations(s.count, L.N_NODES, iterations(s.work, o, s.mol, m, s.graph, s.stepper))
    if s.par[L.LAW] != 0.0 and takes_law(s.table, s.mol, m) and _struck(s.segment, first, s.mol[m, L.MOL_BEADS]):
        excess = steps_excess(s.work, o, s.mol[m, L.MOL_TILES], s.graph, s.mol[m, L.MOL_GRAPH])
        s.work[excess] = s.timing[m, L.STEP_ENERGY] - kinetic_energy(s.work, o, s.mol[m, L.MOL_TILES])
    return project(s.work, o, s.mol, m, s.graph, s.stepper)


@kernel
def _struck(segment, first, n):
    """Whether a contact began these beads' segment: then that contact's law has set the energy of its step."""
    for i in range(first, first + n):
        if struck(segment, i) != 0:
            return True
    return False


@kernel
def kinetic_energy(work, o, nt):
    """Return the kinetic energy of the molecule in the workspace at o [mass length^2 / time^2]."""
    energy = 0.0
    for t in range(nt):
        w = o + t * W.TILE
        for k in range(W.ROW):
            if work[w + W.INVM + k % W.LANES] > 0.0:
                energy += 0.5 * work[w + W.COEF + W.ROW + k] ** 2 / work[w + W.INVM + k % W.LANES]
    return energy


@kernel
def join(s, members, m, ticks, rest):
    """Bring molecule m into the group of an event; return its member number, the number of members and `bring`'s."""
    for g in range(members):
        if s.group[g] == m:
            return g, members, 0.0
    if members == L.MOST_MEMBERS:
        return -1, members, 0.0
    if members:
        s.offset[members] = s.offset[members - 1] + s.mol[s.group[members - 1], L.MOL_ROOM]
    else:
        s.offset[0] = 0
    s.group[members] = m
    return members, members + 1, bring(s, s.offset[members], m, ticks, rest)


@apart
def gather_ties(s, i_main, j_main, members, ticks, rest):
    """List all contacts at this instant that involve the event's two molecules, in the order of their ids.

    Touching within TIE_GAP and approaching counts. A third molecule in contact with either joins the group; its own
    further contacts do not. Of more than MOST_MEMBERS molecules or MOST_TIES contacts those of the lowest ids are
    taken, and the others' events come after.

    Parameters
    ----------
    s : Sector
        `group` and `offset` hold the event's own molecules, and on return those that joined. Contact k is row k of
        `contacts`, `tied`, `normals` and `growths` on return.
    i_main, j_main : int
        The event's own contact: bead, and other bead or wall code.
    members : int
        How many the event's own molecules are.
    ticks, rest : float
        Time of the event.

    Returns
    -------
    count, members : int
        How many contacts and members there are.
    others : bool
        Whether any contact but the event's own closes within half of TIE_TIME. That depends on the molecules alone, and
        such a contact is due for everyone who looks, so it, and not who happened to look, decides whether contacts are
        resolved together.
    """
    core = members
    highest = ANY_MOLECULE
    count = -1
    while count < 0:
        count, members, highest = _touching(s, core, highest, ticks, rest)
    others = False
    for k in range(count):
        main = (s.tied[k, L.FIRST_BEAD] == i_main and s.tied[k, L.SECOND_BEAD] == j_main) or (
            s.tied[k, L.SECOND_BEAD] == i_main and s.tied[k, L.FIRST_BEAD] == j_main
        )
        others = others or (s.sizes[k] != 0.0 and not main)
    _sort_members(s.mol, s.group, s.offset, core, members, s.contacts, count)
    _sort_ties(s, count)
    return count, members, others


@kernel
def _touching(s, core, highest, ticks, rest):
    """List the contacts of the first `core` members with each other, walls and molecules up to number `highest`.

    Returns their number, that of the members, and `highest`; where the members do not suffice -1, and the `highest` to
    try next, without the last of those that touch: in the end these are the lowest ones, however lists name them.
    """
    scale = s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * (ticks * s.par[L.TICK] + rest)
    members = core
    count = 0
    continuous = s.stepper is None
    for g in range(core):
        start = s.mol[s.group[g], L.MOL_FIRST]
        for b in range(s.mol[s.group[g], L.MOL_BEADS]):
            i = start + b
            p = lane(s.offset[g], b)
            for e in range(within_reach(s, i, 0.0) if continuous else all_listed(s, i)):
                j = s.found[e]
                m = s.segment[j, L.MOLECULE]
                inner = m == s.group[0] or (core > 1 and m == s.group[1])
                if inner and s.next_event[j, L.BEAD_ID] < s.next_event[i, L.BEAD_ID]:
                    continue
                distance = (s.bounds[i, L.RADIUS] + s.bounds[j, L.RADIUS]) * scale
                if not inner and (s.mol[m, L.MOL_ID] > highest or not _near(s, s.work, p, j, distance, ticks, rest)):
                    continue
                h, members, _ = join(s, members, m, ticks, rest)
                if h < 0:
                    return -1, core, _last_number(s.mol, s.group, core, members, m) - 1
                if not _direct_bond(s, p, _place(s, h, j), i, j):
                    count = _pair_tie(s, g, i, h, j, scale, count)
            if s.par[L.WALLS] != 0.0:
                count = _wall_ties(s, g, i, scale, count)
    return count, members, highest


@kernel
def _place(s, g, i):
    """Return where in the workspace bead i, of member g, is."""
    return lane(s.offset[g], i - s.mol[s.group[g], L.MOL_FIRST])


@kernel
def _last_number(mol, group, core, members, m):
    """Return the highest global number of the members that are not the event's own, and of molecule m."""
    number = mol[m, L.MOL_ID]
    for g in range(core, members):
        number = max(number, mol[group[g], L.MOL_ID])
    return number


@kernel
def _sort_members(mol, group, offset, core, members, contacts, count):
    """Order the members that are not the event's own by their numbers, so that sums do not depend on list order."""
    for k in range(core + 1, members):
        at = k
        while at > core and mol[group[at], L.MOL_ID] < mol[group[at - 1], L.MOL_ID]:
            group[at], group[at - 1] = group[at - 1], group[at]
            offset[at], offset[at - 1] = offset[at - 1], offset[at]
            for c in range(count):
                for side in range(0, 4, 2):
                    if contacts[c, side] == at:
                        contacts[c, side] = at - 1
                    elif contacts[c, side] == at - 1:
                        contacts[c, side] = at
            at -= 1


@kernel
def rewind_touching(s, members, ticks, rest, depth, lower, higher):
    """Request a rollback of those that touch the event's molecules now but have been carried on since.

    The event's key is (ticks, rest, depth, lower, higher): of one instant, too, what comes later may have been done.
    """
    scale = s.par[L.GROWTH] + s.par[L.GROWTH_RATE] * (ticks * s.par[L.TICK] + rest)
    continuous = s.stepper is None  # where segments begin just where those before them end (`looking_back`)
    back = looking_back(s)
    for g in range(members):
        start = s.mol[s.group[g], L.MOL_FIRST]
        for b in range(s.mol[s.group[g], L.MOL_BEADS]):
            i = start + b
            for e in range(within_reach(s, i, back) if continuous else all_listed(s, i)):
                j = s.found[e]
                m = s.segment[j, L.MOLECULE]
                h = m
                while h >= 0 and begins_later(s, s.mol[h, L.MOL_FIRST], ticks, rest, depth, lower, higher):
                    h = s.mol[h, L.MOL_PREVIOUS]
                if h == m or h < 0:
                    continue
                r = s.mol[h, L.MOL_FIRST] + j - s.mol[m, L.MOL_FIRST]
                distance = (s.bounds[i, L.RADIUS] + s.bounds[j, L.RADIUS]) * scale
                if _near(s, s.work, lane(s.offset[g], b), r, distance, ticks, rest):
                    request_rollback(s, m, s.mol[h, L.MOL_NUMBER])


@apart
def _near(s, work, p, j, distance, ticks, rest):
    """Whether a bead, read off its segment in row j, touches the bead at place p."""
    dt = time_span(ticks, rest, s.starts[j, L.START_TICKS], s.starts[j, L.START_REM], s.par[L.TICK])
    if dt < 0.0:
        return False
    far = distance * (1.0 + s.par[L.SIMULTANEOUS_GAP])
    bend = 0.5 * s.bounds[j, L.ACCELERATION] * dt * dt
    x = s.starts[j, L.X] + s.starts[j, L.VX] * dt
    y = s.starts[j, L.Y] + s.starts[j, L.VY] * dt
    z = s.starts[j, L.Z] + s.starts[j, L.VZ] * dt
    if not _within(s.par, work, p, far + bend, x, y, z):
        return False
    make_own_series(s, s.segment[j, L.MOLECULE])
    x, y, z, u, v, w = curve(s.starts, s.segment, s.series, j, dt)
    return _within(s.par, work, p, far, x, y, z)


@kernel
def _within(par, work, p, far, x, y, z):
    """Whether a point is within a distance of the bead at place p."""
    dx = work[p + W.COEF] - x
    dy = work[p + W.COEF + W.LANES] - y
    dz = work[p + W.COEF + 2 * W.LANES] - z
    dx -= par[L.SIZE] * np.rint(dx * par[L.INVERSE])
    dy -= par[L.SIZE + L.Y] * np.rint(dy * par[L.INVERSE + L.Y])
    dz -= par[L.SIZE + L.Z] * np.rint(dz * par[L.INVERSE + L.Z])
    return dx * dx + dy * dy + dz * dz < far * far


@inlined
def _closing(par, gap, rate, speed):
    """Return 1 where a gap closes within half of TIE_TIME, else 0: at rest on one another is no contact that is due.

    `speed` bounds the rate; below NOISE of it the search, too, finds none with what has just been hit.
    """
    return 1.0 if gap < -0.5 * par[L.SIMULTANEOUS] * rate and rate < -NOISE * speed else 0.0


@kernel
def _pair_tie(s, g, i, h, j, scale, count):
    """List the contact of bead i, of member g, and bead j, of member h, if it is one; return how many there are."""
    if s.next_event[j, L.BEAD_ID] < s.next_event[i, L.BEAD_ID]:
        g, i, h, j = h, j, g, i
    p = _place(s, g, i)
    q = _place(s, h, j)
    sigma = s.bounds[i, L.RADIUS] + s.bounds[j, L.RADIUS]
    n = s.normals[count]
    r = separation(s.par, s.work, p, q, n)
    s.growths[count] = sigma * s.par[L.GROWTH_RATE]
    gap = r - sigma * scale
    rate = approach(s.work, p, q, n) - s.growths[count]
    if gap > s.par[L.SIMULTANEOUS_GAP] * sigma or rate >= 0.0:
        return count
    s.sizes[count] = _closing(s.par, gap, rate, s.bounds[i, L.SPEED] + s.bounds[j, L.SPEED])
    s.contacts[count, L.MEMBER] = g
    s.contacts[count, L.MEMBER_BEAD] = i - s.mol[s.group[g], L.MOL_FIRST]
    s.contacts[count, L.OTHER_MEMBER] = h
    s.contacts[count, L.OTHER_BEAD] = j - s.mol[s.group[h], L.MOL_FIRST]
    s.tied[count, L.FIRST_BEAD] = i
    s.tied[count, L.SECOND_BEAD] = j
    return _one_more(s, count)


@kernel
def _one_more(s, count):
    """Return the number of contacts after one more; there is room for one too many, and then the last one goes."""
    if count == L.MOST_TIES:
        _sort_ties(s, count + 1)
        return count
    return count + 1


@kernel
def _wall_ties(s, g, i, scale, count):
    """List the contacts of bead i, of member g, with walls; return how many there are."""
    p = _place(s, g, i)
    radius = s.bounds[i, L.RADIUS]
    growth = radius * s.par[L.GROWTH_RATE]
    for axis in range(3):
        for upper in range(2):
            wall = s.par[L.LOWER_WALL + axis] if upper == 0 else s.par[L.UPPER_WALL + axis]
            if wall == np.inf or wall == -np.inf:
                continue
            sign = 1.0 if upper == 0 else -1.0
            gap = sign * (s.work[p + W.COEF + W.LANES * axis] - wall) - radius * scale
            rate = sign * s.work[p + W.COEF + W.ROW + W.LANES * axis] - growth
            if gap > s.par[L.SIMULTANEOUS_GAP] * radius or rate >= 0.0:
                continue
            s.sizes[count] = _closing(s.par, gap, rate, s.bounds[i, L.SPEED])
            s.normals[count, :] = 0.0
            s.normals[count, axis] = sign
            s.growths[count] = growth
            s.contacts[count, L.MEMBER] = g
            s.contacts[count, L.MEMBER_BEAD] = i - s.mol[s.group[g], L.MOL_FIRST]
            s.contacts[count, L.OTHER_MEMBER] = -1
            s.contacts[count, L.OTHER_BEAD] = 0
            s.tied[count, L.FIRST_BEAD] = i
            s.tied[count, L.SECOND_BEAD] = -1 - axis - 3 * upper
            count = _one_more(s, count)
    return count


@kernel
def _sort_ties(s, count):
    """Order contacts by (first id, second id or wall code), so that rounding does not depend on list order."""
    for k in range(1, count):
        at = k
        while at > 0 and _before(s.next_event, s.tied, at, at - 1):
            for c in range(4):
                s.contacts[at, c], s.contacts[at - 1, c] = s.contacts[at - 1, c], s.contacts[at, c]
            for c in range(3):
                s.normals[at, c], s.normals[at - 1, c] = s.normals[at - 1, c], s.normals[at, c]
            for c in range(2):
                s.tied[at, c], s.tied[at - 1, c] = s.tied[at - 1, c], s.tied[at, c]
            s.growths[at], s.growths[at - 1] = s.growths[at - 1], s.growths[at]
            s.sizes[at], s.sizes[at - 1] = s.sizes[at - 1], s.sizes[at]
            at -= 1


@kernel
def _before(next_event, tied, a, b):
    """Whether contact a comes before contact b in the order of `_sort_ties`."""
    first = next_event[tied[a, L.FIRST_BEAD], L.BEAD_ID] - next_event[tied[b, L.FIRST_BEAD], L.BEAD_ID]
    if first != 0:
        return first < 0
    x = next_event[tied[a, L.SECOND_BEAD], L.BEAD_ID] if tied[a, L.SECOND_BEAD] >= 0 else tied[a, L.SECOND_BEAD]
    y = next_event[tied[b, L.SECOND_BEAD], L.BEAD_ID] if tied[b, L.SECOND_BEAD] >= 0 else tied[b, L.SECOND_BEAD]
    return x < y


@kernel
def _direct_bond(s, p, q, i, j):
    """Whether two beads, at places p and q, never collide with each other, and are no images."""
    if not joined(s, i, j):
        return False
    for c in range(3):
        size = s.par[L.SIZE + c]
        if size != 0.0 and np.rint((s.work[p + W.COEF + W.LANES * c] - s.work[q + W.COEF + W.LANES * c]) / size) != 0.0:
            return False
    return True
