"""Gauss collocation of a molecule with any bond graph (Hartmann et al. 2009), in three variants.

Stages X_j, U_j and multipliers mu_j, j = 1 .. s, over a time tau from (x0, v0):

    U_j = v0 + tau sum_k a_jk M^-1 G^T(X_k) mu_k,   X_j = x0 + tau sum_k a_jk U_k,   and per bond and stage

==========  ==============================================  ==========================================================
variant     at each stage                                   what follows
==========  ==============================================  ==========================================================
INDEX2      b . b' = 0                                      order 2s; energy, momenta and |b|^2 exact; G v is O(tau^s)
INDEX1      b . b'' + |b'|^2 = 0: mu is a function of X, U  order 2s; momenta and G v exact; energy and |b|^2 not
PAPER       |b|^2 as at the start (the paper's equation 7)  order s; the energy drifts; neither reversible
                                                            nor symplectic
==========  ==============================================  ==========================================================

INDEX2 and INDEX1 end at t0 + tau. PAPER ends at the last stage (its appendix A; the polynomial at t0 + tau is an
unstable restart), so it is solved over the longer interval whose last node the end is. The end velocity is given both
as it comes (INDEX2: energy exact, scheme reversible) and projected to G v = 0 (order 2s; momenta still exact).

The solvers find the same solution. QUASI_NEWTON changes mu by (A^-p x T^-1) times what is left of the constraint, p
its number of integrations, with T at the start, or at the stages where that is slow. FIXED_POINT (INDEX1) solves T at
the stages for mu in every sweep. NEWTON is exact (`collocation_newton`).

Workspace of `collocation_size` floats at ws[wo] (a vector array is 3 * npad floats):

=================  ===========================================================
word               content
=================  ===========================================================
SWEEPS             sweeps (Newton: steps) that the solver made
RESIDUAL           the largest violation at the stages, as a fraction of |b| |v| (INDEX1: |v|^2, PAPER: |b|^2)
END                end position, a vector array
END + 3 npad       end velocity, projected, a vector array
END + 6 npad       end velocity as it comes, a vector array
then               stage positions, velocities, accelerations; the solver's own
=================  ===========================================================
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, HIGH, LOW, STRIDE
from hpcchain.propagators.collocation.collocation_newton import MOST_STEPS, newton_size, newton_step
from hpcchain.propagators.collocation.gauss_coefficients import FIXED_POINT, INDEX1, INDEX2, NEWTON, PAPER
from hpcchain.propagators.taylor.graph import factor_size, graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve

SWEEPS, RESIDUAL, END = 0, 1, 4
MOST_SWEEPS = 60
SLOW = 0.1  # a sweep that leaves more of the residual than this asks for factors at the stages
ROUND_OFF = 16 * 2.0**-52
ENOUGH = 1e-12  # of a bond: the error of the accelerations, of which another step is made
SOLVED, NOT_SOLVED = 0, 1


@kernel
def collocation_size(gs, go, npad, s, solver):
    """Return the floats that the workspace of s stages takes."""
    size = END + 3 * npad * (3 + 3 * s + 1) + (6 * s + 1) * gs[go + STRIDE] + s * factor_size(gs, go)
    return size + newton_size(gs, go, npad, s) if solver == NEWTON else size


@kernel
def collocation_interval(tables, tau):
    """Return the interval whose stages give the state a time tau on."""
    return tau / tables.node[-1] if tables.variant == PAPER else tau


@kernel
def collocation_order(s):
    """Return the degree of the position polynomial of s stages: one more than s, so that it also starts with v0."""
    return s + 1


@kernel
def _offsets(gs, go, npad, s, wo):
    """Return where stage positions, velocities, accelerations, multipliers, residuals, steps, bonds, factors begin."""
    # The squares of the start's bonds stand before the factors, Newton's workspace follows them.
    stride = gs[go + STRIDE]
    positions = wo + END + 9 * npad
    velocities = positions + 3 * npad * s
    accelerations = velocities + 3 * npad * s
    multipliers = accelerations + 3 * npad * (s + 1)
    residuals = multipliers + stride * s
    steps = residuals + stride * s
    bonds = steps + stride * s
    return positions, velocities, accelerations, multipliers, residuals, steps, bonds, bonds + 3 * stride * s + stride


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

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    Returns the scale |b| |v| of the residuals, and the round-off in them, which grows with the coordinates.
    """
    s = len(tables.node)
    nb, stride = gs[go + BONDS], gs[go + STRIDE]
    positions, _, accelerations, multipliers, _, _, bonds, _ = _offsets(gs, go, npad, s, wo)
    velocity = so + 3 * npad
    graph_bonds(gs, go, ser, velocity, npad, ws, bonds, stride)
    for b in range(nb):
        rate = bonds + b
        ws[multipliers + b] = -(ws[rate] ** 2 + ws[rate + stride] ** 2 + ws[rate + 2 * stride] ** 2)
    graph_bonds(gs, go, ser, so, npad, ws, bonds, stride)
    squares = bonds + 3 * stride * s
    ws[squares : squares + stride] = 0.0
    _add_squares(gs, go, ser, so, npad, 1.0, ws, squares)
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
    if tables.variant == INDEX2:
        return longest * fastest, round_off
    if tables.variant == INDEX1:
        return fastest * fastest, round_off * (fastest / longest if longest > 0.0 else 0.0)
    return longest * longest, round_off * (longest / fastest if fastest > 0.0 else 0.0)


@kernel
def _add_squares(gs, go, x, xo, npad, factor, out, oo):
    """Add factor * |x_high - x_low|^2 to out, per bond."""
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        for c in range(xo, xo + 3 * npad, npad):
            out[oo + k] += factor * (x[c + gs[high + k]] - x[c + gs[low + k]]) ** 2


@kernel
def _violations(gs, go, npad, tables, ws, wo):
    """Write what is left of the variant's constraint at the stages; return the largest."""
    s = len(tables.node)
    nb, stride, size = gs[go + BONDS], gs[go + STRIDE], 3 * npad
    positions, velocities, accelerations, _, residuals, _, bonds, _ = _offsets(gs, go, npad, s, wo)
    squares = bonds + 3 * stride * s
    largest = 0.0
    for j in range(s):
        b, r = bonds + 3 * stride * j, residuals + stride * j
        if tables.variant == INDEX2:
            graph_gv(gs, go, ws, b, stride, ws, velocities + size * j, npad, ws, r)
        elif tables.variant == INDEX1:
            graph_gv(gs, go, ws, b, stride, ws, accelerations + size * j, npad, ws, r)
            _add_squares(gs, go, ws, velocities + size * j, npad, 1.0, ws, r)
        else:
            for i in range(nb):
                ws[r + i] = -0.5 * ws[squares + i]
            _add_squares(gs, go, ws, positions + size * j, npad, 0.5, ws, r)
        for i in range(nb):
            rate = abs(ws[r + i])
            if not rate <= largest:  # keeps a NaN
                largest = rate
    return largest


@kernel
def _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo):
    """Renew stage velocities and positions from the multipliers and the last bonds; return the largest violation."""
    s = len(tables.node)
    size = 3 * npad
    accelerations = _offsets(gs, go, npad, s, wo)[2]
    ws[accelerations : accelerations + s * size] = 0.0
    _forces(gs, go, npad, im, io, s, ws, wo, accelerations, 1.0)
    _integrate(gs, go, ser, so, npad, tau, tables, ws, wo)
    return _violations(gs, go, npad, tables, ws, wo)


@kernel
def _forces(gs, go, npad, im, io, s, ws, wo, out, sign):
    """Add sign * M^-1 G^T mu of the stages to s arrays at out; the multipliers stay as they are."""
    stride, size = gs[go + STRIDE], 3 * npad
    _, _, _, multipliers, _, steps, bonds, _ = _offsets(gs, go, npad, s, wo)
    for j in range(s):
        for k in range(stride):
            ws[steps + k] = sign * ws[multipliers + stride * j + k]
        graph_gt(gs, go, ws, bonds + 3 * stride * j, stride, ws, steps, im, io, ws, out + size * j, npad)


@kernel
def _integrate(gs, go, ser, so, npad, tau, tables, ws, wo):
    """Make stage velocities, positions and bonds from the accelerations."""
    s = len(tables.node)
    stride, size = gs[go + STRIDE], 3 * npad
    positions, velocities, accelerations, _, _, _, bonds, _ = _offsets(gs, go, npad, s, wo)
    x0, v0 = ser[so : so + size], ser[so + size : so + 2 * size]
    for j in range(s):
        _weighted_sum(tables.a[j], tau, ws, accelerations, size, v0, ws, velocities + size * j)
    for j in range(s):
        x = positions + size * j
        _weighted_sum(tables.a[j], tau, ws, velocities, size, x0, ws, x)
        graph_bonds(gs, go, ws, x, npad, ws, bonds + 3 * stride * j, stride)


@kernel
def _correct(gs, go, npad, tau, tables, ws, wo, fac, fo, at_stages):
    """Change the multipliers by -(A^-p x T^-1) r / tau^p, r what is left, with T at the start or at each stage."""
    s = len(tables.node)
    nb, stride = gs[go + BONDS], gs[go + STRIDE]
    _, _, _, multipliers, residuals, steps, _, factors = _offsets(gs, go, npad, s, wo)
    nothing = ws[wo:wo]
    factor = 1.0
    if tables.variant != INDEX1:
        factor = 1.0 / tau if tables.variant == INDEX2 else 1.0 / (tau * tau)
    for j in range(s):
        step = steps + stride * j
        _weighted_sum(tables.correction[j], factor, ws, residuals, stride, nothing, ws, step)
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
    _, _, _, _, _, _, bonds, factors = _offsets(gs, go, npad, s, wo)
    for j in range(s):
        graph_factor(gs, go, ws, bonds + 3 * stride * j, stride, im, io, ws, factors + factor_size(gs, go) * j)


@kernel
def _solve_stages(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo):
    """Iterate until the violation is tol (or round-off) of its scale, and a sweep beyond.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    PAPER's positions may be within it from the start, over a short time: the round-off of positions divided by that
    time is no correction of the velocities.
    """
    scale, round_off = _guess(gs, go, ser, so, npad, im, io, tau, tables, ws, wo, fac, fo)
    limit = max(tol * scale, round_off)
    if tables.solver == NEWTON:
        return _newton(gs, go, ser, so, npad, im, io, tau, tables, ws, wo, scale, limit)
    last = np.inf
    always = tables.solver == FIXED_POINT
    at_stages = always
    for sweep in range(MOST_SWEEPS):
        residual = _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
        ws[wo + SWEEPS] = sweep + 2.0
        ws[wo + RESIDUAL] = residual / scale if scale > 0.0 else 0.0
        if not math.isfinite(residual):
            return NOT_SOLVED
        if sweep == 0 and tables.variant == PAPER and residual <= limit:
            return SOLVED
        if always or (not at_stages and residual > limit and residual > SLOW * last):
            _factor_stages(gs, go, npad, im, io, len(tables.node), ws, wo)
            at_stages = True
        last = residual
        _correct(gs, go, npad, tau, tables, ws, wo, fac, fo, at_stages)
        if residual <= limit:
            _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
            return SOLVED
    return NOT_SOLVED


@outlined
def _newton(gs, go, ser, so, npad, im, io, tau, tables, ws, wo, scale, limit):
    """Take Newton steps until the violation is within its limit, then make all stage values from the multipliers.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.
    """
    s = len(tables.node)
    stride, size = gs[go + STRIDE], 3 * npad
    _, velocities, accelerations, multipliers, residuals, _, bonds, factors = _offsets(gs, go, npad, s, wo)
    defects = factors + s * factor_size(gs, go)
    ws[accelerations : accelerations + s * size] = 0.0
    _forces(gs, go, npad, im, io, s, ws, wo, accelerations, 1.0)
    for step in range(MOST_STEPS):
        _integrate(gs, go, ser, so, npad, tau, tables, ws, wo)
        residual = _violations(gs, go, npad, tables, ws, wo)
        for i in range(s * size):
            ws[defects + i] = ws[accelerations + i]
        _forces(gs, go, npad, im, io, s, ws, wo, defects, -1.0)
        defect = 0.0
        for i in range(s * size):
            defect = max(defect, abs(ws[defects + i]))
        ws[wo + SWEEPS] = step + 1.0
        ws[wo + RESIDUAL] = residual / scale if scale > 0.0 else 0.0
        if not math.isfinite(residual + defect):
            return NOT_SOLVED
        if step == 0 and tables.variant == PAPER and residual <= limit:
            _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
            return SOLVED
        if not newton_step(
            gs, go, npad, im, io, tau, tables, ws, velocities, accelerations, multipliers, residuals, bonds, defects
        ):
            return NOT_SOLVED
        if residual <= limit and defect * tau * tau <= ENOUGH * _largest(ws, bonds, stride, gs[go + BONDS]):
            _sweep(gs, go, ser, so, npad, im, io, tau, tables, ws, wo)
            return SOLVED
    return NOT_SOLVED


@outlined
def collocation_state(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo):
    """Solve the stages over tau from the block's start state and write the end state to the workspace.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    The block's coefficients 0 and 1 are read, and nothing in it is written. So a segment can be solved again to any
    time within it. The new end state is of order 2s, its dense polynomial only of order s + 1.

    Parameters
    ----------
    ser, so, npad : the molecule's block; position and velocity (with G v = O(tau^s) at most) at its start
    tau, tol : time from the start to the end state [time], and the largest relative violation at the stages
    tables : GaussTables, with the variant and the solver
    ws, wo : workspace of `collocation_size` floats
    fac, fo : `factor_size` floats; hold T at the end state on return

    Returns
    -------
    int
        SOLVED, or NOT_SOLVED when the iteration does not converge: then halve tau.
    """
    tau = collocation_interval(tables, tau)
    status = _solve_stages(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo)
    if status != SOLVED:
        return status
    s = len(tables.node)
    stride, size = gs[go + STRIDE], 3 * npad
    positions, velocities, accelerations, _, residuals, _, bonds, _ = _offsets(gs, go, npad, s, wo)
    end = wo + END
    if tables.variant == PAPER:
        for i in range(size):
            ws[end + i] = ws[positions + size * (s - 1) + i]
            ws[end + 2 * size + i] = ws[velocities + size * (s - 1) + i]
    else:
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

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    It starts at x0 with v0 and its derivative takes the stage velocities; since the nodes are Legendre's, the extra
    condition on v0 moves neither the stages nor the end position.
    """
    status = collocation_state(gs, go, ser, so, npad, im, io, tau, tol, tables, ws, wo, fac, fo)
    if status != SOLVED:
        return status
    s = len(tables.node)
    size = 3 * npad
    _, velocities, modes, _, _, _, _, _ = _offsets(gs, go, npad, s, wo)
    nothing = ws[wo:wo]
    for j in range(s):
        for i in range(size):
            ws[velocities + size * j + i] -= ser[so + size + i]
    for m in range(s):
        _weighted_sum(tables.legendre[m], 1.0, ws, velocities, size, nothing, ws, modes + size * m)
    # U - v0 vanishes at the start: the Legendre polynomial of degree s, zero at the nodes, sees to that
    _weighted_sum(tables.monomial[0, :s], -tables.monomial[0, s], ws, modes, size, nothing, ws, modes + size * s)
    power = 1.0
    tau = collocation_interval(tables, tau)
    for k in range(1, s + 1):
        power *= tau
        coefficient = so + size * (k + 1)
        _weighted_sum(tables.monomial[k], 1.0 / ((k + 1) * power), ws, modes, size, nothing, ser, coefficient)
    return SOLVED
