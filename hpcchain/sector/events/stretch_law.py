"""What becomes of a contact in which a long chain takes part, whose sides are in the workspace (`stretch_event`).

Its law, its impulse, its part of the virial, and what is logged. A long chain's centre of mass, for the virial, is
carried along: contacts and gravity change its velocity, and a thermostat sets it (`stretch_redraw`).
"""

from hpcchain.contact.coefficients import restitution_of
from hpcchain.contact.impulse import approach, bead_offset, separation
from hpcchain.contact.tc_model import begin_contact, own_restitution
from hpcchain.contact.virial import centre_of_mass, set_tensor
from hpcchain.contact.walls import normal_of, wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import time_span
from hpcchain.layout.segment_parts import radius_of
from hpcchain.sector.events.contact_event import record
from hpcchain.sector.events.crossing import HARD, OUTER, distance_met, note_kind, pass_distance
from hpcchain.sector.events.stretch_reach import of_one_chain
from hpcchain.sector.segments.falling import work_of_fixed


@kernel
def normal_of_sides(s, i, partner, a, b):
    """Write the contact's normal to `normals`; return the rate of the gap and the distance of bead centres."""
    n = s.normals[L.CONTACT_NORMAL]
    p, q, distance = bead_offset(a.offset, a.bead), -1, 0.0
    growth = radius_of(s.radius, i) * s.par[L.GROWTH_RATE]
    if b.row >= 0:
        q = bead_offset(b.offset, b.bead)
        distance = separation(s.par, s.work, p, q, n)
        growth += radius_of(s.radius, partner) * s.par[L.GROWTH_RATE]
    else:
        growth += _normal_of_wall(s, p + W.COEF, -1 - partner, n, s.extended)
    return approach(s.work, p, q, n) - growth, distance


@kernel
def _normal_of_wall(s, at, number, n, extended):
    """Write the normal of a wall at the place in the workspace to n; return how fast the wall comes [length / time]."""
    if extended is not None:
        normal_of(s, number, s.work[at], s.work[at + W.LANES], s.work[at + 2 * W.LANES], n)
        return wall_velocity(s, -1 - number)
    n[:] = 0.0
    n[number % 3] = 1.0 if number < 3 else -1.0
    return 0.0


@kernel
def met(s, i, partner, distance, extended):
    """Return what bead i and another, or a wall, have met (`crossing.distance_met`): HARD, INNER or OUTER."""
    if extended is not None:
        if partner >= 0:
            return distance_met(s, i, partner, distance, extended)
    return HARD


@inlined
def go_apart(border, rate):
    """Whether beads whose distance changes at a rate no longer come to what they have met: a graze."""
    return rate <= 0.0 if border == OUTER else rate >= 0.0


@kernel
def impulse_of(s, i, partner, border, rate, mass, extended):
    """Return the impulse that drives the two apart, and the kind of the event in the log, 0 of a contact.

    Parameters
    ----------
    border : int
        What was `met`.
    rate, mass : float
        Of the gap [length / time]; inverse effective mass.
    extended :
        The sector's option.
    """
    e = restitution_of(s, i, partner, extended)
    if extended is not None:
        if border != HARD:
            return pass_distance(s, i, partner, border, rate, mass)
        if partner < 0:
            e = own_restitution(s, i, partner, e)
    return -(1.0 + e) * rate / mass, 0.0


@kernel
def _fallen(s, c, dt, extended):
    """Return how far what falls gets along an axis in a time dt, and how much faster [length, length / time]."""
    if extended is not None:
        faster = s.par[L.GRAVITY + c] * dt
        return 0.5 * faster * dt, faster
    return 0.0, 0.0


@kernel
def _arm(s, side, c, ticks, remainder):
    """Return component c of the way from a side's bead to its molecule's centre of mass [length]."""
    place = s.work[bead_offset(side.offset, side.bead) + W.COEF + W.LANES * c]
    if not side.part:
        return centre_of_mass(s.work, side.offset, side.tiles, c) - place
    row = s.centre[s.block[side.row, L.BLOCK_CHAIN]]
    dt = time_span(ticks, remainder, row[L.START_TICKS], row[L.START_REM], s.par[L.TICK])
    way = row[L.VX + c] * dt + _fallen(s, c, dt, s.extended)[0]
    return row[c] + way - (place + s.mol[side.row, L.MOL_IMAGE + c] * s.par[L.SIZE + c])


@kernel
def _apart(s, a, b, c):
    """Return component c of the way from bead b to bead a of one chain, as its bonds lead [length]."""
    p, q = bead_offset(a.offset, a.bead) + W.COEF + W.LANES * c, bead_offset(b.offset, b.bead) + W.COEF + W.LANES * c
    apart = s.work[p] - s.work[q]
    if a.offset != b.offset:
        apart += (s.mol[a.row, L.MOL_IMAGE + c] - s.mol[b.row, L.MOL_IMAGE + c]) * s.par[L.SIZE + c]
    return apart


@kernel
def _part_of(s, impulse, c, extended):
    """Return component c of an impulse, its part along the normal given; `tangential` has the rest."""
    if extended is not None:
        return impulse * s.normals[L.CONTACT_NORMAL, c] + s.tangential[c]
    return impulse * s.normals[L.CONTACT_NORMAL, c]


@kernel
def _moment(s, a, b, distance, impulse, ticks, remainder):
    """Return the contact's part of the molecular virial, and write its tensor's [mass length^2 / time]."""
    n, way = s.normals[L.CONTACT_NORMAL], s.normals[L.MOST_TIES]
    inside = of_one_chain(s, a, b)
    moment = 0.0
    for c in range(3):
        way[c] = distance * n[c]
        if inside:  # a contact with an image alone has one (`contact.virial`)
            way[c] -= _apart(s, a, b, c)
            if abs(way[c]) < 0.5 * s.par[L.SIZE + c] or s.par[L.SIZE + c] == 0.0:
                way[c] = 0.0
        else:
            way[c] += _arm(s, a, c, ticks, remainder) - _arm(s, b, c, ticks, remainder)
        moment += _part_of(s, impulse, c, s.extended) * way[c]
    px, py, pz = (
        _part_of(s, impulse, 0, s.extended),
        _part_of(s, impulse, 1, s.extended),
        _part_of(s, impulse, 2, s.extended),
    )
    set_tensor(s.virial_tensor, px, py, pz, way[0], way[1], way[2])
    return moment


@kernel
def _move_centre(s, side, ticks, remainder, impulse, sign):
    """Carry the centre of mass of a side's chain to a time, and change its velocity by an impulse or its opposite."""
    if not side.part:
        return
    row = s.centre[s.block[side.row, L.BLOCK_CHAIN]]
    dt = time_span(ticks, remainder, row[L.START_TICKS], row[L.START_REM], s.par[L.TICK])
    for c in range(3):
        further, faster = _fallen(s, c, dt, s.extended)
        row[c] += row[L.VX + c] * dt + further
        row[L.VX + c] += faster + sign * _part_of(s, impulse, c, s.extended) / row[L.CENTRE_MASS]
    row[L.START_TICKS] = ticks
    row[L.START_REM] = remainder


@kernel
def note_contact(s, log_rows, i, partner, a, b, impulse, kind, distance, ticks, remainder):
    """Note an impulse that has been applied: with chains' centres of mass, in sums and in the log.

    Its part across the normal is in `tangential`; `kind` is that of `impulse_of`.
    """
    if kind == 0.0:
        begin_contact(s.par, s.segment, i)
        if partner >= 0:
            begin_contact(s.par, s.segment, partner)
    moment = 0.0
    if partner >= 0:
        moment = _moment(s, a, b, distance, impulse, ticks, remainder)
    _move_centre(s, a, ticks, remainder, impulse, 1.0)
    _move_centre(s, b, ticks, remainder, impulse, -1.0)
    work = _work(s, i, partner, impulse, s.extended)
    record(s, log_rows, ticks * s.par[L.TICK] + remainder, i, partner, impulse, moment, work, 0.0)
    note_kind(s, log_rows, kind, s.extended)


@kernel
def note_heat(s, log_rows, i, wall, a, change, impulse, gained, ticks, remainder):
    """Note what a thermal wall has done to a stretch, whose momentum it has changed and which has gained energy.

    Parameters
    ----------
    change : (3,) float64 array
        Of the momentum [mass length / time].
    impulse : float
        Its part along the normal.
    gained : float
        [mass length^2 / time^2]
    """
    _move_centre(s, a, ticks, remainder, 0.0, 1.0)
    row = s.centre[s.block[a.row, L.BLOCK_CHAIN]]
    for c in range(3):
        row[L.VX + c] += change[c] / row[L.CENTRE_MASS]
    begin_contact(s.par, s.segment, i)
    work = impulse * wall_velocity(s, wall)
    record(s, log_rows, ticks * s.par[L.TICK] + remainder, i, wall, impulse, 0.0, work, gained - work)


@kernel
def _work(s, i, partner, impulse, extended):
    """Return the work that a wall, or a fixed bead, does in a contact [mass length^2 / time^2]."""
    if extended is not None:
        if partner < 0:
            return impulse * wall_velocity(s, partner)
        n, t = s.normals[L.CONTACT_NORMAL], s.tangential
        work = work_of_fixed(s, i, partner, n[0], n[1], n[2], impulse)
        return work + work_of_fixed(s, i, partner, t[0], t[1], t[2], 1.0)
    return 0.0
