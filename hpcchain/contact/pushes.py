"""The equations of contacts at one instant: impulses that push and never pull.

A p = b holds for the rates b at which contacts are to open. Where an equation would take a p < 0, the others part these
two faster anyway. Then p is 0 and the equation is left out. So p >= 0 and A p - b >= 0, and of each pair of these one
is 0. Where A is positive definite, just one solution exists. Contacts may depend on one another, as those of a rod that
falls flat. Then many solutions open the contacts alike. The one taken has impulses as equal as they can be, so that
mirror images have mirrored ones.
"""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L

MOST_TURNS = 1024
RECEDES = 1e-12  # of (1 + e) n . v, by which a contact may fall short that is left out
# Contacts that depend on one another (`_solve_dependent`), relative to N Y's largest diagonal entry.
FIRST_SHIFT = 2.0**-10
LEAST_SHIFT = 2.0**-34
MOST_STEPS = 200
ROUND_OFF = 2.0**-50


@kernel
def solve_pushes(matrix, impulses, count, blur):
    """Find p >= 0 with A p - b >= 0, one of the two 0 in each row; return 1 where there is none.

    Parameters
    ----------
    matrix : (PUSH_ROWS, MOST_TIES) float64 array
        A in the first rows, symmetric and positive semi-definite; the others are scratch.
    impulses : (MOST_TIES,) float64 array
        b, none negative; p on return.
    count : int
        Rows of A.
    blur : float
        What b is known to, where A is singular to round-off.
    """
    for k in range(count):
        for c in range(count):
            matrix[L.COPY_ROWS + k, c] = matrix[k, c]
        matrix[L.RIGHT_ROW, k] = impulses[k]
    slack = 0.0
    for k in range(count):
        slack = 16.0 * ROUND_OFF if matrix[L.RIGHT_ROW, k] == 0.0 else slack
    if _exchange(matrix, impulses, count, (np.int64(1) << count) - 1, slack) >= 0:
        return 0
    return _solve_dependent(matrix, impulses, count, blur)


@kernel
def _exchange(matrix, impulses, count, pushing, slack):
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
        if _solve_those(matrix, impulses, count, pushing):
            return np.int64(-1)
        k = _first_wrong(matrix, impulses, count, pushing, slack)
        if k < 0:
            return pushing
        pushing ^= np.int64(1) << k
    return np.int64(-1)


@kernel
def _solve_dependent(matrix, impulses, count, blur):
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
        pushing = _exchange(matrix, impulses, count, pushing, 16.0 * ROUND_OFF)
        if pushing < 0:
            break
        change = 0.0
        for k in range(count):
            change = max(change, abs(impulses[k] - matrix[last, k]))
            matrix[last, k] = impulses[k]
        shorter = shift * change
        if shorter <= ROUND_OFF * largest or (shorter <= blur and shorter > 0.99 * short):
            short = shorter
            break
        if shorter > blur and shorter > 0.5 * short:
            shift = max(shift / 16.0, LEAST_SHIFT * scale)
        short = shorter
    if not short <= 16.0 * blur:
        return 1
    _keep_energy(matrix, impulses, count)
    return 0


@kernel
def _keep_energy(matrix, impulses, count):
    """Put p, from the scratch of `_solve_dependent`, into `impulses`, times the factor that makes p A p = p b."""
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
        impulses[k] = wanted / found * matrix[last, k]


@kernel
def _solve_those(matrix, impulses, count, pushing):
    """Solve the equations of the contacts whose bits are set, all others' p being 0; return 1 if singular."""
    n = 0
    for k in range(count):
        if (pushing >> k) & 1:
            m = 0
            for c in range(count):
                if (pushing >> c) & 1:
                    matrix[n, m] = matrix[L.COPY_ROWS + k, c]
                    m += 1
            impulses[n] = matrix[L.RIGHT_ROW, k]
            n += 1
    if eliminate(matrix, impulses, n):
        return 1
    for k in range(count - 1, -1, -1):
        if (pushing >> k) & 1:
            n -= 1
            impulses[k] = impulses[n]
        else:
            impulses[k] = 0.0
    return 0


@kernel
def _first_wrong(matrix, impulses, count, pushing, slack):
    """Return the first contact that pulls, or that is left out and falls short of what it needs; -1 if none."""
    for k in range(count):
        if (pushing >> k) & 1:
            if impulses[k] < 0.0:
                return k
        else:
            rate = 0.0
            terms = 0.0
            for c in range(count):
                rate += matrix[L.COPY_ROWS + k, c] * impulses[c]
                terms += abs(matrix[L.COPY_ROWS + k, c] * impulses[c])
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
