"""One step of a molecule with any bond graph: SHAKE/RATTLE, variational midpoint (Leyendecker et al. 2012).

Without a potential both are one scheme (Leyendecker et al. 2012, remark 1): from positions q0 and velocities p with
G(q0) p = 0

    V = p + M^-1 G^T(q0) mu,   q1 = q0 + tau V,   g(q1) = 0;

V is the discrete velocity of the step, and its part with G(q1) V = 0 is where the next one starts from (RATTLE's
velocity; V itself would give the same next step). The constraints are solved in the form (|b1|^2 - |b0|^2) / (2 tau) =
b0 . db + tau |db|^2 / 2 = 0, with db the difference of V along the bond. It has no differences of large coordinates,
and a condition number that does not grow as tau falls.

Solvers, all to round-off: TRIDIAGONAL is Newton over the sparse factors of J = G(q1) M^-1 G^T(q0), O(n) for trees.
SWEEPING is Gauss-Seidel sweeps over the bonds. ANALYTIC finds all multipliers at once with the factors of T(q0), the
quadratic part by iteration. MULTIPLIERS is Newton for velocities and multipliers together, dense. NULL_SPACE works in
the null space of G with q1 reached by the exponential map, dense, for trees only (`null_space`).

The workspace has `step_size` floats at ws[wo]. First are ITERATIONS and RESIDUAL (of the constraints, over |b| |v|).
Vector arrays of 3 npad floats follow: V at CHORD, q1 after it, the acceleration at the start over 2 after that. Then
there is the solver's own.
"""

import math

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, HIGH, LOW, STRIDE
from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import dense_solve, null_space_newton, null_space_size
from hpcchain.propagators.taylor.graph import (
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_solve,
    paired_factor,
    paired_size,
    paired_solve,
)

ITERATIONS, RESIDUAL, CHORD = 0, 1, 4
TRIDIAGONAL, SWEEPING, ANALYTIC, MULTIPLIERS, NULL_SPACE = STEP_SOLVER_CODES.values()
SOLVED, NOT_SOLVED = 0, 1
MOST_NEWTON, MOST_SWEEPS = 30, 3000
ROUND_OFF = 16 * 2.0**-52


@kernel
def step_size(gs, go, npad, solver):
    """Return the floats that the workspace of a step takes."""
    common = CHORD + 9 * npad + 8 * gs[go + STRIDE] + paired_size(gs, go)
    unknowns = 3 * gs[go + BEADS] + gs[go + BONDS]
    if solver == MULTIPLIERS:
        return common + unknowns * (unknowns + 1)
    if solver == NULL_SPACE:
        return common + null_space_size(gs[go + BEADS])
    return common


@kernel
def step_offsets(gs, go, npad, wo):
    """Return offsets of V, q1, start acceleration / 2, multipliers, residuals, bonds (start, end), factors, rest."""
    stride = gs[go + STRIDE]
    chord = wo + CHORD
    multipliers = chord + 9 * npad
    residuals = multipliers + stride
    start = residuals + stride
    end = start + 3 * stride
    factors = end + 3 * stride
    rest = factors + paired_size(gs, go)
    return chord, chord + 3 * npad, chord + 6 * npad, multipliers, residuals, start, end, factors, rest


@kernel
def _residuals(gs, go, tau, npad, ws, wo):
    """Write b0 . db + tau |db|^2 / 2 and the end bonds b0 + tau db of V; return the largest (NaN stays)."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    stride = gs[go + STRIDE]
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    largest = 0.0
    for k in range(gs[go + BONDS]):
        total = 0.0
        for c in range(3):
            at = chord + c * npad
            d = ws[at + gs[high + k]] - ws[at + gs[low + k]]
            b = ws[start + c * stride + k]
            ws[end + c * stride + k] = b + tau * d
            total += d * (b + 0.5 * tau * d)
        ws[residuals + k] = total
        if not abs(total) <= largest:
            largest = abs(total)
    return largest


@kernel
def _react(gs, go, npad, im, io, ws, wo, p, po):
    """Set V = p + M^-1 G^T(q0) mu."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    for k in range(3 * npad):
        ws[chord + k] = p[po + k]
    graph_gt(gs, go, ws, start, gs[go + STRIDE], ws, multipliers, im, io, ws, chord, npad)


@kernel
def _sweep(gs, go, tau, npad, im, io, ws, wo):
    """Put the bonds to their lengths one after the other, each with the velocities that the last one left."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    stride = gs[go + STRIDE]
    for k in range(gs[go + BONDS]):
        i = gs[go + gs[go + LOW] + k]
        j = gs[go + gs[go + HIGH] + k]
        total = 0.0
        slope = 0.0
        for c in range(3):
            b = ws[start + c * stride + k]
            d = ws[chord + c * npad + j] - ws[chord + c * npad + i]
            total += d * (b + 0.5 * tau * d)
            slope += (b + tau * d) * b
        change = -total / (slope * (im[io + i] + im[io + j]))
        ws[multipliers + k] += change
        for c in range(3):
            b = change * ws[start + c * stride + k]
            ws[chord + c * npad + i] -= im[io + i] * b
            ws[chord + c * npad + j] += im[io + j] * b


@kernel
def _correct(gs, go, solver, npad, im, io, ws, wo, fac, fo):
    """Change all multipliers at once by -J^-1 r, with T(q0) for J where the solver is ANALYTIC."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    if solver == ANALYTIC:
        graph_solve(gs, go, fac, fo, ws, residuals)
    else:
        paired_factor(gs, go, ws, end, ws, start, im, io, ws, factors)
        paired_solve(gs, go, ws, factors, ws, residuals)
    for k in range(gs[go + BONDS]):
        ws[multipliers + k] -= ws[residuals + k]


@kernel
def _correct_together(gs, go, npad, im, io, ws, wo, p, po):
    """Newton for V and mu together: [M, -G^T(q0); G(q1), 0] (dV, dmu) = -(M (V - p) - G^T mu, r), a dense solve."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    n, nb, stride = gs[go + BEADS], gs[go + BONDS], gs[go + STRIDE]
    size = 3 * n + nb
    rhs = rest + size * size
    ws[rest : rhs + size] = 0.0
    for i in range(n):
        for c in range(3):
            r = 3 * i + c
            ws[rest + r * size + r] = 1.0 / im[io + i]
            ws[rhs + r] = (p[po + c * npad + i] - ws[chord + c * npad + i]) / im[io + i]
    for k in range(nb):
        i = gs[go + gs[go + LOW] + k]
        j = gs[go + gs[go + HIGH] + k]
        row = 3 * n + k
        ws[rhs + row] = -ws[residuals + k]
        for c in range(3):
            b = ws[start + c * stride + k]
            e = ws[end + c * stride + k]
            ws[rest + (3 * i + c) * size + row] = b
            ws[rest + (3 * j + c) * size + row] = -b
            ws[rest + row * size + 3 * i + c] = -e
            ws[rest + row * size + 3 * j + c] = e
            ws[rhs + 3 * i + c] -= ws[multipliers + k] * b
            ws[rhs + 3 * j + c] += ws[multipliers + k] * b
    if dense_solve(ws, rest, size, ws, rhs):
        return NOT_SOLVED
    for i in range(n):
        for c in range(3):
            ws[chord + c * npad + i] += ws[rhs + 3 * i + c]
    for k in range(nb):
        ws[multipliers + k] += ws[rhs + 3 * n + k]
    return SOLVED


@kernel
def _begin(gs, go, x, xo, npad, im, io, tau, ws, wo, fac, fo):
    """Make bonds and T at the start, first multipliers and the start's acceleration / 2; return the scale |b| |v|."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    stride = gs[go + STRIDE]
    graph_bonds(gs, go, x, xo, npad, ws, start, stride)
    graph_bonds(gs, go, x, xo + 3 * npad, npad, ws, end, stride)
    graph_factor(gs, go, ws, start, stride, im, io, fac, fo)
    longest = 0.0
    for k in range(gs[go + BONDS]):
        rate = ws[end + k] ** 2 + ws[end + stride + k] ** 2 + ws[end + 2 * stride + k] ** 2
        size = ws[start + k] ** 2 + ws[start + stride + k] ** 2 + ws[start + 2 * stride + k] ** 2
        ws[multipliers + k] = -0.5 * rate
        longest = max(longest, size)
    fastest = 0.0
    for i in range(xo + 3 * npad, xo + 3 * npad + gs[go + BEADS]):
        fastest = max(fastest, x[i] ** 2 + x[i + npad] ** 2 + x[i + 2 * npad] ** 2)
    graph_solve(gs, go, fac, fo, ws, multipliers)
    ws[half : half + 3 * npad] = 0.0
    graph_gt(gs, go, ws, start, stride, ws, multipliers, im, io, ws, half, npad)
    for k in range(gs[go + BONDS]):
        ws[multipliers + k] *= tau
    return math.sqrt(longest * fastest)


@outlined
def step_solve(gs, go, solver, x, xo, npad, im, io, tau, tol, tree, to, ws, wo, fac, fo):
    """Solve one step; V, q1 and what else `step_offsets` names are in the workspace on return.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    Parameters
    ----------
    gs, go : bond graph
    solver : int
        Of STEP_SOLVER_CODES.
    x, xo, npad : the molecule's block: positions, then velocities with G p = 0
    im, io : inverse masses
    tau, tol : length of the step [time]; the largest |r| / (|b| |v|), not below round-off
    tree, to : walk through the beads (`null_space.tree_walk`), read by NULL_SPACE only
    ws, wo : workspace of `step_size` floats
    fac, fo : `factor_size` floats; hold T(q0) on return

    Returns
    -------
    int
        SOLVED, or NOT_SOLVED where no solution was found: then shorten the step.
    """
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    scale = _begin(gs, go, x, xo, npad, im, io, tau, ws, wo, fac, fo)
    velocity = xo + 3 * npad
    _react(gs, go, npad, im, io, ws, wo, x, velocity)
    status = NOT_SOLVED
    if solver == NULL_SPACE:
        status, count = null_space_newton(
            gs, go, x, velocity, npad, im, io, tau, max(tol, ROUND_OFF), tree, to, ws, chord, start, rest
        )
        ws[wo + ITERATIONS] = count
        ws[wo + RESIDUAL] = _residuals(gs, go, tau, npad, ws, wo)
    else:
        status = _iterate(gs, go, solver, x, velocity, npad, im, io, tau, max(tol, ROUND_OFF) * scale, ws, wo, fac, fo)
    if scale > 0.0:
        ws[wo + RESIDUAL] /= scale
    for k in range(3 * npad):
        ws[end_place + k] = x[xo + k] + tau * ws[chord + k]
    return status


@kernel
def _iterate(gs, go, solver, x, velocity, npad, im, io, tau, limit, ws, wo, fac, fo):
    """Find a step's multipliers by Newton steps or sweeps, until the residual is below a limit; return the status.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.
    """
    most = MOST_SWEEPS if solver == SWEEPING or solver == ANALYTIC else MOST_NEWTON
    for iteration in range(most + 1):
        residual = _residuals(gs, go, tau, npad, ws, wo)
        ws[wo + RESIDUAL] = residual
        ws[wo + ITERATIONS] = iteration
        if residual <= limit:
            return SOLVED
        if not math.isfinite(residual):
            return NOT_SOLVED
        if solver == SWEEPING:
            _sweep(gs, go, tau, npad, im, io, ws, wo)
        elif solver == MULTIPLIERS:
            if _correct_together(gs, go, npad, im, io, ws, wo, x, velocity) != SOLVED:
                return NOT_SOLVED
        else:
            _correct(gs, go, solver, npad, im, io, ws, wo, fac, fo)
            _react(gs, go, npad, im, io, ws, wo, x, velocity)
    return NOT_SOLVED


@kernel
def step_response(gs, go, npad, im, io, d, do, out, oo, ws, wo):
    """Write dV for a change d of the velocities p, at the solution in the workspace: dV = d - M^-1 G^T J^-1 G(q1) d."""
    chord, end_place, half, multipliers, residuals, start, end, factors, rest = step_offsets(gs, go, npad, wo)
    stride = gs[go + STRIDE]
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        total = 0.0
        for c in range(3):
            at = do + c * npad
            total -= ws[end + c * stride + k] * (d[at + gs[high + k]] - d[at + gs[low + k]])
        ws[residuals + k] = total
    paired_factor(gs, go, ws, end, ws, start, im, io, ws, factors)
    paired_solve(gs, go, ws, factors, ws, residuals)
    for k in range(3 * npad):
        out[oo + k] = d[do + k]
    graph_gt(gs, go, ws, start, stride, ws, residuals, im, io, out, oo, npad)
