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

The workspace has `collocation_size` floats, of which `stage_work` returns views.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.collocation.collocation_newton import MOST_STEPS, newton_size, newton_step
from hpcchain.propagators.collocation.gauss_coefficients import FIXED_POINT, INDEX1, INDEX2, NEWTON, PAPER
from hpcchain.propagators.taylor.graph import (
    ends_of,
    factor_size,
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_gv,
    graph_project,
    graph_solve,
    largest_of,
)

SWEEPS, END = 0, 4
MOST_SWEEPS = 60
SLOW = 0.1  # a sweep that leaves more of the residual than this asks for factors at the stages
ROUND_OFF = 16 * 2.0**-52
ENOUGH = 1e-12  # of a bond: the error of the accelerations, of which another step is made
SOLVED, NOT_SOLVED = 0, 1


class StageWork(NamedTuple):
    """The workspace of s stages; vectors of beads and of bonds are those of `graph`.

    Attributes
    ----------
    head : float64 array
        At SWEEPS, how many sweeps (Newton: steps) the solver made.
    place, projected, raw : float64 arrays
        The end position; the end velocity, projected, and as it comes; vectors of beads.
    positions, velocities, accelerations : float64 arrays
        Of the stages, vectors of beads, and one vector more.
    multipliers, residuals, changes : float64 arrays
        Of the stages' bonds.
    bonds, squares : float64 arrays
        Vectors of the stages' bonds; squared lengths of the start's.
    factors : float64 array
        `factor_size` floats a stage.
    rest : float64 array
        Newton's own.
    """

    head: np.ndarray
    place: np.ndarray
    projected: np.ndarray
    raw: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    multipliers: np.ndarray
    residuals: np.ndarray
    changes: np.ndarray
    bonds: np.ndarray
    squares: np.ndarray
    factors: np.ndarray
    rest: np.ndarray


@kernel
def collocation_size(g, npad, s, solver):
    """Return the floats that the workspace of s stages takes."""
    size = END + 3 * npad * (3 + 3 * s + 1) + (6 * s + 1) * g[STRIDE] + s * factor_size(g)
    return size + newton_size(g, npad, s) if solver == NEWTON else size


@kernel
def stage_work(g, npad, s, ws):
    """Return the StageWork of a workspace of `collocation_size` floats or more."""
    stride, size = g[STRIDE], 3 * npad
    bead, bond = ws[END:], ws[END + size * (3 * s + 4) :]
    stage = bead[3 * size :]
    factors = bond[stride * (6 * s + 1) :]
    return StageWork(
        ws[:END],
        bead[:size],
        bead[size : 2 * size],
        bead[2 * size : 3 * size],
        stage[: s * size],
        stage[s * size : 2 * s * size],
        stage[2 * s * size : (3 * s + 1) * size],
        bond[: s * stride],
        bond[s * stride : 2 * s * stride],
        bond[2 * s * stride : 3 * s * stride],
        bond[3 * s * stride : 6 * s * stride],
        bond[6 * s * stride : (6 * s + 1) * stride],
        factors[: s * factor_size(g)],
        factors[s * factor_size(g) :],
    )


@inlined
def nth(j, size):
    """Return where the j-th of consecutive vectors of one size is."""
    return slice(j * size, (j + 1) * size)


@kernel
def collocation_interval(tables, tau):
    """Return the interval whose stages give the state a time tau on."""
    return tau / tables.node[-1] if tables.variant == PAPER else tau


@kernel
def collocation_order(s):
    """Return the degree of the position polynomial of s stages: one more than s, so that it also starts with v0."""
    return s + 1


@kernel
def _weighted_sum(row, factor, x, start, out):
    """Write start + factor * sum_k row[k] * x_k to out, where x_k are consecutive arrays of its size."""
    size = len(out)
    out[:] = 0.0
    for k in range(len(row)):
        weight = factor * row[k]
        term = x[nth(k, size)]
        for i in range(size):
            out[i] += weight * term[i]
    for i in range(len(start)):
        out[i] += start[i]


@kernel
def _guess(g, place, velocity, im, tau, tables, work, fac):
    """Start from the multipliers and the parabola of the start; return residuals' scale |b| |v| and round-off."""
    # The latter grows with the coordinates.
    s = len(tables.node)
    n, nb, stride, size = g[BEADS], g[BONDS], g[STRIDE], len(place)
    multipliers, bonds = work.multipliers, work.bonds[nth(0, 3 * stride)]
    graph_bonds(g, velocity, bonds)
    for b in range(nb):
        multipliers[b] = -(bonds[b] ** 2 + bonds[b + stride] ** 2 + bonds[b + 2 * stride] ** 2)
    graph_bonds(g, place, bonds)
    work.squares[:] = 0.0
    _add_squares(g, place, 1.0, work.squares)
    longest, fastest = largest_of(bonds, nb), largest_of(velocity, n)
    round_off = ROUND_OFF * fastest * (longest + largest_of(place, n))
    graph_factor(g, bonds, im, fac)
    graph_solve(g, fac, multipliers)
    bend = work.accelerations[nth(0, size)]
    bend[:] = 0.0
    graph_gt(g, bonds, multipliers, im, bend)
    for j in range(s):
        t, position = tables.node[j] * tau, work.positions[nth(j, size)]
        for i in range(size):
            position[i] = place[i] + t * (velocity[i] + 0.5 * t * bend[i])
        for k in range(nb):
            multipliers[j * stride + k] = multipliers[k]
        graph_bonds(g, position, work.bonds[nth(j, 3 * stride)])
    if tables.variant == INDEX2:
        return longest * fastest, round_off
    if tables.variant == INDEX1:
        return fastest * fastest, round_off * (fastest / longest if longest > 0.0 else 0.0)
    return longest * longest, round_off * (longest / fastest if fastest > 0.0 else 0.0)


@kernel
def _add_squares(g, x, factor, out):
    """Add factor * |x_high - x_low|^2 to out, per bond."""
    low, high = ends_of(g)
    for k in range(g[BONDS]):
        for c in range(0, len(x), len(x) // 3):
            out[k] += factor * (x[c + high[k]] - x[c + low[k]]) ** 2


@kernel
def _violations(g, tables, work):
    """Write what is left of the variant's constraint at the stages; return the largest."""
    nb, stride, size = g[BONDS], g[STRIDE], len(work.place)
    largest = 0.0
    for j in range(len(tables.node)):
        bonds, left = work.bonds[nth(j, 3 * stride)], work.residuals[nth(j, stride)]
        if tables.variant == INDEX2:
            graph_gv(g, bonds, work.velocities[nth(j, size)], left)
        elif tables.variant == INDEX1:
            graph_gv(g, bonds, work.accelerations[nth(j, size)], left)
            _add_squares(g, work.velocities[nth(j, size)], 1.0, left)
        else:
            for i in range(nb):
                left[i] = -0.5 * work.squares[i]
            _add_squares(g, work.positions[nth(j, size)], 0.5, left)
        for i in range(nb):
            rate = abs(left[i])
            if not rate <= largest:  # keeps a NaN
                largest = rate
    return largest


@kernel
def _sweep(g, place, velocity, im, tau, tables, work):
    """Renew stage velocities and positions from the multipliers and the last bonds; return the largest violation."""
    forces = work.accelerations[: len(tables.node) * len(place)]
    forces[:] = 0.0
    _forces(g, im, len(tables.node), work, forces, 1.0)
    _integrate(g, place, velocity, tau, tables, work)
    return _violations(g, tables, work)


@kernel
def _forces(g, im, s, work, out, sign):
    """Add sign * M^-1 G^T mu of the stages to their vectors of beads; the multipliers stay as they are."""
    stride, size = g[STRIDE], len(work.place)
    change = work.changes[nth(0, stride)]
    for j in range(s):
        for k in range(stride):
            change[k] = sign * work.multipliers[stride * j + k]
        graph_gt(g, work.bonds[nth(j, 3 * stride)], change, im, out[nth(j, size)])


@kernel
def _integrate(g, place, velocity, tau, tables, work):
    """Make stage velocities, positions and bonds from the accelerations."""
    s, size = len(tables.node), len(place)
    for j in range(s):
        _weighted_sum(tables.a[j], tau, work.accelerations, velocity, work.velocities[nth(j, size)])
    for j in range(s):
        position = work.positions[nth(j, size)]
        _weighted_sum(tables.a[j], tau, work.velocities, place, position)
        graph_bonds(g, position, work.bonds[nth(j, 3 * g[STRIDE])])


@kernel
def _correct(g, tau, tables, work, fac, at_stages):
    """Change the multipliers by -(A^-p x T^-1) r / tau^p, r what is left, with T at the start or at each stage."""
    s, stride, nothing = len(tables.node), g[STRIDE], work.head[:0]
    factor = 1.0
    if tables.variant != INDEX1:
        factor = 1.0 / tau if tables.variant == INDEX2 else 1.0 / (tau * tau)
    for j in range(s):
        change = work.changes[nth(j, stride)]
        _weighted_sum(tables.correction[j], factor, work.residuals, nothing, change)
        if at_stages:
            graph_solve(g, work.factors[nth(j, factor_size(g))], change)
        else:
            graph_solve(g, fac, change)
    for j in range(s):
        for i in range(g[BONDS]):
            work.multipliers[stride * j + i] -= work.changes[stride * j + i]


@kernel
def _solve_stages(g, place, velocity, im, tau, tol, tables, work, fac):
    """Iterate until the violation is tol (or round-off) of its scale, and a sweep beyond.

    PAPER's positions may be within it from the start, over a short time: the round-off of positions divided by that
    time is no correction of the velocities.
    """
    scale, round_off = _guess(g, place, velocity, im, tau, tables, work, fac)
    limit = max(tol * scale, round_off)
    if tables.solver == NEWTON:
        return _newton(g, place, velocity, im, tau, tables, work, limit)
    last = np.inf
    always = tables.solver == FIXED_POINT
    at_stages = always
    for sweep in range(MOST_SWEEPS):
        residual = _sweep(g, place, velocity, im, tau, tables, work)
        work.head[SWEEPS] = sweep + 2.0
        if not math.isfinite(residual):
            return NOT_SOLVED
        if sweep == 0 and tables.variant == PAPER and residual <= limit:
            return SOLVED
        if always or (not at_stages and residual > limit and residual > SLOW * last):
            for j in range(len(tables.node)):
                bonds = work.bonds[nth(j, 3 * g[STRIDE])]
                graph_factor(g, bonds, im, work.factors[nth(j, factor_size(g))])
            at_stages = True
        last = residual
        _correct(g, tau, tables, work, fac, at_stages)
        if residual <= limit:
            _sweep(g, place, velocity, im, tau, tables, work)
            return SOLVED
    return NOT_SOLVED


@outlined
def _newton(g, place, velocity, im, tau, tables, work, limit):
    """Take Newton steps until the violation is within its limit, then make all stage values from the multipliers."""
    s, stride, size = len(tables.node), g[STRIDE], len(place)
    forces, defects = work.accelerations[: s * size], work.rest[: s * size]
    forces[:] = 0.0
    _forces(g, im, s, work, forces, 1.0)
    for step in range(MOST_STEPS):
        _integrate(g, place, velocity, tau, tables, work)
        residual = _violations(g, tables, work)
        for i in range(s * size):
            defects[i] = forces[i]
        _forces(g, im, s, work, defects, -1.0)
        defect = 0.0
        for i in range(s * size):
            defect = max(defect, abs(defects[i]))
        work.head[SWEEPS] = step + 1.0
        if not math.isfinite(residual + defect):
            return NOT_SOLVED
        if step == 0 and tables.variant == PAPER and residual <= limit:
            _sweep(g, place, velocity, im, tau, tables, work)
            return SOLVED
        if not newton_step(g, im, tau, tables, work):
            return NOT_SOLVED
        longest = largest_of(work.bonds[nth(0, 3 * stride)], g[BONDS])
        if residual <= limit and defect * tau * tau <= ENOUGH * longest:
            _sweep(g, place, velocity, im, tau, tables, work)
            return SOLVED
    return NOT_SOLVED


@outlined
def collocation_state(g, place, velocity, im, tau, tol, tables, ws, fac):
    """Solve the stages over tau from a start state and write the end state to the workspace.

    Nothing of the start is written. So a segment can be solved again to any time within it. The new end state is of
    order 2s, its dense polynomial only of order s + 1.

    Parameters
    ----------
    place, velocity : vectors of beads at the start, with G v = O(tau^s) at most
    tau, tol : time from the start to the end state [time], and the largest relative violation at the stages
    tables : GaussTables, with the variant and the solver
    ws : workspace of `collocation_size` floats
    fac : `factor_size` floats; hold T at the end state on return

    Returns
    -------
    int
        SOLVED, or NOT_SOLVED when the iteration does not converge: then halve tau.
    """
    s, stride, size = len(tables.node), g[STRIDE], len(place)
    work = stage_work(g, size // 3, s, ws)
    tau = collocation_interval(tables, tau)
    status = _solve_stages(g, place, velocity, im, tau, tol, tables, work, fac)
    if status != SOLVED:
        return status
    if tables.variant == PAPER:
        for i in range(size):
            work.place[i] = work.positions[size * (s - 1) + i]
            work.raw[i] = work.velocities[size * (s - 1) + i]
    else:
        _weighted_sum(tables.weight, tau, work.velocities, place, work.place)
        _weighted_sum(tables.weight, tau, work.accelerations, velocity, work.raw)
    bonds, rates = work.bonds[nth(0, 3 * stride)], work.residuals[nth(0, stride)]
    graph_bonds(g, work.place, bonds)
    graph_factor(g, bonds, im, fac)
    for i in range(size):
        work.projected[i] = work.raw[i]
    graph_project(g, bonds, im, fac, rates, work.projected)
    return SOLVED


@kernel
def collocation_segment(g, block, npad, im, tau, tol, tables, ws, fac):
    """Solve as `collocation_state` and fill the block with the position polynomial of degree `collocation_order`.

    It starts at x0 with v0, orders 0 and 1 of the block, and its derivative takes the stage velocities; since the
    nodes are Legendre's, the extra condition on v0 moves neither the stages nor the end position.
    """
    s, size = len(tables.node), 3 * npad
    place, velocity = block[nth(0, size)], block[nth(1, size)]
    status = collocation_state(g, place, velocity, im, tau, tol, tables, ws, fac)
    if status != SOLVED:
        return status
    work = stage_work(g, npad, s, ws)
    velocities, modes, nothing = work.velocities, work.accelerations, work.head[:0]
    for j in range(s):
        for i in range(size):
            velocities[size * j + i] -= velocity[i]
    for m in range(s):
        _weighted_sum(tables.legendre[m], 1.0, velocities, nothing, modes[nth(m, size)])
    # U - v0 vanishes at the start: the Legendre polynomial of degree s, zero at the nodes, sees to that
    _weighted_sum(tables.monomial[0, :s], -tables.monomial[0, s], modes, nothing, modes[nth(s, size)])
    power = 1.0
    tau = collocation_interval(tables, tau)
    for k in range(1, s + 1):
        power *= tau
        _weighted_sum(tables.monomial[k], 1.0 / ((k + 1) * power), modes, nothing, block[nth(k + 1, size)])
    return SOLVED
