"""Columns of `State.parts`: what a bead of a long chain whose parts have segments of their own has besides.

LENGTH and ORDER are those of its part's segment, ACCELERATION and SPEED bounds of its own motion in it. CENTRE is where
its chain's centre of mass was last, in image 0, with its velocity and that time. SERIES are the coefficients of the
bead's polynomial, of FIRST_TERM first (`layout.workspace`), zeros behind the order.
"""

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

LENGTH, ORDER, ACCELERATION, SPEED = range(4)
CENTRE = 4
SERIES = CENTRE + L.START_COLUMNS
COLUMNS = SERIES + L.AXES * (W.KMAX + 1 - W.FIRST_TERM)
