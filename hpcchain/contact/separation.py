"""Beads of molecules in the workspace: where they are, how fast they approach, what a unit impulse does to them."""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel
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


@inlined
def nearest(s, x, y, z):
    """Return a vector between two places, of their nearest images [length]."""
    x -= s.par[L.SIZE] * np.rint(x * s.par[L.INVERSE])
    y -= s.par[L.SIZE + L.Y] * np.rint(y * s.par[L.INVERSE + L.Y])
    z -= s.par[L.SIZE + L.Z] * np.rint(z * s.par[L.INVERSE + L.Z])
    return x, y, z


@kernel
def separation(s, p, q, n):
    """Write the unit vector from the bead at offset q to the one at p (nearest image) to n; return their distance."""
    px, py, pz = W.vector(s.work, p + W.COEF)
    qx, qy, qz = W.vector(s.work, q + W.COEF)
    x, y, z = nearest(s, px - qx, py - qy, pz - qz)
    r = math.sqrt(x * x + y * y + z * z)
    n[0], n[1], n[2] = x / r, y / r, z / r
    return r
