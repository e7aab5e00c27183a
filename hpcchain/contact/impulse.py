"""What a contact does: exact impulses on molecules with rigid bonds, for any masses and any bond graph.

For a contact with normal n the velocities change by p y, where y = M^-1 (n + G^T mu) keeps all bonds, and
p = -(1 + e) (n . v) / (n . y) (Leyendecker et al. 2012, section 3, with the bond reaction that its (6)-(7) omit;
docs/theory/impulses.md). Contacts of the same molecules at the same instant get one multiplier each: (N Y) p = -(1 + e)
N v, but spheres push and never pull. Where an equation would take a p < 0, since what the others do parts these two
faster anyway, p is 0 and the equation is left out: p >= 0, N v+ + e N v >= 0, and of each pair of these one is 0. At e
= 1 this keeps the energy. Contacts may each have their own e: the energy changes by the sum of p (1 - e) (n . v) / 2,
which is never above 0. Where N Y is positive definite there is just one such p. Where contacts depend on one another,
as those of a rod that falls flat, many p give the same v+: of these the impulses taken are as equal as they can be, so
that mirror images have mirrored ones.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.interface import kick, push

MOST_TURNS = 1024
RECEDES = 1e-12  # of (1 + e) n . v, by which a contact may fall short that is left out
BLURRED = 1e-10  # of the beads' speed, to which rates are known: what touches within TIE_GAP has normals as uncertain
# Contacts that depend on one another (`_solve_dependent`), relative to N Y's largest diagonal entry.
FIRST_SHIFT = 2.0**-10
LEAST_SHIFT = 2.0**-34
MOST_STEPS = 200
ROUND_OFF = 2.0**-50


@kernel
def lane(offset, b):
    """Return the place of bead b of the molecule that is at an offset in the workspace."""
    return offset + (b >> W.LANE_SHIFT) * W.TILE + (b & W.LANE_MASK)


@kernel
def approach(work, p, q, n):
    """Return n . (v_p - v_q) of the beads at places p and q; q < 0 is a wall at rest."""
    s = 0.0
    for c in range(3):
        v = work[p + W.COEF + W.ROW + W.LANES * c]
        if q >= 0:
            v -= work[q + W.COEF + W.ROW + W.LANES * c]
        s += n[c] * v
    return s


@kernel
def inside_impulse(work, offset, mol, m, graph, a, b, n, impulse_response):
    """Put y for a contact of beads a and b of one molecule into KICK and return n . y."""
    tiles = mol[m, L.MOL_TILES]
    kick(work, offset, mol, m, graph, a, n[0], n[1], n[2])
    for t in range(tiles):
        for k in range(W.ROW):
            impulse_response[t * W.ROW + k] = work[offset + t * W.TILE + W.KICK + k]
    kick(work, offset, mol, m, graph, b, n[0], n[1], n[2])
    for t in range(tiles):
        for k in range(W.ROW):
            p = offset + t * W.TILE + W.KICK + k
            work[p] = impulse_response[t * W.ROW + k] - work[p]
    p = lane(offset, a) + W.KICK
    q = lane(offset, b) + W.KICK
    return (
        n[0] * (work[p] - work[q])
        + n[1] * (work[p + W.LANES] - work[q + W.LANES])
        + n[2] * (work[p + 2 * W.LANES] - work[q + 2 * W.LANES])
    )


@kernel
def _size(un, restitution, mass, projection_loss):
    """Return p of E(v + p y) = E(v) - (1 - e^2) un^2 / (2 mass) + lost; mass is the inverse effective one."""
    if projection_loss == 0.0:
        return -(1.0 + restitution) * un / mass
    return (-un + math.sqrt((restitution * un) ** 2 + 2.0 * mass * projection_loss)) / mass


@kernel
def single_impulse(work, oa, ob, mol, ma, mb, graph, a, b, n, growth, restitution, impulse_response, projection_loss):
    """Apply one contact's impulse to the velocities in the workspace and return it (>= 0) [mass length / time].

    Many parameters, since a contact is two molecules, a bead of each, and what its law needs.

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
    impulse_response : float64 array
        Scratch.
    projection_loss : float
        Energy that putting the molecules on their bonds took; the impulse gives it back [mass length^2 / time^2].
    """
    p = lane(oa, a)
    q = lane(ob, b) if mb >= 0 else -1
    un = approach(work, p, q, n) - growth
    if un >= 0.0:
        return 0.0
    if mb == ma:
        mass = inside_impulse(work, oa, mol, ma, graph, a, b, n, impulse_response)
        size = _size(un, restitution, mass, projection_loss)
        push(work, oa, mol[ma, L.MOL_TILES], size)
        return size
    mass = kick(work, oa, mol, ma, graph, a, n[0], n[1], n[2])
    if mb >= 0:
        mass += kick(work, ob, mol, mb, graph, b, n[0], n[1], n[2])
    size = _size(un, restitution, mass, projection_loss)
    push(work, oa, mol[ma, L.MOL_TILES], size)
    if mb >= 0:
        push(work, ob, mol[mb, L.MOL_TILES], -size)
    return size


class Ties(NamedTuple):
    """Contacts at one instant that are resolved together.

    Attributes
    ----------
    group, offset : (MOST_MEMBERS,) int64 arrays
        Molecules that take part, and where each is in the workspace.
    members, count : int
        Numbers of molecules and of contacts.
    contacts : (MOST_TIES, 4) int64 array
        Member and bead of either side; a second member below 0 is a wall.
    normals : (MOST_TIES, 3) float64 array
        Unit normals, from the second bead to the first.
    growths : (MOST_TIES,) float64 array
        Rates of the contact distances [length / time].
    """

    group: np.ndarray
    offset: np.ndarray
    members: int
    contacts: np.ndarray
    normals: np.ndarray
    growths: np.ndarray
    count: int  # type: ignore[assignment]


@outlined
def tied_impulses(work, mol, graph, ties, e, impulse_response, matrix, sizes, projection_loss):
    """Apply the impulses of several contacts at one instant, one multiplier each; sizes are left in `sizes`.

    All approach, or rest on one another; rates of those that rest count as 0. One whose beads the others part anyway
    gets 0.

    Parameters
    ----------
    ties : Ties
    e : (MOST_TIES,) float64 array
        Coefficient of restitution of each contact.
    impulse_response, matrix : float64 arrays
        Scratch for Y and, (PUSH_ROWS, MOST_TIES), for N Y.
    projection_loss : float
        Energy that putting the molecules on their bonds took; the impulses, all by one factor, give it back.

    Returns
    -------
    int
        0, or 1 when nothing parts all of them, as where growing beads are wedged between walls: then the velocities
        are as before, and the contacts have to be taken one by one.
    """
    group, offset, members, contacts, normals, growths, count = ties
    stride = 0
    for g in range(members):
        stride += mol[group[g], L.MOL_TILES] * W.ROW
    _responses(work, mol, graph, ties, stride, impulse_response)
    for k in range(count):
        p = lane(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        q = (
            lane(offset[contacts[k, L.OTHER_MEMBER]], contacts[k, L.OTHER_BEAD])
            if contacts[k, L.OTHER_MEMBER] >= 0
            else -1
        )
        sizes[k] = max(-(1.0 + e[k]) * (approach(work, p, q, normals[k]) - growths[k]), 0.0)
        _row_of_equations(mol, ties, stride, impulse_response, k, matrix)
    if solve_pushes(matrix, sizes, count, BLURRED * _fastest(work, offset, contacts, growths, count)):
        return 1
    if projection_loss != 0.0:
        mean = _mean_restitution(work, offset, contacts, normals, growths, count, e, sizes)
        _give_back(work, offset, contacts, normals, growths, count, mean, sizes, projection_loss)
    for k in range(count):
        at = k * stride
        for g in range(members):
            for t in range(mol[group[g], L.MOL_TILES]):
                for x in range(W.ROW):
                    work[offset[g] + t * W.TILE + W.COEF + W.ROW + x] += sizes[k] * impulse_response[at + t * W.ROW + x]
            at += mol[group[g], L.MOL_TILES] * W.ROW
    return 0


@kernel
def _responses(work, mol, graph, ties, stride, impulse_response):
    """Write the velocities that a unit impulse at each contact gives to all members, in rows of `stride`."""
    group, offset, members, contacts, normals, growths, count = ties
    for k in range(count):
        for x in range(stride):
            impulse_response[k * stride + x] = 0.0
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            at = k * stride + _rows_before(mol, group, g)
            sign = 1.0 if side == 0 else -1.0
            kick(
                work,
                offset[g],
                mol,
                group[g],
                graph,
                contacts[k, L.MEMBER_BEAD + L.SIDE * side],
                normals[k, 0],
                normals[k, 1],
                normals[k, 2],
            )
            for t in range(mol[group[g], L.MOL_TILES]):
                for x in range(W.ROW):
                    impulse_response[at + t * W.ROW + x] += sign * work[offset[g] + t * W.TILE + W.KICK + x]


@kernel
def _row_of_equations(mol, ties, stride, impulse_response, k, matrix):
    """Write row k of `matrix`: the rates at which a unit impulse at each contact opens contact k."""
    group, offset, members, contacts, normals, growths, count = ties
    for other in range(count):
        total = 0.0
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            b = contacts[k, L.MEMBER_BEAD + L.SIDE * side]
            at = other * stride + _rows_before(mol, group, g) + (b >> W.LANE_SHIFT) * W.ROW + (b & W.LANE_MASK)
            dot = (
                normals[k, 0] * impulse_response[at]
                + normals[k, 1] * impulse_response[at + W.LANES]
                + normals[k, 2] * impulse_response[at + 2 * W.LANES]
            )
            total += dot if side == 0 else -dot
        matrix[k, other] = total


@kernel
def _fastest(work, offset, contacts, growths, count):
    """Return a bound of the speeds of the beads in contact and of the growth of their distances [length / time]."""
    fastest = 0.0
    for k in range(count):
        speed = abs(growths[k])
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g >= 0:
                p = lane(offset[g], contacts[k, L.MEMBER_BEAD + L.SIDE * side]) + W.COEF + W.ROW
                speed += abs(work[p]) + abs(work[p + W.LANES]) + abs(work[p + 2 * W.LANES])
        fastest = max(fastest, speed)
    return fastest


@kernel
def _mean_restitution(work, offset, contacts, normals, growths, count, e, sizes):
    """Return the one e_n with which contacts with impulses `sizes` would change the energy as they do with theirs."""
    kept = 0.0
    lost = 0.0
    equal = True
    for k in range(count):
        a = lane(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        other = contacts[k, L.OTHER_MEMBER]
        b = lane(offset[other], contacts[k, L.OTHER_BEAD]) if other >= 0 else -1
        closing = sizes[k] * (approach(work, a, b, normals[k]) - growths[k])
        lost += closing
        kept += e[k] * closing
        equal = equal and e[k] == e[0]
    return e[0] if equal else kept / lost


@kernel
def _give_back(work, offset, contacts, normals, growths, count, e, sizes, projection_loss):
    """Scale the impulses p of several contacts so that the energy after them is higher by `projection_loss`.

    With Q = u (N Y)^-1 u of the closing rates u, p = -k (N Y)^-1 u changes the energy by (k^2 / 2 - k) Q.
    """
    q = 0.0
    for k in range(count):
        a = lane(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        b = (
            lane(offset[contacts[k, L.OTHER_MEMBER]], contacts[k, L.OTHER_BEAD])
            if contacts[k, L.OTHER_MEMBER] >= 0
            else -1
        )
        q -= sizes[k] * (approach(work, a, b, normals[k]) - growths[k]) / (1.0 + e)
    factor = (1.0 + math.sqrt(max(e * e + 2.0 * projection_loss / q, 0.0))) / (1.0 + e)
    for k in range(count):
        sizes[k] *= factor


@kernel
def _rows_before(mol, group, g):
    rows = 0
    for k in range(g):
        rows += mol[group[k], L.MOL_TILES] * W.ROW
    return rows


@kernel
def solve_pushes(matrix, sizes, count, blur):
    """Find p >= 0 with A p - b >= 0, one of the two 0 in each row; return 1 where there is none.

    Parameters
    ----------
    matrix : (PUSH_ROWS, MOST_TIES) float64 array
        A in the first rows, symmetric and positive semi-definite; the others are scratch.
    sizes : (MOST_TIES,) float64 array
        b, none negative; p on return.
    count : int
        Rows of A.
    blur : float
        What b is known to, where A is singular to round-off.
    """
    for k in range(count):
        for c in range(count):
            matrix[L.COPY_ROWS + k, c] = matrix[k, c]
        matrix[L.RIGHT_ROW, k] = sizes[k]
    slack = 0.0
    for k in range(count):
        slack = 16.0 * ROUND_OFF if matrix[L.RIGHT_ROW, k] == 0.0 else slack
    if _exchange(matrix, sizes, count, (np.int64(1) << count) - 1, slack) >= 0:
        return 0
    return _solve_dependent(matrix, sizes, count, blur)


@kernel
def _exchange(matrix, sizes, count, pushing, slack):
    """Solve as `solve_pushes` does for a positive definite A; return the bits of those that push, or -1.

    The contact of lowest number that is wrong, pulling or left out and approaching, changes sides, which ends for
    every positive definite A (Murty's least-index rule). -1 where A is singular to round-off.

    Parameters
    ----------
    pushing : int
        Bits of the contacts to begin with.
    slack : float
        By how much of its terms' sum a contact that is left out may fall short.
    """
    for _ in range(MOST_TURNS):
        if _solve_those(matrix, sizes, count, pushing):
            return np.int64(-1)
        k = _first_wrong(matrix, sizes, count, pushing, slack)
        if k < 0:
            return pushing
        pushing ^= np.int64(1) << k
    return np.int64(-1)


@kernel
def _solve_dependent(matrix, sizes, count, blur):
    """Solve as `solve_pushes` does for an A that is singular, whose copy is in `matrix` behind A; return 1 if in vain.

    The proximal point method (Rockafellar 1976): p of the positive definite A + s and b + s q, q being the p of the
    step before, 0 at first. The residual A p - b is s (q - p) where contacts push. It shrinks by s / (s + l) a step for
    A's eigenvalues l > 0, and by p the same at equal contacts, so p goes to a solution that is near the shortest one.
    s is made smaller where that is slow, but not for what is left of b in directions that no p changes: there b is
    0 but for its blur, and p would grow. The factor at last makes p A p = p b to round-off, which keeps the energy.
    """
    before, last, diagonal = L.RIGHT_ROW + 1, L.RIGHT_ROW + 2, L.RIGHT_ROW + 3
    scale = 0.0
    largest = 0.0
    for k in range(count):
        matrix[before, k] = matrix[L.RIGHT_ROW, k]
        matrix[last, k] = 0.0
        matrix[diagonal, k] = matrix[L.COPY_ROWS + k, k]
        scale = max(scale, matrix[diagonal, k])
        largest = max(largest, matrix[before, k])
    pushing = (np.int64(1) << count) - 1
    shift = FIRST_SHIFT * scale
    short = np.inf
    for _ in range(MOST_STEPS):
        for k in range(count):
            matrix[L.COPY_ROWS + k, k] = matrix[diagonal, k] + shift
            matrix[L.RIGHT_ROW, k] = matrix[before, k] + shift * matrix[last, k]
        pushing = _exchange(matrix, sizes, count, pushing, 16.0 * ROUND_OFF)
        if pushing < 0:
            break
        change = 0.0
        for k in range(count):
            change = max(change, abs(sizes[k] - matrix[last, k]))
            matrix[last, k] = sizes[k]
        shorter = shift * change
        if shorter <= ROUND_OFF * largest or (shorter <= blur and shorter > 0.99 * short):
            short = shorter
            break
        if shorter > blur and shorter > 0.5 * short:
            shift = max(shift / 16.0, LEAST_SHIFT * scale)
        short = shorter
    if not short <= 16.0 * blur:
        return 1
    _keep_energy(matrix, sizes, count)
    return 0


@kernel
def _keep_energy(matrix, sizes, count):
    """Put p, from the scratch of `_solve_dependent`, into `sizes`, times the factor that makes p A p = p b."""
    before, last, diagonal = L.RIGHT_ROW + 1, L.RIGHT_ROW + 2, L.RIGHT_ROW + 3
    wanted = 0.0
    found = 0.0
    for k in range(count):
        rate = matrix[diagonal, k] * matrix[last, k]
        for c in range(count):
            if c != k:
                rate += matrix[L.COPY_ROWS + k, c] * matrix[last, c]
        found += matrix[last, k] * rate
        wanted += matrix[last, k] * matrix[before, k]
    for k in range(count):
        sizes[k] = wanted / found * matrix[last, k]


@kernel
def _solve_those(matrix, sizes, count, pushing):
    """Solve the equations of the contacts whose bits are set, all others' p being 0; return 1 if singular."""
    n = 0
    for k in range(count):
        if (pushing >> k) & 1:
            m = 0
            for c in range(count):
                if (pushing >> c) & 1:
                    matrix[n, m] = matrix[L.COPY_ROWS + k, c]
                    m += 1
            sizes[n] = matrix[L.RIGHT_ROW, k]
            n += 1
    if eliminate(matrix, sizes, n):
        return 1
    for k in range(count - 1, -1, -1):
        if (pushing >> k) & 1:
            n -= 1
            sizes[k] = sizes[n]
        else:
            sizes[k] = 0.0
    return 0


@kernel
def _first_wrong(matrix, sizes, count, pushing, slack):
    """Return the first contact that pulls, or that is left out and falls short of what it asks for; -1 if none."""
    for k in range(count):
        if (pushing >> k) & 1:
            if sizes[k] < 0.0:
                return k
        else:
            rate = 0.0
            terms = 0.0
            for c in range(count):
                rate += matrix[L.COPY_ROWS + k, c] * sizes[c]
                terms += abs(matrix[L.COPY_ROWS + k, c] * sizes[c])
            if rate < (1.0 - RECEDES) * matrix[L.RIGHT_ROW, k] - slack * terms:
                return k
    return -1


@kernel
def eliminate(matrix, rhs, count):
    """Solve a small symmetric positive definite system in place; return 1 when it is singular to round-off."""
    largest = 0.0
    for k in range(count):
        largest = max(largest, matrix[k, k])
    for k in range(count):
        pivot = matrix[k, k]
        if not pivot > 1e-12 * largest:
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


@kernel
def separation(par, work, p, q, n):
    """Write the unit vector from the bead at place q to the one at p (nearest image) to n; return their distance."""
    rr = 0.0
    for c in range(3):
        x = work[p + W.COEF + W.LANES * c] - work[q + W.COEF + W.LANES * c]
        x -= par[L.SIZE + c] * np.rint(x * par[L.INVERSE + c])
        n[c] = x
        rr += x * x
    r = math.sqrt(rr)
    for c in range(3):
        n[c] /= r
    return r
