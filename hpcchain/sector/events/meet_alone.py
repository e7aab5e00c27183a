"""Two single beads that meet, or one and a wall, without the workspace."""

import math

import numpy as np

from hpcchain.contact.coefficients import restitution
from hpcchain.contact.falling import inverse_mass
from hpcchain.contact.laws.contact import HARD, ROUGH, SMOOTH, Contact, along_normal, separates
from hpcchain.contact.laws.rough import spin_response, spin_up, surface_velocity
from hpcchain.contact.laws.smooth import reflection
from hpcchain.contact.laws.step import distance_met
from hpcchain.contact.laws.table import law_of, outcome
from hpcchain.contact.separation import nearest
from hpcchain.contact.walls import normal_of, sense_of, surface_of_wall, wall_velocity
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import age
from hpcchain.layout.segment_bits import radii_of, radius_of
from hpcchain.sector.events.note import graze, note
from hpcchain.sector.segments.monomer import move_on, set_off


@inlined
def meet_alone(s, i, j):
    """Carry out a contact of two single beads, or of one with a wall, and start their new segments."""
    mi = s.segment[i, L.MOLECULE]
    mj = s.segment[j, L.MOLECULE] if j >= 0 else np.int64(-1)
    s.member[0, L.MEMBER_ROW], s.member[1, L.MEMBER_ROW] = mi, mj
    e, e_t = restitution(s, i, j)
    move_on(s, i, mi, age(s, i), 1)
    if j >= 0:
        move_on(s, j, mj, age(s, j), 1)
    done, distance = _resolve(s, i, j, e, e_t)
    set_off(s, i, mi)
    if j >= 0:
        set_off(s, j, mj)
    if done.along == 0.0:
        graze(s, i, j)
        return
    n = s.normals[L.CONTACT_NORMAL]
    lx, ly, lz = distance * n[0], distance * n[1], distance * n[2]
    note(s, i, j, n, done, lx, ly, lz, _gained(s, i, j, done.along))


@inlined
def _gained(s, i, j, along):
    """Return the energy that an impulse along the normal gave bead i of the other (`common_speed`), 0 of a wall."""
    if j < 0:
        return 0.0
    n = s.normals[L.CONTACT_NORMAL]
    rate = 0.0
    for c in range(3):
        rate += n[c] * (s.starts[i, L.VX + c] + s.starts[j, L.VX + c])
    light = inverse_mass(s, i) - inverse_mass(s, j)
    return 0.5 * along * (rate - 0.5 * along * light)


@kernel
def _resolve(s, i, j, e, e_t):
    """Give two single beads that have met, or one and a wall, their impulse; return the Outcome and their distance."""
    if s.extended is not None:
        return _resolve_extended(s, i, j, e, e_t)
    if j < 0:
        return along_normal(_rebound(s, i, j, e)), 0.0
    return _bounce(s, i, j, e)


@kernel
def _bounce(s, i, j, e):
    """Exchange momentum of two single beads in contact, e being e_n; return the Outcome, and their distance [length].

    The unit vector from j to i is written to `normals`.

    Beads that touch are always as far apart. So a unit vector between them, its square, or a ratio that is 1 but for
    that, is always rounded alike, and the energy drifts by up to half a bit a contact. The vector times the speed will
    do as well, and neither its square nor the impulse in its units is near any one number.
    """
    rx, ry, rz, r = between(s, i, j)
    ux = s.starts[i, L.VX] - s.starts[j, L.VX]
    uy = s.starts[i, L.VY] - s.starts[j, L.VY]
    uz = s.starts[i, L.VZ] - s.starts[j, L.VZ]
    growth = radii_of(s, i, j) * s.par[L.GROWTH_RATE]
    speed = math.sqrt(ux * ux + uy * uy + uz * uz) + growth
    nx = rx * speed
    ny = ry * speed
    nz = rz * speed
    square = nx * nx + ny * ny + nz * nz
    length = math.sqrt(square)
    un = nx * ux + ny * uy + nz * uz - growth * length
    if un >= 0.0 or square == 0.0:
        return along_normal(0.0), r
    wi, wj = inverse_mass(s, i), inverse_mass(s, j)
    p = reflection(un, wi * square + wj * square, e)  # a sum of the two is always rounded alike, too
    s.starts[i, L.VX] += p * wi * nx
    s.starts[i, L.VY] += p * wi * ny
    s.starts[i, L.VZ] += p * wi * nz
    s.starts[j, L.VX] -= p * wj * nx
    s.starts[j, L.VY] -= p * wj * ny
    s.starts[j, L.VZ] -= p * wj * nz
    n = s.normals[L.CONTACT_NORMAL]
    n[0], n[1], n[2] = rx / r, ry / r, rz / r
    return along_normal(p * length), r


@kernel
def _rebound(s, i, code, e):
    """Reflect a single bead from the wall with this code, e being e_n; return the impulse, 0 for a graze."""
    axis, side = (-1 - code) % L.AXES, sense_of(-1 - code)
    un = side * s.starts[i, L.VX + axis] - radius_of(s, i) * s.par[L.GROWTH_RATE]
    if un >= 0.0:
        return 0.0
    change = reflection(un, 1.0, e)
    s.starts[i, L.VX + axis] += side * change
    return change / inverse_mass(s, i)


@outlined
def _resolve_extended(s, i, j, e, e_t):
    """Do what `_resolve` does in runs with more than smooth hard beads."""
    n = s.normals[L.CONTACT_NORMAL]
    x, y, z, r = _way(s, i, j, n)
    distance, border = 0.0, HARD
    if j >= 0:
        distance, border = r, distance_met(s, i, j, r)
    rate = _rate(s, i, j, x, y, z, r)
    law = law_of(s, i, j, border, rate, e_t)
    if law == SMOOTH:
        if j < 0:
            return along_normal(_reflected(s, i, n, rate, e)), distance
        return _bounce(s, i, j, e)
    if separates(border, rate):
        return along_normal(0.0), distance
    o = outcome(s, _contact_of(s, i, j, law, border, rate, e, e_t))
    _push(s, i, j, o, x, y, z, r)
    return o, distance


@kernel
def _way(s, i, j, n):
    """Write the normal of single beads i and j, or of a wall, to n; return a vector along it (3) and its length."""
    if j < 0:
        normal_of(s, -1 - j, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], n)
        return n[0], n[1], n[2], 1.0
    x, y, z, r = between(s, i, j)
    n[0], n[1], n[2] = x / r, y / r, z / r
    return x, y, z, r


@kernel
def _rate(s, i, j, x, y, z, r):
    """Return the rate of the gap, (x, y, z) being along the normal and r long [length / time]."""
    ux, uy, uz = s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ]
    growing = radius_of(s, i)
    if j < 0:
        return x * ux + y * uy + z * uz - (growing * s.par[L.GROWTH_RATE] + wall_velocity(s, j))
    ux, uy, uz = ux - s.starts[j, L.VX], uy - s.starts[j, L.VY], uz - s.starts[j, L.VZ]
    growing += radius_of(s, j)
    return (x * ux + y * uy + z * uz) / r - growing * s.par[L.GROWTH_RATE]


@kernel
def _contact_of(s, i, j, law, border, rate, e, e_t):
    """Return the Contact of single beads whose normal is in `normals`."""
    mass, spin = inverse_mass(s, i), 0.0
    if j >= 0:
        mass += inverse_mass(s, j)
    if law == ROUGH:
        spin = spin_response(s, i) + (spin_response(s, j) if j >= 0 else 0.0)
    ux, uy, uz = _velocity(s, i, j, law, 0), _velocity(s, i, j, law, 1), _velocity(s, i, j, law, 2)
    return Contact(i, np.int64(j), law, border, rate, mass, ux, uy, uz, spin, e, e_t, 0.0, True)


@kernel
def _velocity(s, i, j, law, c):
    """Return component c of the velocity of bead i, or of rough beads' surfaces, relative to bead or wall j's."""
    n = s.normals[L.CONTACT_NORMAL]
    u = s.starts[i, L.VX + c]
    v = s.starts[j, L.VX + c] if j >= 0 else surface_of_wall(s, j, n, c)
    if law == ROUGH:  # summed so that the other bead first gives the opposite, to the bit
        u += surface_velocity(s, i, n, c)
        if j >= 0:
            v -= surface_velocity(s, j, n, c)
    return u - v


@kernel
def _reflected(s, i, n, rate, e):
    """Do what `_rebound` does for walls of all sorts; return the impulse, 0 for a graze [mass length / time]."""
    if rate >= 0.0:
        return 0.0
    change = reflection(rate, 1.0, e)
    for c in range(3):
        s.starts[i, L.VX + c] += n[c] * change
    return change / inverse_mass(s, i)


@kernel
def _push(s, i, j, o, x, y, z, r):
    """Apply an Outcome to the velocities and spins of single beads, (x, y, z) being along the normal and r long."""
    n, way = s.normals[L.CONTACT_NORMAL], o.along / r
    wi = inverse_mass(s, i)
    s.starts[i, L.VX] += way * wi * x + wi * o.x
    s.starts[i, L.VY] += way * wi * y + wi * o.y
    s.starts[i, L.VZ] += way * wi * z + wi * o.z
    if j >= 0:
        wj = inverse_mass(s, j)
        s.starts[j, L.VX] -= way * wj * x + wj * o.x
        s.starts[j, L.VY] -= way * wj * y + wj * o.y
        s.starts[j, L.VZ] -= way * wj * z + wj * o.z
    if o.turns:
        px, py, pz = o.along * n[0] + o.x, o.along * n[1] + o.y, o.along * n[2] + o.z
        spin_up(s, i, n, px, py, pz)
        if j >= 0:
            spin_up(s, j, n, px, py, pz)


@kernel
def between(s, i, j):
    """Return the vector from bead j to bead i, of its nearest image, where their segments begin, and its length."""
    rx = s.starts[i, L.X] - s.starts[j, L.X]
    ry = s.starts[i, L.Y] - s.starts[j, L.Y]
    rz = s.starts[i, L.Z] - s.starts[j, L.Z]
    rx, ry, rz = nearest(s, rx, ry, rz)
    return rx, ry, rz, math.sqrt(rx * rx + ry * ry + rz * rz)
