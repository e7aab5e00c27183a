"""Where lists are made: in a frame that moves with the system, and about which place on a bead's way.

Beads with a common speed stay near one another however fast that is. So list origins, and all other places that only
say which may be near which, are places in a frame that moves with the centre of mass (`setup.drift`): a bead leaves its
list's shell by its speed in there. The frame leaves no trace in the trajectory, as lists leave none.

In ROUND ticks the frame moves by whole periods along each axis: so where it is at a time takes no rounding to know, but
for what comes behind the last tick, however long a run lasts.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import length_of, series_order

TURN = 4294967296.0
HALF_TURN = 2147483648
AHEAD = 0.6  # of the shell's half width
ROUND = 2.0**20  # ticks


@inlined
def turned(par, k, ticks, time):
    """Return how many periods the lists' frame moves along axis k in so many ticks and a time.

    Along an axis with periodic images whole ones are left out.
    """
    turns = par[L.DRIFT_TURNS + k]
    moved = turns * ticks
    if par[L.SIZE + k] != 0.0:
        moved = turns * (ticks - ROUND * np.floor(ticks / ROUND))
        moved -= np.floor(moved)
    return moved + turns * (time / par[L.TICK])


@inlined
def list_fraction(s, i, k, x, t):
    """Return where coordinate x of bead i, a time t after its segment's start, is in its period in the lists' frame."""
    u = (x - s.par[L.ORIGIN + k]) * s.par[L.INVERSE_PERIOD + k]
    if s.par[L.DRIFTS] != 0.0:
        u -= turned(s.par, k, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM] + t)
    u -= np.floor(u)
    return u if u < 1.0 else 0.0


@inlined
def cell_along(s, k, fraction):
    """Return the number along axis k of the cell at a fraction of the period."""
    c, number = np.int64(fraction * s.cells[L.GRID_X + k]), s.cells[L.CELLS_X + k]
    return c if c < number else c % number


@inlined
def way_from_origin(s, i, k, x, t):
    """Return how far coordinate x of bead i, at a time t of its segment, is from its list's origin [length].

    That is along axis k, by the nearest image: lists are kept as if all axes were periodic, and what a bead meets after
    a whole turn is on its list, too.
    """
    u = (x - s.par[L.ORIGIN + k]) * s.par[L.INVERSE_PERIOD + k]
    if s.par[L.DRIFTS] != 0.0:
        u -= turned(s.par, k, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM] + t)
    u -= (s.origin_fractions[i, k] + np.float64(HALF_TURN)) / TURN
    return (u - np.rint(u)) * s.par[L.PERIOD + k]


@inlined
def list_speed(s, i):
    """Return a bound of bead i's speed in the lists' frame over its segment [length / time]."""
    if s.par[L.DRIFTS] == 0.0:
        return s.bounds[i, L.SPEED]
    u = s.starts[i, L.VX] - s.par[L.DRIFT]
    v = s.starts[i, L.VY] - s.par[L.DRIFT + L.Y]
    w = s.starts[i, L.VZ] - s.par[L.DRIFT + L.Z]
    return math.sqrt(u * u + v * v + w * w) + s.bounds[i, L.ACCELERATION] * length_of(s, i)


@kernel
def note_top_speed(s, m, fastest):
    """Note the greatest of the bounds of molecule m's beads' speeds, as it is in the lists' frame [length / time].

    `fastest` is that of frames at rest.
    """
    if s.par[L.DRIFTS] != 0.0:
        fastest = 0.0
        for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
            fastest = max(fastest, list_speed(s, i))
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        s.top_speed[m] = fastest
    if fastest > s.par[L.FASTEST]:
        s.par[L.FASTEST] = fastest


@kernel
def list_time(s, i, dt):
    """Return how long after its segment's start bead i is where the list is made that is renewed after a time dt.

    That of a single bead on straight flight is made about where it will be if nothing hits it, so that it has more of
    the shell before it than behind. What it gains in free flight is more than what it loses after a contact: renewals
    by contact are .68 times as many at a packing fraction of .1, .8 at .3, .95 at .45
    (docs/developer/decisions/001-lists-about-a-place-ahead.md). A bead that is slow in a fast frame does not come so
    far before its segment ends.
    """
    straight = s.bounds[i, L.ACCELERATION] == 0.0 and series_order(s.segment, i) != L.FALLING
    if not straight or s.mol[s.segment[i, L.MOLECULE], L.MOL_SOLVER] != L.BALLISTIC:
        return dt
    speed = list_speed(s, i)
    if speed == 0.0:
        return dt
    ahead = AHEAD * s.par[L.SHELL] / speed
    if s.par[L.DRIFTS] != 0.0:
        ahead = min(ahead, length_of(s, i))
    return dt + ahead
