"""Uniform gravity: single beads fly on parabolas, molecules' series have it in their second coefficient.

All that falls keeps its relative motion: contacts of two beads are searched in a frame that falls with them
(`sector.search.earliest_event`), where single beads fly straight and bounds of accelerations are those of bonds alone.
What is fixed does not fall: there it has the acceleration -g.
"""

import math

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W


@inlined
def inverse_mass(s, i):
    """Return the inverse mass of the bead in row i, 0 of one that is fixed [1 / mass]."""
    m = s.segment[i, L.MOLECULE]
    return inverse_mass_in(s, m, i - s.mol[m, L.MOL_FIRST])


@inlined
def inverse_mass_in(s, m, b):
    """Return the inverse mass of bead b of the molecule in row m [1 / mass]."""
    return s.table[s.mol[m, L.MOL_TABLE] + (b >> W.LANE_SHIFT) * W.TABLE + (b & W.LANE_MASK)]


@inlined
def fallen(s, i, t):
    """Return how long bead i has fallen a time t after its segment's start: 0 of one that is fixed."""
    return 0.0 if s.par[L.FALL] != 0.0 and inverse_mass(s, i) == 0.0 else t


@kernel
def work_of_fixed(s, i, j, x, y, z):
    """Return the work that a contact of beads i and j does on the one of them that is free, if the other is fixed.

    The impulse (x, y, z) acts on bead i. A fixed bead has the velocity that it starts with.
    """
    if inverse_mass(s, i) == 0.0:
        return -(x * s.starts[i, L.VX] + y * s.starts[i, L.VY] + z * s.starts[i, L.VZ])
    if inverse_mass(s, j) == 0.0:
        return x * s.starts[j, L.VX] + y * s.starts[j, L.VY] + z * s.starts[j, L.VZ]
    return 0.0


@inlined
def falls(s, m):
    """Whether the motion of molecule m has gravity in it from the first: a single bead that falls, or what hangs."""
    return s.table[s.mol[m, L.MOL_TABLE] + L.FALLS_AT] != 0.0


@inlined
def hangs(s, m):
    """Whether molecule m has bonds, gravity pulls at it, and some of its beads are fixed."""
    return falls(s, m) and s.mol[m, L.MOL_SOLVER] != L.BALLISTIC


@inlined
def falling_length(s, speed, way):
    """Return how long what begins at a speed and falls takes at least for a way [time]; inf if it rests for good."""
    rate = speed + math.sqrt(speed * speed + 4.0 * s.par[L.FALL] * way)
    return 2.0 * way / rate if rate > 0.0 else math.inf


@kernel
def add_fall(s, offset, m, order):
    """Add gravity to what has been expanded without it in the workspace; return the order of the segment."""
    if s.par[L.FALL] == 0.0:
        return order
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        return L.FALLING if falls(s, m) else order
    for t in range(s.mol[m, L.MOL_TILES]):
        p = offset + t * W.TILE + W.COEF + 2 * W.ROW
        for c in range(3):
            half = 0.5 * s.par[L.GRAVITY + c]
            for k in range(W.LANES):
                s.work[p + W.LANES * c + k] += half
    return order


@inlined
def bounds_of_fall(s, m, order, acceleration, speed, h):
    """Return bounds of acceleration, in the frame that falls, and of speed over a segment of length h, with gravity.

    Both are given without it, but for what hangs; a single bead that does not fall is fixed.
    """
    if hangs(s, m):
        return acceleration + s.par[L.FALL], speed
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC and order != L.FALLING:
        return s.par[L.FALL], speed
    return acceleration, speed + s.par[L.FALL] * h


@kernel
def falling_expiry(s, i, shell, away):
    """Return a bound of `earliest_event.list_expiry`, for a single bead that falls.

    `away` is how far from the list's origin its segment began [length].
    """
    speed = math.sqrt(s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2)
    since = s.origin_time[i]
    if since >= 0.0:
        return since + falling_length(s, speed + s.par[L.FALL] * since, shell)
    return falling_length(s, speed, max(shell - away, 0.0))
