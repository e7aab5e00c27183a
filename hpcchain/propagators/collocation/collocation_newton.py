"""Exact Newton steps for the stages of `collocation`: all stage accelerations and multipliers at once.

The unknowns are the accelerations V_i and the multipliers mu_i at the stages i = 1 .. s (Hartmann et al. 2009, B1,
eliminates velocities instead):

    F1_i = V_i - M^-1 G^T(X_i) mu_i = 0,    F2_i = the variant's constraint = 0,
    X = x0 + c tau v0 + tau^2 A^2 V,        U = v0 + tau A V

so nothing is divided by tau, and F2 couples the beads of one bond only. Ordered bead by bead the Jacobian is block
tridiagonal for a chain, and banded for any graph in the narrow order of `bond_graph`; it is factored with row
exchanges, in O(n s^3) for a chain. This is what the cheaper solvers are compared with, and it converges at long steps
at which they do not.
"""

import math

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.model.molecules.bond_graph import BAND, BEADS, BONDS, NARROW, STRIDE
from hpcchain.propagators.collocation.gauss_coefficients import INDEX1, INDEX2
from hpcchain.propagators.taylor.graph import ends_of

MOST_STEPS = 20
LEAST_PIVOT = 1e-14


@kernel
def newton_size(g, npad, s):
    """Return the floats that `newton_step` takes: F1, right-hand side, band."""
    unknowns = s * (3 * g[BEADS] + g[BONDS])
    return 3 * npad * s + unknowns * (3 * s * g[BAND] + 2)


@outlined
def newton_step(g, im, tau, tables, work):
    """Change stage accelerations and multipliers by one Newton step; return whether there was one.

    Those of the StageWork `work` are, with F1 at the beginning of its `rest` and F2 in its residuals.
    """
    s, npad = len(tables.node), len(work.place) // 3
    width = s * g[BAND]
    unknowns = s * (3 * g[BEADS] + g[BONDS])
    defects, rest = work.rest[: 3 * npad * s], work.rest[3 * npad * s :]
    rhs, band = rest[:unknowns], rest[unknowns : unknowns + unknowns * (3 * width + 1)]
    band[:] = 0.0
    _beads(g, s, defects, rhs, band, width)
    _bonds(g, im, tau, tables, work, rhs, band, width)
    if not _solve(rhs, band, width):
        return False
    narrow = g[g[NARROW] :]
    n = g[BEADS]
    for k in range(s):
        for i in range(n):
            for c in range(3):
                work.accelerations[(3 * k + c) * npad + i] += rhs[s * narrow[i] + 3 * k + c]
        for b in range(g[BONDS]):
            work.multipliers[g[STRIDE] * k + b] += rhs[s * narrow[n + b] + k]
    return True


@kernel
def _beads(g, s, defects, rhs, band, width):
    """Write the identity and -F1."""
    npad, narrow = len(defects) // (3 * s), g[g[NARROW] :]
    for i in range(g[BEADS]):
        for k in range(s):
            for c in range(3):
                row = s * narrow[i] + 3 * k + c
                band[row * (3 * width + 1) + width] = 1.0
                rhs[row] = -defects[(3 * k + c) * npad + i]


@kernel
def _bonds(g, im, tau, tables, work, rhs, band, width):
    """Add what each bond contributes to the derivatives of F1, and write -F2 and its derivatives."""
    s, stride, size = len(tables.node), g[STRIDE], len(work.place)
    npad, narrow = size // 3, g[g[NARROW] :]
    lows, highs = ends_of(g)
    velocities, accelerations, multipliers = work.velocities, work.accelerations, work.multipliers
    pitch = 3 * width
    for b in range(g[BONDS]):
        low, high = lows[b], highs[b]
        of_low = s * narrow[low]
        of_high = s * narrow[high]
        of_bond = s * narrow[g[BEADS] + b]
        for i in range(s):
            row = of_bond + i
            rhs[row] = -work.residuals[stride * i + b]
            for c in range(3):
                here = work.bonds[3 * stride * i + c * stride + b]
                at = size * i + c * npad
                rate = velocities[at + high] - velocities[at + low]
                bend = accelerations[at + high] - accelerations[at + low]
                for end in range(2):
                    mass = im[high] if end else -im[low]
                    target = (of_high if end else of_low) + 3 * i + c
                    origin = width + target * pitch  # of column j of row t: t (3 w + 1) + j - t + w
                    band[origin + of_bond + i] -= mass * here
                    for k in range(s):
                        push = mass * multipliers[stride * i + b] * _twice(tables, i, k) * tau * tau
                        band[origin + of_high + 3 * k + c] -= push
                        band[origin + of_low + 3 * k + c] += push
                origin = width + row * pitch
                for k in range(s):
                    once = tables.a[i, k] * tau
                    twice = _twice(tables, i, k) * tau * tau
                    if tables.variant == INDEX2:
                        slope = rate * twice + here * once
                    elif tables.variant == INDEX1:
                        slope = bend * twice + 2.0 * rate * once + (here if i == k else 0.0)
                    else:
                        slope = here * twice
                    band[origin + of_high + 3 * k + c] += slope
                    band[origin + of_low + 3 * k + c] -= slope


@kernel
def _twice(tables, i, k):
    """Return an element of A^2."""
    total = 0.0
    for q in range(len(tables.node)):
        total += tables.a[i, q] * tables.a[q, k]
    return total


@kernel
def _solve(rhs, band, width):
    """Solve the banded system in place by elimination with row exchanges; return whether it is regular."""
    pitch, unknowns = 3 * width, len(rhs)
    for i in range(unknowns):
        last = min(i + width, unknowns - 1)
        best = i
        for r in range(i + 1, last + 1):
            if abs(band[width + r * pitch + i]) > abs(band[width + best * pitch + i]):
                best = r
        end = min(i + 2 * width, unknowns - 1) + 1
        upper = width + i * pitch
        if best != i:
            rhs[i], rhs[best] = rhs[best], rhs[i]
            other = width + best * pitch
            for j in range(i, end):
                band[upper + j], band[other + j] = band[other + j], band[upper + j]
        pivot = band[upper + i]
        if not abs(pivot) > LEAST_PIVOT or not math.isfinite(pivot):
            return False
        for r in range(i + 1, last + 1):
            lower = width + r * pitch
            if band[lower + i] == 0.0:
                continue
            multiple = band[lower + i] / pivot
            for j in range(i + 1, end):
                band[lower + j] -= multiple * band[upper + j]
            rhs[r] -= multiple * rhs[i]
    for i in range(unknowns - 1, -1, -1):
        value, upper = rhs[i], width + i * pitch
        for j in range(i + 1, min(i + 2 * width, unknowns - 1) + 1):
            value -= band[upper + j] * rhs[j]
        rhs[i] = value / band[upper + i]
    return True
