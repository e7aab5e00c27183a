"""A step's discrete null space reduction, reparametrised by the exponential map (Leyendecker et al. 2012).

This is for a molecule without rings, beads in the order of a walk from bead 0. The velocities that keep the bonds are P
u with u = (velocity of bead 0; two rotations of every further bead about its parent), (19)-(20) with the bond lengths
that (22) has. From any configuration q = F(u) is reached by turning each bond vector d to exp_d(u_r r + u_s s) (23).
The step is P^T(q0) M (V - p) = 0 in u, (11); each Newton iteration turns the last configuration on (remark 2), with
P^T(q0) M P(q) / tau for Jacobian (12). The walk is `tree_walk`'s: per bead but the first its number, its parent's, its
bond's, and +1 or -1 as the bond points away from the parent or to it.
"""

import math

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout.vectors import dot, over, tangents, times
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE

MOST_ITERATIONS = 60
WALK_BEAD, WALK_PARENT, WALK_BOND, WALK_SIGN, WALK = range(5)  # what is known of each bead but the first, and how much
DIFFERENCE = 2.0**-50  # round-off of the difference of two bond vectors


@kernel
def dense_solve(a, rhs):
    """Solve the n equations with matrix a (n, n), overwritten, in place; return 1 if it is singular."""
    n = len(rhs)
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(a[r, k]) > abs(a[best, k]):
                best = r
        if not abs(a[best, k]) > 0.0:
            return 1
        if best != k:
            for c in range(k, n):
                a[k, c], a[best, c] = a[best, c], a[k, c]
            rhs[k], rhs[best] = rhs[best], rhs[k]
        inverse = 1.0 / a[k, k]
        for r in range(k + 1, n):
            factor = a[r, k] * inverse
            if factor != 0.0:
                for c in range(k + 1, n):
                    a[r, c] -= factor * a[k, c]
                rhs[r] -= factor * rhs[k]
    for k in range(n - 1, -1, -1):
        total = rhs[k]
        for c in range(k + 1, n):
            total -= a[k, c] * rhs[c]
        rhs[k] = total / a[k, k]
    return 0


def tree_walk(n: int, bonds: np.ndarray) -> np.ndarray:
    """Return (4 (n - 1),) float64: bead, parent, bond and its sign, parents first.

    Raises
    ------
    ConfigError
        If the bonds close a ring or leave beads apart: there is no such walk.
    """
    if len(bonds) != n - 1:
        raise ConfigError('propagator.solver: "null-space" moves molecules without rings; take "tridiagonal"')
    walk, reached = [], {0}
    while len(reached) < n:
        before = len(reached)
        for k, (low, high) in enumerate(np.asarray(bonds).tolist()):
            if (low in reached) != (high in reached):
                walk += [high, low, k, 1.0] if low in reached else [low, high, k, -1.0]
                reached |= {low, high}
        if len(reached) == before:
            raise ConfigError('propagator.solver: "null-space" needs molecules whose beads are all joined')
    return np.array(walk, dtype=np.float64)


@kernel
def null_space_size(n):
    """Return the floats that the solver's workspace takes for n beads in a tree."""
    unknowns = 2 * n + 1
    return 6 * n * unknowns + unknowns * (unknowns + 1) + 3 * n


@kernel
def _step_of(walk, k):
    """Return bead, parent and bond of the k-th step of a walk, and the bond's sign."""
    at = WALK * k
    return int(walk[at + WALK_BEAD]), int(walk[at + WALK_PARENT]), int(walk[at + WALK_BOND]), walk[at + WALK_SIGN]


@kernel
def null_space(n, walk, b, p):
    """Write P of the bond vectors b: (3 n, 2 n + 1), row 3 i + c component c of bead i."""
    p[:] = 0.0
    for c in range(3):
        p[c, c] = 1.0
    for k in range(n - 1):
        bead, parent, bond, sign = _step_of(walk, k)
        for c in range(3):
            for u in range(p.shape[1]):
                p[3 * bead + c, u] = p[3 * parent + c, u]
        length, r, s = _triad(b, bond, sign)
        for c in range(3):
            p[3 * bead + c, 3 + 2 * k], p[3 * bead + c, 4 + 2 * k] = length * r[c], length * s[c]


@kernel
def _triad(b, bond, sign):
    """Return the length of a bond vector and two unit vectors r, s at right angles to it and to each other."""
    stride = len(b) // 3
    way = times(sign, (b[bond], b[bond + stride], b[bond + 2 * stride]))
    length = math.sqrt(dot(way, way))
    r, s = tangents(over(way, length))
    return length, r, s


@kernel
def _turn(n, walk, b, u):
    """Turn every bond vector by its two rotations: b <- |b| exp_d(u_r r + u_s s)."""
    stride = len(b) // 3
    for k in range(n - 1):
        _, _, bond, sign = _step_of(walk, k)
        length, r, s = _triad(b, bond, sign)
        ur, us = u[3 + 2 * k], u[4 + 2 * k]
        angle = math.sqrt(ur * ur + us * us)
        cosine = math.cos(angle)
        weight = sign * length * (math.sin(angle) / angle if angle > 0.0 else 1.0)
        for c in range(3):
            b[c * stride + bond] = cosine * b[c * stride + bond] + weight * (ur * r[c] + us * s[c])


@kernel
def _velocities(n, walk, tau, start, end, root, v):
    """Set V from the displacement of bead 0 and the bonds at start and end."""
    npad, stride = len(v) // 3, len(start) // 3
    for c in range(3):
        v[c * npad] = root[c] / tau
    for k in range(n - 1):
        bead, parent, bond, sign = _step_of(walk, k)
        rate = sign / tau
        for c in range(3):
            moved = end[c * stride + bond] - start[c * stride + bond]
            v[c * npad + bead] = v[c * npad + parent] + rate * moved


@outlined
def null_space_newton(g, velocity, im, tau, tol, walk, step):
    """Solve a step for V, which is left in `step.chord`.

    Parameters
    ----------
    velocity : velocities p, a vector of beads
    tol : float
        The largest component of P^T M (V - p), as a fraction of the momentum of all beads at the fastest one's speed.
    step : StepWork
        Its bonds are those at the start; `null_space_size` floats of its rest are used.

    Returns
    -------
    int, int
        0 and the number of iterations, or 1 when there is no convergence.
    """
    n, npad, stride = g[BEADS], len(velocity) // 3, g[STRIDE]
    m = 2 * n + 1
    size = 3 * n * m
    before, after = step.rest[:size].reshape(3 * n, m), step.rest[size : 2 * size].reshape(3 * n, m)
    matrix = step.rest[2 * size : 2 * size + m * m].reshape(m, m)
    rest = step.rest[2 * size + m * m :]
    rhs, root = rest[:m], rest[m : m + 3]
    chord, start, end = step.chord, step.start, step.end
    mass = 0.0
    fastest = 0.0
    for i in range(n):
        mass += 1.0 / im[i]
        fastest = max(fastest, abs(velocity[i]), abs(velocity[npad + i]), abs(velocity[2 * npad + i]))
    root[:] = 0.0
    longest = 0.0
    for k in range(g[BONDS]):
        for c in range(3):
            longest = max(longest, abs(start[c * stride + k]))
            end[c * stride + k] = start[c * stride + k]
    null_space(n, walk, start, before)
    for iteration in range(MOST_ITERATIONS):
        _velocities(n, walk, tau, start, end, root, chord)
        largest = 0.0
        for u in range(m):
            total = 0.0
            for i in range(n):
                for c in range(3):
                    change = velocity[c * npad + i] - chord[c * npad + i]
                    total += before[3 * i + c, u] * change / im[i]
            rhs[u] = tau * total
            if not abs(total) <= largest:
                largest = abs(total)
        if largest <= mass * (tol * fastest + DIFFERENCE * longest / tau):
            return 0, iteration
        if not math.isfinite(largest):
            return 1, iteration
        null_space(n, walk, end, after)
        _jacobian(im, before, after, matrix)
        if dense_solve(matrix, rhs):
            return 1, iteration
        _turn(n, walk, end, rhs)
        for c in range(3):
            root[c] += rhs[c]
    return 1, MOST_ITERATIONS


@kernel
def _jacobian(im, before, after, matrix):
    """Write P^T(q0) M P(q)."""
    matrix[:] = 0.0
    for row in range(len(before)):
        mass = 1.0 / im[row // 3]
        for u in range(len(matrix)):
            if before[row, u] != 0.0:
                for w in range(len(matrix)):
                    matrix[u, w] += mass * before[row, u] * after[row, w]
