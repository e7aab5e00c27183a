"""What becomes of a contact in which a long chain takes part, whose sides are in the workspace (`stretch_event`).

Its law, its impulse, its part of the virial, and what is logged. A long chain's centre of mass, for the virial, is
carried along: contacts and gravity alone change its velocity.
"""

import numpy as np

from hpcchain.contact.coefficients import restitution_of
from hpcchain.contact.impulse import approach, bead_offset, separation
from hpcchain.contact.tc_model import begin_contact, own_restitution
from hpcchain.contact.thermal import diffuse
from hpcchain.contact.virial import centre_of_mass, set_tensor
from hpcchain.contact.walls import normal_of, wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import time_span
from hpcchain.layout.segment_parts import radius_of
from hpcchain.propagators.interface import push
from hpcchain.sector.events.contact_event import record
from hpcchain.sector.events.crossing import HARD, OUTER, distance_met, note_kind, pass_distance
from hpcchain.sector.events.simultaneous import kinetic_energy
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
def is_thermal(s, partner, extended):
    """Whether the other side of a contact is a wall with a temperature."""
    if extended is not None:
        if partner < 0:
            return s.walls[-1 - partner, L.WALL_TEMPERATURE] > 0.0
    return False


@kernel
def reflect(s, log_rows, i, wall, a, ticks, remainder):
    """Reflect bead i of a stretch from a thermal wall, and log it.

    Parameters
    ----------
    wall : int
        Its code.
    a : Side
        Of the bead; not so narrow that what is drawn along the wall is felt beyond it.
    """
    n, row = s.normals[L.CONTACT_NORMAL], s.centre[s.block[a.row, L.BLOCK_CHAIN]]
    energy = kinetic_energy(s.work, a.offset, a.tiles)
    before_x, before_y, before_z = (_momentum(s, a, 0), _momentum(s, a, 1), _momentum(s, a, 2))
    impulse = diffuse(s, a.offset, a.tiles, np.int64(-1), a.bead, i, wall, n)
    if impulse == 0.0:
        s.count[L.N_GRAZES] += 1
        return
    _move_centre(s, a, ticks, remainder, 0.0)
    row[L.VX] += (_momentum(s, a, 0) - before_x) / row[L.CENTRE_MASS]
    row[L.VY] += (_momentum(s, a, 1) - before_y) / row[L.CENTRE_MASS]
    row[L.VZ] += (_momentum(s, a, 2) - before_z) / row[L.CENTRE_MASS]
    begin_contact(s.par, s.segment, i)
    work = impulse * wall_velocity(s, wall)
    heat = kinetic_energy(s.work, a.offset, a.tiles) - energy - work
    record(s, log_rows, ticks * s.par[L.TICK] + remainder, i, wall, impulse, 0.0, work, heat)


@kernel
def _momentum(s, side, c):
    """Return component c of the momentum of a stretch's own beads [mass length / time]."""
    total = 0.0
    for t in range(side.tiles):
        p = side.offset + t * W.TILE
        for k in range(W.LANES):
            if s.work[p + W.INVM + k] > 0.0:
                total += s.work[p + W.COEF + W.ROW + W.LANES * c + k] / s.work[p + W.INVM + k]
    return total


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
        moment += impulse * n[c] * way[c]
    set_tensor(s.virial_tensor, impulse * n[0], impulse * n[1], impulse * n[2], way[0], way[1], way[2])
    return moment


@kernel
def _move_centre(s, side, ticks, remainder, impulse):
    """Carry the centre of mass of a side's chain to a time, and change its velocity by an impulse."""
    if not side.part:
        return
    n, row = s.normals[L.CONTACT_NORMAL], s.centre[s.block[side.row, L.BLOCK_CHAIN]]
    dt = time_span(ticks, remainder, row[L.START_TICKS], row[L.START_REM], s.par[L.TICK])
    for c in range(3):
        further, faster = _fallen(s, c, dt, s.extended)
        row[c] += row[L.VX + c] * dt + further
        row[L.VX + c] += faster + impulse * n[c] / row[L.CENTRE_MASS]
    row[L.START_TICKS] = ticks
    row[L.START_REM] = remainder


@kernel
def part_them(s, log_rows, i, partner, a, b, impulse, kind, distance, ticks, remainder):
    """Apply a contact's impulse, for which KICK is there, and log it; `kind` is that of `impulse_of`."""
    push(s.work, a.offset, a.tiles, impulse)
    if b.row >= 0 and a.offset != b.offset:
        push(s.work, b.offset, b.tiles, -impulse)
    if kind == 0.0:
        begin_contact(s.par, s.segment, i)
        if partner >= 0:
            begin_contact(s.par, s.segment, partner)
    moment = 0.0
    if partner >= 0:
        moment = _moment(s, a, b, distance, impulse, ticks, remainder)
    _move_centre(s, a, ticks, remainder, impulse)
    _move_centre(s, b, ticks, remainder, -impulse)
    work = _work(s, i, partner, impulse, s.extended)
    record(s, log_rows, ticks * s.par[L.TICK] + remainder, i, partner, impulse, moment, work, 0.0)
    note_kind(s, log_rows, kind, s.extended)


@kernel
def _work(s, i, partner, impulse, extended):
    """Return the work that a wall, or a fixed bead, does in a contact [mass length^2 / time^2]."""
    if extended is not None:
        if partner < 0:
            return impulse * wall_velocity(s, partner)
        n = s.normals[L.CONTACT_NORMAL]
        return work_of_fixed(s, i, partner, n[0], n[1], n[2], impulse)
    return 0.0
