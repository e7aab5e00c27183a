"""Which pairs of beads never collide since bonds, or limits of their distance, join them."""

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.sector.search.step_time import limit_of_pair


@kernel
def _joined_across(s, m, i, j):
    """Whether bead i of molecule row m is bonded to bead j of the part of the same long chain beside it."""
    # Row j may be of a closed segment, whose molecule row has the chain and place of the part that it was of.
    h = s.segment[j, L.MOLECULE]
    if s.block[m, L.BLOCK_CHAIN] < 0 or s.block[m, L.BLOCK_CHAIN] != s.block[h, L.BLOCK_CHAIN]:
        return False
    further = s.block[h, L.BLOCK_PLACE] - s.block[m, L.BLOCK_PLACE]
    if further == 1:
        return i + 1 == s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS] and j == s.mol[h, L.MOL_FIRST]
    if further == -1:
        return i == s.mol[m, L.MOL_FIRST] and j + 1 == s.mol[h, L.MOL_FIRST] + s.mol[h, L.MOL_BEADS]
    return False


@kernel
def joined(s, i, j):
    """Whether two beads are no pair of a list: bonded or excluded, of one molecule without self-contact, with limits.

    Bonds of linear chains are known without a look at the table of excluded beads, which seldom is in the cache; where
    more than bonds is excluded, the run is `extended`.
    """
    m = s.segment[i, L.MOLECULE]
    b = j - s.mol[m, L.MOL_FIRST]
    if b < 0 or b >= s.mol[m, L.MOL_BEADS]:
        return _joined_across(s, m, i, j) if s.stretched is not None else False
    if s.mol[m, L.MOL_SELF] == 0:
        return True
    if limit_of_pair(s, i, j, s.extended) >= 0:
        return True
    if s.extended is None and s.mol[m, L.MOL_SOLVER] == L.CHAIN:
        return j == i + 1 or i == j + 1
    for e in range(s.bond_row[i], s.bond_row[i + 1]):
        if s.bonded[e] == j:
            return True
    return False
