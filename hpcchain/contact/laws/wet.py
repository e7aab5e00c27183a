"""Wet grains: contacts form liquid bridges, and a bridge that breaks takes energy (Ulrich et al. 2009).

A bridge forms when two hard surfaces push each other, by whichever law. It acts at one distance, its own, and only as
the beads come there from within. Where the energy of their motion along the normal is above the E that breaking takes,
the rate u of the distance becomes that of

    m u'^2 / 2 = m u^2 / 2 - E,

m being the effective mass of any bond graph (docs/theory/impulses.md), and the bridge is gone. Where it is not, u' = -u
and the bridge stays. E is lost as what inelastic contacts lose is: pairs have no potential energy, with a bridge or
without. Beads that come nearer from outside pass the distance as if it were not there.

Which pairs have a bridge stands where the levels of steps do (`step`): a bridge is level 1.
"""

import numpy as np

from hpcchain.contact.laws.step import borders, cross, level_of, limit_of_pair, potential_begin, set_level
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.model.physics.step_potentials import BRIDGE


@inlined
def form_bridge(s, i, j):
    """Write down that beads in rows i and j, which have touched, have a bridge, where those of their types form one."""
    if s.extended is not None:
        if s.par[L.STEP_POTENTIALS] != 0.0 and _is_wet(s, i, j):
            set_level(s, i, s.bead_id[j], np.int64(1))
            set_level(s, j, s.bead_id[i], np.int64(1))


@kernel
def _is_wet(s, i, j):
    """Whether beads in rows i and j form bridges."""
    begin = potential_begin(s, i, j)
    return begin > 0 and s.potential[begin + BRIDGE] >= 0.0


@kernel
def bridges_fit(s, found):
    """Whether the tables of the beads of so many contacts at one instant (`tied`) can take all new bridges."""
    if s.extended is not None:
        if s.par[L.STEP_POTENTIALS] != 0.0:
            for k in range(found):
                for side in range(2):
                    if not _fits(s, s.tied[k, side], found):
                        return False
    return True


@kernel
def _fits(s, i, found):
    """Whether bead i's table can take the bridges that the contacts in `tied` form; a wall (i < 0) has none."""
    last = s.extra.shape[1] - 1
    if i < 0:
        return True
    for k in range(found):
        one, other = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]
        if other >= 0 and (one == i or other == i) and _is_wet(s, one, other):
            if level_of(s, i, s.bead_id[other if one == i else one]) == 0:
                if last < L.INSIDE or s.extra[i, last] != 0.0:
                    return False
                last -= 1
    return True


@kernel
def breaks(s, i, j):
    """Whether the outer distance of beads in rows i and j is that at which their bridge breaks, and not a limit."""
    limits = limit_of_pair(s, i, j)
    _, outer, begin, level = borders(s, i, j, limits)
    if level == 0 or s.potential[begin + BRIDGE] < 0.0:
        return False
    return limits < 0 or outer < s.limits[limits, L.MOST]


@kernel
def outcome(s, c):
    """Return the Outcome of the distance at which a bridge breaks; where it does, take it from both beads' tables."""
    return cross(s, c, s.potential[potential_begin(s, c.i, c.j) + BRIDGE], np.int64(0))
