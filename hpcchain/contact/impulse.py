"""What a contact does: exact impulses on molecules with rigid bonds, for any masses and any bond graph.

For a contact with normal n the velocities change by p y, where y = M^-1 (n + G^T mu) keeps all bonds, and
p = -(1 + e) (n . v) / (n . y) (paper 000, section 3, with the bond reaction that its (6)-(7) omit; NUMERICS 2).
Contacts of the same molecules at the same instant get one multiplier each: (N Y) p = -(1 + e) N v.
"""

import math

import numpy as np
from numba import njit

from hpcchain.propagators.lanes import COEF, KICK, ROW, TILE
from hpcchain.propagators.molecule import kick, push
from hpcchain.sector.layout import MOST_TIES  # noqa: F401



@njit(cache=True)
def lane(o, b):
    """Return where bead b of the molecule at workspace offset o sits."""
    return o + (b >> 3) * TILE + (b & 7)


@njit(cache=True)
def approach(work, p, q, n):
    """Return n . (v_p - v_q) of the beads at places p and q; q < 0 is a wall at rest."""
    s = 0.0
    for c in range(3):
        v = work[p + COEF + ROW + 8 * c]
        if q >= 0:
            v -= work[q + COEF + ROW + 8 * c]
        s += n[c] * v
    return s


@njit(cache=True)
def inside_impulse(work, o, mol, m, graph, a, b, n, kicks):
    """Put y for a contact of beads a and b of one molecule into KICK and return n . y."""
    nt = mol[m, 5]
    kick(work, o, mol, m, graph, a, n[0], n[1], n[2])
    for t in range(nt):
        for k in range(ROW):
            kicks[t * ROW + k] = work[o + t * TILE + KICK + k]
    kick(work, o, mol, m, graph, b, n[0], n[1], n[2])
    for t in range(nt):
        for k in range(ROW):
            p = o + t * TILE + KICK + k
            work[p] = kicks[t * ROW + k] - work[p]
    p = lane(o, a) + KICK
    q = lane(o, b) + KICK
    return (
        n[0] * (work[p] - work[q]) + n[1] * (work[p + 8] - work[q + 8]) + n[2] * (work[p + 16] - work[q + 16])
    )


@njit(cache=True)
def single_impulse(work, oa, ob, mol, ma, mb, graph, a, b, n, growth, restitution, kicks):
    """Apply one contact's impulse to the velocities in the workspace and return it (>= 0) [mass length / time].

    Parameters
    ----------
    oa, ob : int
        Workspace offsets of the molecules; equal for a contact inside one molecule.
    ma, mb : int
        Molecules; mb < 0 for a wall.
    graph : int64 array
        Bond graphs.
    a, b : int
        Beads, numbered within their molecules.
    n : (3,) float64 array
        Unit normal, from b to a, or from the wall into the box.
    growth : float
        Rate of the contact distance [length / time].
    restitution : float
        e_n; 1 conserves energy.
    kicks : float64 array
        Scratch.
    """
    p = lane(oa, a)
    q = lane(ob, b) if mb >= 0 else -1
    un = approach(work, p, q, n) - growth
    if un >= 0.0:
        return 0.0
    if mb == ma:
        mass = inside_impulse(work, oa, mol, ma, graph, a, b, n, kicks)
        size = -(1.0 + restitution) * un / mass
        push(work, oa, mol[ma, 5], size)
        return size
    mass = kick(work, oa, mol, ma, graph, a, n[0], n[1], n[2])
    if mb >= 0:
        mass += kick(work, ob, mol, mb, graph, b, n[0], n[1], n[2])
    size = -(1.0 + restitution) * un / mass
    push(work, oa, mol[ma, 5], size)
    if mb >= 0:
        push(work, ob, mol[mb, 5], -size)
    return size


@njit(cache=True)
def tied_impulses(work, oa, ob, mol, ma, mb, graph, contacts, normals, growths, count, restitution, kicks, matrix, sizes):
    """Apply the impulses of several contacts at one instant, one multiplier each; sizes are left in `sizes`.

    Parameters
    ----------
    contacts : (MOST_TIES, 4) int64 array
        Workspace offset and bead of either side; a second offset below 0 is a wall.
    normals : (MOST_TIES, 3) float64 array
        Unit normals, from the second bead to the first.
    growths : (MOST_TIES,) float64 array
        Rates of the contact distances [length / time].
    matrix : (MOST_TIES, MOST_TIES) float64 array
        Scratch for N Y.

    Returns
    -------
    int
        0, or 1 when N Y is singular to round-off and the contacts have to be taken one by one.
    """
    stride = (mol[ma, 5] + (mol[mb, 5] if mb >= 0 else 0)) * ROW
    split = mol[ma, 5] * ROW
    for k in range(count):
        for x in range(stride):
            kicks[k * stride + x] = 0.0
        _add_kick(work, oa, mol, ma, graph, contacts, normals, k, kicks, k * stride)
        if mb >= 0 and mb != ma:
            _add_kick(work, ob, mol, mb, graph, contacts, normals, k, kicks, k * stride + split)
    for k in range(count):
        p = lane(contacts[k, 0], contacts[k, 1])
        q = lane(contacts[k, 2], contacts[k, 3]) if contacts[k, 2] >= 0 else -1
        sizes[k] = -(1.0 + restitution) * (approach(work, p, q, normals[k]) - growths[k])
        for g in range(count):
            matrix[k, g] = 0.0
            for side in range(2):
                o = contacts[k, 2 * side]
                if o < 0:
                    continue
                base = g * stride + (0 if o == oa else split)
                b = contacts[k, 2 * side + 1]
                at = base + (b >> 3) * ROW + (b & 7)
                sign = 1.0 if side == 0 else -1.0
                for c in range(3):
                    matrix[k, g] += sign * normals[k, c] * kicks[at + 8 * c]
    if eliminate(matrix, sizes, count):
        return 1
    for k in range(count):
        for t in range(mol[ma, 5]):
            for x in range(ROW):
                work[oa + t * TILE + COEF + ROW + x] += sizes[k] * kicks[k * stride + t * ROW + x]
        if mb >= 0 and mb != ma:
            for t in range(mol[mb, 5]):
                for x in range(ROW):
                    work[ob + t * TILE + COEF + ROW + x] += sizes[k] * kicks[k * stride + split + t * ROW + x]
    return 0


@njit(cache=True)
def _add_kick(work, o, mol, m, graph, contacts, normals, k, kicks, at):
    for side in range(2):
        if contacts[k, 2 * side] != o:
            continue
        sign = 1.0 if side == 0 else -1.0
        kick(work, o, mol, m, graph, contacts[k, 2 * side + 1], normals[k, 0], normals[k, 1], normals[k, 2])
        for t in range(mol[m, 5]):
            for x in range(ROW):
                kicks[at + t * ROW + x] += sign * work[o + t * TILE + KICK + x]


@njit(cache=True)
def eliminate(matrix, rhs, count):
    """Solve a small symmetric positive definite system in place; return 1 when it is singular to round-off."""
    for k in range(count):
        pivot = matrix[k, k]
        if not pivot > 1e-12:
            return 1
        for r in range(k + 1, count):
            factor = matrix[r, k] / pivot
            for c in range(k, count):
                matrix[r, c] -= factor * matrix[k, c]
            rhs[r] -= factor * rhs[k]
    for k in range(count - 1, -1, -1):
        for c in range(k + 1, count):
            rhs[k] -= matrix[k, c] * rhs[c]
        rhs[k] /= matrix[k, k]
    return 0


@njit(cache=True)
def separation(par, work, p, q, n):
    """Write the unit vector from the bead at place q to the one at p (nearest image) to n; return their distance."""
    rr = 0.0
    for c in range(3):
        x = work[p + COEF + 8 * c] - work[q + COEF + 8 * c]
        x -= par[1 + c] * np.rint(x * par[4 + c])
        n[c] = x
        rr += x * x
    r = math.sqrt(rr)
    for c in range(3):
        n[c] /= r
    return r
