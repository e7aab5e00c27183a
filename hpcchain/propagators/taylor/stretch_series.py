"""The Taylor series of a stretch of a long chain, whose neighbouring beads move as they did before.

A stretch's beads are in tiles of their own. The bead before it is the last lane of the tile before them, the one behind
it the first lane of the tile after them. Both have inverse mass 0 and a motion that is given: their coefficients of
order 2 and more stand in COEF from the start, zeros in the other lanes of these two tiles. With accelerations a that
are given, T lambda = |b'|^2 + b . (a_{l+1} - a_l); else the recursion is that of `chain_series`.
"""

import math
from collections import namedtuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.jit.simd import add, fma, larger, largest, load, mul, size, splat, store
from hpcchain.layout import workspace as W
from hpcchain.propagators.taylor.chain import chain_bonds, dot, put_triple, solve_back, triple
from hpcchain.propagators.taylor.chain_series import (
    LAMBDA,
    PER_ORDER,
    finished,
    known_side,
    left_after,
    pulled,
    store_bond,
    tensioned,
)

# Where the tiles of a stretch begin, how many there are, those of the beads beside it among them, and 1 where the first
# is that of a bead before it, or the last that of one behind it, else 0.
Tiles = namedtuple("Tiles", "offset tiles before behind")


@inlined
def _given(work, p, k):
    """Return the accelerations of order k of the beads in tile p, whose coefficients of order k + 2 are there."""
    scale = splat((k + 1.0) * (k + 2.0))
    x, y, z = triple(work, p + W.COEF + W.ROW * (k + 2))
    return mul(x, scale), mul(y, scale), mul(z, scale)


@kernel
def _first_known(work, at):
    """Write bond rates to the history and half the solution for the first tensions to RHS; return the fastest rate."""
    offset, tiles, before, behind = at.offset, at.tiles, at.before != 0, at.behind != 0
    chain_bonds(work, offset, tiles, W.COEF + W.ROW, W.HIST + PER_ORDER)
    zero = splat(0.0)
    worst, carry = zero, zero
    ax, ay, az, rate = zero, zero, zero, zero
    for t in range(tiles):
        p = offset + t * W.TILE
        cx, cy, cz = ax, ay, az
        last = rate
        bx, by, bz = triple(work, p + W.HIST + PER_ORDER)
        rate = dot(bx, by, bz, bx, by, bz)
        worst = larger(rate, worst)
        ax, ay, az = zero, zero, zero
        if (t == 0 and before) or (t == tiles - 1 and behind):
            ax, ay, az = _given(work, p, np.int64(0))
        if t > 0:
            carry = known_side(work, p - W.TILE, cx, cy, cz, ax, ay, az, last, carry)
    known_side(work, offset + (tiles - 1) * W.TILE, ax, ay, az, zero, zero, zero, rate, carry)
    return math.sqrt(largest(worst))


@inlined
def _products_of_two(work, p, k, tension, bx, by, bz):
    """Return what `chain_series.products` does of an odd order k, and the same of order k + 1 but for its latest terms.

    These are its products with the tension of order k and the bond of order k + 2. So what came before is read once for
    two orders: of wide stretches it is more than a first-level cache holds, and takes longer to read than to multiply.
    """
    zero, half = splat(0.0), splat(0.5)
    fx, fy, fz, rx, ry, rz = zero, zero, zero, zero, zero, zero
    gx, gy, gz, sx, sy, sz = zero, zero, zero, zero, zero, zero
    low = p + W.HIST
    high = p + W.HIST + PER_ORDER * k
    ax, ay, az = bx, by, bz  # the bond of one order more than that at `high`
    for _ in range((k - 1) // 2):
        pull = load(work, low + W.ROW)
        cx, cy, cz = triple(work, high)
        dx, dy, dz = triple(work, low + 2 * PER_ORDER)
        fx, fy, fz = fma(pull, cx, fx), fma(pull, cy, fy), fma(pull, cz, fz)
        gx, gy, gz = fma(pull, ax, gx), fma(pull, ay, gy), fma(pull, az, gz)
        rx, ry, rz = fma(dx, cx, rx), fma(dy, cy, ry), fma(dz, cz, rz)
        sx, sy, sz = fma(dx, ax, sx), fma(dy, ay, sy), fma(dz, az, sz)
        ax, ay, az = cx, cy, cz
        low += PER_ORDER
        high -= PER_ORDER
    sx, sy, sz = fma(mul(half, ax), ax, sx), fma(mul(half, ay), ay, sy), fma(mul(half, az), az, sz)
    for _ in range((k - 1) // 2):
        pull = load(work, low + W.ROW)
        cx, cy, cz = triple(work, high)
        fx, fy, fz = fma(pull, cx, fx), fma(pull, cy, fy), fma(pull, cz, fz)
        gx, gy, gz = fma(pull, ax, gx), fma(pull, ay, gy), fma(pull, az, gz)
        ax, ay, az = cx, cy, cz
        low += PER_ORDER
        high -= PER_ORDER
    cx, cy, cz = triple(work, high)
    fx, fy, fz = fma(tension, cx, fx), fma(tension, cy, fy), fma(tension, cz, fz)
    gx, gy, gz = fma(tension, ax, gx), fma(tension, ay, gy), fma(tension, az, gz)
    rx, ry, rz = fma(cx, bx, rx), fma(cy, by, ry), fma(cz, bz, rz)
    return fx, fy, fz, add(add(rx, ry), rz), gx, gy, gz, add(add(sx, sy), sz)


@inlined
def _products(work, p, k):
    """Return what `chain_series.products` does of order k; orders are summed by twos, from odd ones on."""
    # What is there of the next order is kept where the impulse and the bounds have their rows.
    tension = load(work, p + LAMBDA + PER_ORDER * (k - 1))
    bx, by, bz = triple(work, p + W.HIST + PER_ORDER * (k + 1))
    if k % 2 == 1:
        fx, fy, fz, rate, gx, gy, gz, more = _products_of_two(work, p, k, tension, bx, by, bz)
        put_triple(work, p + W.KICK, gx, gy, gz)
        store(work, p + W.BOUND, more)
    else:
        cx, cy, cz = triple(work, p + W.HIST + PER_ORDER)
        fx, fy, fz = triple(work, p + W.KICK)
        fx, fy, fz = fma(tension, cx, fx), fma(tension, cy, fy), fma(tension, cz, fz)
        rate = fma(cz, bz, fma(cy, by, fma(cx, bx, load(work, p + W.BOUND))))
    return fx, fy, fz, rate


@kernel
def _known(work, at, k):
    """Do what `chain_series` does for order k, with accelerations that are given at the ends."""
    offset, tiles, before, behind = at.offset, at.tiles, at.before != 0, at.behind != 0
    zero = splat(0.0)
    scale = splat((k + 1.0) * (k + 2.0))
    carry = zero
    ax, ay, az, fx, fy, fz, rate = zero, zero, zero, zero, zero, zero, zero
    for t in range(tiles):
        p = offset + t * W.TILE
        gx, gy, gz = fx, fy, fz
        cx, cy, cz = ax, ay, az
        last = rate
        if t == tiles - 1 and behind:
            fx, fy, fz, rate = zero, zero, zero, zero
        else:
            fx, fy, fz, rate = _products(work, p, k)
        put_triple(work, p + W.FORCE, fx, fy, fz)
        rate = mul(rate, scale)
        if (t == 0 and before) or (t == tiles - 1 and behind):
            ax, ay, az = _given(work, p, k)
        else:
            ax, ay, az = pulled(work, p, fx, fy, fz, gx, gy, gz)
        if t > 0:
            carry = known_side(work, p - W.TILE, cx, cy, cz, ax, ay, az, last, carry)
    known_side(work, offset + (tiles - 1) * W.TILE, ax, ay, az, zero, zero, zero, rate, carry)


@kernel
def _append(work, at, k):
    """Store position and bond coefficients of order k + 2; return the largest of the stretch's own (1-norm)."""
    offset, tiles, before, behind = at.offset, at.tiles, at.before != 0, at.behind != 0
    zero = splat(0.0)
    inverse = splat(1.0 / ((k + 1) * (k + 2)))
    coefficient = W.COEF + W.ROW * (k + 2)
    bond = W.HIST + PER_ORDER * (k + 2)
    worst = zero
    ax, ay, az, fx, fy, fz = zero, zero, zero, zero, zero, zero
    for t in range(tiles):
        p = offset + t * W.TILE
        gx, gy, gz = fx, fy, fz
        cx, cy, cz = ax, ay, az
        tension = load(work, p + LAMBDA + PER_ORDER * k)
        fx, fy, fz = zero, zero, zero
        if k > 0:
            fx, fy, fz = triple(work, p + W.FORCE)
        fx, fy, fz = tensioned(work, p, tension, fx, fy, fz)
        if (t == 0 and before) or (t == tiles - 1 and behind):
            ax, ay, az = _given(work, p, k)
        else:
            ax, ay, az = pulled(work, p, fx, fy, fz, gx, gy, gz)
            put_triple(work, p + coefficient, mul(ax, inverse), mul(ay, inverse), mul(az, inverse))
            worst = larger(add(add(size(ax), size(ay)), size(az)), worst)
        if t > 0:
            store_bond(work, p - W.TILE, bond, cx, cy, cz, ax, ay, az, inverse)
    store_bond(work, offset + (tiles - 1) * W.TILE, bond, ax, ay, az, zero, zero, zero, inverse)
    return largest(worst) / ((k + 1) * (k + 2))


@outlined
def stretch_series(work, at, h, tolerance):
    """Expand the motion of a stretch of a chain about the present state.

    Positions and velocities are in COEF rows 0 and 1, bond vectors and T's factors are present (`chain_prepare`).

    Parameters
    ----------
    work : float64 array
    at : Tiles
    h, tolerance : float
        As `chain_series` takes them.

    Returns
    -------
    order : int
        Highest coefficient.
    h : float
        Length of the segment [time], at most what was asked.
    """
    tolerance *= _first_known(work, at)
    power = h
    terms = (0.0, 0.0, 0.0, 0.0)
    k = np.int64(0)
    while True:
        if k > 0:
            _known(work, at, k)
        solve_back(work, at.offset, at.tiles, LAMBDA + PER_ORDER * k)
        terms = (terms[1], terms[2], terms[3], _append(work, at, k) * power * (k + 2))
        power = power * h
        k += 1
        left = left_after(terms, k, tolerance)
        if left <= tolerance or k + 1 == W.KMAX:
            return finished(work, at.offset, at.tiles, h, tolerance, k + 1, left)


@kernel
def shifted(starts, i, series, begin, order, t, work, at):
    """Write the coefficients of bead i's polynomial about a time t after its start to COEF rows of a lane.

    Parameters
    ----------
    starts, series : float64 arrays
    i : int
        The bead's row.
    begin, order : int
        Where its coefficients begin, and the highest.
    t : float
        [time]
    work : float64 array
    at : int
        Index of the lane's x of order 0; what is behind `order` becomes 0.
    """
    for c in range(3):
        for k in range(W.FIRST_TERM):
            work[at + k * W.ROW + c * W.LANES] = starts[i, c + 3 * k]
        for k in range(W.FIRST_TERM, W.KMAX + 1):
            known = k <= order
            work[at + k * W.ROW + c * W.LANES] = series[begin + 3 * (k - W.FIRST_TERM) + c] if known else 0.0
    for low in range(order):
        p = at + order * W.ROW
        x, y, z = work[p], work[p + W.LANES], work[p + 2 * W.LANES]
        for _ in range(order - low):
            p -= W.ROW
            x = work[p] + t * x
            y = work[p + W.LANES] + t * y
            z = work[p + 2 * W.LANES] + t * z
            work[p] = x
            work[p + W.LANES] = y
            work[p + 2 * W.LANES] = z
