"""Rigid bonds of a linear chain: bond vectors, tension equations, projections and kicks.

Everything works on a tiled workspace (`workspace`), in place, a tile's eight lanes at a time (`simd`). With bonds b_l =
q_{l+1} - q_l and tensions lambda_l the motion is m_i q_i'' = lambda_i b_i - lambda_{i-1} b_{i-1}. The tensions follow
from T lambda = |b'|^2 with the symmetric positive definite tridiagonal T = G M^-1 G^T (Leyendecker et al. 2012, section
2; Hartmann et al. 2009, equation 6).
"""

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.jit.simd import (
    add,
    after_1,
    after_2,
    after_4,
    ahead_1,
    ahead_2,
    ahead_4,
    div,
    first_everywhere,
    fma,
    larger,
    largest,
    last_everywhere,
    load,
    mul,
    one_hot,
    pack,
    size,
    splat,
    store,
    sub,
)
from hpcchain.layout import workspace as W

BOND_ERROR = 5e-15


@inlined
def triple(work, p):
    """Return the vectors of three consecutive rows."""
    return load(work, p), load(work, p + W.LANES), load(work, p + 2 * W.LANES)


@inlined
def put_triple(work, p, x, y, z):
    """Write vectors to three consecutive rows."""
    store(work, p, x)
    store(work, p + W.LANES, y)
    store(work, p + 2 * W.LANES, z)


@inlined
def dot(ax, ay, az, bx, by, bz):
    """Return a . b in every lane."""
    return fma(az, bz, fma(ay, by, mul(ax, bx)))


@kernel
def chain_bonds(work, offset, tiles, source, target):
    """Write differences of neighbouring beads' rows at `source` to the bond rows at `target`."""
    zero = splat(0.0)
    for t in range(tiles):
        p = offset + t * W.TILE
        mask = load(work, p + W.MASK)
        for c in range(0, 24, 8):
            a = load(work, p + source + c)
            behind = load(work, p + W.TILE + source + c) if t + 1 < tiles else zero
            store(work, p + target + c, mul(sub(ahead_1(a, behind), a), mask))


@kernel
def chain_factor(work, offset, tiles):
    """Factorise T of the current bond vectors into L D L^T.

    Pivots are quotients of T's leading minors, scaled to a unit diagonal: p_l = p_{l-1} - q_l p_{l-2} takes one step a
    bond and no division. The products of multipliers are those by which `forward` and `backward` add up a tile's
    lanes in three steps instead of eight.
    """
    zero = splat(0.0)
    one = splat(1.0)
    bx, by, bz, diagonal, inverse, multiplier = zero, zero, zero, one, one, zero
    ratio = 1.0
    for t in range(tiles):
        p = offset + t * W.TILE
        ax, ay, az = bx, by, bz
        bx, by, bz = triple(work, p + W.HIST)
        mass = load(work, p + W.INVM)
        both = add(mass, load(work, p + W.INVM + 1))
        before = diagonal
        diagonal = fma(both, dot(bx, by, bz, bx, by, bz), sub(one, load(work, p + W.MASK)))
        coupling = mul(dot(after_1(ax, bx), after_1(ay, by), after_1(az, bz), bx, by, bz), mass)
        store(work, p + W.RHS, div(mul(coupling, coupling), mul(diagonal, after_1(before, diagonal))))
        m0 = 1.0 - work[p + W.RHS] * ratio
        m1 = m0 - work[p + W.RHS + 1]
        m2 = m1 - work[p + W.RHS + 2] * m0
        m3 = m2 - work[p + W.RHS + 3] * m1
        m4 = m3 - work[p + W.RHS + 4] * m2
        m5 = m4 - work[p + W.RHS + 5] * m3
        m6 = m5 - work[p + W.RHS + 6] * m4
        m7 = m6 - work[p + W.RHS + 7] * m5
        ratio = m6 / m7
        minors = pack(m0, m1, m2, m3, m4, m5, m6, m7)
        previous = inverse
        inverse = div(after_1(one, minors), mul(diagonal, minors))
        store(work, p + W.PIVOT, inverse)
        below = multiplier
        multiplier = mul(coupling, after_1(previous, inverse))
        _store_forward(work, p, multiplier)
        if t > 0:
            _store_backward(work, p - W.TILE, ahead_1(below, multiplier))
    _store_backward(work, offset + (tiles - 1) * W.TILE, ahead_1(multiplier, zero))


@inlined
def _store_forward(work, p, n):
    zero = splat(0.0)
    one = splat(1.0)
    two = mul(n, after_1(zero, n))
    store(work, p + W.FORWARD, n)
    store(work, p + W.FORWARD + W.LANES, two)
    store(work, p + W.FORWARD + 2 * W.LANES, mul(two, after_2(zero, two)))
    n = mul(n, after_1(one, n))
    n = mul(n, after_2(one, n))
    store(work, p + W.FORWARD + 3 * W.LANES, mul(n, after_4(one, n)))


@inlined
def _store_backward(work, p, n):
    zero = splat(0.0)
    one = splat(1.0)
    two = mul(n, ahead_1(n, zero))
    store(work, p + W.BACK, n)
    store(work, p + W.BACK + W.LANES, two)
    store(work, p + W.BACK + 2 * W.LANES, mul(two, ahead_2(two, zero)))
    n = mul(n, ahead_1(n, one))
    n = mul(n, ahead_2(n, one))
    store(work, p + W.BACK + 3 * W.LANES, mul(n, ahead_4(n, one)))


@inlined
def forward(work, p, y, carry):
    """Return L^-1 y in the tile at p; `carry` holds the previous tile's last result in every lane.

    What comes before takes as many steps as the tile has bonds for: in a chain's last tile there may be but one.
    """
    zero = splat(0.0)
    if work[p + W.MASK + 1] != 0.0:
        y = fma(load(work, p + W.FORWARD), after_1(zero, y), y)
        if work[p + W.MASK + 2] != 0.0:
            y = fma(load(work, p + W.FORWARD + W.LANES), after_2(zero, y), y)
            if work[p + W.MASK + 4] != 0.0:
                y = fma(load(work, p + W.FORWARD + 2 * W.LANES), after_4(zero, y), y)
    return fma(load(work, p + W.FORWARD + 3 * W.LANES), carry, y)


@inlined
def backward(work, p, y, carry):
    """Return L^-T D^-1 y in the tile at p; `carry` holds the next tile's first result in every lane."""
    zero = splat(0.0)
    y = mul(y, load(work, p + W.PIVOT))
    if work[p + W.MASK + 1] != 0.0:
        y = fma(load(work, p + W.BACK), ahead_1(y, zero), y)
        if work[p + W.MASK + 2] != 0.0:
            y = fma(load(work, p + W.BACK + W.LANES), ahead_2(y, zero), y)
            if work[p + W.MASK + 4] != 0.0:
                y = fma(load(work, p + W.BACK + 2 * W.LANES), ahead_4(y, zero), y)
    return fma(load(work, p + W.BACK + 3 * W.LANES), carry, y)


@kernel
def chain_solve(work, offset, tiles):
    """Solve T x = rhs in place in the RHS rows, which are 0 where there is no bond."""
    carry = splat(0.0)
    for t in range(tiles):
        y = forward(work, offset + t * W.TILE, load(work, offset + t * W.TILE + W.RHS), carry)
        carry = last_everywhere(y)
        store(work, offset + t * W.TILE + W.RHS, y)
    solve_back(work, offset, tiles, W.RHS)


@inlined
def solve_back(work, offset, tiles, row):
    """Finish a solution whose forward half is in the RHS rows, and write it to another row."""
    carry = splat(0.0)
    for t in range(tiles - 1, -1, -1):
        p = offset + t * W.TILE
        x = backward(work, p, load(work, p + W.RHS), carry)
        carry = first_everywhere(x)
        store(work, p + row, x)


@outlined
def chain_prepare(work, offset, tiles):
    """Make bond vectors and factors of T, and move positions and velocities onto the bonds.

    Positions that satisfy the bonds to round-off (BOND_ERROR) are left alone; the others take one Newton step, and
    T is factorised again, so that it always is a function of the positions that are kept.
    """
    chain_bonds(work, offset, tiles, W.COEF, W.HIST)
    chain_factor(work, offset, tiles)
    if _bonds_change(work, offset, tiles):
        chain_solve(work, offset, tiles)
        _pull(work, offset, tiles, W.COEF)
        chain_bonds(work, offset, tiles, W.COEF, W.HIST)
        chain_factor(work, offset, tiles)
    chain_project(work, offset, tiles, W.COEF + W.ROW)


@kernel
def _bonds_change(work, offset, tiles):
    """Write half of |b|^2 minus the squared bond length to the RHS rows; return whether one is beyond round-off."""
    half = splat(0.5)
    allowed = splat(-BOND_ERROR)
    worst = splat(0.0)
    for t in range(tiles):
        p = offset + t * W.TILE
        bx, by, bz = triple(work, p + W.HIST)
        length = load(work, p + W.LEN2)
        off = mul(half, sub(dot(bx, by, bz, bx, by, bz), length))
        store(work, p + W.RHS, off)
        worst = larger(fma(allowed, length, size(off)), worst)
    return largest(worst) > 0.0


@kernel
def chain_project(work, offset, tiles, rows):
    """Remove the part of the velocity-like bead rows at `rows` that would change the lengths of bonds."""
    zero = splat(0.0)
    carry = zero
    for t in range(tiles):
        p = offset + t * W.TILE
        ux, uy, uz = triple(work, p + rows)
        vx, vy, vz = zero, zero, zero
        if t + 1 < tiles:
            vx, vy, vz = triple(work, p + W.TILE + rows)
        bx, by, bz = triple(work, p + W.HIST)
        rate = dot(bx, by, bz, sub(ahead_1(ux, vx), ux), sub(ahead_1(uy, vy), uy), sub(ahead_1(uz, vz), uz))
        y = forward(work, p, rate, carry)
        carry = last_everywhere(y)
        store(work, p + W.RHS, y)
    solve_back(work, offset, tiles, W.RHS)
    _pull(work, offset, tiles, rows)


@kernel
def _pull(work, offset, tiles, rows):
    """Add M^-1 G^T x, for the multipliers x in the RHS rows, to the bead rows at `rows`."""
    zero = splat(0.0)
    fx, fy, fz = zero, zero, zero
    for t in range(tiles):
        p = offset + t * W.TILE
        x = load(work, p + W.RHS)
        mass = load(work, p + W.INVM)
        bx, by, bz = triple(work, p + W.HIST)
        gx, gy, gz = fx, fy, fz
        fx, fy, fz = mul(x, bx), mul(x, by), mul(x, bz)
        store(work, p + rows, fma(mass, sub(fx, after_1(gx, fx)), load(work, p + rows)))
        store(work, p + rows + W.LANES, fma(mass, sub(fy, after_1(gy, fy)), load(work, p + rows + W.LANES)))
        store(work, p + rows + 2 * W.LANES, fma(mass, sub(fz, after_1(gz, fz)), load(work, p + rows + 2 * W.LANES)))


@kernel
def chain_kick(work, offset, tiles, nb, bead, nx, ny, nz):
    """Fill the KICK rows with the velocity change per unit impulse (nx, ny, nz) on one bead (docs/theory/impulses.md).

    Returns n . y of that bead, the inverse effective mass that the contact sees.
    """
    for t in range(tiles):
        p = offset + t * W.TILE
        share = mul(one_hot(bead - W.LANES * t), load(work, p + W.INVM))
        store(work, p + W.KICK, mul(share, splat(nx)))
        store(work, p + W.KICK + W.LANES, mul(share, splat(ny)))
        store(work, p + W.KICK + 2 * W.LANES, mul(share, splat(nz)))
    if nb > 0:
        chain_project(work, offset, tiles, W.KICK)
    p = W.bead_offset(offset, bead) + W.KICK
    return nx * work[p] + ny * work[p + W.LANES] + nz * work[p + 2 * W.LANES]
