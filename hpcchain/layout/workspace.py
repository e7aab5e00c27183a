"""Layout of the workspace in which one molecule is advanced: tiles of eight beads, every offset a literal.

A molecule of n beads uses ceil(n / 8) tiles of `TILE` float64 each. Lane l of tile t is bead 8 t + l, and, in a
chain, bond 8 t + l between that bead and the next. Fixed offsets inside one array are what lets the compiler keep
eight lanes in vector registers without run-time alias checks.

=======  =====================  ===========================================================================
offset   shape                  content
=======  =====================  ===========================================================================
HIST     (KMAX + 1, 4, 8)       series of the bond vectors (x, y, z) and of the bond tension
COEF     (KMAX + 1, 3, 8)       series of the bead positions; rows 0 and 1 are position and velocity
FORCE    (3, 8)                 tension times bond, as far as it is known
RHS      (8,)                   right-hand side, then solution, of the tension equations
INVM     (16,)                  inverse masses, lane 8 is the next tile's first; 0 in padding
MASK     (8,)                   1 where a bond exists, else 0
LEN2     (8,)                   squared bond lengths
BOUND    (3, 8)                 bounds of the acceleration components over the segment
KICK     (3, 8)                 velocity change per unit impulse
FORWARD  (4, 8)                 products of 1, 2, 4 and all multipliers of the factorisation up to each bond
BACK     (4, 8)                 the same from each bond on
PIVOT    (8,)                   inverse pivots
KEPT     (3, 8)                 while a contact is resolved: velocities before it, in the series' last row
=======  =====================  ===========================================================================

KMAX is odd. What a series leaves out of the velocity, about h^K, then changes the energy with no preferred sign; with
even K the sign is always the same. Measured with chains of 10 at packing fraction .1 over 1e5 contacts, 2e-15 of the
bonds' rate left out at a segment's end: the energy rose by 3.9e-12 in a straight line with 16, by 6e-13 with 17. The
higher KMAX is, the fewer segments end before a contact, and the more each costs. With 17, 19 and 21 a bead has 59, 50
and 44 segments per contact at packing fraction .1, and 24.7, 23.9 and 23.6 at .3. Against 17, 19 is 1.05 times as fast
at .1 and the same at .3; 21 is 1.06 and .96 times as fast.

In a sector's `series` the coefficients of one bead lie together, (order + 1 - FIRST_TERM, 3) (`curve`): a bead that
comes near another needs that bead's alone. Those before FIRST_TERM are position and velocity at the start, which
`starts` has. A molecule's have space for the highest order (`series_floats`).
"""

from typing import Any

import numpy as np

from hpcchain.jit.decorators import inlined
from hpcchain.jit.simd_plain import LANES
from hpcchain.layout.arrays import AXES, START_COLUMNS

LANE_SHIFT = 3  # bead b is in tile b >> LANE_SHIFT, lane b & LANE_MASK
LANE_MASK = LANES - 1
KMAX = 19
HIST = 0
COEF = HIST + (KMAX + 1) * 4 * LANES
FORCE = COEF + (KMAX + 1) * 3 * LANES
RHS = FORCE + 24
INVM = RHS + 8
MASK = INVM + 16
LEN2 = MASK + 8
BOUND = LEN2 + 8
KICK = BOUND + 24
FORWARD = KICK + 24
BACK = FORWARD + 32
PIVOT = BACK + 32
TILE = PIVOT + 8
ROW = 3 * LANES
KEPT = COEF + KMAX * ROW
FIRST_TERM = 2
UNIT = 4  # floats of `series` that are written at once, and that MOL_SERIES counts in
CURVE = AXES * (KMAX + 1 - FIRST_TERM)  # floats of a bead's coefficients of the highest order
# In a molecule's static table, per tile: inverse masses as in INVM, then MASK and LEN2.
TABLE_MASK = 2 * LANES
TABLE_LEN2 = TABLE_MASK + LANES
TABLE = TABLE_LEN2 + LANES
# Of `State.parts`: what a bead of a long chain whose parts have segments of their own has besides. Length and order are
# those of its part's segment, acceleration and speed bounds of its own motion in it. PART_CENTRE is where its chain's
# centre of mass was last, in image 0, with its velocity and that time. PART_SERIES are the coefficients of the bead's
# polynomial, of FIRST_TERM first, zeros behind the order.
PART_LENGTH, PART_ORDER, PART_ACCELERATION, PART_SPEED = range(4)
PART_CENTRE = 4
PART_SERIES = PART_CENTRE + START_COLUMNS
PART_COLUMNS = PART_SERIES + AXES * (KMAX + 1 - FIRST_TERM)


def tiles(beads: Any) -> np.ndarray:
    """Return how many tiles hold that many beads."""
    return (beads + LANES - 1) // LANES


def series_floats(beads: Any) -> Any:
    """Return how many floats of `series` a molecule of so many beads has: whole UNITs, and more than it fills."""
    more = CURVE * beads + 1  # coefficients are read four at once, and three are the last
    return np.where(beads > 1, -(-more // UNIT) * UNIT, 0)


@inlined
def curve(order):
    """Return how many floats of `series` a bead's coefficients of that order take."""
    return max(3 * (order + 1 - FIRST_TERM), UNIT)


@inlined
def bead_offset(offset, b):
    """Return where the lane of bead b is of the molecule whose tiles begin at an offset."""
    return offset + (b >> LANE_SHIFT) * TILE + (b & LANE_MASK)


@inlined
def vector(work, p):
    """Return the three components of a bead's vector; p is the place of the first in its lane."""
    return work[p], work[p + LANES], work[p + 2 * LANES]


@inlined
def put_vector(work, p, a):
    """Write the three components of a bead's vector, the first at p."""
    work[p] = a[0]
    work[p + LANES] = a[1]
    work[p + 2 * LANES] = a[2]
