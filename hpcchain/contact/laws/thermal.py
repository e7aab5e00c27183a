"""Walls with a temperature: a bead leaves one as what crosses a plane in a gas does (Cercignani 1988, III.5).

K is the response of the bead's velocity to impulses, bonds considered. Afterwards its velocity u' has a density of (n .
u') exp(-u' K^-1 u' / 2 T) in n . u' > 0. Maxwell's distribution of the whole molecule gives this to what leaves a wall.
It is drawn along three directions that K does not couple. Along one across in which bonds let the bead hardly move
nothing is drawn, and the other is at right angles to it: a bead on a fixed one does not follow a wall along its bond.
Bonds tilt the two across, so impulses along these have a normal part.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import row_of, trait
from hpcchain.contact.draws import DIFFUSE, WALL_SPIN, next_number, normals, uniforms
from hpcchain.contact.laws.contact import Outcome
from hpcchain.contact.turning import turn
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.vectors import dot, minus, plus, tangents, times

LEAST_MOBILITY = 1e-12
"""Of a bead in all directions: along one in which its bonds hold it more firmly it does not move."""


@inlined
def _response(s, c, a):
    """Return K times a vector."""
    if c.isotropic:
        return times(c.mass, a)
    k = s.matrix
    return dot(k[0], a), dot(k[1], a), dot(k[2], a)


@inlined
def _moves(s, c, a, across):
    """Whether bonds let the bead move along a vector, a K a being `across`."""
    k = s.matrix
    total = 3.0 * c.mass if c.isotropic else k[0, 0] + k[1, 1] + k[2, 2]
    return across > LEAST_MOBILITY * total * dot(a, a)


@kernel
def outcome(s, c):
    """Return the Outcome of a Contact with a thermal wall; it draws, and writes the spin."""
    n, before = s.normals[L.CONTACT_NORMAL], (c.ux, c.uy, c.uz)
    temperature = s.walls[-1 - c.j, L.WALL_TEMPERATURE]
    one, two, three, _ = uniforms(s, DIFFUSE, s.bead_id[c.i], next_number(s, c.i))
    spread = math.sqrt(-2.0 * temperature * math.log(1.0 - two))
    first, second = spread * math.cos(2.0 * math.pi * three), spread * math.sin(2.0 * math.pi * three)
    response = _response(s, c, n)
    mobility = dot(n, response)
    impulse = (math.sqrt(-2.0 * temperature * mobility * math.log(1.0 - one)) - c.rate) / mobility
    push, u = times(impulse, n), plus(before, times(impulse, response))
    t, b = tangents(n)
    t = minus(t, times(dot(t, response) / mobility, n))
    b = minus(b, times(dot(b, response) / mobility, n))
    response = _response(s, c, t)
    across = dot(t, response)
    along_t = _moves(s, c, t, across)
    if along_t:
        b = minus(b, times(dot(b, response) / across, t))
    response_b = _response(s, c, b)
    across_b = dot(b, response_b)
    along_b = _moves(s, c, b, across_b)
    if along_t:
        if not along_b:
            t = minus(t, times(dot(t, b) / dot(b, b), b))
        impulse = (math.sqrt(across) * first - dot(t, u)) / across
        push, u = plus(push, times(impulse, t)), plus(u, times(impulse, response))
    if along_b:
        if not along_t:
            b = minus(b, times(dot(b, t) / dot(t, t), t))
        push = plus(push, times((math.sqrt(across_b) * second - dot(b, u)) / across_b, b))
    heat = dot(push, plus(before, times(0.5, _response(s, c, push)))) - c.loss + draw_spin(s, c.i, c.j)
    along = dot(push, n)
    x, y, z = minus(push, times(along, n))
    return Outcome(along, x, y, z, 0.0, heat, False)


@kernel
def draw_spin(s, i, code):
    """Draw the spin of bead i, which a thermal wall has just reflected, by the wall's; return the heat that comes in.

    Maxwell's distribution of one bead: bonds act at centres, and leave spins alone. A fixed bead has none. None is
    drawn where bead and wall are smooth; contact times are nothing to a thermal wall.
    """
    inverse = trait(s, i, L.TRAIT_INVERSE_MOMENT)
    if inverse == 0.0 or s.coefficients[row_of(s, i, code), L.PAIR_TANGENTIAL] == 1.0:
        return 0.0
    turn(s, i)
    p, q, r, t = uniforms(s, WALL_SPIN, s.bead_id[i], np.int64(s.extra[i, L.DRAWS]))
    x, y, z, _ = normals(p, q, r, t)
    spread = math.sqrt(s.walls[-1 - code, L.WALL_TEMPERATURE] * inverse)
    before = s.extra[i, L.SPIN] ** 2 + s.extra[i, L.SPIN + L.Y] ** 2 + s.extra[i, L.SPIN + L.Z] ** 2
    s.extra[i, L.SPIN], s.extra[i, L.SPIN + L.Y], s.extra[i, L.SPIN + L.Z] = spread * x, spread * y, spread * z
    return 0.5 * spread * spread * (x * x + y * y + z * z) / inverse - 0.5 * before / inverse
