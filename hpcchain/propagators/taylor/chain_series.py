"""The Taylor series of a linear chain's free motion, order by order, see docs/theory/numerics.md (Taylor series).

Each order's tensions follow from the lower orders' tensions and bonds through the factors of T (`chain`), and with them
the next coefficients of bonds and positions. Two chains are done in turn: each order needs the one before.
"""

import math

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
    root,
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


@inlined
def products(work, p, k, tension, bx, by, bz):
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
def pulled(work, p, fx, fy, fz, gx, gy, gz):
    """Return the accelerations of the beads in tile p, with forces f of its bonds and g of those before them."""
    mass = load(work, p + W.INVM)
    return mul(mass, sub(fx, after_1(gx, fx))), mul(mass, sub(fy, after_1(gy, fy))), mul(mass, sub(fz, after_1(gz, fz)))


@inlined
def _stretching(work, p, ax, ay, az, cx, cy, cz, rate):
    """Return what the tensions of tile p are solved from, given its accelerations and those behind them."""
    bx, by, bz = triple(work, p + W.HIST)
    y = fma(bx, sub(ahead_1(ax, cx), ax), rate)
    y = fma(by, sub(ahead_1(ay, cy), ay), y)
    return fma(bz, sub(ahead_1(az, cz), az), y)


@inlined
def known_side(work, p, ax, ay, az, cx, cy, cz, rate, carry):
    """Write the forward half of the tensions' solution of tile p, given its accelerations and those behind them."""
    y = forward(work, p, _stretching(work, p, ax, ay, az, cx, cy, cz, rate), carry)
    store(work, p + W.RHS, y)
    return last_everywhere(y)


@kernel
def _known(work, offset, tiles, k):
    """Fill the FORCE rows with what order k has from lower ones, and the RHS rows with half the tensions' solution."""
    zero = splat(0.0)
    scale = splat((k + 1.0) * (k + 2.0))
    carry = zero
    ax, ay, az, fx, fy, fz, rate = zero, zero, zero, zero, zero, zero, zero
    for t in range(tiles):
        p = offset + t * W.TILE
        gx, gy, gz = fx, fy, fz
        cx, cy, cz = ax, ay, az
        before = rate
        bx, by, bz = triple(work, p + W.HIST + PER_ORDER * (k + 1))
        fx, fy, fz, rate = products(work, p, k, load(work, p + LAMBDA + PER_ORDER * (k - 1)), bx, by, bz)
        put_triple(work, p + W.FORCE, fx, fy, fz)
        rate = mul(rate, scale)
        ax, ay, az = pulled(work, p, fx, fy, fz, gx, gy, gz)
        if t > 0:
            carry = known_side(work, p - W.TILE, cx, cy, cz, ax, ay, az, before, carry)
    known_side(work, offset + (tiles - 1) * W.TILE, ax, ay, az, zero, zero, zero, rate, carry)


@inlined
def tensioned(work, p, tension, fx, fy, fz):
    """Return the forces of the bonds in tile p, of which all is known but what their last tension adds."""
    fx = fma(tension, load(work, p + W.HIST), fx)
    fy = fma(tension, load(work, p + W.HIST + W.LANES), fy)
    fz = fma(tension, load(work, p + W.HIST + 2 * W.LANES), fz)
    return fx, fy, fz


@inlined
def store_bond(work, p, at, ax, ay, az, cx, cy, cz, inverse):
    """Write, and return, the next coefficients of the bonds in tile p, given accelerations as `_stretching`."""
    share = mul(load(work, p + W.MASK), inverse)
    x, y, z = sub(ahead_1(ax, cx), ax), sub(ahead_1(ay, cy), ay), sub(ahead_1(az, cz), az)
    x, y, z = mul(x, share), mul(y, share), mul(z, share)
    put_triple(work, p + at, x, y, z)
    return x, y, z


@kernel
def _append(work, offset, tiles, k):
    """Store position and bond coefficients of order k + 2; return the largest position coefficient (1-norm)."""
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
        ax, ay, az = pulled(work, p, fx, fy, fz, gx, gy, gz)
        if t > 0:
            store_bond(work, p - W.TILE, bond, cx, cy, cz, ax, ay, az, inverse)
        put_triple(work, p + coefficient, mul(ax, inverse), mul(ay, inverse), mul(az, inverse))
        worst = larger(add(add(size(ax), size(ay)), size(az)), worst)
    store_bond(work, offset + (tiles - 1) * W.TILE, bond, ax, ay, az, zero, zero, zero, inverse)
    return largest(worst) / ((k + 1) * (k + 2))


@kernel
def _first_side(work, offset, tiles):
    """Write bond rates to the history and half the solution for the first tensions to RHS; return the fastest rate."""
    chain_bonds(work, offset, tiles, W.COEF + W.ROW, W.HIST + PER_ORDER)
    worst = splat(0.0)
    carry = splat(0.0)
    for t in range(tiles):
        p = offset + t * W.TILE
        bx, by, bz = triple(work, p + W.HIST + PER_ORDER)
        y = dot(bx, by, bz, bx, by, bz)
        worst = larger(y, worst)
        y = forward(work, p, y, carry)
        carry = last_everywhere(y)
        store(work, p + W.RHS, y)
    return math.sqrt(largest(worst))


@inlined
def _latest(work, p, k):
    """Return of a chain of two tiles what order k needs of the one before, tensions (2) and bonds (2 x 3)."""
    y = z = splat(0.0)
    if k > 0:
        y = load(work, p + LAMBDA + PER_ORDER * (k - 1))
        z = load(work, p + W.TILE + LAMBDA + PER_ORDER * (k - 1))
    bond = p + W.HIST + PER_ORDER * (k + 1)
    return y, z, triple(work, bond), triple(work, bond + W.TILE)


@inlined
def _order_in_two_tiles(work, p, k, latest):
    """Do for a chain of two tiles what `_known`, `solve_back` and `_append` do, to the same bits.

    What a step needs of the one before stays in registers, and no call comes between: these are most of the time where
    tiles are few. Returns what `_append` does, and `_latest` of the next order.
    """
    q = p + W.TILE
    zero = splat(0.0)
    fx, fy, fz, gx, gy, gz = zero, zero, zero, zero, zero, zero
    if k > 0:
        scale = splat((k + 1.0) * (k + 2.0))
        y, z, (bx, by, bz), (cx, cy, cz) = latest
        fx, fy, fz, y = products(work, p, k, y, bx, by, bz)
        gx, gy, gz, z = products(work, q, k, z, cx, cy, cz)
        ax, ay, az = pulled(work, p, fx, fy, fz, zero, zero, zero)
        cx, cy, cz = pulled(work, q, gx, gy, gz, fx, fy, fz)
        z = _stretching(work, q, cx, cy, cz, zero, zero, zero, mul(z, scale))
        y = forward(work, p, _stretching(work, p, ax, ay, az, cx, cy, cz, mul(y, scale)), zero)
        z = forward(work, q, z, last_everywhere(y))
    else:
        y = load(work, p + W.RHS)
        z = load(work, q + W.RHS)
    z = backward(work, q, z, zero)
    y = backward(work, p, y, first_everywhere(z))
    store(work, p + LAMBDA + PER_ORDER * k, y)
    store(work, q + LAMBDA + PER_ORDER * k, z)
    fx, fy, fz = tensioned(work, p, y, fx, fy, fz)
    gx, gy, gz = tensioned(work, q, z, gx, gy, gz)
    ax, ay, az = pulled(work, p, fx, fy, fz, zero, zero, zero)
    cx, cy, cz = pulled(work, q, gx, gy, gz, fx, fy, fz)
    inverse = splat(1.0 / ((k + 1) * (k + 2)))
    bond = W.HIST + PER_ORDER * (k + 2)
    first = store_bond(work, p, bond, ax, ay, az, cx, cy, cz, inverse)
    second = store_bond(work, q, bond, cx, cy, cz, zero, zero, zero, inverse)
    coefficient = W.COEF + W.ROW * (k + 2)
    put_triple(work, p + coefficient, mul(ax, inverse), mul(ay, inverse), mul(az, inverse))
    put_triple(work, q + coefficient, mul(cx, inverse), mul(cy, inverse), mul(cz, inverse))
    worst = larger(add(add(size(ax), size(ay)), size(az)), zero)
    worst = larger(add(add(size(cx), size(cy)), size(cz)), worst)
    return largest(worst) / ((k + 1) * (k + 2)), (y, z, first, second)


@outlined
def chain_series(work, offset, tiles, h, tolerance):
    """Expand the free motion about the present state by the Taylor recursion.

    Positions and velocities are in COEF rows 0 and 1, bond vectors and T's factors are present. Coefficients are
    added until what they leave out of the velocities at the end of a segment of length `h` is below `tolerance` of
    the fastest bond's rate, judged by the last four terms, or KMAX is reached; then the segment is shortened.

    Returns
    -------
    order : int
        Highest coefficient.
    h : float
        Length of the segment [time], at most what was asked.
    """
    tolerance *= _first_side(work, offset, tiles)
    return _orders_from(work, offset, tiles, h, tolerance, np.int64(0), h, (0.0, 0.0, 0.0, 0.0))


@outlined
def chain_series_of_two(work, offset, tiles, h, tolerance, p, mt, g, accuracy):
    """Expand the motions of two chains, at `offset` and p, in turn, order by order.

    Each order needs the one before, step by step, and so leaves a processor half idle: the other chain fills it. The
    numbers are those of `chain_series`.

    Returns
    -------
    order, h, order, h : int, float, int, float
        Of the first chain and of the second.
    """
    tolerance *= _first_side(work, offset, tiles)
    accuracy *= _first_side(work, p, mt)
    power = h
    other = g
    terms = (0.0, 0.0, 0.0, 0.0)
    parts = (0.0, 0.0, 0.0, 0.0)
    k = np.int64(0)
    while True:
        if k > 0:
            _known(work, offset, tiles, k)
            _known(work, p, mt, k)
        solve_back(work, offset, tiles, LAMBDA + PER_ORDER * k)
        solve_back(work, p, mt, LAMBDA + PER_ORDER * k)
        now = _append(work, offset, tiles, k) * power * (k + 2)
        then = _append(work, p, mt, k) * other * (k + 2)
        terms = (terms[1], terms[2], terms[3], now)
        parts = (parts[1], parts[2], parts[3], then)
        power = power * h
        other = other * g
        k += 1
        left = left_after(terms, k, tolerance)
        rest = left_after(parts, k, accuracy)
        ended = left <= tolerance or k + 1 == W.KMAX
        over = rest <= accuracy or k + 1 == W.KMAX
        if ended or over:
            break
    if ended:
        order, h = finished(work, offset, tiles, h, tolerance, k + 1, left)
    else:
        order, h = _orders_from(work, offset, tiles, h, tolerance, k, power, terms)
    if over:
        number, g = finished(work, p, mt, g, accuracy, k + 1, rest)
    else:
        number, g = _orders_from(work, p, mt, g, accuracy, k, other, parts)
    return order, h, number, g


@outlined
def _orders_from(work, offset, tiles, h, tolerance, k, power, terms):
    """Add the coefficients of order k + 2 and more; `power` is h^(k + 1), `terms` are the last four, latest last."""
    if tiles == 2:
        return _orders_in_two_tiles(work, offset, h, tolerance, k, power, terms)
    while True:
        if k > 0:
            _known(work, offset, tiles, k)
        solve_back(work, offset, tiles, LAMBDA + PER_ORDER * k)
        terms = (terms[1], terms[2], terms[3], _append(work, offset, tiles, k) * power * (k + 2))
        power = power * h
        k += 1
        left = left_after(terms, k, tolerance)
        if left <= tolerance or k + 1 == W.KMAX:
            return finished(work, offset, tiles, h, tolerance, k + 1, left)


@kernel
def _orders_in_two_tiles(work, offset, h, tolerance, k, power, terms):
    """Do what `_orders_from` does, of a chain of two tiles."""
    latest = _latest(work, offset, k)
    while True:
        worst, latest = _order_in_two_tiles(work, offset, k, latest)
        terms = (terms[1], terms[2], terms[3], worst * power * (k + 2))
        power = power * h
        k += 1
        left = left_after(terms, k, tolerance)
        if left <= tolerance or k + 1 == W.KMAX:
            return finished(work, offset, np.int64(2), h, tolerance, k + 1, left)


@inlined
def left_after(terms, k, tolerance):
    """Estimate what a series leaves out after k terms, of which the last four are given; two tell nothing.

    It is infinite, too, where it is surely beyond the tolerance and terms are to follow, which takes neither root nor
    division to tell: with the ratio r of `_left_out` it is at least the last term times r or, if that is less, 3.
    """
    if k <= 2:
        return math.inf
    now = terms[3]
    more = now > MORE * tolerance
    more &= now * now * max(now, terms[2]) > MORE * tolerance * tolerance * max(terms[0], terms[1])
    return math.inf if more and k + 1 < W.KMAX else _left_out(terms[0], terms[1], terms[2], now)


@kernel
def finished(work, offset, tiles, h, tolerance, order, left):
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
def bound_speeds(work, offset, tiles, h):
    """Write bounds over a time h of each bead's acceleration and speed to the first two rows of BOUND.

    Its components' bounds are there before. Returns the greatest speed.
    """
    worst = splat(0.0)
    for t in range(tiles):
        p = offset + t * W.TILE
        x, y, z = triple(work, p + W.BOUND)
        acceleration = root(add(add(mul(x, x), mul(y, y)), mul(z, z)))
        x, y, z = triple(work, p + W.COEF + W.ROW)
        speed = add(root(add(add(mul(x, x), mul(y, y)), mul(z, z))), mul(acceleration, splat(h)))
        store(work, p + W.BOUND, acceleration)
        store(work, p + W.BOUND + W.LANES, speed)
        worst = larger(speed, worst)
    return largest(worst)


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
