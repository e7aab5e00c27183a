"""A first look in time: which neighbours a single bead may meet a distance of its potential with before long.

Beads with a well have many neighbours within its range, and each of these pairs will meet some distance: to find out
which is first takes the time of every pair. But few meet one soon. So a bead is searched up to a horizon, a time after
its segment's start within which it meets something as a rule; where it does not, farther on. How far a pair comes apart
and together until then, the thirty-two bytes that tell a single bead's way (`broad_phase`) say, without a root, and
without a look at the tables of who is within a step of whom: what meets a distance crosses it.
"""

import numpy as np

from hpcchain.jit.decorators import outlined
from hpcchain.layout import arrays as L
from hpcchain.sector.search.broad_phase import flights_apart, own_flight
from hpcchain.sector.search.prefetch import ask_first, prefetch

FARTHER = 4.0
"""Times the horizon within which a bead has met nothing: how far it is looked for then."""
WIDER, NARROWER = 1.0 + 2.0**-3, 1.0 - 2.0**-6
"""What becomes of the horizon for all beads when one has met nothing within it, and when one has: one in nine does not.
Results do not depend on it."""


@outlined
def candidates_within(s, i, horizon):
    """Write those of single bead i's list with which it may meet a distance within a horizon to `found`.

    Returns how many. Those are left out with which it is nearer or farther than each distance of the run's potentials,
    and farther than contact, by more than rounding can make (`broad_phase.candidates_straight`), from where both
    segments exist to the horizon [time], which counts from bead i's segment's start.
    """
    xi, yi, zi, ui, vi, wi, high, low = own_flight(s, i)
    rough = 4.0 * s.par[L.ASTRAY]
    touching = (s.par[L.WIDEST] + rough) * (s.par[L.WIDEST] + rough)
    distances = np.int64(s.potential[len(s.potential) - 1])
    last = len(s.potential) - 1
    together = 0.0 if s.scalars[L.SCALAR_WINDOWED] != 0 else np.nan
    count = np.int64(0)
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        j = np.int64(s.neighbour[e])
        lag, own, rx, ry, rz, ux, uy, uz = flights_apart(s, j, xi, yi, zi, ui, vi, wi, high, low)
        rr = rx * rx + ry * ry + rz * rz
        uu = ux * ux + uy * uy + uz * uz
        ru = rx * ux + ry * uy + rz * uz
        left = horizon + own
        end = rr + left * (2.0 * ru + left * uu)
        turning = rr - ru * ru / uu
        least = turning if -ru < left * uu else end
        least = least if ru < 0.0 else rr
        most = max(rr, end)
        meets = (least <= touching) & ((ru < 0.0) | (ru * ru <= rough * rough * uu))
        for k in range(last - distances, last):
            distance = s.potential[k]
            meets |= (least <= (distance + rough) * (distance + rough)) & (
                most >= (distance - rough) * (distance - rough)
            )
        unknown = (not rr >= 0.0) | (lag == together)  # a molecule's bead has no such way: its numbers are none
        s.found[count] = j
        count += 1 if (meets | unknown) & (not left < 0.0) else 0
    for e in range(count):
        prefetch(s.starts, s.found[e])
        ask_first(s.bead_id, s.found[e])
    return count
