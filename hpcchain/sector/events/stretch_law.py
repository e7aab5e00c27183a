"""What becomes of a contact in which a long chain takes part, whose sides are in the workspace (`stretch_event`).

Its law, its impulse, its part of the virial, and what is logged. What that asks of the chains' centres of mass is in
`chain_centre`.
"""

import numpy as np

from hpcchain.contact.impulse import approach, bead_offset, impulse_along, separation
from hpcchain.contact.virial import image_shift
from hpcchain.contact.walls import normal_of, wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import radius_of
from hpcchain.sector.events.crossing import HARD, OUTER, distance_met, pass_distance
from hpcchain.sector.events.note import Outcome, along_normal, note
from hpcchain.sector.events.stretch_reach import of_one_chain
from hpcchain.sector.segments.chain_centre import arms_row, lever_of_arms, note_arms, push_centre


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
def impulse_of(s, i, partner, border, rate, mass, e, loss, extended):
    """Return the Outcome of a contact that pushes along the normal alone.

    Parameters
    ----------
    border : int
        What was `met`.
    rate, mass : float
        Of the gap [length / time]; inverse effective mass.
    e : float
        e_n.
    loss : float
        Energy that bringing the two took; contacts of hard surfaces give it back [mass length^2 / time^2].
    extended :
        The sector's option.
    """
    if extended is not None:
        if border != HARD:
            impulse, kind = pass_distance(s, i, partner, border, rate, mass)
            return Outcome(impulse, 0.0, 0.0, 0.0, kind, 0.0, False)
    return along_normal(impulse_along(rate, e, mass, loss))


@kernel
def _shift_inside(s, a, b, c):
    """Return component c of the way between the images of one chain that touch, 0 where they are the same [length]."""
    p, q = bead_offset(a.offset, a.bead), bead_offset(b.offset, b.bead)
    shift = image_shift(s, p, q, c)
    if a.offset != b.offset:
        shift -= (s.mol[a.row, L.MOL_IMAGE + c] - s.mol[b.row, L.MOL_IMAGE + c]) * s.par[L.SIZE + c]
    return shift


@kernel
def _lever(s, a, b, distance, x, y, z, ticks, remainder):
    """Return the vector between the centres of mass of the images that touch, the impulse on the first given."""
    # In a window it is 0 where a chain's centre is asked for: sums with it follow when the window is final.
    if b.row < 0:
        return 0.0, 0.0, 0.0
    if of_one_chain(s, a, b):
        one, two, three = np.int64(L.X), np.int64(L.Y), np.int64(L.Z)
        return _shift_inside(s, a, b, one), _shift_inside(s, a, b, two), _shift_inside(s, a, b, three)
    n, row = s.normals[L.CONTACT_NORMAL], arms_row(s)
    note_arms(s, row, a, np.int64(0))
    note_arms(s, row, b, np.int64(1))
    for c in range(3):
        s.arms[row, L.ARM_WAY + c] = distance * n[c]
        s.arms[row, L.ARM_IMPULSE + c] = x if c == 0 else (y if c == 1 else z)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        return 0.0, 0.0, 0.0
    return lever_of_arms(s, row, ticks, remainder)


@kernel
def note_contact(s, log_rows, i, partner, a, b, done, distance, ticks, remainder):
    """Note an impulse that has been applied: with chains' centres of mass, and as `note` does."""
    n = s.normals[L.CONTACT_NORMAL]
    x, y, z = done.along * n[0] + done.x, done.along * n[1] + done.y, done.along * n[2] + done.z
    lx, ly, lz = _lever(s, a, b, distance, x, y, z, ticks, remainder)
    if b.row < 0 or not of_one_chain(s, a, b):
        push_centre(s, a, x, y, z, ticks, remainder)
        push_centre(s, b, -x, -y, -z, ticks, remainder)
    note(s, log_rows, i, partner, n, done, lx, ly, lz, ticks, remainder)
