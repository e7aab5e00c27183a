"""Factorisation of J = G(b') M^-1 G(b)^T, the Jacobian of a step's constraints, over the sparsity of T (see `graph`).

b are the bonds where a step starts and b' those where it ends. J is not symmetric, but as near the symmetric positive
definite T = G(b) M^-1 G(b)^T as b' is to b, so it is eliminated in T's order without exchanges: L D U, with the same
fill. Arrays are laid out as in `graph`; a factorisation takes `paired_size` floats: inverse pivots, diagonal, L, U.
"""

from hpcchain.jit.decorators import kernel
from hpcchain.model.molecules.bond_graph import (
    BONDS,
    COLUMN,
    COUPLING,
    COUPLING_WORDS,
    COUPLINGS,
    FILL,
    HIGH,
    LOW,
    PAIR_BEAD,
    PAIR_BOND,
    PAIR_ENTRY,
    PAIR_OTHER,
    PAIR_SIGN,
    ROW,
    SEQUENCE,
    STRIDE,
    UPDATE,
)
from hpcchain.propagators.taylor.graph import DROPPED_PIVOT, eliminate, factor_size


@kernel
def paired_size(gs, go):
    """Return the floats that a factorisation takes."""
    return factor_size(gs, go) + gs[go + FILL]


@kernel
def _product(b, i, c, j, stride):
    return b[i] * c[j] + b[i + stride] * c[j + stride] + b[i + 2 * stride] * c[j + 2 * stride]


@kernel
def _assemble(gs, go, end, eo, start, so, im, io, fac, fo):
    """Write J's diagonal (twice: the pivots change) and its couplings, below and above, to the factorisation."""
    stride, fill = gs[go + STRIDE], gs[go + FILL]
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    for k in range(gs[go + BONDS]):
        diagonal = (im[io + gs[low + k]] + im[io + gs[high + k]]) * _product(end, eo + k, start, so + k, stride)
        fac[fo + k] = diagonal
        fac[fo + stride + k] = diagonal
    lower = fo + 2 * stride
    for p in range(2 * fill):
        fac[lower + p] = 0.0
    coupling = go + gs[go + COUPLING]
    row = go + gs[go + ROW]
    for _ in range(gs[go + COUPLINGS]):
        entry, a, b = gs[coupling + PAIR_ENTRY], gs[coupling + PAIR_BOND], gs[coupling + PAIR_OTHER]
        if gs[row + entry] == a:
            a, b = b, a
        weight = gs[coupling + PAIR_SIGN] * im[io + gs[coupling + PAIR_BEAD]]
        fac[lower + entry] += weight * _product(end, eo + b, start, so + a, stride)
        fac[lower + fill + entry] += weight * _product(end, eo + a, start, so + b, stride)
        coupling += COUPLING_WORDS


@kernel
def paired_factor(gs, go, end, eo, start, so, im, io, fac, fo):
    """Factor J of the bonds `end` (rows) and `start` (columns); multipliers of dropped pivots become 0 (`graph`)."""
    _assemble(gs, go, end, eo, start, so, im, io, fac, fo)
    stride = gs[go + STRIDE]
    lower = fo + 2 * stride
    upper = lower + gs[go + FILL]
    column = go + gs[go + COLUMN]
    row = go + gs[go + ROW]
    sequence = go + gs[go + SEQUENCE]
    update = go + gs[go + UPDATE]
    for k in range(gs[go + BONDS]):
        pivot = fo + gs[sequence + k]
        inverse = 0.0
        if abs(fac[pivot]) > DROPPED_PIVOT * abs(fac[pivot + stride]):
            inverse = 1.0 / fac[pivot]
        fac[pivot] = inverse
        last = gs[column + k + 1]
        for p in range(gs[column + k], last):
            left = fac[lower + p] * inverse
            above = fac[upper + p] * inverse
            fac[fo + gs[row + p]] -= left * fac[upper + p]
            for q in range(p + 1, last):
                fac[lower + gs[update]] -= fac[lower + q] * above
                fac[upper + gs[update]] -= left * fac[upper + q]
                update += 1
            fac[lower + p] = left


@kernel
def paired_solve(gs, go, fac, fo, rhs, ro):
    """Solve J mu = rhs in place with the factorisation of `paired_factor`; dropped multipliers are 0."""
    lower = fo + 2 * gs[go + STRIDE]
    upper = lower + gs[go + FILL]
    column = go + gs[go + COLUMN]
    row = go + gs[go + ROW]
    sequence = go + gs[go + SEQUENCE]
    eliminate(gs, go, fac, lower, rhs, ro)
    for k in range(gs[go + BONDS] - 1, -1, -1):
        bond = gs[sequence + k]
        value = rhs[ro + bond]
        for p in range(gs[column + k], gs[column + k + 1]):
            value -= fac[upper + p] * rhs[ro + gs[row + p]]
        rhs[ro + bond] = value * fac[fo + bond]
