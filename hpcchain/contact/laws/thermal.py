"""Walls with a temperature: a bead leaves one as what crosses a plane in a gas does (Cercignani 1988, III.5).

K is the response of the bead's velocity to impulses, bonds considered. Afterwards its velocity u' has a density of (n .
u') exp(-u' K^-1 u' / 2 T) in n . u' > 0. Maxwell's distribution of the whole molecule gives this to what leaves a wall.
It is drawn along three directions that K does not couple; across those in which bonds let the bead hardly move nothing
is drawn. Bonds tilt the two across, so impulses along these have a normal part.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import row_of, trait
from hpcchain.contact.draws import DIFFUSE, WALL_SPIN, next_number, normals, tangents, uniforms
from hpcchain.contact.laws.contact import Outcome
from hpcchain.contact.turning import turn
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L

LEAST_MOBILITY = 1e-12
"""Of a bead along the normal: one that its bonds hold more firmly across it does not move there."""


@inlined
def _response(s, c, x, y, z):
    """Return K times a vector."""
    if c.isotropic:
        return c.mass * x, c.mass * y, c.mass * z
    m = s.matrix
    return (
        m[0, 0] * x + m[0, 1] * y + m[0, 2] * z,
        m[1, 0] * x + m[1, 1] * y + m[1, 2] * z,
        m[2, 0] * x + m[2, 1] * y + m[2, 2] * z,
    )


@kernel
def outcome(s, c):
    """Return the Outcome of a Contact with a thermal wall; it draws, and writes the spin."""
    n = s.normals[c.k]
    nx, ny, nz = n[0], n[1], n[2]
    temperature = s.walls[-1 - c.j, L.WALL_TEMPERATURE]
    one, two, three, _ = uniforms(s, DIFFUSE, s.bead_id[c.i], next_number(s, c.i))
    spread = math.sqrt(-2.0 * temperature * math.log(1.0 - two))
    first, second = spread * math.cos(2.0 * math.pi * three), spread * math.sin(2.0 * math.pi * three)
    gx, gy, gz = _response(s, c, nx, ny, nz)
    mobility = nx * gx + ny * gy + nz * gz
    impulse = (math.sqrt(-2.0 * temperature * mobility * math.log(1.0 - one)) - c.rate) / mobility
    x, y, z = impulse * nx, impulse * ny, impulse * nz
    ux, uy, uz = c.ux + impulse * gx, c.uy + impulse * gy, c.uz + impulse * gz
    tx, ty, tz, bx, by, bz = tangents(nx, ny, nz)
    share = (tx * gx + ty * gy + tz * gz) / mobility
    tx, ty, tz = tx - share * nx, ty - share * ny, tz - share * nz
    share = (bx * gx + by * gy + bz * gz) / mobility
    bx, by, bz = bx - share * nx, by - share * ny, bz - share * nz
    gx, gy, gz = _response(s, c, tx, ty, tz)
    across = tx * gx + ty * gy + tz * gz
    if across > LEAST_MOBILITY * mobility:
        share = (bx * gx + by * gy + bz * gz) / across
        bx, by, bz = bx - share * tx, by - share * ty, bz - share * tz
        impulse = (math.sqrt(across) * first - (tx * ux + ty * uy + tz * uz)) / across
        x, y, z = x + impulse * tx, y + impulse * ty, z + impulse * tz
        ux, uy, uz = ux + impulse * gx, uy + impulse * gy, uz + impulse * gz
    gx, gy, gz = _response(s, c, bx, by, bz)
    across = bx * gx + by * gy + bz * gz
    if across > LEAST_MOBILITY * mobility:
        impulse = (math.sqrt(across) * second - (bx * ux + by * uy + bz * uz)) / across
        x, y, z = x + impulse * bx, y + impulse * by, z + impulse * bz
    gx, gy, gz = _response(s, c, x, y, z)
    heat = x * (c.ux + 0.5 * gx) + y * (c.uy + 0.5 * gy) + z * (c.uz + 0.5 * gz) - c.loss + draw_spin(s, c.i, c.j)
    along = x * nx + y * ny + z * nz
    return Outcome(along, x - along * nx, y - along * ny, z - along * nz, 0.0, heat, False)


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
