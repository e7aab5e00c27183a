"""What becomes of a contact in which a long chain takes part, whose sides are in the workspace (`stretch_event`).

Its law, its impulse, its part of the virial, and what is logged. What that asks of the chains' centres of mass is in
`chain_centre`.
"""

import numpy as np

from hpcchain.contact.coefficients import restitution_of
from hpcchain.contact.impulse import approach, bead_offset, impulse_along, separation
from hpcchain.contact.tc_model import begin_contact
from hpcchain.contact.virial import set_tensor
from hpcchain.contact.walls import normal_of, wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import radius_of
from hpcchain.sector.events.contact_event import record
from hpcchain.sector.events.crossing import HARD, OUTER, distance_met, note_kind, pass_distance
from hpcchain.sector.events.stretch_reach import of_one_chain
from hpcchain.sector.segments.chain_centre import arms_row, note_arms, push_centre, virial_of_arms
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
def impulse_of(s, i, partner, border, rate, mass, loss, extended):
    """Return the impulse that drives the two apart, 0 for a graze, and the event's kind in the log, 0 of a contact.

    Parameters
    ----------
    border : int
        What was `met`.
    rate, mass : float
        Of the gap [length / time]; inverse effective mass.
    loss : float
        Energy that bringing the two took; contacts of hard surfaces give it back [mass length^2 / time^2].
    extended :
        The sector's option.
    """
    e = restitution_of(s, i, partner, extended)
    if extended is not None:
        if border != HARD:
            return pass_distance(s, i, partner, border, rate, mass)
    return impulse_along(rate, e, mass, loss), 0.0


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


@inlined
def _impulse(s, impulse):
    """Return the components of an impulse, its part along the normal given."""
    x, y, z = np.int64(L.X), np.int64(L.Y), np.int64(L.Z)
    return _part_of(s, impulse, x, s.extended), _part_of(s, impulse, y, s.extended), _part_of(s, impulse, z, s.extended)


@kernel
def _moment_inside(s, a, b, distance, impulse):
    """Return the part of the molecular virial of a contact within a chain, and write its tensor's."""
    n, way = s.normals[L.CONTACT_NORMAL], s.normals[L.MOST_TIES]
    for c in range(3):  # a contact with an image alone has one (`contact.virial`)
        way[c] = distance * n[c] - _apart(s, a, b, c)
        if abs(way[c]) < 0.5 * s.par[L.SIZE + c] or s.par[L.SIZE + c] == 0.0:
            way[c] = 0.0
    x, y, z = _impulse(s, impulse)
    set_tensor(s.virial_tensor, x, y, z, way[0], way[1], way[2])
    return x * way[0] + y * way[1] + z * way[2]


@kernel
def _moment(s, a, b, distance, impulse, ticks, remainder):
    """Return the contact's part of the molecular virial, and write its tensor's [mass length^2 / time].

    In a window both are 0 where a chain's centre is asked for: they follow when the window is final.
    """
    if of_one_chain(s, a, b):
        return _moment_inside(s, a, b, distance, impulse)
    n, row = s.normals[L.CONTACT_NORMAL], arms_row(s)
    note_arms(s, row, a, np.int64(0))
    note_arms(s, row, b, np.int64(1))
    for c in range(3):
        s.arms[row, L.ARM_WAY + c] = distance * n[c]
        s.arms[row, L.ARM_IMPULSE + c] = _part_of(s, impulse, c, s.extended)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        s.virial_tensor[:] = 0.0
        return 0.0
    return virial_of_arms(s, row, ticks, remainder)


@kernel
def _push_centres(s, a, b, impulse, ticks, remainder):
    """Have an impulse on the first side of a contact, and its opposite on the other, move their chains' centres."""
    if b.row >= 0 and of_one_chain(s, a, b):
        return
    x, y, z = _impulse(s, impulse)
    push_centre(s, a, x, y, z, ticks, remainder)
    push_centre(s, b, -x, -y, -z, ticks, remainder)


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
    _push_centres(s, a, b, impulse, ticks, remainder)
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
    push_centre(s, a, change[0], change[1], change[2], ticks, remainder)
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
