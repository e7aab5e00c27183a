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
from hpcchain.model.molecules.bond_graph import BAND, BEADS, BONDS, HIGH, LOW, NARROW, STRIDE
from hpcchain.propagators.collocation.gauss_coefficients import INDEX1, INDEX2

MOST_STEPS = 20
LEAST_PIVOT = 1e-14


@kernel
def newton_size(gs, go, npad, s):
    """Return the floats that `newton_step` takes: F1, right-hand side, band."""
    unknowns = s * (3 * gs[go + BEADS] + gs[go + BONDS])
    return 3 * npad * s + unknowns * (3 * s * gs[go + BAND] + 2)


@outlined
def newton_step(
    gs, go, npad, im, io, tau, tables, ws, velocities, accelerations, multipliers, residuals, bonds, defects
):
    """Change stage accelerations and multipliers by one Newton step; return whether there was one.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.

    The offsets are those of stage arrays in ws (`collocation`); F1 stands at `defects`, F2 at `residuals`.
    """
    s = len(tables.node)
    width = s * gs[go + BAND]
    unknowns = s * (3 * gs[go + BEADS] + gs[go + BONDS])
    rhs = defects + 3 * npad * s
    band = rhs + unknowns
    ws[band : band + unknowns * (3 * width + 1)] = 0.0
    _beads(gs, go, npad, s, ws, defects, rhs, band, width)
    _bonds(
        gs,
        go,
        npad,
        im,
        io,
        tau,
        tables,
        ws,
        velocities,
        accelerations,
        multipliers,
        residuals,
        bonds,
        rhs,
        band,
        width,
    )
    if not _solve(ws, rhs, band, unknowns, width):
        return False
    narrow = go + gs[go + NARROW]
    n = gs[go + BEADS]
    for k in range(s):
        for i in range(n):
            for c in range(3):
                ws[accelerations + (3 * k + c) * npad + i] += ws[rhs + s * gs[narrow + i] + 3 * k + c]
        for b in range(gs[go + BONDS]):
            ws[multipliers + gs[go + STRIDE] * k + b] += ws[rhs + s * gs[narrow + n + b] + k]
    return True


@kernel
def _beads(gs, go, npad, s, ws, defect, rhs, band, width):
    """Write the identity and -F1."""
    narrow = go + gs[go + NARROW]
    for i in range(gs[go + BEADS]):
        for k in range(s):
            for c in range(3):
                row = s * gs[narrow + i] + 3 * k + c
                ws[band + row * (3 * width + 1) + width] = 1.0
                ws[rhs + row] = -ws[defect + (3 * k + c) * npad + i]


@kernel
def _bonds(
    gs, go, npad, im, io, tau, tables, ws, velocities, accelerations, multipliers, residuals, bonds, rhs, band, width
):
    """Add what each bond contributes to the derivatives of F1, and write -F2 and its derivatives.

    Many parameters, since kernels take the workspace's arrays and offsets one by one.
    """
    s = len(tables.node)
    stride = gs[go + STRIDE]
    size = 3 * npad
    narrow = go + gs[go + NARROW]
    pitch = 3 * width
    for b in range(gs[go + BONDS]):
        low = gs[go + gs[go + LOW] + b]
        high = gs[go + gs[go + HIGH] + b]
        of_low = s * gs[narrow + low]
        of_high = s * gs[narrow + high]
        of_bond = s * gs[narrow + gs[go + BEADS] + b]
        for i in range(s):
            row = of_bond + i
            ws[rhs + row] = -ws[residuals + stride * i + b]
            for c in range(3):
                here = ws[bonds + 3 * stride * i + c * stride + b]
                u = velocities + size * i + c * npad
                a = accelerations + size * i + c * npad
                rate = ws[u + high] - ws[u + low]
                bend = ws[a + high] - ws[a + low]
                for end in range(2):
                    mass = im[io + high] if end else -im[io + low]
                    target = (of_high if end else of_low) + 3 * i + c
                    origin = band + width + target * pitch  # of column j of row t: band + t (3 w + 1) + j - t + w
                    ws[origin + of_bond + i] -= mass * here
                    for k in range(s):
                        push = mass * ws[multipliers + stride * i + b] * _twice(tables, i, k) * tau * tau
                        ws[origin + of_high + 3 * k + c] -= push
                        ws[origin + of_low + 3 * k + c] += push
                origin = band + width + row * pitch
                for k in range(s):
                    once = tables.a[i, k] * tau
                    twice = _twice(tables, i, k) * tau * tau
                    if tables.variant == INDEX2:
                        slope = rate * twice + here * once
                    elif tables.variant == INDEX1:
                        slope = bend * twice + 2.0 * rate * once + (here if i == k else 0.0)
                    else:
                        slope = here * twice
                    ws[origin + of_high + 3 * k + c] += slope
                    ws[origin + of_low + 3 * k + c] -= slope


@kernel
def _twice(tables, i, k):
    """Return an element of A^2."""
    total = 0.0
    for q in range(len(tables.node)):
        total += tables.a[i, q] * tables.a[q, k]
    return total


@kernel
def _solve(ws, rhs, band, unknowns, width):
    """Solve the banded system in place by elimination with row exchanges; return whether it is regular."""
    pitch = 3 * width
    origin = band + width
    for i in range(unknowns):
        last = min(i + width, unknowns - 1)
        best = i
        for r in range(i + 1, last + 1):
            if abs(ws[origin + r * pitch + i]) > abs(ws[origin + best * pitch + i]):
                best = r
        end = min(i + 2 * width, unknowns - 1) + 1
        if best != i:
            ws[rhs + i], ws[rhs + best] = ws[rhs + best], ws[rhs + i]
            for j in range(i, end):
                p = origin + i * pitch + j
                q = origin + best * pitch + j
                ws[p], ws[q] = ws[q], ws[p]
        pivot = ws[origin + i * pitch + i]
        if not abs(pivot) > LEAST_PIVOT or not math.isfinite(pivot):
            return False
        upper = origin + i * pitch
        for r in range(i + 1, last + 1):
            lower = origin + r * pitch
            if ws[lower + i] == 0.0:
                continue
            multiple = ws[lower + i] / pivot
            for j in range(i + 1, end):
                ws[lower + j] -= multiple * ws[upper + j]
            ws[rhs + r] -= multiple * ws[rhs + i]
    for i in range(unknowns - 1, -1, -1):
        value = ws[rhs + i]
        for j in range(i + 1, min(i + 2 * width, unknowns - 1) + 1):
            value -= ws[origin + i * pitch + j] * ws[rhs + j]
        ws[rhs + i] = value / ws[origin + i * pitch + i]
    return True
