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

The workspace has `step_size` floats, of which `step_work` returns views.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import dense_solve, null_space_newton, null_space_size
from hpcchain.propagators.taylor.graph import (
    ends_of,
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_gv,
    graph_solve,
    paired_factor,
    paired_size,
    paired_solve,
)

ITERATIONS, CHORD = 0, 4
TRIDIAGONAL, SWEEPING, ANALYTIC, MULTIPLIERS, NULL_SPACE = STEP_SOLVER_CODES.values()
SOLVED, NOT_SOLVED = 0, 1
MOST_NEWTON, MOST_SWEEPS = 30, 3000
ROUND_OFF = 16 * 2.0**-52


class StepWork(NamedTuple):
    """The workspace of a step.

    Attributes
    ----------
    head : float64 array
        At ITERATIONS, how many the solver took.
    chord, place, half : float64 arrays
        V, q1, and the acceleration at the start over 2, vectors of beads.
    multipliers, residuals : float64 arrays
        Of bonds.
    start, end, factors : float64 arrays
        Bonds at both ends, and the factorisation of J.
    rest : float64 array
        The solver's own.
    """

    head: np.ndarray
    chord: np.ndarray
    place: np.ndarray
    half: np.ndarray
    multipliers: np.ndarray
    residuals: np.ndarray
    start: np.ndarray
    end: np.ndarray
    factors: np.ndarray
    rest: np.ndarray


@kernel
def step_size(g, npad, solver):
    """Return the floats that the workspace of a step takes."""
    common = CHORD + 9 * npad + 8 * g[STRIDE] + paired_size(g)
    unknowns = 3 * g[BEADS] + g[BONDS]
    if solver == MULTIPLIERS:
        return common + unknowns * (unknowns + 1)
    if solver == NULL_SPACE:
        return common + null_space_size(g[BEADS])
    return common


@kernel
def step_work(g, npad, ws):
    """Return the StepWork of a workspace of `step_size` floats or more."""
    stride, size = g[STRIDE], 3 * npad
    bead, bond = ws[CHORD:], ws[CHORD + 3 * size :]
    factors = bond[8 * stride :]
    return StepWork(
        ws[:CHORD],
        bead[:size],
        bead[size : 2 * size],
        bead[2 * size : 3 * size],
        bond[:stride],
        bond[stride : 2 * stride],
        bond[2 * stride : 5 * stride],
        bond[5 * stride : 8 * stride],
        factors[: paired_size(g)],
        factors[paired_size(g) :],
    )


@kernel
def _residuals(g, tau, step):
    """Write b0 . db + tau |db|^2 / 2 and the end bonds b0 + tau db of V; return the largest (NaN stays)."""
    chord, start, end = step.chord, step.start, step.end
    npad, stride = len(chord) // 3, g[STRIDE]
    low, high = ends_of(g)
    largest = 0.0
    for k in range(g[BONDS]):
        total = 0.0
        for c in range(3):
            d = chord[c * npad + high[k]] - chord[c * npad + low[k]]
            b = start[c * stride + k]
            end[c * stride + k] = b + tau * d
            total += d * (b + 0.5 * tau * d)
        step.residuals[k] = total
        if not abs(total) <= largest:
            largest = abs(total)
    return largest


@kernel
def _react(g, im, step, p):
    """Set V = p + M^-1 G^T(q0) mu."""
    for k in range(len(p)):
        step.chord[k] = p[k]
    graph_gt(g, step.start, step.multipliers, im, step.chord)


@kernel
def _sweep(g, tau, im, step):
    """Put the bonds to their lengths one after the other, each with the velocities that the last one left."""
    chord, start = step.chord, step.start
    npad, stride = len(chord) // 3, g[STRIDE]
    low, high = ends_of(g)
    for k in range(g[BONDS]):
        i, j = low[k], high[k]
        total = 0.0
        slope = 0.0
        for c in range(3):
            b = start[c * stride + k]
            d = chord[c * npad + j] - chord[c * npad + i]
            total += d * (b + 0.5 * tau * d)
            slope += (b + tau * d) * b
        change = -total / (slope * (im[i] + im[j]))
        step.multipliers[k] += change
        for c in range(3):
            b = change * start[c * stride + k]
            chord[c * npad + i] -= im[i] * b
            chord[c * npad + j] += im[j] * b


@kernel
def _correct(g, solver, im, step, fac):
    """Change all multipliers at once by -J^-1 r, with T(q0) for J where the solver is ANALYTIC."""
    if solver == ANALYTIC:
        graph_solve(g, fac, step.residuals)
    else:
        paired_factor(g, step.end, step.start, im, step.factors)
        paired_solve(g, step.factors, step.residuals)
    for k in range(g[BONDS]):
        step.multipliers[k] -= step.residuals[k]


@kernel
def _correct_together(g, im, step, p):
    """Newton for V and mu together: [M, -G^T(q0); G(q1), 0] (dV, dmu) = -(M (V - p) - G^T mu, r), a dense solve."""
    chord, start, end, multipliers = step.chord, step.start, step.end, step.multipliers
    n, nb, npad, stride = g[BEADS], g[BONDS], len(p) // 3, g[STRIDE]
    low, high = ends_of(g)
    size = 3 * n + nb
    matrix, rhs = step.rest[: size * size].reshape(size, size), step.rest[size * size : size * size + size]
    matrix[:] = 0.0
    for i in range(n):
        for c in range(3):
            r = 3 * i + c
            matrix[r, r] = 1.0 / im[i]
            rhs[r] = (p[c * npad + i] - chord[c * npad + i]) / im[i]
    for k in range(nb):
        i, j = low[k], high[k]
        row = 3 * n + k
        rhs[row] = -step.residuals[k]
        for c in range(3):
            b = start[c * stride + k]
            e = end[c * stride + k]
            matrix[3 * i + c, row] = b
            matrix[3 * j + c, row] = -b
            matrix[row, 3 * i + c] = -e
            matrix[row, 3 * j + c] = e
            rhs[3 * i + c] -= multipliers[k] * b
            rhs[3 * j + c] += multipliers[k] * b
    if dense_solve(matrix, rhs):
        return NOT_SOLVED
    for i in range(n):
        for c in range(3):
            chord[c * npad + i] += rhs[3 * i + c]
    for k in range(nb):
        multipliers[k] += rhs[3 * n + k]
    return SOLVED


@kernel
def _begin(g, place, velocity, im, tau, step, fac):
    """Make bonds and T at the start, first multipliers and the start's acceleration / 2; return the scale |b| |v|."""
    start, end, multipliers = step.start, step.end, step.multipliers
    npad, stride = len(place) // 3, g[STRIDE]
    graph_bonds(g, place, start)
    graph_bonds(g, velocity, end)
    graph_factor(g, start, im, fac)
    longest = 0.0
    for k in range(g[BONDS]):
        rate = end[k] ** 2 + end[stride + k] ** 2 + end[2 * stride + k] ** 2
        size = start[k] ** 2 + start[stride + k] ** 2 + start[2 * stride + k] ** 2
        multipliers[k] = -0.5 * rate
        longest = max(longest, size)
    fastest = 0.0
    for i in range(g[BEADS]):
        fastest = max(fastest, velocity[i] ** 2 + velocity[i + npad] ** 2 + velocity[i + 2 * npad] ** 2)
    graph_solve(g, fac, multipliers)
    step.half[:] = 0.0
    graph_gt(g, start, multipliers, im, step.half)
    for k in range(g[BONDS]):
        multipliers[k] *= tau
    return math.sqrt(longest * fastest)


@outlined
def step_solve(g, solver, place, velocity, im, tau, tol, walk, ws, fac):
    """Solve one step; V, q1 and what else StepWork has are in the workspace on return.

    Parameters
    ----------
    g : bond graph
    solver : int
        Of STEP_SOLVER_CODES.
    place, velocity : vectors of beads, velocities with G p = 0
    im : inverse masses
    tau, tol : length of the step [time]; the largest |r| / (|b| |v|), not below round-off
    walk : walk through the beads (`null_space.tree_walk`), read by NULL_SPACE only
    ws : workspace of `step_size` floats
    fac : `factor_size` floats; hold T(q0) on return

    Returns
    -------
    int
        SOLVED, or NOT_SOLVED where no solution was found: then shorten the step.
    """
    step = step_work(g, len(place) // 3, ws)
    scale = _begin(g, place, velocity, im, tau, step, fac)
    _react(g, im, step, velocity)
    status = NOT_SOLVED
    if solver == NULL_SPACE:
        status, count = null_space_newton(g, velocity, im, tau, max(tol, ROUND_OFF), walk, step)
        step.head[ITERATIONS] = count
        _residuals(g, tau, step)
    else:
        status = _iterate(g, solver, velocity, im, tau, max(tol, ROUND_OFF) * scale, step, fac)
    for k in range(len(place)):
        step.place[k] = place[k] + tau * step.chord[k]
    return status


@kernel
def _iterate(g, solver, velocity, im, tau, limit, step, fac):
    """Find a step's multipliers by Newton steps or sweeps, until the residual is below a limit; return the status."""
    most = MOST_SWEEPS if solver == SWEEPING or solver == ANALYTIC else MOST_NEWTON
    for iteration in range(most + 1):
        residual = _residuals(g, tau, step)
        step.head[ITERATIONS] = iteration
        if residual <= limit:
            return SOLVED
        if not math.isfinite(residual):
            return NOT_SOLVED
        if solver == SWEEPING:
            _sweep(g, tau, im, step)
        elif solver == MULTIPLIERS:
            if _correct_together(g, im, step, velocity) != SOLVED:
                return NOT_SOLVED
        else:
            _correct(g, solver, im, step, fac)
            _react(g, im, step, velocity)
    return NOT_SOLVED


@kernel
def step_response(g, im, d, out, step):
    """Write dV for a change d of the velocities p, at the solution in the workspace: dV = d - M^-1 G^T J^-1 G(q1) d."""
    residuals = step.residuals
    graph_gv(g, step.end, d, residuals)
    for k in range(g[BONDS]):
        residuals[k] = -residuals[k]
    paired_factor(g, step.end, step.start, im, step.factors)
    paired_solve(g, step.factors, residuals)
    for k in range(len(d)):
        out[k] = d[k]
    graph_gt(g, step.start, residuals, im, out)
