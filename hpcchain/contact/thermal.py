"""Velocities drawn in kernels: diffuse reflection from walls with a temperature, and molecules drawn anew.

Numbers are functions of the seed, a purpose, a bead's id and how many draws it has made (`model.random`): the bead's
DRAWS, which is state.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import row_of, trait
from hpcchain.contact.impulse import approach, bead_offset
from hpcchain.contact.turning import turn
from hpcchain.contact.walls import wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import after
from hpcchain.model.random import Stream
from hpcchain.model.random_kernel import fraction, philox
from hpcchain.propagators.interface import kick, push
from hpcchain.propagators.taylor.chain import chain_kick

DIFFUSE, WAITING, MAXWELL = int(Stream.DIFFUSE), int(Stream.WAITING), int(Stream.MAXWELL)
WALL_SPIN = int(Stream.WALL_SPIN)
LEAST_MOBILITY = 1e-12
"""Of a bead along the normal: one that its bonds hold more firmly across it does not move there."""


@kernel
def uniforms(s, purpose, bead, draw):
    """Return four numbers in [0, 1) of a bead's draw, for a purpose."""
    seed = np.uint64(s.scalars[L.SCALAR_SEED])
    a, b, c, d = philox(np.uint64(bead), np.uint64(draw), seed, np.uint64(purpose))
    return fraction(a), fraction(b), fraction(c), fraction(d)


@inlined
def normals(p, q, r, t):
    """Return four standard normal numbers of four uniform ones (Box-Muller)."""
    one = math.sqrt(-2.0 * math.log(1.0 - p))
    two = math.sqrt(-2.0 * math.log(1.0 - q))
    x = 2.0 * math.pi * r
    y = 2.0 * math.pi * t
    return one * math.cos(x), two * math.cos(y), one * math.sin(x), two * math.sin(y)


@kernel
def next_number(s, i):
    """Return how many draws the bead in row i has made, and count one more."""
    draw = np.int64(s.extra[i, L.DRAWS])
    s.extra[i, L.DRAWS] += 1.0
    return draw


@kernel
def tangents(nx, ny, nz):
    """Return two unit vectors (6 floats) at right angles to a unit vector and to one another."""
    ax, ay, az = abs(nx), abs(ny), abs(nz)
    if ax <= ay and ax <= az:
        tx, ty, tz = 0.0, nz, -ny
    elif ay <= az:
        tx, ty, tz = -nz, 0.0, nx
    else:
        tx, ty, tz = ny, -nx, 0.0
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / size, ty / size, tz / size
    return tx, ty, tz, ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx


@kernel
def diffuse_single(s, i, code, n, mobility):
    """Reflect a single bead diffusely, its inverse mass given; return impulse and heat (`segments.monomer.meet_wall`).

    What leaves has the normal velocity of what crosses a plane in a gas, and Maxwell's across (Cercignani 1988, III.5).
    """
    temperature = s.walls[-1 - code, L.WALL_TEMPERATURE] * mobility
    p, q, r, _ = uniforms(s, DIFFUSE, s.bead_id[i], next_number(s, i))
    normal = math.sqrt(-2.0 * temperature * math.log(1.0 - p))
    spread = math.sqrt(-2.0 * temperature * math.log(1.0 - q))
    across, along = spread * math.cos(2.0 * math.pi * r), spread * math.sin(2.0 * math.pi * r)
    tx, ty, tz, bx, by, bz = tangents(n[0], n[1], n[2])
    velocity = wall_velocity(s, code)
    u, v, w = s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ]
    before = u * u + v * v + w * w
    impulse = (normal + velocity - (n[0] * u + n[1] * v + n[2] * w)) / mobility
    u = n[0] * (normal + velocity) + across * tx + along * bx
    v = n[1] * (normal + velocity) + across * ty + along * by
    w = n[2] * (normal + velocity) + across * tz + along * bz
    s.starts[i, L.VX], s.starts[i, L.VY], s.starts[i, L.VZ] = u, v, w
    return impulse, 0.5 * (u * u + v * v + w * w - before) / mobility - impulse * velocity


@kernel
def _kick(s, offset, tiles, m, a, x, y, z):
    """Do what `interface.kick` does, in a stretch of a long chain where m is -1."""
    if s.stretched is not None:
        if m < 0:
            return chain_kick(s.work, offset, tiles, np.int64(1), a, x, y, z)
    return kick(s.work, offset, s.mol, m, s.graph, a, x, y, z, s.stepper)


@kernel
def diffuse(s, offset, tiles, m, a, i, code, n):
    """Reflect bead a of molecule m, in tiles of the workspace, diffusely; return its impulses' part along the normal.

    Of a stretch of a long chain m is -1, and `a` counts the beads of the tiles.

    With A the velocity that unit impulses on the bead give it, bonds considered, its velocity u' afterwards has a
    density of (n . u') exp(-u' A^-1 u' / 2 T) in n . u' > 0: what Maxwell's distribution of the whole molecule has of
    what leaves a wall. It is drawn along three directions that A does not couple; across those in which bonds let the
    bead hardly move nothing is drawn. Bonds tilt the two across, so impulses along these have a normal part. Works for
    a bead alone, too, where A is 1 / m.
    """
    p = bead_offset(offset, a)
    velocity = wall_velocity(s, code)
    un = approach(s.work, p, -1, n) - velocity
    if un >= 0.0:
        return 0.0
    temperature = s.walls[-1 - code, L.WALL_TEMPERATURE]
    at = p + W.KICK
    here = p + W.COEF + W.ROW
    one, two, three, _ = uniforms(s, DIFFUSE, s.bead_id[i], next_number(s, i))
    spread = math.sqrt(-2.0 * temperature * math.log(1.0 - two))
    first, second = spread * math.cos(2.0 * math.pi * three), spread * math.sin(2.0 * math.pi * three)
    mobility = _kick(s, offset, tiles, m, a, n[0], n[1], n[2])
    yx, yy, yz = s.work[at], s.work[at + W.LANES], s.work[at + 2 * W.LANES]
    impulse = (math.sqrt(-2.0 * temperature * mobility * math.log(1.0 - one)) - un) / mobility
    push(s.work, offset, tiles, impulse)
    whole = impulse
    tx, ty, tz, bx, by, bz = tangents(n[0], n[1], n[2])
    share = (tx * yx + ty * yy + tz * yz) / mobility
    tx, ty, tz = tx - share * n[0], ty - share * n[1], tz - share * n[2]
    across = _kick(s, offset, tiles, m, a, tx, ty, tz)
    share = (bx * yx + by * yy + bz * yz) / mobility
    bx, by, bz = bx - share * n[0], by - share * n[1], bz - share * n[2]
    if across > LEAST_MOBILITY * mobility:
        share = (bx * s.work[at] + by * s.work[at + W.LANES] + bz * s.work[at + 2 * W.LANES]) / across
        bx, by, bz = bx - share * tx, by - share * ty, bz - share * tz
        rate = _along(s, here, tx, ty, tz) - velocity * (n[0] * tx + n[1] * ty + n[2] * tz)
        impulse = (math.sqrt(across) * first - rate) / across
        push(s.work, offset, tiles, impulse)
        whole += impulse * (n[0] * tx + n[1] * ty + n[2] * tz)
    along = _kick(s, offset, tiles, m, a, bx, by, bz)
    if along > LEAST_MOBILITY * mobility:
        rate = _along(s, here, bx, by, bz) - velocity * (n[0] * bx + n[1] * by + n[2] * bz)
        impulse = (math.sqrt(along) * second - rate) / along
        push(s.work, offset, tiles, impulse)
        whole += impulse * (n[0] * bx + n[1] * by + n[2] * bz)
    return whole


@inlined
def _along(s, here, x, y, z):
    """Return the component of the velocity at an offset of the workspace along a vector."""
    return x * s.work[here] + y * s.work[here + W.LANES] + z * s.work[here + 2 * W.LANES]


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


@kernel
def waiting(s, bead, draw):
    """Return how long a molecule waits, whose first bead is this, before its velocities are drawn anew [time]."""
    p, _, _, _ = uniforms(s, WAITING, bead, draw)
    return -math.log(1.0 - p) / s.par[L.REDRAW_RATE]


@kernel
def next_redraw(s, m):
    """Return ticks and remainder of when molecule m's velocities are drawn anew, inf where they never are.

    The state of one that has not been drawn yet is 0: then it is what its first draw says.
    """
    if s.par[L.REDRAW_RATE] == 0.0:
        return np.inf, np.inf
    i = s.mol[m, L.MOL_FIRST]
    ticks, remainder = s.extra[i, L.NEXT_DRAW], s.extra[i, L.NEXT_DRAW_REM]
    if ticks == 0.0 and remainder == 0.0:
        return after(0.0, 0.0, waiting(s, s.bead_id[i], np.int64(0)), s.par[L.TICK])
    return ticks, remainder


@kernel
def set_next_redraw(s, first, beads, ticks, remainder):
    """Set when a molecule's velocities are drawn next, at a time at which they are; count the draws of its beads.

    `first` is the row of its first bead.
    """
    wait = waiting(s, s.bead_id[first], np.int64(s.extra[first, L.DRAWS]) + 1)
    t, r = after(ticks, remainder, wait, s.par[L.TICK])
    for i in range(first, first + beads):
        s.extra[i, L.DRAWS] += 1.0
        s.extra[i, L.NEXT_DRAW] = t
        s.extra[i, L.NEXT_DRAW_REM] = r


@kernel
def maxwell(s, i, mobility):
    """Return a Maxwellian velocity (3 floats) of the bead in row i, of its inverse mass, by its present draw."""
    p, q, r, t = uniforms(s, MAXWELL, s.bead_id[i], np.int64(s.extra[i, L.DRAWS]))
    x, y, z, _ = normals(p, q, r, t)
    spread = math.sqrt(s.par[L.REDRAW_TEMPERATURE] * mobility)
    return spread * x, spread * y, spread * z
