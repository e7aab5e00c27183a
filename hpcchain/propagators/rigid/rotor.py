"""A rigid dimer in free flight: centre of mass straight, axis turning uniformly."""

import math

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import workspace as W
from hpcchain.layout.vectors import dot, minus, times

WIDEST_TURN = 0.65


@inlined
def turning_time(omega2, h):
    """Return the time h, cut to what turns by WIDEST_TURN [time]."""
    if h * h * omega2 > WIDEST_TURN**2:
        h = WIDEST_TURN / math.sqrt(omega2)
    return h


@kernel
def turning_series(work, offset, n, row, axis, rate, h, tolerance):
    """Fill the position coefficients of beads on an axis that turns uniformly; return order and length, and w^2.

    They are those of cos and sin, until two in a row are below `tolerance` in the velocity. The segment is kept to
    WIDEST_TURN, where KMAX terms are exact to round-off.

    Parameters
    ----------
    n : int
        Beads.
    row : int
        Of the tiles, where each one's coordinate along the axis is, in lengths of that.
    axis, rate : vectors
        The axis at first, and how it changes.
    """
    omega2 = dot(rate, rate) / dot(axis, axis)
    h = turning_time(omega2, h)
    phase = math.sqrt(omega2)
    even = odd = 1.0
    for k in range(2, W.KMAX + 1):
        if k % 2 == 0:
            even *= -omega2 / (k * (k - 1))
            term = times(even, axis)
        else:
            odd *= -omega2 / (k * (k - 1))
            term = times(odd, rate)
        for b in range(n):
            p = W.bead_offset(offset, b)
            W.put_vector(work, p + W.COEF + W.ROW * k, times(work[p + row], term))
        small = abs(even) * (k - 1) * h ** (k - 2) < tolerance * phase and abs(odd) * k * h ** (k - 1) < tolerance
        if k % 2 == 1 and small:
            return k, h, omega2
    return W.KMAX, h, omega2


@kernel
def bound_turning(work, offset, n, row, most):
    """Fill BOUND of beads on an axis with the acceleration at coordinate 1 along it, times their own."""
    for b in range(n):
        p = W.bead_offset(offset, b)
        W.put_vector(work, p + W.BOUND, (most * abs(work[p + row]), 0.0, 0.0))


@kernel
def rotor_series(work, offset, h, tolerance):
    """Fill the position coefficients of a dimer; return order and length as `chain_series`."""
    p = offset + W.COEF
    share = work[offset + W.INVM] / (work[offset + W.INVM] + work[offset + W.INVM + 1])
    work[offset + W.RHS], work[offset + W.RHS + 1] = -share, 1.0 - share
    axis = minus(W.vector(work, p + 1), W.vector(work, p))
    rate = minus(W.vector(work, p + W.ROW + 1), W.vector(work, p + W.ROW))
    order, h, omega2 = turning_series(work, offset, 2, W.RHS, axis, rate, h, tolerance)
    bound_turning(work, offset, 2, W.RHS, omega2 * math.sqrt(dot(axis, axis)))
    return order, h
