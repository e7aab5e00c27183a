"""Beads of molecules in the workspace: where they are, how fast they approach, what a unit impulse does to them."""

import math

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W


@kernel
def approach(work, p, q, n):
    """Return n . (v_p - v_q) of the beads at offsets p and q; q < 0 is a wall at rest."""
    s = 0.0
    for c in range(3):
        v = work[p + W.COEF + W.ROW + W.LANES * c]
        if q >= 0:
            v -= work[q + W.COEF + W.ROW + W.LANES * c]
        s += n[c] * v
    return s


@kernel
def common_speed(work, p, q, n):
    """Return n . (v_p + v_q) of the beads at offsets p and q, 0 where q < 0 is a wall; other first: its negative.

    A quarter of its values before and after an impulse along n, times that, is the energy that the bead at p gains of
    the other: half of what contacts lose is lost by either.
    """
    s = 0.0
    if q >= 0:
        for c in range(3):
            at = W.COEF + W.ROW + W.LANES * c
            s += n[c] * (work[p + at] + work[q + at])
    return s


@kernel
def separation(par, work, p, q, n):
    """Write the unit vector from the bead at offset q to the one at p (nearest image) to n; return their distance."""
    rr = 0.0
    for c in range(3):
        x = work[p + W.COEF + W.LANES * c] - work[q + W.COEF + W.LANES * c]
        x -= par[L.SIZE + c] * np.rint(x * par[L.INVERSE + c])
        n[c] = x
        rr += x * x
    r = math.sqrt(rr)
    for c in range(3):
        n[c] /= r
    return r
