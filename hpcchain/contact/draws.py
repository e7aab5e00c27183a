"""Random numbers in kernels: those of walls with a temperature, and of molecules whose velocities are drawn anew.

Numbers are functions of the seed, a purpose, a bead's id and how many draws it has made (`model.random`): the bead's
DRAWS, which is state.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import after
from hpcchain.model.random import Stream
from hpcchain.model.random_kernel import fraction, philox

DIFFUSE, WAITING, MAXWELL = int(Stream.DIFFUSE), int(Stream.WAITING), int(Stream.MAXWELL)
WALL_SPIN = int(Stream.WALL_SPIN)


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
def set_next_redraw(s, first, beads):
    """Set when a molecule's velocities, which are drawn now, are drawn next; count the draws of its beads.

    `first` is the row of its first bead.
    """
    wait = waiting(s, s.bead_id[first], np.int64(s.extra[first, L.DRAWS]) + 1)
    t, r = after(s.par[L.NOW], s.par[L.NOW_REM], wait, s.par[L.TICK])
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
