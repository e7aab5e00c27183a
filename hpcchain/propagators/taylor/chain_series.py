"""The Taylor series of a linear chain's free motion, order by order, see docs/theory/numerics.md (Taylor series).

Each order's tensions follow from the lower orders' tensions and bonds through the factors of T (`chain`), and with them
the next coefficients of bonds and positions.

A stretch of a long chain is done likewise, between the beads adjacent to it, which move as they did before. Its beads
are in tiles of their own. The bead before it is the last lane of the tile before them, the one behind it the first lane
of the tile after them. Both have inverse mass 0 and a motion that is given: their coefficients of order 2 and more
stand in COEF from the start, zeros in the other lanes of these two tiles. With accelerations a that are given,
T lambda = |b'|^2 + b . (a_{l+1} - a_l).
"""

import math
from collections import namedtuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.jit.simd import (
    add,
    after_1,
    ahead_1,
    first_everywhere,
    fma,
    larger,
    largest,
    last_everywhere,
    load,
    mul,
    size,
    splat,
    store,
    sub,
)
from hpcchain.layout import workspace as W
from hpcchain.propagators.taylor.chain import backward, chain_bonds, dot, forward, put_triple, solve_back, triple

LAMBDA = W.HIST + W.ROW
PER_ORDER = 32
MORE = 1.001  # beyond what rounding does to products

# Where the tiles of a chain or stretch begin, how many there are, those of the beads adjacent to it among them, and 1
# where the first is that of a bead before it, or the last that of one behind it, else 0.
Tiles = namedtuple("Tiles", "offset tiles before behind")


@inlined
def _given(work, p, k):
    """Return the accelerations of order k of the beads in tile p, whose coefficients of order k + 2 are there."""
    scale = splat((k + 1.0) * (k + 2.0))
    x, y, z = triple(work, p + W.COEF + W.ROW * (k + 2))
    return mul(x, scale), mul(y, scale), mul(z, scale)


@inlined
def _is_given(at, t, held):
    """Whether tile t is that of a bead adjacent to a stretch."""
    if held is not None:
        return (t == 0 and at.before != 0) or (t == at.tiles - 1 and at.behind != 0)
    return False


@inlined
def _products(work, p, k, tension, bx, by, bz):
    """Return what order k of tension times bond and of |b'|^2 / 2 has from lower orders, in the tile at p.

    The force is sum_{m<k} tension_m bond_{k-m}, the rate sum_{m=1}^{k+1} bond_m . bond_{k+2-m} / 2. What was found
    last, the tension of order k - 1 and the bond of order k + 1, is given; it comes last, so that the rest can be done
    while it is on its way.
    """
    zero = splat(0.0)
    fx, fy, fz, rx, ry, rz = zero, zero, zero, zero, zero, zero
    low = p + W.HIST
    high = p + W.HIST + PER_ORDER * k
    for _ in range((k - 1) // 2):
        pull = load(work, low + W.ROW)
        cx, cy, cz = triple(work, high)
        fx, fy, fz = fma(pull, cx, fx), fma(pull, cy, fy), fma(pull, cz, fz)
        rx = fma(load(work, low + 2 * PER_ORDER), cx, rx)
        ry = fma(load(work, low + 2 * PER_ORDER + W.LANES), cy, ry)
        rz = fma(load(work, low + 2 * PER_ORDER + 2 * W.LANES), cz, rz)
        low += PER_ORDER
        high -= PER_ORDER
    if k % 2 == 0:
        half = splat(0.5)
        cx, cy, cz = triple(work, high)
        rx, ry, rz = fma(mul(half, cx), cx, rx), fma(mul(half, cy), cy, ry), fma(mul(half, cz), cz, rz)
    for _ in range(k - 1 - (k - 1) // 2):
        pull = load(work, low + W.ROW)
        fx = fma(pull, load(work, high), fx)
        fy = fma(pull, load(work, high + W.LANES), fy)
        fz = fma(pull, load(work, high + 2 * W.LANES), fz)
        low += PER_ORDER
        high -= PER_ORDER
    fx = fma(tension, load(work, high), fx)
    fy = fma(tension, load(work, high + W.LANES), fy)
    fz = fma(tension, load(work, high + 2 * W.LANES), fz)
    rx = fma(load(work, p + W.HIST + PER_ORDER), bx, rx)
    ry = fma(load(work, p + W.HIST + PER_ORDER + W.LANES), by, ry)
    rz = fma(load(work, p + W.HIST + PER_ORDER + 2 * W.LANES), bz, rz)
    return fx, fy, fz, add(add(rx, ry), rz)


@inlined
def _products_of_two(work, p, k, tension, bx, by, bz):
    """Return what `_products` does of an odd order k, and the same of order k + 1 but for its latest terms.

    These are its products with the tension of order k and the bond of order k + 2. So what came before is read once for
    two orders: of wide stretches it is more than a first-level cache holds, and takes longer to read than to multiply.
    Whole chains of 10 and of 50 are 6 and 8 % slower so.
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
def _products_by_twos(work, p, k, tension, bx, by, bz):
    """Do what `_products` does; orders are summed by twos, from odd ones on."""
    # What is there of the next order is kept where the impulse and the bounds have their rows.
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


@inlined
def _pulled(work, p, fx, fy, fz, gx, gy, gz):
    """Return the accelerations of the beads in tile p, with forces f of its bonds and g of those before them."""
    mass = load(work, p + W.INVM)
    return mul(mass, sub(fx, after_1(gx, fx))), mul(mass, sub(fy, after_1(gy, fy))), mul(mass, sub(fz, after_1(gz, fz)))


@inlined
def _lengthening(work, p, ax, ay, az, cx, cy, cz, rate):
    """Return what the tensions of tile p are solved from, given its accelerations and those behind them."""
    bx, by, bz = triple(work, p + W.HIST)
    y = fma(bx, sub(ahead_1(ax, cx), ax), rate)
    y = fma(by, sub(ahead_1(ay, cy), ay), y)
    return fma(bz, sub(ahead_1(az, cz), az), y)


@inlined
def _known_side(work, p, ax, ay, az, cx, cy, cz, rate, carry):
    """Write the forward half of the tensions' solution of tile p, given its accelerations and those behind them."""
    y = forward(work, p, _lengthening(work, p, ax, ay, az, cx, cy, cz, rate), carry)
    store(work, p + W.RHS, y)
    return last_everywhere(y)


@kernel
def _known(work, at, k, held):
    """Fill the FORCE rows with what order k has from lower ones, and the RHS rows with half the tensions' solution."""
    zero = splat(0.0)
    scale = splat((k + 1.0) * (k + 2.0))
    carry = zero
    ax, ay, az, fx, fy, fz, rate = zero, zero, zero, zero, zero, zero, zero
    for t in range(at.tiles):
        p = at.offset + t * W.TILE
        gx, gy, gz = fx, fy, fz
        cx, cy, cz = ax, ay, az
        last = rate
        if _is_given(at, t, held) and t > 0:
            fx, fy, fz, rate = zero, zero, zero, zero
        else:
            tension = load(work, p + LAMBDA + PER_ORDER * (k - 1))
            bx, by, bz = triple(work, p + W.HIST + PER_ORDER * (k + 1))
            if held is not None:
                fx, fy, fz, rate = _products_by_twos(work, p, k, tension, bx, by, bz)
            else:
                fx, fy, fz, rate = _products(work, p, k, tension, bx, by, bz)
        put_triple(work, p + W.FORCE, fx, fy, fz)
        rate = mul(rate, scale)
        if _is_given(at, t, held):
            ax, ay, az = _given(work, p, k)
        else:
            ax, ay, az = _pulled(work, p, fx, fy, fz, gx, gy, gz)
        if t > 0:
            carry = _known_side(work, p - W.TILE, cx, cy, cz, ax, ay, az, last, carry)
    _known_side(work, at.offset + (at.tiles - 1) * W.TILE, ax, ay, az, zero, zero, zero, rate, carry)


@inlined
def _tensioned(work, p, tension, fx, fy, fz):
    """Return the forces of the bonds in tile p, of which all is known but what their last tension adds."""
    fx = fma(tension, load(work, p + W.HIST), fx)
    fy = fma(tension, load(work, p + W.HIST + W.LANES), fy)
    fz = fma(tension, load(work, p + W.HIST + 2 * W.LANES), fz)
    return fx, fy, fz


@inlined
def _store_bond(work, p, at, ax, ay, az, cx, cy, cz, inverse):
    """Write, and return, the next coefficients of the bonds in tile p, given accelerations as `_lengthening`."""
    share = mul(load(work, p + W.MASK), inverse)
    x, y, z = sub(ahead_1(ax, cx), ax), sub(ahead_1(ay, cy), ay), sub(ahead_1(az, cz), az)
    x, y, z = mul(x, share), mul(y, share), mul(z, share)
    put_triple(work, p + at, x, y, z)
    return x, y, z


@kernel
def _append(work, at, k, held):
    """Store position and bond coefficients of order k + 2; return the largest position coefficient (1-norm)."""
    zero = splat(0.0)
    inverse = splat(1.0 / ((k + 1) * (k + 2)))
    coefficient = W.COEF + W.ROW * (k + 2)
    bond = W.HIST + PER_ORDER * (k + 2)
    worst = zero
    ax, ay, az, fx, fy, fz = zero, zero, zero, zero, zero, zero
    for t in range(at.tiles):
        p = at.offset + t * W.TILE
        gx, gy, gz = fx, fy, fz
        cx, cy, cz = ax, ay, az
        tension = load(work, p + LAMBDA + PER_ORDER * k)
        fx, fy, fz = zero, zero, zero
        if k > 0:
            fx, fy, fz = triple(work, p + W.FORCE)
        fx, fy, fz = _tensioned(work, p, tension, fx, fy, fz)
        if _is_given(at, t, held):
            ax, ay, az = _given(work, p, k)
        else:
            ax, ay, az = _pulled(work, p, fx, fy, fz, gx, gy, gz)
            put_triple(work, p + coefficient, mul(ax, inverse), mul(ay, inverse), mul(az, inverse))
            worst = larger(add(add(size(ax), size(ay)), size(az)), worst)
        if t > 0:
            _store_bond(work, p - W.TILE, bond, cx, cy, cz, ax, ay, az, inverse)
    _store_bond(work, at.offset + (at.tiles - 1) * W.TILE, bond, ax, ay, az, zero, zero, zero, inverse)
    return largest(worst) / ((k + 1) * (k + 2))


@kernel
def _first_side(work, at, held):
    """Write bond rates to the history and half the solution for the first tensions to RHS; return the fastest rate."""
    chain_bonds(work, at.offset, at.tiles, W.COEF + W.ROW, W.HIST + PER_ORDER)
    zero = splat(0.0)
    worst, carry = zero, zero
    ax, ay, az, rate = zero, zero, zero, zero
    for t in range(at.tiles):
        p = at.offset + t * W.TILE
        cx, cy, cz = ax, ay, az
        last = rate
        bx, by, bz = triple(work, p + W.HIST + PER_ORDER)
        rate = dot(bx, by, bz, bx, by, bz)
        worst = larger(rate, worst)
        ax, ay, az = zero, zero, zero
        if _is_given(at, t, held):
            ax, ay, az = _given(work, p, np.int64(0))
        if t > 0:
            carry = _known_side(work, p - W.TILE, cx, cy, cz, ax, ay, az, last, carry)
    _known_side(work, at.offset + (at.tiles - 1) * W.TILE, ax, ay, az, zero, zero, zero, rate, carry)
    return math.sqrt(largest(worst))


@inlined
def _order_in_two_tiles(work, p, k, latest):
    """Do for a chain of two tiles what `_known`, `solve_back` and `_append` do, to the same bits.

    What a step needs of the one before stays in registers, and no call comes between: these are most of the time where
    tiles are few. Returns what `_append` does, and what the next order needs of this: tensions (2), bonds (2 x 3).
    """
    q = p + W.TILE
    zero = splat(0.0)
    fx, fy, fz, gx, gy, gz = zero, zero, zero, zero, zero, zero
    if k > 0:
        scale = splat((k + 1.0) * (k + 2.0))
        y, z, (bx, by, bz), (cx, cy, cz) = latest
        fx, fy, fz, y = _products(work, p, k, y, bx, by, bz)
        gx, gy, gz, z = _products(work, q, k, z, cx, cy, cz)
        ax, ay, az = _pulled(work, p, fx, fy, fz, zero, zero, zero)
        cx, cy, cz = _pulled(work, q, gx, gy, gz, fx, fy, fz)
        z = _lengthening(work, q, cx, cy, cz, zero, zero, zero, mul(z, scale))
        y = forward(work, p, _lengthening(work, p, ax, ay, az, cx, cy, cz, mul(y, scale)), zero)
        z = forward(work, q, z, last_everywhere(y))
    else:
        y = load(work, p + W.RHS)
        z = load(work, q + W.RHS)
    z = backward(work, q, z, zero)
    y = backward(work, p, y, first_everywhere(z))
    store(work, p + LAMBDA + PER_ORDER * k, y)
    store(work, q + LAMBDA + PER_ORDER * k, z)
    fx, fy, fz = _tensioned(work, p, y, fx, fy, fz)
    gx, gy, gz = _tensioned(work, q, z, gx, gy, gz)
    ax, ay, az = _pulled(work, p, fx, fy, fz, zero, zero, zero)
    cx, cy, cz = _pulled(work, q, gx, gy, gz, fx, fy, fz)
    inverse = splat(1.0 / ((k + 1) * (k + 2)))
    bond = W.HIST + PER_ORDER * (k + 2)
    first = _store_bond(work, p, bond, ax, ay, az, cx, cy, cz, inverse)
    second = _store_bond(work, q, bond, cx, cy, cz, zero, zero, zero, inverse)
    coefficient = W.COEF + W.ROW * (k + 2)
    put_triple(work, p + coefficient, mul(ax, inverse), mul(ay, inverse), mul(az, inverse))
    put_triple(work, q + coefficient, mul(cx, inverse), mul(cy, inverse), mul(cz, inverse))
    worst = larger(add(add(size(ax), size(ay)), size(az)), zero)
    worst = larger(add(add(size(cx), size(cy)), size(cz)), worst)
    return largest(worst) / ((k + 1) * (k + 2)), (y, z, first, second)


@outlined
def chain_series(work, offset, tiles, h, tolerance):
    """Expand the free motion about the present state by the Taylor recursion.

    Positions and velocities are in COEF rows 0 and 1, bond vectors and T's factors are present. Coefficients are added
    until what they leave out of the velocities at the end of a segment of length `h` is below `tolerance` of the
    fastest bond's rate, judged by the last four terms. Where KMAX is reached before, the segment is shortened.

    Returns
    -------
    order : int
        Highest coefficient.
    h : float
        Length of the segment [time], at most what was asked.
    """
    at = Tiles(offset, tiles, np.int64(0), np.int64(0))
    tolerance *= _first_side(work, at, None)
    return _orders(work, at, h, tolerance, None)


@outlined
def stretch_series(work, at, h, tolerance):
    """Expand the motion of a stretch of a chain about the present state, as `chain_series` does that of a chain.

    Parameters
    ----------
    work : float64 array
        Positions and velocities are in COEF rows 0 and 1, bond vectors and T's factors are present (`chain_prepare`).
    at : Tiles
    h, tolerance : float

    Returns
    -------
    order, h : int, float
    """
    tolerance *= _first_side(work, at, True)
    return _orders(work, at, h, tolerance, True)


@kernel
def _orders(work, at, h, tolerance, held):
    """Add coefficients until what they leave out is below the tolerance; return order and length as `chain_series`."""
    if held is None:
        if at.tiles == 2:
            return _orders_in_two_tiles(work, at.offset, h, tolerance)
    terms, power, k = (0.0, 0.0, 0.0, 0.0), h, np.int64(0)  # the last four, latest last; h^(k + 1)
    while True:
        if k > 0:
            _known(work, at, k, held)
        solve_back(work, at.offset, at.tiles, LAMBDA + PER_ORDER * k)
        terms = (terms[1], terms[2], terms[3], _append(work, at, k, held) * power * (k + 2))
        power = power * h
        k += 1
        left = _left_after(terms, k, tolerance)
        if left <= tolerance or k + 1 == W.KMAX:
            return _finished(work, at.offset, at.tiles, h, tolerance, k + 1, left)


@kernel
def _orders_in_two_tiles(work, offset, h, tolerance):
    """Do what `_orders` does, of a chain of two tiles."""
    bond = offset + W.HIST + PER_ORDER
    latest = splat(0.0), splat(0.0), triple(work, bond), triple(work, bond + W.TILE)
    terms, power, k = (0.0, 0.0, 0.0, 0.0), h, np.int64(0)
    while True:
        worst, latest = _order_in_two_tiles(work, offset, k, latest)
        terms = (terms[1], terms[2], terms[3], worst * power * (k + 2))
        power = power * h
        k += 1
        left = _left_after(terms, k, tolerance)
        if left <= tolerance or k + 1 == W.KMAX:
            return _finished(work, offset, np.int64(2), h, tolerance, k + 1, left)


@inlined
def _left_after(terms, k, tolerance):
    """Estimate what a series leaves out after k terms, of which the last four are given; two say nothing.

    It is infinite, too, where it is surely beyond the tolerance and terms are to follow, which takes neither root nor
    division to know: with the ratio r of `_left_out` it is at least the last term times r or, if that is less, 3.
    """
    if k <= 2:
        return math.inf
    now = terms[3]
    more = now > MORE * tolerance
    more &= now * now * max(now, terms[2]) > MORE * tolerance * tolerance * max(terms[0], terms[1])
    return math.inf if more and k + 1 < W.KMAX else _left_out(terms[0], terms[1], terms[2], now)


@kernel
def _finished(work, offset, tiles, h, tolerance, order, left):
    """Shorten the segment by what is left out beyond the tolerance, and bound its acceleration; return order and h."""
    if left > tolerance:
        h *= math.exp(math.log(tolerance / left) / W.KMAX)
    _bound_acceleration(work, offset, tiles, order, h)
    return order, h


@kernel
def _bound_acceleration(work, offset, tiles, order, h):
    """Fill BOUND with sum_k k (k - 1) |c_k| h^(k-2) of every component."""
    for t in range(tiles):
        p = offset + t * W.TILE
        bx, by, bz = splat(0.0), splat(0.0), splat(0.0)
        power = 1.0
        at = p + W.COEF + 2 * W.ROW
        for k in range(2, order + 1):
            weight = splat(k * (k - 1) * power)
            bx = fma(weight, size(load(work, at)), bx)
            by = fma(weight, size(load(work, at + W.LANES)), by)
            bz = fma(weight, size(load(work, at + 2 * W.LANES)), bz)
            power *= h
            at += W.ROW
        put_triple(work, p + W.BOUND, bx, by, bz)


@kernel
def _left_out(fourth, first, before, now):
    """Estimate the sum of the terms after the last four of a series, which shrink by about one ratio a step.

    The ratio is that of the last two to the two before, because odd or even terms alone may vanish (a straight rod
    turning). Measured on thermal chains of 10, 50 and 200, the sum is .15 of this at the median, .8 at most.
    """
    last = max(now, before)
    if last == 0.0:
        return 0.0
    earlier = max(first, fourth)
    if earlier <= 0.0:
        return last
    ratio = math.sqrt(last / earlier)
    last = max(now, ratio * before)
    return last * ratio / (1.0 - ratio) if ratio < 0.75 else last * max(ratio, 3.0)


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
        x, y, z = W.vector(work, p)
        for _ in range(order - low):
            p -= W.ROW
            x = work[p] + t * x
            y = work[p + W.LANES] + t * y
            z = work[p + 2 * W.LANES] + t * z
            W.put_vector(work, p, (x, y, z))
