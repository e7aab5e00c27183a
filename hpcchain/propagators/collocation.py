"""Gauss collocation of a molecule with any bond graph (paper 001), in its index-2 form.

Stages X_j, U_j and multipliers mu_j, j = 1 .. s, over a time tau from (x0, v0):

    U_j = v0 + tau sum_k a_jk M^-1 G^T(X_k) mu_k,   X_j = x0 + tau sum_k a_jk U_k,   G(X_j) U_j = 0.

The paper imposes |b|^2 at the stages and ends at the last one; imposing the velocity constraint and ending at t0 + tau
keeps |b|^2, the energy and the momenta for any tau. G v is left O(tau^s) there: the end velocity is given both as it
comes (energy exact, scheme reversible) and projected to G v = 0 (order 2s; momenta still exact).

Workspace of `collocation_size` floats at ws[wo] (a vector array is 3 * npad floats):

=================  ===========================================================
word               content
=================  ===========================================================
SWEEPS             sweeps that the solver made
RESIDUAL           the largest |G U| of the stages, as a fraction of |b| |v|
END                end position, a vector array
END + 3 npad       end velocity, projected, a vector array
END + 6 npad       end velocity as it comes, a vector array
then               stage positions, velocities, accelerations; the solver's own
=================  ===========================================================
"""

import math

import numpy as np

from hpcchain.kernel import kernel
from hpcchain.propagators.graph import factor_size, graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve
from hpcchain.propagators.structure import BEADS, BONDS, STRIDE

SWEEPS, RESIDUAL, END = 0, 1, 4
MOST_SWEEPS = 60
SLOW = 0.1  # a sweep that leaves more of the residual than this asks for factors at the stages
ROUND_OFF = 16 * 2.0**-52
SOLVED, NOT_SOLVED = 0, 1


@kernel
def collocation_size(gs, go, npad, s):
    """Return the floats that the workspace of s stages takes."""
    return END + 3 * npad * (3 + 3 * s + 1) + 6 * s * gs[go + STRIDE] + s * factor_size(gs, go)


@kernel
def collocation_order(s):
    """Return the degree of the position polynomial of s stages: one more than s, so that it also starts with v0."""
    return s + 1


@kernel
def _places(gs, go, npad, s, wo):
    """Return where stage positions, velocities, accelerations, multipliers, residuals, steps, bonds, factors begin."""
    stride = gs[go + STRIDE]
    positions = wo + END + 9 * npad
    velocities = positions + 3 * npad * s
    accelerations = velocities + 3 * npad * s
    multipliers = accelerations + 3 * npad * (s + 1)
    residuals = multipliers + stride * s
    steps = residuals + stride * s
    bonds = steps + stride * s
    return positions, velocities, accelerations, multipliers, residuals, steps, bonds, bonds + 3 * stride * s


@kernel
def _weighted_sum(row, factor, x, xo, size, start, out, oo):
    """Write start + factor * sum_k row[k] * x_k to out, where x_k are consecutive arrays of that size."""
    total = out[oo : oo + size]
    total[:] = 0.0
    for k in range(len(row)):
        weight = factor * row[k]
        part = x[xo + k * size : xo + (k + 1) * size]
        for i in range(size):
            total[i] += weight * part[i]
    for i in range(len(start)):
        total[i] += start[i]


@kernel
def _largest(x, xo, npad, n):
    largest = 0.0
    for i in range(xo, xo + n):
        largest = max(largest, x[i] * x[i] + x[i + npad] * x[i + npad] + x[i + 2 * npad] * x[i + 2 * npad])
    return math.sqrt(largest)


@kernel
def _guess(gs, go, ser, so, npad, im, io, tau, tables, ws, wo, fac, fo):
    """Start from the multipliers and the parabola of the start state.

    Returns the scale |b| |v| of the residuals, and the round-off in them, which grows with the coordinates.
    """
    s = len(tables.node)
    nb, stride = gs[go + BONDS], gs[go + STRIDE]
    positions, _, accelerations, multipliers, _, _, bonds, _ = _places(gs, go, npad, s, wo)
    velocity = so + 3 * npad
    graph_bonds(gs, go, ser, velocity, npad, ws, bonds, stride)
    for b in range(nb):
        rate = bonds + b
        ws[multipliers + b] = -(ws[rate] ** 2 + ws[rate + stride] ** 2 + ws[rate + 2 * stride] ** 2)
    graph_bonds(gs, go, ser, so, npad, ws, bonds, stride)
    longest, fastest = _largest(ws, bonds, stride, nb), _largest(ser, velocity, npad, gs[go + BEADS])
    round_off = ROUND_OFF * fastest * (longest + _largest(ser, so, npad, gs[go + BEADS]))
    graph_factor(gs, go, ws, bonds, stride, im, io, fac, fo)
    graph_solve(gs, go, fac, fo, ws, multipliers)
    ws[accelerations : accelerations + 3 * npad] = 0.0
    graph_gt(gs, go, ws, bonds, stride, ws, multipliers, im, io, ws, accelerations, npad)
    for j in range(s):
        t = tables.node[j] * tau
        for i in range(3 * npad):
            x = ser[so + i] + t * (ser[velocity + i] + 0.5 * t * ws[accelerations + i])
            ws[positions + 3 * npad * j + i] = x
        for k in range(nb):
            ws[multipliers + j * stride + k] = ws[multipliers + k]
        graph_bonds(gs, go, ws, positions + 3 * npad * j, npad, ws, bonds + 3 * stride * j, stride)
    return longest * fastest, round_off


@kernel
def _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo):
    """Renew stage velocities and positions from the multipliers and the last bonds; return the largest |G U|."""
    s = len(tables.node)
    nb, stride, size = gs[go + BONDS], gs[go + STRIDE], 3 * npad
    positions, velocities, accelerations, multipliers, residuals, _, bonds, _ = _places(gs, go, npad, s, wo)
    x0, v0 = ser[so : so + size], ser[so + size : so + 2 * size]
    for j in range(s):
        a = accelerations + size * j
        ws[a : a + size] = 0.0
        graph_gt(gs, go, ws, bonds + 3 * stride * j, stride, ws, multipliers + stride * j, im, io, ws, a, npad)
    for j in range(s):
        _weighted_sum(tables.a[j], tau, ws, accelerations, size, v0, ws, velocities + size * j)
    largest = 0.0
    for j in range(s):
        x, b, r = positions + size * j, bonds + 3 * stride * j, residuals + stride * j
        _weighted_sum(tables.a[j], tau, ws, velocities, size, x0, ws, x)
        graph_bonds(gs, go, ws, x, npad, ws, b, stride)
        graph_gv(gs, go, ws, b, stride, ws, velocities + size * j, npad, ws, r)
        for i in range(nb):
            rate = abs(ws[r + i])
            if not rate <= largest:  # keeps a NaN
                largest = rate
    return largest


@kernel
def _correct(gs, go, npad, tau, tables, ws, wo, fac, fo, at_stages):
    """Change the multipliers by -(A^-1 x T^-1) G U / tau, with T at the start or at each stage."""
    s = len(tables.node)
    nb, stride = gs[go + BONDS], gs[go + STRIDE]
    _, _, _, multipliers, residuals, steps, _, factors = _places(gs, go, npad, s, wo)
    nothing = ws[wo:wo]
    for j in range(s):
        step = steps + stride * j
        _weighted_sum(tables.a_inverse[j], 1.0 / tau, ws, residuals, stride, nothing, ws, step)
        if at_stages:
            graph_solve(gs, go, ws, factors + factor_size(gs, go) * j, ws, step)
        else:
            graph_solve(gs, go, fac, fo, ws, step)
    for j in range(s):
        for i in range(nb):
            ws[multipliers + stride * j + i] -= ws[steps + stride * j + i]


@kernel
def _factor_stages(gs, go, npad, im, io, s, ws, wo):
    stride = gs[go + STRIDE]
    _, _, _, _, _, _, bonds, factors = _places(gs, go, npad, s, wo)
    for j in range(s):
        graph_factor(gs, go, ws, bonds + 3 * stride * j, stride, im, io, ws, factors + factor_size(gs, go) * j)


@kernel
def _solve_stages(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo):
    """Iterate to |G U| <= tol |b| |v| (or round-off), and a sweep beyond; factor T at the stages if that is slow."""
    scale, round_off = _guess(gs, go, ser, so, npad, im, io, tau, tables, ws, wo, fac, fo)
    limit = max(tol * scale, round_off)
    last = np.inf
    at_stages = False
    for sweep in range(MOST_SWEEPS):
        residual = _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
        ws[wo + SWEEPS] = sweep + 2.0
        ws[wo + RESIDUAL] = residual / scale if scale > 0.0 else 0.0
        if not math.isfinite(residual):
            return NOT_SOLVED
        if not at_stages and residual > limit and residual > SLOW * last:
            _factor_stages(gs, go, npad, im, io, len(tables.node), ws, wo)
            at_stages = True
        last = residual
        _correct(gs, go, npad, tau, tables, ws, wo, fac, fo, at_stages)
        if residual <= limit:
            _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
            return SOLVED
    return NOT_SOLVED


@kernel
def collocation_state(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo):
    """Solve the stages over tau from the block's start state and write the end state to the workspace.

    The block's coefficients 0 and 1 are read, nothing in it is written, so a segment can be solved again to any time
    within it: the new end state is of order 2s, its dense polynomial only of order s + 1.

    Parameters
    ----------
    ser, so, npad : the molecule's block; position and velocity (with G v = O(tau^s) at most) at its start
    tau, tol : time from the start to the end state [time], and the largest |G U| / (|b| |v|) at the stages
    tables : GaussTables
    ws, wo : workspace of `collocation_size` floats
    fac, fo : `factor_size` floats; hold T at the end state on return

    Returns
    -------
    int
        SOLVED, or NOT_SOLVED when the iteration does not converge: then halve tau.
    """
    status = _solve_stages(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo)
    if status != SOLVED:
        return status
    s = len(tables.node)
    stride, size = gs[go + STRIDE], 3 * npad
    _, velocities, accelerations, _, residuals, _, bonds, _ = _places(gs, go, npad, s, wo)
    end = wo + END
    _weighted_sum(tables.weight, tau, ws, velocities, size, ser[so : so + size], ws, end)
    _weighted_sum(tables.weight, tau, ws, accelerations, size, ser[so + size : so + 2 * size], ws, end + 2 * size)
    graph_bonds(gs, go, ws, end, npad, ws, bonds, stride)
    graph_factor(gs, go, ws, bonds, stride, im, io, fac, fo)
    graph_gv(gs, go, ws, bonds, stride, ws, end + 2 * size, npad, ws, residuals)
    graph_solve(gs, go, fac, fo, ws, residuals)
    for i in range(gs[go + BONDS]):
        ws[residuals + i] = -ws[residuals + i]
    for k in range(end + size, end + 2 * size):
        ws[k] = ws[k + size]
    graph_gt(gs, go, ws, bonds, stride, ws, residuals, im, io, ws, end + size, npad)
    return SOLVED


@kernel
def collocation_segment(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo):
    """Solve as `collocation_state` and fill the block with the position polynomial of degree `collocation_order`.

    It starts at x0 with v0 and its derivative takes the stage velocities; since the nodes are Legendre's, the extra
    condition on v0 moves neither the stages nor the end position.
    """
    status = collocation_state(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo)
    if status != SOLVED:
        return status
    s = len(tables.node)
    size = 3 * npad
    _, velocities, modes, _, _, _, _, _ = _places(gs, go, npad, s, wo)
    nothing = ws[wo:wo]
    for j in range(s):
        for i in range(size):
            ws[velocities + size * j + i] -= ser[so + size + i]
    for m in range(s):
        _weighted_sum(tables.legendre[m], 1.0, ws, velocities, size, nothing, ws, modes + size * m)
    # U - v0 vanishes at the start: the Legendre polynomial of degree s, zero at the nodes, sees to that
    _weighted_sum(tables.monomial[0, :s], -tables.monomial[0, s], ws, modes, size, nothing, ws, modes + size * s)
    power = 1.0
    for k in range(1, s + 1):
        power *= tau
        coefficient = so + size * (k + 1)
        _weighted_sum(tables.monomial[k], 1.0 / ((k + 1) * power), ws, modes, size, nothing, ser, coefficient)
    return SOLVED
