"""About which place on a bead's way its neighbour list is made anew."""

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import series_order

AHEAD = 0.6  # of the shell's half width


@kernel
def list_time(s, i, dt):
    """Return how long after its segment's start bead i is where the list is made that is renewed after a time dt.

    That of a single bead on straight flight is made about where it will be if nothing hits it, so that it has more of
    the shell before it than behind. What it gains in free flight is more than what it loses after a contact: renewals
    by contact are .68 times as many at a packing fraction of .1, .8 at .3, .95 at .45 (docs/performance/benchmarks.md).
    """
    straight = s.bounds[i, L.ACCELERATION] == 0.0 and series_order(s.segment, i) != L.FALLING
    if straight and s.bounds[i, L.SPEED] > 0.0 and s.mol[s.segment[i, L.MOLECULE], L.MOL_SOLVER] == L.BALLISTIC:
        return dt + AHEAD * s.par[L.SHELL] / s.bounds[i, L.SPEED]
    return dt
