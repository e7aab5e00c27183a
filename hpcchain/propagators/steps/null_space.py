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
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE

MOST_ITERATIONS = 60
WALK_BEAD, WALK_PARENT, WALK_BOND, WALK_SIGN, WALK = range(5)  # what is known of each bead but the first, and how much
DIFFERENCE = 2.0**-50  # round-off of the difference of two bond vectors


@kernel
def dense_solve(a, ao, n, rhs, ro):
    """Solve the n equations with matrix a (row-major at a[ao], overwritten) in place; return 1 if it is singular."""
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(a[ao + r * n + k]) > abs(a[ao + best * n + k]):
                best = r
        if not abs(a[ao + best * n + k]) > 0.0:
            return 1
        if best != k:
            for c in range(k, n):
                a[ao + k * n + c], a[ao + best * n + c] = a[ao + best * n + c], a[ao + k * n + c]
            rhs[ro + k], rhs[ro + best] = rhs[ro + best], rhs[ro + k]
        inverse = 1.0 / a[ao + k * n + k]
        for r in range(k + 1, n):
            factor = a[ao + r * n + k] * inverse
            if factor != 0.0:
                for c in range(k + 1, n):
                    a[ao + r * n + c] -= factor * a[ao + k * n + c]
                rhs[ro + r] -= factor * rhs[ro + k]
    for k in range(n - 1, -1, -1):
        total = rhs[ro + k]
        for c in range(k + 1, n):
            total -= a[ao + k * n + c] * rhs[ro + c]
        rhs[ro + k] = total / a[ao + k * n + k]
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
def null_space(n, tree, to, b, bo, stride, p, po):
    """Write P of the bond vectors b: (3 n, 2 n + 1), row 3 i + c component c of bead i, row-major."""
    m = 2 * n + 1
    p[po : po + 3 * n * m] = 0.0
    for c in range(3):
        p[po + c * m + c] = 1.0
    for k in range(n - 1):
        bead = int(tree[to + WALK * k + WALK_BEAD])
        parent = int(tree[to + WALK * k + WALK_PARENT])
        bond = bo + int(tree[to + WALK * k + WALK_BOND])
        sign = tree[to + WALK * k + WALK_SIGN]
        for c in range(3):
            for u in range(m):
                p[po + (3 * bead + c) * m + u] = p[po + (3 * parent + c) * m + u]
        x, y, z = sign * b[bond], sign * b[bond + stride], sign * b[bond + 2 * stride]
        length, rx, ry, rz, sx, sy, sz = _triad(x, y, z)
        at = po + 3 * bead * m + 3 + 2 * k
        p[at], p[at + m], p[at + 2 * m] = length * rx, length * ry, length * rz
        at += 1
        p[at], p[at + m], p[at + 2 * m] = length * sx, length * sy, length * sz


@kernel
def _triad(x, y, z):
    """Return the length of a vector and two unit vectors r, s at right angles to it and to each other."""
    length = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / length, y / length, z / length
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        rx, ry, rz = 0.0, -z, y
    elif abs(y) <= abs(z):
        rx, ry, rz = z, 0.0, -x
    else:
        rx, ry, rz = -y, x, 0.0
    r = math.sqrt(rx * rx + ry * ry + rz * rz)
    rx, ry, rz = rx / r, ry / r, rz / r
    return length, rx, ry, rz, y * rz - z * ry, z * rx - x * rz, x * ry - y * rx


@kernel
def _turn(n, tree, to, b, bo, stride, u, uo):
    """Turn every bond vector by its two rotations: b <- |b| exp_d(u_r r + u_s s)."""
    for k in range(n - 1):
        bond = bo + int(tree[to + WALK * k + WALK_BOND])
        sign = tree[to + WALK * k + WALK_SIGN]
        x, y, z = sign * b[bond], sign * b[bond + stride], sign * b[bond + 2 * stride]
        length, rx, ry, rz, sx, sy, sz = _triad(x, y, z)
        ur, us = u[uo + 3 + 2 * k], u[uo + 4 + 2 * k]
        angle = math.sqrt(ur * ur + us * us)
        cosine = math.cos(angle)
        weight = sign * length * (math.sin(angle) / angle if angle > 0.0 else 1.0)
        b[bond] = cosine * b[bond] + weight * (ur * rx + us * sx)
        b[bond + stride] = cosine * b[bond + stride] + weight * (ur * ry + us * sy)
        b[bond + 2 * stride] = cosine * b[bond + 2 * stride] + weight * (ur * rz + us * sz)


@kernel
def _velocities(n, tree, to, tau, b, start, end, stride, root, ro, v, vo, npad):
    """Set V from the displacement of bead 0 and the bonds at start and end.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.
    """
    for c in range(3):
        v[vo + c * npad] = root[ro + c] / tau
    for k in range(n - 1):
        bead = int(tree[to + WALK * k + WALK_BEAD])
        parent = int(tree[to + WALK * k + WALK_PARENT])
        bond = int(tree[to + WALK * k + WALK_BOND])
        rate = tree[to + WALK * k + WALK_SIGN] / tau
        for c in range(3):
            moved = b[end + c * stride + bond] - b[start + c * stride + bond]
            v[vo + c * npad + bead] = v[vo + c * npad + parent] + rate * moved


@outlined
def null_space_newton(gs, go, x, velocity, npad, im, io, tau, tol, tree, to, ws, chord, start, rest):
    """Solve a step; V is left at ws[chord]. Many parameters, since kernels take arrays and offsets one by one.

    Parameters
    ----------
    x, velocity : velocities p, a vector array
    tol : float
        The largest component of P^T M (V - p), as a fraction of the momentum of all beads at the fastest one's speed.
    ws, chord, start, rest : V, the bonds at the start and the end bonds behind them, and `null_space_size` floats

    Returns
    -------
    int, int
        0 and the number of iterations, or 1 when there is no convergence.
    """
    n, stride = gs[go + BEADS], gs[go + STRIDE]
    m = 2 * n + 1
    end = start + 3 * stride
    before = rest
    after = before + 3 * n * m
    matrix = after + 3 * n * m
    rhs = matrix + m * m
    root = rhs + m
    mass = 0.0
    fastest = 0.0
    for i in range(n):
        mass += 1.0 / im[io + i]
        fastest = max(fastest, abs(x[velocity + i]), abs(x[velocity + npad + i]), abs(x[velocity + 2 * npad + i]))
    ws[root : root + 3] = 0.0
    longest = 0.0
    for k in range(gs[go + BONDS]):
        for c in range(3):
            longest = max(longest, abs(ws[start + c * stride + k]))
            ws[end + c * stride + k] = ws[start + c * stride + k]
    null_space(n, tree, to, ws, start, stride, ws, before)
    for iteration in range(MOST_ITERATIONS):
        _velocities(n, tree, to, tau, ws, start, end, stride, ws, root, ws, chord, npad)
        largest = 0.0
        for u in range(m):
            total = 0.0
            for i in range(n):
                for c in range(3):
                    change = x[velocity + c * npad + i] - ws[chord + c * npad + i]
                    total += ws[before + (3 * i + c) * m + u] * change / im[io + i]
            ws[rhs + u] = tau * total
            if not abs(total) <= largest:
                largest = abs(total)
        if largest <= mass * (tol * fastest + DIFFERENCE * longest / tau):
            return 0, iteration
        if not math.isfinite(largest):
            return 1, iteration
        null_space(n, tree, to, ws, end, stride, ws, after)
        _jacobian(n, m, im, io, ws, before, after, matrix)
        if dense_solve(ws, matrix, m, ws, rhs):
            return 1, iteration
        _turn(n, tree, to, ws, end, stride, ws, rhs)
        for c in range(3):
            ws[root + c] += ws[rhs + c]
    return 1, MOST_ITERATIONS


@kernel
def _jacobian(n, m, im, io, ws, before, after, matrix):
    """Write P^T(q0) M P(q)."""
    ws[matrix : matrix + m * m] = 0.0
    for i in range(n):
        mass = 1.0 / im[io + i]
        for c in range(3):
            a = before + (3 * i + c) * m
            b = after + (3 * i + c) * m
            for u in range(m):
                if ws[a + u] != 0.0:
                    for w in range(m):
                        ws[matrix + u * m + w] += mass * ws[a + u] * ws[b + w]
