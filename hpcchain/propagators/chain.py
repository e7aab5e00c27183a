"""Rigid bonds of a linear chain: bond vectors, tension equations, projections and the Taylor recursion.

Everything works on a tiled workspace (`lanes`), in place, and allocates nothing. With bonds b_l = q_{l+1} - q_l and
tensions lambda_l the motion is m_i q_i'' = lambda_i b_i - lambda_{i-1} b_{i-1}, and T lambda = |b'|^2 with the
symmetric positive definite tridiagonal T = G M^-1 G^T (paper 000, section 2; paper 001, equation 6).
"""

import math

from hpcchain.kernel import kernel
from hpcchain.propagators.convolution import append, convolve
from hpcchain.propagators.lanes import (
    ACCEL,
    BOUND,
    COEF,
    FORCE,
    HIST,
    INVM,
    KICK,
    KMAX,
    LEN2,
    LOWER,
    MASK,
    PIVOT,
    RATE,
    RHS,
    ROW,
    TILE,
)

LAMBDA = HIST + 24
BONDRATE = HIST + 32
BOND_ERROR = 5e-15


@kernel
def chain_bonds(work, o, nt, source, target):
    """Write differences of neighbouring beads' rows at `source` to the bond rows at `target`."""
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for c in range(3):
            a = h[source + 8 * c : source + 8 * c + 8]
            b = h[target + 8 * c : target + 8 * c + 8]
            for i in range(7):
                b[i] = (a[i + 1] - a[i]) * h[MASK + i]
            b[7] = 0.0
            if t + 1 < nt:
                b[7] = (work[o + (t + 1) * TILE + source + 8 * c] - a[7]) * h[MASK + 7]


@kernel
def chain_factor(work, o, nb):
    """Factorise T of the current bond vectors from both ends towards the middle bond."""
    if nb < 1:
        return
    middle = nb // 2
    pivot = 0.0
    off = 0.0
    for k in range(middle):
        p = o + (k >> 3) * TILE + (k & 7)
        pivot = _diagonal(work, p) - (off * off * work[o + ((k - 1) >> 3) * TILE + ((k - 1) & 7) + PIVOT] if k else 0.0)
        off = _coupling(work, o, k)
        work[p + PIVOT] = 1.0 / pivot
        work[p + LOWER] = off / pivot
    left = off * off / pivot if middle > 0 else 0.0
    right = 0.0
    for k in range(nb - 1, middle, -1):
        p = o + (k >> 3) * TILE + (k & 7)
        pivot = _diagonal(work, p) - right
        off = _coupling(work, o, k - 1)
        work[p + PIVOT] = 1.0 / pivot
        work[p + LOWER] = off / pivot
        right = off * off / pivot
    p = o + (middle >> 3) * TILE + (middle & 7)
    work[p + PIVOT] = 1.0 / (_diagonal(work, p) - left - right)
    work[p + LOWER] = 0.0


@kernel
def _diagonal(work, p):
    square = work[p + HIST] ** 2 + work[p + HIST + 8] ** 2 + work[p + HIST + 16] ** 2
    return (work[p + INVM] + work[p + INVM + 1]) * square


@kernel
def _coupling(work, o, k):
    p = o + (k >> 3) * TILE + (k & 7)
    q = o + ((k + 1) >> 3) * TILE + ((k + 1) & 7)
    dot = (
        work[p + HIST] * work[q + HIST]
        + work[p + HIST + 8] * work[q + HIST + 8]
        + work[p + HIST + 16] * work[q + HIST + 16]
    )
    return -dot * work[q + INVM]


@kernel
def chain_solve(work, o, nb):
    """Solve T x = rhs in place in the RHS rows; the two halves are independent, which hides latency."""
    if nb < 1:
        return
    middle = nb // 2
    lo = 0.0
    hi = 0.0
    glo = 0.0
    ghi = 0.0
    for i in range(middle):
        p = o + (i >> 3) * TILE + (i & 7)
        lo = work[p + RHS] - glo * lo
        glo = work[p + LOWER]
        work[p + RHS] = lo
        j = nb - 1 - i
        if j > middle:
            p = o + (j >> 3) * TILE + (j & 7)
            hi = work[p + RHS] - ghi * hi
            ghi = work[p + LOWER]
            work[p + RHS] = hi
    p = o + (middle >> 3) * TILE + (middle & 7)
    lo = (work[p + RHS] - glo * lo - ghi * hi) * work[p + PIVOT]
    hi = lo
    work[p + RHS] = lo
    for i in range(middle - 1, -1, -1):
        p = o + (i >> 3) * TILE + (i & 7)
        lo = work[p + RHS] * work[p + PIVOT] - work[p + LOWER] * lo
        work[p + RHS] = lo
        j = nb - 1 - i
        if j > middle:
            p = o + (j >> 3) * TILE + (j & 7)
            hi = work[p + RHS] * work[p + PIVOT] - work[p + LOWER] * hi
            work[p + RHS] = hi


@kernel
def chain_pull(work, o, nt):
    """Turn the multipliers in the RHS rows into accelerations M^-1 G^T x in the ACCEL rows, edges included."""
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(8):
            h[i + FORCE + 8] = h[i + RHS] * h[i + HIST]
            h[i + FORCE + 24] = h[i + RHS] * h[i + HIST + 8]
            h[i + FORCE + 40] = h[i + RHS] * h[i + HIST + 16]
    chain_force_to_accel(work, o, nt)


@kernel
def chain_force_to_accel(work, o, nt):
    """Difference the FORCE rows over each bead and divide by its mass."""
    last = o
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for c in range(3):
            h[FORCE + 7 + 16 * c] = work[last + FORCE + 15 + 16 * c] if t else 0.0
        for i in range(8):
            h[i + ACCEL] = (h[i + FORCE + 8] - h[i + FORCE + 7]) * h[i + INVM]
            h[i + ACCEL + 16] = (h[i + FORCE + 24] - h[i + FORCE + 23]) * h[i + INVM]
            h[i + ACCEL + 32] = (h[i + FORCE + 40] - h[i + FORCE + 39]) * h[i + INVM]
        if t:
            for c in range(3):
                work[last + ACCEL + 8 + 16 * c] = h[ACCEL + 16 * c]
        last = o + t * TILE
    for c in range(3):
        work[last + ACCEL + 8 + 16 * c] = 0.0


@kernel
def chain_prepare(work, o, nt, nb):
    """Make bond vectors and factors of T, and move positions and velocities onto the bonds.

    Positions that satisfy the bonds to round-off (BOND_ERROR) are left alone; the others take one Newton step, and
    T is factorised again, so that it always is a function of the positions that are kept.
    """
    chain_bonds(work, o, nt, COEF, HIST)
    chain_factor(work, o, nb)
    if _stretch(work, o, nt) > BOND_ERROR:
        chain_solve(work, o, nb)
        chain_pull(work, o, nt)
        _add_accel(work, o, nt, COEF)
        chain_bonds(work, o, nt, COEF, HIST)
        chain_factor(work, o, nb)
    chain_project_velocity(work, o, nt, nb, COEF + ROW)


@kernel
def _stretch(work, o, nt):
    """Write half of |b|^2 minus the squared bond length to the RHS rows; return the largest relative one."""
    worst = 0.0
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(8):
            square = h[i + HIST] ** 2 + h[i + HIST + 8] ** 2 + h[i + HIST + 16] ** 2
            off = 0.5 * (square - h[i + LEN2])
            h[i + RHS] = off
            if abs(off) > worst * h[i + LEN2]:
                worst = abs(off) / h[i + LEN2]
    return worst


@kernel
def chain_project_velocity(work, o, nt, nb, rows):
    """Remove the part of the velocity-like bead rows at `rows` that would stretch bonds."""
    chain_bonds(work, o, nt, rows, BONDRATE)
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(8):
            h[i + RHS] = (
                h[i + HIST] * h[i + BONDRATE]
                + h[i + HIST + 8] * h[i + BONDRATE + 8]
                + h[i + HIST + 16] * h[i + BONDRATE + 16]
            )
    chain_solve(work, o, nb)
    chain_pull(work, o, nt)
    _add_accel(work, o, nt, rows)


@kernel
def _add_accel(work, o, nt, rows):
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for c in range(3):
            a = h[ACCEL + 16 * c : ACCEL + 16 * c + 8]
            x = h[rows + 8 * c : rows + 8 * c + 8]
            for i in range(8):
                x[i] += a[i]


@kernel
def chain_kick(work, o, nt, nb, bead, nx, ny, nz):
    """Fill the KICK rows with the velocity change per unit impulse (nx, ny, nz) on one bead (NUMERICS: y).

    Returns n . y of that bead, the inverse effective mass that the contact sees.
    """
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(24):
            h[i + KICK] = 0.0
        for i in range(8):
            h[i + RHS] = 0.0
    p = o + (bead >> 3) * TILE + (bead & 7)
    im = work[p + INVM]
    work[p + KICK] = im * nx
    work[p + KICK + 8] = im * ny
    work[p + KICK + 16] = im * nz
    if nb > 0:
        if bead < nb:
            work[p + RHS] = -im * (work[p + HIST] * nx + work[p + HIST + 8] * ny + work[p + HIST + 16] * nz)
        if bead > 0:
            q = o + ((bead - 1) >> 3) * TILE + ((bead - 1) & 7)
            work[q + RHS] = im * (work[q + HIST] * nx + work[q + HIST + 8] * ny + work[q + HIST + 16] * nz)
        chain_solve(work, o, nb)
        chain_pull(work, o, nt)
        _add_accel(work, o, nt, KICK)
    return nx * work[p + KICK] + ny * work[p + KICK + 8] + nz * work[p + KICK + 16]


@kernel
def _rate_of_known_part(work, o, nt, scale):
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(8):
            h[i + RHS] = (
                scale * h[i + RATE]
                + h[i + HIST] * (h[i + ACCEL + 1] - h[i + ACCEL])
                + h[i + HIST + 8] * (h[i + ACCEL + 17] - h[i + ACCEL + 16])
                + h[i + HIST + 16] * (h[i + ACCEL + 33] - h[i + ACCEL + 32])
            )


@kernel
def _tension_to_force(work, o, nt, k):
    for t in range(nt):
        h = work[o + t * TILE : o + (t + 1) * TILE]
        lam = h[LAMBDA + 32 * k : LAMBDA + 32 * k + 8]
        for i in range(8):
            tension = h[i + RHS] * h[i + MASK]
            h[i + RHS] = tension
            h[i + FORCE + 8] += tension * h[i + HIST]
            h[i + FORCE + 24] += tension * h[i + HIST + 8]
            h[i + FORCE + 40] += tension * h[i + HIST + 16]
        for i in range(8):
            lam[i] = h[i + RHS]


@kernel
def _store_order(work, o, nt, k, weight):
    """Append position and bond coefficients of order k + 2; return the largest position coefficient (1-norm)."""
    inverse = 1.0 / ((k + 1) * (k + 2))
    largest = 0.0
    for t in range(nt):
        append(k, work, o + t * TILE, inverse, weight)
        size = _largest(work, o + t * TILE + RHS)
        largest = size if size > largest else largest
    return largest * inverse


@kernel
def _largest(work, p):
    """Return the largest of eight numbers."""
    a = work[p] if work[p] > work[p + 1] else work[p + 1]
    b = work[p + 2] if work[p + 2] > work[p + 3] else work[p + 3]
    c = work[p + 4] if work[p + 4] > work[p + 5] else work[p + 5]
    d = work[p + 6] if work[p + 6] > work[p + 7] else work[p + 7]
    a = a if a > b else b
    c = c if c > d else d
    return a if a > c else c


@kernel
def chain_series(work, o, nt, nb, h, tolerance):
    """Expand the free motion about the present state (NUMERICS 1: Taylor recursion).

    Positions and velocities are in COEF rows 0 and 1, bond vectors and T's factors are present. Coefficients are
    added until what they leave out of the velocities at the end of a segment of length `h` is below `tolerance` of
    the fastest bond's rate, judged by the last three terms, or KMAX is reached; then the segment is shortened.

    Returns
    -------
    order : int
        Highest coefficient.
    h : float
        Length of the segment [time], at most what was asked.
    """
    chain_bonds(work, o, nt, COEF + ROW, BONDRATE)
    rate = 0.0
    for t in range(nt):
        w = work[o + t * TILE : o + (t + 1) * TILE]
        for i in range(24):
            w[i + BOUND] = 0.0
        for i in range(8):
            w[i + RHS] = w[i + BONDRATE] ** 2 + w[i + BONDRATE + 8] ** 2 + w[i + BONDRATE + 16] ** 2
        for i in range(48):
            w[i + FORCE] = 0.0
        rate = max(rate, _largest(work, o + t * TILE + RHS))
    tolerance *= math.sqrt(rate)
    power = h
    weight = 1.0
    first = 0.0
    before = 0.0
    k = 0
    while True:
        if k > 0:
            for t in range(nt):
                convolve(k, work, o + t * TILE)
            chain_force_to_accel(work, o, nt)
            _rate_of_known_part(work, o, nt, 0.5 * (k + 1) * (k + 2))
        chain_solve(work, o, nb)
        _tension_to_force(work, o, nt, k)
        chain_force_to_accel(work, o, nt)
        now = _store_order(work, o, nt, k, weight) * power * (k + 2)
        if k > 1:
            left = _left_out(first, before, now)
            if left <= tolerance:
                return k + 2, h
            if k + 2 == KMAX:
                return KMAX, h * math.exp(math.log(tolerance / left) / KMAX)
        first = before
        before = now
        weight = weight * h
        power = power * h
        k += 1


@kernel
def _left_out(first, before, now):
    """Estimate the sum of the terms after the last three of a series, which shrink by about one ratio a step.

    The ratio is taken over two steps, because odd or even terms alone may vanish (a straight rod turning).
    """
    last = now if now > before else before
    if last == 0.0:
        return 0.0
    if first <= 0.0:
        return last
    ratio = math.sqrt(last / first)
    return last * ratio / (1.0 - ratio) if ratio < 0.5 else last * max(ratio, 1.0)
