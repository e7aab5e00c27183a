"""Linear algebra and Taylor series of a molecule with any bond graph.

Bonds are b_l = q_high - q_low, and row l of G is the gradient of |b_l|^2 / 2. T = G M^-1 G^T is factored as L D L^T
over the sparsity that `bond_graph.build_structure` found. Arrays are flat with integer offsets and component-major.
Component c of bead i is x[xo + c * npad + i], of bond l it is b[bo + c * stride + l] with stride = gs[go + STRIDE].
Inverse masses are im[io + i] [1 / mass].

The Jacobian of a step's constraints is J = G(b') M^-1 G(b)^T, with b the bonds where the step starts and b' those where
it ends. It is not symmetric, but as near T as b' is to b, so it is eliminated in T's order without exchanges: L D U,
with the same fill.

A factorisation takes `factor_size` floats at fac[fo]: inverse pivots and original diagonal (one stride each), then L;
that of J takes `paired_size`, U behind L. T is both in one: L^T stands for U. The series' workspace takes `series_size`
floats at ws[wo]. First are the sizes |c_k| and |c_(k-1)| of the last two coefficients (SERIES_LAST, SERIES_PREVIOUS).
Then come the series of the bonds (at SERIES_HEADER, kmax + 1 orders) and, at `series_tension`, of the tensions lambda
(kmax - 1 orders).
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
def factor_size(gs, go):
    """Return the floats that a factorisation of this structure takes."""
    return 2 * gs[go + STRIDE] + gs[go + FILL]


@kernel
def paired_size(gs, go):
    """Return the floats that a factorisation by `paired_factor` takes."""
    return factor_size(gs, go) + gs[go + FILL]


@kernel
def series_tension(gs, go, kmax):
    """Return where, from the start of the series' workspace, the tensions' coefficients begin."""
    return SERIES_HEADER + 3 * (kmax + 1) * gs[go + STRIDE]


@kernel
def series_size(gs, go, kmax):
    """Return the floats that the workspace of `graph_series` takes up to order kmax."""
    return series_tension(gs, go, kmax) + (kmax - 1 + 3) * gs[go + STRIDE]


@kernel
def graph_bonds(gs, go, x, xo, npad, b, bo, nbpad):
    """Write the differences x_high - x_low of a per-bead vector array, one per bond, to b; padding becomes 0."""
    nb = gs[go + BONDS]
    low = gs[go + gs[go + LOW] :]
    high = gs[go + gs[go + HIGH] :]
    for c in range(3):
        bead = x[xo + c * npad : xo + (c + 1) * npad]
        bond = b[bo + c * nbpad : bo + (c + 1) * nbpad]
        for k in range(nb):
            bond[k] = bead[high[k]] - bead[low[k]]
        bond[nb:] = 0.0


@kernel
def graph_gv(gs, go, b, bo, nbpad, v, vo, npad, out, oo):
    """Write G v, that is b_l . (v_high - v_low), to out[oo + l]."""
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        i = vo + gs[low + k]
        j = vo + gs[high + k]
        p = bo + k
        out[oo + k] = (
            b[p] * (v[j] - v[i])
            + b[p + nbpad] * (v[j + npad] - v[i + npad])
            + b[p + 2 * nbpad] * (v[j + 2 * npad] - v[i + 2 * npad])
        )


@kernel
def graph_gt(gs, go, b, bo, nbpad, mu, mo, im, io, v, vo, npad):
    """Add M^-1 G^T mu to the per-bead vector array v."""
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        i = gs[low + k]
        j = gs[high + k]
        for c in range(3):
            force = mu[mo + k] * b[bo + c * nbpad + k]
            v[vo + c * npad + i] -= im[io + i] * force
            v[vo + c * npad + j] += im[io + j] * force


@kernel
def _dot(b, i, c, j, stride):
    return b[i] * c[j] + b[i + stride] * c[j + stride] + b[i + 2 * stride] * c[j + 2 * stride]


@kernel
def _assemble(gs, go, rows, ro, columns, co, stride, im, io, fac, fo, apart):
    """Write the diagonal (twice: the pivots change) and the couplings, below and above, to the factorisation."""
    pad = gs[go + STRIDE]
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        diagonal = (im[io + gs[low + k]] + im[io + gs[high + k]]) * _dot(rows, ro + k, columns, co + k, stride)
        fac[fo + k] = diagonal
        fac[fo + pad + k] = diagonal
    lower = fo + 2 * pad
    for p in range(gs[go + FILL] + apart):
        fac[lower + p] = 0.0
    coupling = go + gs[go + COUPLING]
    row = go + gs[go + ROW]
    for _ in range(gs[go + COUPLINGS]):
        entry, a, b = gs[coupling + PAIR_ENTRY], gs[coupling + PAIR_BOND], gs[coupling + PAIR_OTHER]
        weight = gs[coupling + PAIR_SIGN] * im[io + gs[coupling + PAIR_BEAD]]
        if apart and gs[row + entry] == a:
            a, b = b, a
        fac[lower + entry] += weight * _dot(rows, ro + b, columns, co + a, stride)
        if apart:
            fac[lower + apart + entry] += weight * _dot(rows, ro + a, columns, co + b, stride)
        coupling += COUPLING_WORDS


@kernel
def _factor(gs, go, fac, fo, apart):
    """Eliminate what `_assemble` wrote; return how many pivots were dropped. `apart`: of U from L, 0 of one for both.

    A pivot below DROPPED_PIVOT of its original diagonal belongs to a redundant bond: its multiplier becomes 0, so a
    consistent right-hand side is still solved.
    """
    stride = gs[go + STRIDE]
    lower = fo + 2 * stride
    upper = lower + apart
    column = go + gs[go + COLUMN]
    row = go + gs[go + ROW]
    sequence = go + gs[go + SEQUENCE]
    update = go + gs[go + UPDATE]
    dropped = 0
    for k in range(gs[go + BONDS]):
        pivot = fo + gs[sequence + k]
        inverse = 0.0
        if abs(fac[pivot]) > DROPPED_PIVOT * abs(fac[pivot + stride]):
            inverse = 1.0 / fac[pivot]
        else:
            dropped += 1
        fac[pivot] = inverse
        end = gs[column + k + 1]
        for p in range(gs[column + k], end):
            left = fac[lower + p] * inverse
            above = fac[upper + p] * inverse
            fac[fo + gs[row + p]] -= left * fac[upper + p]
            for q in range(p + 1, end):
                fac[lower + gs[update]] -= above * fac[lower + q]
                if apart:
                    fac[upper + gs[update]] -= left * fac[upper + q]
                update += 1
            fac[lower + p] = left
            fac[upper + p] = above
    return dropped


@kernel
def _solve(gs, go, fac, fo, rhs, ro, apart):
    """Solve in place with the factorisation of `_factor`."""
    lower = fo + 2 * gs[go + STRIDE]
    upper = lower + apart
    column = go + gs[go + COLUMN]
    row = go + gs[go + ROW]
    sequence = go + gs[go + SEQUENCE]
    for k in range(gs[go + BONDS]):
        value = rhs[ro + gs[sequence + k]]
        for p in range(gs[column + k], gs[column + k + 1]):
            rhs[ro + gs[row + p]] -= fac[lower + p] * value
    for k in range(gs[go + BONDS] - 1, -1, -1):
        bond = gs[sequence + k]
        value = rhs[ro + bond] * fac[fo + bond]
        for p in range(gs[column + k], gs[column + k + 1]):
            value -= fac[upper + p] * rhs[ro + gs[row + p]]
        rhs[ro + bond] = value


@kernel
def graph_factor(gs, go, b, bo, nbpad, im, io, fac, fo):
    """Factor T = G M^-1 G^T of the bonds b into L D L^T; return how many pivots were dropped."""
    _assemble(gs, go, b, bo, b, bo, nbpad, im, io, fac, fo, 0)
    return _factor(gs, go, fac, fo, 0)


@kernel
def graph_solve(gs, go, fac, fo, rhs, ro):
    """Solve T mu = rhs in place with the factorisation of `graph_factor`; dropped multipliers are 0."""
    _solve(gs, go, fac, fo, rhs, ro, 0)


@kernel
def paired_factor(gs, go, end, eo, start, so, im, io, fac, fo):
    """Factor J = G(b') M^-1 G(b)^T of the bonds b' = `end` and b = `start` into L D U."""
    _assemble(gs, go, end, eo, start, so, gs[go + STRIDE], im, io, fac, fo, gs[go + FILL])
    _factor(gs, go, fac, fo, gs[go + FILL])


@kernel
def paired_solve(gs, go, fac, fo, rhs, ro):
    """Solve J mu = rhs in place with the factorisation of `paired_factor`; dropped multipliers are 0."""
    _solve(gs, go, fac, fo, rhs, ro, gs[go + FILL])


@kernel
def _known_forces(ws, bond, tension, force, stride, k):
    """Write the known part of the bond forces of order k, sum_(m<k) lambda^m b^(k-m)."""
    size = 3 * stride
    f = ws[force : force + size]
    f[:] = 0.0
    for m in range(k):
        t = ws[tension + m * stride : tension + (m + 1) * stride]
        b = ws[bond + (k - m) * size : bond + (k - m + 1) * size]
        for i in range(stride):
            value = t[i]
            f[i] += value * b[i]
            f[i + stride] += value * b[i + stride]
            f[i + 2 * stride] += value * b[i + 2 * stride]


@kernel
def _known_rates(ws, bond, tension, stride, k):
    """Write -b0 . b'' of order k, that is (k + 1)(k + 2)/2 sum_(m=1..k+1) b^m . b^(k+2-m), to the tension."""
    size = 3 * stride
    factor = (k + 1.0) * (k + 2.0)
    rate = ws[tension + k * stride : tension + (k + 1) * stride]
    rate[:] = 0.0
    for m in range(1, k // 2 + 2):
        weight = 0.5 * factor if 2 * m == k + 2 else factor  # the middle term stands once
        p = ws[bond + m * size : bond + (m + 1) * size]
        q = ws[bond + (k + 2 - m) * size : bond + (k + 3 - m) * size]
        for i in range(stride):
            product = p[i] * q[i] + p[i + stride] * q[i + stride] + p[i + 2 * stride] * q[i + 2 * stride]
            rate[i] += weight * product


@kernel
def _accelerate(gs, go, ws, force, im, io, ser, target, npad, factor):
    """Write factor * im * (sum of the bond forces on each bead) to the block at target."""
    nb = gs[go + BONDS]
    stride = gs[go + STRIDE]
    low = gs[go + gs[go + LOW] :]
    high = gs[go + gs[go + HIGH] :]
    n = gs[go + BEADS]
    mass = im[io:]
    for c in range(3):
        total = ser[target + c * npad : target + (c + 1) * npad]
        f = ws[force + c * stride : force + (c + 1) * stride]
        for i in range(npad):
            total[i] = 0.0
        for b in range(nb):
            total[low[b]] += f[b]
            total[high[b]] -= f[b]
        for i in range(n):
            total[i] *= factor * mass[i]


@kernel
def _add_tension(nb, ws, bond, tension, force, stride):
    """Add this order's tension times the start bonds to the forces."""
    for c in range(3):
        for b in range(nb):
            ws[force + c * stride + b] += ws[tension + b] * ws[bond + c * stride + b]


@kernel
def _project_known(gs, go, ws, bond, tension, ser, target, npad):
    """Add b0 . (a_high - a_low) of the known accelerations to the right-hand side of the tensions."""
    stride = gs[go + STRIDE]
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for b in range(gs[go + BONDS]):
        i = target + gs[low + b]
        j = target + gs[high + b]
        p = bond + b
        ws[tension + b] += (
            ws[p] * (ser[j] - ser[i])
            + ws[p + stride] * (ser[j + npad] - ser[i + npad])
            + ws[p + 2 * stride] * (ser[j + 2 * npad] - ser[i + 2 * npad])
        )


@kernel
def _largest(x, xo, npad, n):
    """Return the largest length of the vectors of n beads."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, _dot(x, xo + i, x, xo + i, npad))
    return math.sqrt(largest)


@kernel
def graph_series(gs, go, ser, so, npad, im, io, h, tol, kmin, kmax, ws, wo, fac, fo, pull):
    """Extend positions and velocities (orders 0 and 1 of the block) to the Taylor series of free motion.

    Constant accelerations of the beads, besides those of the bonds, are known ones of order 0, and no others.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    The velocities must satisfy G v = 0 and fac must hold T at the start. Orders are added until the two last
    coefficients are both below tol over the duration h, max_i |c_k| h^k < tol, from order kmin (at least 3) on.

    Parameters
    ----------
    ser, so, npad : the molecule's block, (kmax + 1) * 3 * npad floats; coefficient k is in [length / time^k]
    h, tol : duration [time] and the size of a last term that may be left out [length]
    ws, wo : workspace of `series_size`; holds |c_k|, |c_(k-1)| and the bonds' and tensions' series on return
    fac, fo : the factorisation of T at the start
    pull : where in `ser` the beads' constant accelerations stand (3 * npad floats), -1 for none

    Returns
    -------
    int
        The order reached. At kmax the tolerance may not be met: then shorten h by `series_duration`.
    """
    nb = gs[go + BONDS]
    stride = gs[go + STRIDE]
    bond = wo + SERIES_HEADER
    tensions = wo + series_tension(gs, go, kmax)
    force = tensions + (kmax - 1) * stride
    for k in range(2):
        graph_bonds(gs, go, ser, so + 3 * k * npad, npad, ws, bond + 3 * k * stride, stride)
    last = np.inf
    power = h
    order = 1
    while order < kmax:
        k = order - 1
        order += 1
        target = so + 3 * order * npad
        tension = tensions + k * stride
        _known_forces(ws, bond, tensions, force, stride, k)
        _known_rates(ws, bond, tensions, stride, k)
        if k > 0:
            _accelerate(gs, go, ws, force, im, io, ser, target, npad, 1.0)
            _project_known(gs, go, ws, bond, tension, ser, target, npad)
        elif pull >= 0:
            _project_known(gs, go, ws, bond, tension, ser, pull, npad)
        graph_solve(gs, go, fac, fo, ws, tension)
        _add_tension(nb, ws, bond, tension, force, stride)
        _accelerate(gs, go, ws, force, im, io, ser, target, npad, 1.0 / (order * (order - 1.0)))
        if k == 0 and pull >= 0:
            for i in range(3 * npad):
                ser[target + i] += 0.5 * ser[pull + i]
        graph_bonds(gs, go, ser, target, npad, ws, bond + 3 * order * stride, stride)
        previous = last
        last = _largest(ser, target, npad, gs[go + BEADS])
        power *= h
        ws[wo + SERIES_LAST] = last
        ws[wo + SERIES_PREVIOUS] = previous
        if order >= kmin and last * power < tol and previous * power < tol * h:
            break
    return order


@kernel
def series_duration(ws, wo, order, tol):
    """Return the longest duration over which the last two terms of a series of this order stay below tol."""
    last = ws[wo + SERIES_LAST]
    previous = ws[wo + SERIES_PREVIOUS]
    h = np.inf
    if last > 0.0:
        h = (tol / last) ** (1.0 / order)
    if previous > 0.0:
        h = min(h, (tol / previous) ** (1.0 / (order - 1)))
    return h
