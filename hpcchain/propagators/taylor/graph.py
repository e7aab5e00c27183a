"""Linear algebra and Taylor series of a molecule with any bond graph.

Bonds are b_l = q_high - q_low, and row l of G is the gradient of |b_l|^2 / 2. T = G M^-1 G^T is factored as L D L^T
over the sparsity that `bond_graph.build_structure` found, the array g. Vectors are component-major: of n beads, padded
to npad, component c of bead i is x[c * npad + i]; of bonds, padded to g[STRIDE], that of bond l is b[c * stride + l].
Inverse masses are im[i] [1 / mass].

The Jacobian of a step's constraints is J = G(b') M^-1 G(b)^T, with b the bonds where the step starts and b' those where
it ends. It is not symmetric, but as near T as b' is to b, so it is eliminated in T's order without exchanges: L D U,
with the same fill.

A factorisation takes `factor_size` floats: inverse pivots and original diagonal (one stride each), then L; that of J
takes `paired_size`, U behind L. T is both in one: L^T stands for U. The series' workspace takes `series_size` floats.
First are the sizes |c_k| and |c_(k-1)| of the last two coefficients (SERIES_LAST, SERIES_PREVIOUS). Then come the
series of the bonds (at SERIES_HEADER, kmax + 1 orders) and, at `series_tension`, of the tensions lambda (kmax - 1
orders).
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.model.molecules.bond_graph import (
    BEADS,
    BONDS,
    COLUMN,
    COUPLING,
    COUPLING_WORDS,
    COUPLINGS,
    FILL,
    HIGH,
    LOW,
    PAIR_BEAD,
    PAIR_BOND,
    PAIR_ENTRY,
    PAIR_OTHER,
    PAIR_SIGN,
    ROW,
    SEQUENCE,
    STRIDE,
    UPDATE,
)

DROPPED_PIVOT = 1e-12
SERIES_LAST, SERIES_PREVIOUS, SERIES_HEADER = 0, 1, 4


@kernel
def factor_size(g):
    """Return the floats that a factorisation of this structure takes."""
    return 2 * g[STRIDE] + g[FILL]


@kernel
def paired_size(g):
    """Return the floats that a factorisation by `paired_factor` takes."""
    return factor_size(g) + g[FILL]


@kernel
def series_tension(g, kmax):
    """Return where in the series' workspace the tensions' coefficients begin."""
    return SERIES_HEADER + 3 * (kmax + 1) * g[STRIDE]


@kernel
def series_size(g, kmax):
    """Return the floats that the workspace of `graph_series` takes up to order kmax."""
    return series_tension(g, kmax) + (kmax - 1 + 3) * g[STRIDE]


@kernel
def ends_of(g):
    """Return the first beads of the bonds, and the second ones."""
    return g[g[LOW] :], g[g[HIGH] :]


@kernel
def graph_bonds(g, x, b):
    """Write the differences x_high - x_low of a vector of beads to one of bonds; padding becomes 0."""
    npad, stride, nb = len(x) // 3, g[STRIDE], g[BONDS]
    low, high = ends_of(g)
    for c in range(3):
        bead = x[c * npad : (c + 1) * npad]
        bond = b[c * stride : (c + 1) * stride]
        for k in range(nb):
            bond[k] = bead[high[k]] - bead[low[k]]
        bond[nb:] = 0.0


@kernel
def graph_gv(g, b, v, out):
    """Write G v, that is b_l . (v_high - v_low), to out[l]."""
    npad, stride = len(v) // 3, g[STRIDE]
    low, high = ends_of(g)
    for k in range(g[BONDS]):
        i, j = low[k], high[k]
        out[k] = (
            b[k] * (v[j] - v[i])
            + b[k + stride] * (v[j + npad] - v[i + npad])
            + b[k + 2 * stride] * (v[j + 2 * npad] - v[i + 2 * npad])
        )


@kernel
def graph_gt(g, b, mu, im, v):
    """Add M^-1 G^T mu to the vector v of beads."""
    npad, stride = len(v) // 3, g[STRIDE]
    low, high = ends_of(g)
    for k in range(g[BONDS]):
        i, j = low[k], high[k]
        for c in range(3):
            force = mu[k] * b[c * stride + k]
            v[c * npad + i] -= im[i] * force
            v[c * npad + j] += im[j] * force


@kernel
def _dot(b, i, c, j, stride):
    return b[i] * c[j] + b[i + stride] * c[j + stride] + b[i + 2 * stride] * c[j + 2 * stride]


@kernel
def _assemble(g, rows, columns, im, fac, apart):
    """Write the diagonal (twice: the pivots change) and the couplings, below and above, to the factorisation."""
    stride = g[STRIDE]
    low, high = ends_of(g)
    for k in range(g[BONDS]):
        diagonal = (im[low[k]] + im[high[k]]) * _dot(rows, k, columns, k, stride)
        fac[k] = diagonal
        fac[stride + k] = diagonal
    lower, upper = fac[2 * stride :], fac[2 * stride + apart :]
    for p in range(g[FILL] + apart):
        lower[p] = 0.0
    coupling = g[g[COUPLING] :]
    row = g[g[ROW] :]
    for k in range(0, g[COUPLINGS] * COUPLING_WORDS, COUPLING_WORDS):
        entry, a, b = coupling[k + PAIR_ENTRY], coupling[k + PAIR_BOND], coupling[k + PAIR_OTHER]
        weight = coupling[k + PAIR_SIGN] * im[coupling[k + PAIR_BEAD]]
        if apart and row[entry] == a:
            a, b = b, a
        lower[entry] += weight * _dot(rows, b, columns, a, stride)
        if apart:
            upper[entry] += weight * _dot(rows, a, columns, b, stride)


@kernel
def _factor(g, fac, apart):
    """Eliminate what `_assemble` wrote; return how many pivots were dropped. `apart`: of U from L, 0 of one for both.

    A pivot below DROPPED_PIVOT of its original diagonal belongs to a redundant bond: its multiplier becomes 0, so a
    consistent right-hand side is still solved.
    """
    stride = g[STRIDE]
    lower, upper = fac[2 * stride :], fac[2 * stride + apart :]
    column, row, sequence, updates = g[g[COLUMN] :], g[g[ROW] :], g[g[SEQUENCE] :], g[g[UPDATE] :]
    update = dropped = 0
    for k in range(g[BONDS]):
        pivot = sequence[k]
        inverse = 0.0
        if abs(fac[pivot]) > DROPPED_PIVOT * abs(fac[pivot + stride]):
            inverse = 1.0 / fac[pivot]
        else:
            dropped += 1
        fac[pivot] = inverse
        end = column[k + 1]
        for p in range(column[k], end):
            left = lower[p] * inverse
            above = upper[p] * inverse
            fac[row[p]] -= left * upper[p]
            for q in range(p + 1, end):
                lower[updates[update]] -= above * lower[q]
                if apart:
                    upper[updates[update]] -= left * upper[q]
                update += 1
            lower[p] = left
            upper[p] = above
    return dropped


@kernel
def _solve(g, fac, rhs, apart):
    """Solve in place with the factorisation of `_factor`."""
    stride = g[STRIDE]
    lower, upper = fac[2 * stride :], fac[2 * stride + apart :]
    column, row, sequence = g[g[COLUMN] :], g[g[ROW] :], g[g[SEQUENCE] :]
    for k in range(g[BONDS]):
        value = rhs[sequence[k]]
        for p in range(column[k], column[k + 1]):
            rhs[row[p]] -= lower[p] * value
    for k in range(g[BONDS] - 1, -1, -1):
        bond = sequence[k]
        value = rhs[bond] * fac[bond]
        for p in range(column[k], column[k + 1]):
            value -= upper[p] * rhs[row[p]]
        rhs[bond] = value


@kernel
def graph_factor(g, b, im, fac):
    """Factor T = G M^-1 G^T of the bonds b into L D L^T; return how many pivots were dropped."""
    _assemble(g, b, b, im, fac, 0)
    return _factor(g, fac, 0)


@kernel
def graph_solve(g, fac, rhs):
    """Solve T mu = rhs in place with the factorisation of `graph_factor`; dropped multipliers are 0."""
    _solve(g, fac, rhs, 0)


@kernel
def paired_factor(g, end, start, im, fac):
    """Factor J = G(b') M^-1 G(b)^T of the bonds b' = `end` and b = `start` into L D U."""
    _assemble(g, end, start, im, fac, g[FILL])
    _factor(g, fac, g[FILL])


@kernel
def paired_solve(g, fac, rhs):
    """Solve J mu = rhs in place with the factorisation of `paired_factor`; dropped multipliers are 0."""
    _solve(g, fac, rhs, g[FILL])


@kernel
def _known_forces(bonds, tensions, force, k):
    """Write the known part of the bond forces of order k, sum_(m<k) lambda^m b^(k-m)."""
    size = len(force)
    stride = size // 3
    force[:] = 0.0
    for m in range(k):
        t = tensions[m * stride : (m + 1) * stride]
        b = bonds[(k - m) * size : (k - m + 1) * size]
        for i in range(stride):
            value = t[i]
            force[i] += value * b[i]
            force[i + stride] += value * b[i + stride]
            force[i + 2 * stride] += value * b[i + 2 * stride]


@kernel
def _known_rates(bonds, rate, k):
    """Write -b0 . b'' of order k, that is (k + 1)(k + 2)/2 sum_(m=1..k+1) b^m . b^(k+2-m), to the tension."""
    stride = len(rate)
    size = 3 * stride
    factor = (k + 1.0) * (k + 2.0)
    rate[:] = 0.0
    for m in range(1, k // 2 + 2):
        weight = 0.5 * factor if 2 * m == k + 2 else factor  # the middle term stands once
        p = bonds[m * size : (m + 1) * size]
        q = bonds[(k + 2 - m) * size : (k + 3 - m) * size]
        for i in range(stride):
            product = p[i] * q[i] + p[i + stride] * q[i + stride] + p[i + 2 * stride] * q[i + 2 * stride]
            rate[i] += weight * product


@kernel
def _accelerate(g, force, im, target, factor):
    """Write factor * im * (sum of the bond forces on each bead) to a vector of beads."""
    npad, stride, nb, n = len(target) // 3, g[STRIDE], g[BONDS], g[BEADS]
    low, high = ends_of(g)
    for c in range(3):
        total = target[c * npad : (c + 1) * npad]
        f = force[c * stride : (c + 1) * stride]
        for i in range(npad):
            total[i] = 0.0
        for b in range(nb):
            total[low[b]] += f[b]
            total[high[b]] -= f[b]
        for i in range(n):
            total[i] *= factor * im[i]


@kernel
def _add_tension(g, bonds, tension, force):
    """Add this order's tension times the start bonds to the forces."""
    stride = g[STRIDE]
    for c in range(3):
        for b in range(g[BONDS]):
            force[c * stride + b] += tension[b] * bonds[c * stride + b]


@kernel
def _project_known(g, bonds, tension, known, rates):
    """Add b0 . (a_high - a_low) of the known accelerations to the right-hand side of the tensions; `rates`: scratch."""
    graph_gv(g, bonds, known, rates)
    for b in range(g[BONDS]):
        tension[b] += rates[b]


@kernel
def graph_project(g, b, im, fac, rates, v):
    """Take from a vector v of beads what would change the lengths of bonds b, by factors of T; `rates` is scratch."""
    graph_gv(g, b, v, rates)
    for k in range(g[BONDS]):
        rates[k] = -rates[k]
    graph_solve(g, fac, rates)
    graph_gt(g, b, rates, im, v)


@kernel
def largest_of(x, n):
    """Return the largest length of the first n vectors of x."""
    largest, pad = 0.0, len(x) // 3
    for i in range(n):
        largest = max(largest, _dot(x, i, x, i, pad))
    return math.sqrt(largest)


@kernel
def energy_of(im, v):
    """Return the kinetic energy of a vector of velocities."""
    energy, npad = 0.0, len(im)
    for i in range(npad):
        if im[i] > 0.0:
            for c in range(0, 3 * npad, npad):
                energy += 0.5 * v[c + i] ** 2 / im[i]
    return energy


@kernel
def graph_series(g, ser, npad, im, h, tol, kmin, kmax, ws, fac, pull):
    """Extend positions and velocities (orders 0 and 1 of the block) to the Taylor series of free motion.

    Constant accelerations of the beads, besides those of the bonds, are known ones of order 0, and no others.

    The velocities must satisfy G v = 0 and fac must hold T at the start. Orders are added until the two last
    coefficients are both below tol over the duration h, max_i |c_k| h^k < tol, from order kmin (at least 3) on.

    Parameters
    ----------
    ser, npad : the molecule's block, (kmax + 1) * 3 * npad floats; coefficient k is in [length / time^k]
    h, tol : duration [time] and the size of a last term that may be left out [length]
    ws : workspace of `series_size`; holds |c_k|, |c_(k-1)| and the bonds' and tensions' series on return
    fac : the factorisation of T at the start
    pull : the beads' constant accelerations (3 * npad floats), none for none

    Returns
    -------
    int
        The order reached. At kmax the tolerance may not be met: then shorten h by `series_duration`.
    """
    stride, size = g[STRIDE], 3 * npad
    begin = series_tension(g, kmax)
    bonds, tensions = ws[SERIES_HEADER:begin], ws[begin : begin + (kmax - 1) * stride]
    force = ws[begin + (kmax - 1) * stride : begin + (kmax + 2) * stride]
    for k in range(2):
        graph_bonds(g, ser[k * size : (k + 1) * size], bonds[3 * k * stride :])
    last = np.inf
    power = h
    order = 1
    while order < kmax:
        k = order - 1
        order += 1
        target = ser[order * size : (order + 1) * size]
        tension = tensions[k * stride : (k + 1) * stride]
        _known_forces(bonds, tensions, force, k)
        _known_rates(bonds, tension, k)
        following = bonds[3 * order * stride :]
        if k > 0:
            _accelerate(g, force, im, target, 1.0)
            _project_known(g, bonds, tension, target, following)
        elif len(pull) > 0:
            _project_known(g, bonds, tension, pull, following)
        graph_solve(g, fac, tension)
        _add_tension(g, bonds, tension, force)
        _accelerate(g, force, im, target, 1.0 / (order * (order - 1.0)))
        if k == 0:
            for i in range(len(pull)):
                target[i] += 0.5 * pull[i]
        graph_bonds(g, target, following)
        previous = last
        last = largest_of(target, g[BEADS])
        power *= h
        ws[SERIES_LAST] = last
        ws[SERIES_PREVIOUS] = previous
        if order >= kmin and last * power < tol and previous * power < tol * h:
            break
    return order


@kernel
def series_duration(ws, order, tol):
    """Return the longest duration over which the last two terms of a series of this order stay below tol."""
    last, previous = ws[SERIES_LAST], ws[SERIES_PREVIOUS]
    h = np.inf
    if last > 0.0:
        h = (tol / last) ** (1.0 / order)
    if previous > 0.0:
        h = min(h, (tol / previous) ** (1.0 / (order - 1)))
    return h
