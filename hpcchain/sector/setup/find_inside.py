"""At the very start, and never again: which beads are within which steps of their potentials, by their distances."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import UNKNOWN
from hpcchain.sector.events.crossing import between
from hpcchain.sector.search.step_time import potential_begin, set_level
from hpcchain.sector.segments.falling import inverse_mass


@kernel
def find_inside(s, extended):
    """Fill the tables of owned beads of which nobody knows yet whom they are within a step of, by the lists.

    Parameters
    ----------
    s : Sector
        Its molecules' segments begin at one time.
    extended : True or None
        Its option.

    Returns
    -------
    bool
        Whether a table has no room; it is then as before.
    """
    if extended is not None:
        if s.par[L.STEP_POTENTIALS] == 0.0:
            return False
        for i in range(s.scalars[L.SCALAR_BEADS]):
            if s.extra[i, L.INSIDE] == UNKNOWN and s.lists[i, L.OWNERSHIP] == L.OWNED:
                s.extra[i, L.INSIDE] = 0.0
                if not _fill(s, i):
                    for c in range(L.INSIDE, s.extra.shape[1]):
                        s.extra[i, c] = 0.0
                    s.extra[i, L.INSIDE] = UNKNOWN
                    return True
    return False


@kernel
def _fill(s, i):
    """Fill bead i's table; return whether there was room."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        if not _note(s, i, np.int64(s.neighbour[e])):
            return False
    for e in range(s.limited_row[i], s.limited_row[i + 1]):
        if s.limits[e, L.ACTS] != 0.0 and not _note(s, i, s.limited[e]):
            return False
    return True


@kernel
def _note(s, i, j):
    """Write bead j into bead i's table if it is within a step of their potential; return whether there was room.

    Two fixed beads have no potential energy: nothing of theirs ever changes, or what moves them does work that no
    event counts.
    """
    begin = potential_begin(s, i, j)
    if begin == 0 or (inverse_mass(s, i) == 0.0 and inverse_mass(s, j) == 0.0):
        return True
    _, _, _, r = between(s, i, j)
    steps = np.int64(s.potential[begin])
    level = np.int64(0)
    while level < steps and r < s.potential[begin + 2 + steps + level]:
        level += 1
    return set_level(s, i, s.bead_id[j], level) if level > 0 else True
