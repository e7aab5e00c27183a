"""A rigid dimer in free flight: centre of mass straight, axis turning uniformly."""

import math

from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import workspace as W

WIDEST_TURN = 0.65


@inlined
def turning_time(omega2, h):
    """Return the time h, cut to what turns by WIDEST_TURN [time]."""
    if h * h * omega2 > WIDEST_TURN**2:
        h = WIDEST_TURN / math.sqrt(omega2)
    return h


@inlined
def last_turn(k, even, odd, h, phase, tolerance):
    """Whether the terms k - 1 of cos and k of sin, k odd, are both below `tolerance` in the velocity at time h."""
    return abs(even) * (k - 1) * h ** (k - 2) < tolerance * phase and abs(odd) * k * h ** (k - 1) < tolerance


@kernel
def rotor_series(work, offset, h, tolerance):
    """Fill the position coefficients of a dimer: those of cos and sin, until two in a row are below `tolerance`.

    Positions and velocities are in COEF rows 0 and 1. The segment is kept to WIDEST_TURN, where KMAX terms are exact to
    round-off. Returns order and length as `chain_series`.
    """
    share = work[offset + W.INVM] / (work[offset + W.INVM] + work[offset + W.INVM + 1])
    uu = 0.0
    ww = 0.0
    for c in range(3):
        u = work[offset + W.COEF + W.LANES * c + 1] - work[offset + W.COEF + W.LANES * c]
        w = work[offset + W.COEF + W.ROW + W.LANES * c + 1] - work[offset + W.COEF + W.ROW + W.LANES * c]
        uu += u * u
        ww += w * w
    omega2 = ww / uu
    h = turning_time(omega2, h)
    even = 1.0
    odd = 1.0
    order = 1
    axis = math.sqrt(uu)
    phase = math.sqrt(omega2)
    for k in range(2, W.KMAX + 1):
        if k % 2 == 0:
            even *= -omega2 / (k * (k - 1))
            factor = even
        else:
            odd *= -omega2 / (k * (k - 1))
            factor = odd
        for c in range(3):
            row = offset + W.COEF + W.ROW * (k % 2) + W.LANES * c
            u = (work[row + 1] - work[row]) * factor
            work[offset + W.COEF + W.ROW * k + W.LANES * c] = -share * u
            work[offset + W.COEF + W.ROW * k + W.LANES * c + 1] = (1.0 - share) * u
        order = k
        if k % 2 == 1 and last_turn(k, even, odd, h, phase, tolerance):
            break
    for c in range(3):
        work[offset + W.BOUND + W.LANES * c] = 0.0
        work[offset + W.BOUND + W.LANES * c + 1] = 0.0
    work[offset + W.BOUND] = omega2 * axis * share
    work[offset + W.BOUND + 1] = omega2 * axis * (1.0 - share)
    return order, h
