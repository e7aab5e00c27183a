"""Molecules with any bond graph in the tiled workspace: the same steps as `chain`, through the sparse solver `graph`.

The scratch of such a molecule follows its tiles. It is component-major as `graph` wants it: the block of position
coefficients, inverse masses, squared bond lengths, bond vectors, right-hand side, one per-bead vector, the
factorisation, and the series' workspace.
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import BONDS, HIGH, LOW, STRIDE
from hpcchain.propagators.taylor.graph import (
    factor_size,
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_gv,
    graph_series,
    graph_solve,
    series_duration,
    series_size,
)

BOND_ERROR = 5e-15
LEAST_ORDER = 3


@kernel
def web_offsets(gs, go, tiles, offset):
    """Return offsets of block, inverse masses, lengths, bonds, rhs, vector, factors and series, and of the end."""
    npad = W.LANES * tiles
    stride = gs[go + STRIDE]
    block = offset + tiles * W.TILE
    im = block + (W.KMAX + 1) * 3 * npad
    lengths = im + npad
    bonds = lengths + stride
    rhs = bonds + 3 * stride
    vector = rhs + stride
    factors = vector + 3 * npad
    series = factors + factor_size(gs, go)
    return block, im, lengths, bonds, rhs, vector, factors, series, series + series_size(gs, go, W.KMAX)


@kernel
def web_workspace(gs, go, tiles):
    """Return how many floats of workspace the molecule takes, tiles included."""
    return web_offsets(gs, go, tiles, 0)[8]


@kernel
def web_gather(work, offset, tiles, row, to):
    """Copy three rows of every tile (bead vectors at `row`) to a component-major array."""
    npad = W.LANES * tiles
    for t in range(tiles):
        for c in range(3):
            for i in range(W.LANES):
                work[to + c * npad + W.LANES * t + i] = work[offset + t * W.TILE + row + W.LANES * c + i]


@kernel
def web_gather_state(work, offset, tiles, block):
    """Copy positions and velocities of every tile to the first two rows of the block."""
    web_gather(work, offset, tiles, W.COEF, block)
    web_gather(work, offset, tiles, W.COEF + W.ROW, block + W.ROW * tiles)


@kernel
def web_scatter(work, offset, tiles, row, source):
    """Copy a component-major array to three rows of every tile."""
    npad = W.LANES * tiles
    for t in range(tiles):
        for c in range(3):
            for i in range(W.LANES):
                work[offset + t * W.TILE + row + W.LANES * c + i] = work[source + c * npad + W.LANES * t + i]


@kernel
def web_load(work, offset, tiles, gs, go, table, at):
    """Fill masses and bond lengths of the scratch from the molecule's static table."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    for t in range(tiles):
        for i in range(W.LANES):
            work[im + W.LANES * t + i] = work[offset + t * W.TILE + W.INVM + i]
    for k in range(gs[go + STRIDE]):
        work[lengths + k] = table[at + tiles * W.TABLE + k]


@outlined
def web_refresh(work, offset, tiles, gs, go):
    """Make bond vectors and factors of T from the positions in the workspace."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    web_gather(work, offset, tiles, W.COEF, block)
    graph_bonds(gs, go, work, block, W.LANES * tiles, work, bonds, gs[go + STRIDE])
    graph_factor(gs, go, work, bonds, gs[go + STRIDE], work, im, work, factors)


@outlined
def web_prepare(work, offset, tiles, gs, go):
    """Make bond vectors and factors, and move positions and velocities onto the bonds (see `chain_prepare`)."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    stride = gs[go + STRIDE]
    npad = W.LANES * tiles
    web_refresh(work, offset, tiles, gs, go)
    worst = 0.0
    for k in range(gs[go + BONDS]):
        square = work[bonds + k] ** 2 + work[bonds + stride + k] ** 2 + work[bonds + 2 * stride + k] ** 2
        off = 0.5 * (work[lengths + k] - square)
        work[rhs + k] = off
        worst = max(worst, abs(off) / work[lengths + k])
    if worst > BOND_ERROR:
        graph_solve(gs, go, work, factors, work, rhs)
        graph_gt(gs, go, work, bonds, stride, work, rhs, work, im, work, block, npad)
        web_scatter(work, offset, tiles, W.COEF, block)
        web_refresh(work, offset, tiles, gs, go)
    web_gather(work, offset, tiles, W.COEF + W.ROW, vector)
    web_still(work, offset, tiles, gs, go)
    web_scatter(work, offset, tiles, W.COEF + W.ROW, vector)


@kernel
def web_still(work, offset, tiles, gs, go):
    """Remove from the scratch vector the part that would change the lengths of bonds."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    stride = gs[go + STRIDE]
    npad = W.LANES * tiles
    graph_gv(gs, go, work, bonds, stride, work, vector, npad, work, rhs)
    for k in range(gs[go + BONDS]):
        work[rhs + k] = -work[rhs + k]
    graph_solve(gs, go, work, factors, work, rhs)
    graph_gt(gs, go, work, bonds, stride, work, rhs, work, im, work, vector, npad)


@kernel
def web_kick(work, offset, tiles, gs, go, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse on one bead; return the inverse effective mass."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    npad = W.LANES * tiles
    for k in range(3 * npad):
        work[vector + k] = 0.0
    work[vector + bead] = work[im + bead] * nx
    work[vector + npad + bead] = work[im + bead] * ny
    work[vector + 2 * npad + bead] = work[im + bead] * nz
    web_still(work, offset, tiles, gs, go)
    web_scatter(work, offset, tiles, W.KICK, vector)
    return nx * work[vector + bead] + ny * work[vector + npad + bead] + nz * work[vector + 2 * npad + bead]


@outlined
def web_series(work, offset, tiles, gs, go, h, tolerance):
    """Expand the free motion of the state in the tiles; return order and length (see `chain_series`)."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    npad = W.LANES * tiles
    web_gather_state(work, offset, tiles, block)
    small = tolerance * bond_rate(work, gs, go, block + 3 * npad, npad) * h / W.KMAX
    return _expanded(work, offset, tiles, gs, go, h, small, np.int64(-1))


@outlined
def web_hanging(work, offset, tiles, gs, go, h, tolerance, gx, gy, gz):
    """Do what `web_series` does where all beads but those that are fixed fall with (gx, gy, gz) [length / time^2]."""
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    npad = W.LANES * tiles
    web_gather_state(work, offset, tiles, block)
    for i in range(npad):
        falls = 1.0 if work[im + i] > 0.0 else 0.0
        work[vector + i] = falls * gx
        work[vector + npad + i] = falls * gy
        work[vector + 2 * npad + i] = falls * gz
    speed = bond_rate(work, gs, go, block + 3 * npad, npad) + h * math.sqrt(gx * gx + gy * gy + gz * gz)
    return _expanded(work, offset, tiles, gs, go, h, tolerance * speed * h / W.KMAX, vector)


@kernel
def _expanded(work, offset, tiles, gs, go, h, small, pull):
    """Expand the state in the block, with last terms below `small` [length]; return order and length."""
    # `pull` is that of `graph_series`.
    block, im, lengths, bonds, rhs, vector, factors, series, end = web_offsets(gs, go, tiles, offset)
    npad = W.LANES * tiles
    order = LEAST_ORDER
    if small > 0.0:
        order = graph_series(
            gs, go, work, block, npad, work, im, h, small, LEAST_ORDER, W.KMAX, work, series, work, factors, pull
        )
        if order == W.KMAX:
            h = min(h, series_duration(work, series, W.KMAX, small))
    else:
        for k in range(2, LEAST_ORDER + 1):
            for i in range(3 * npad):
                work[block + 3 * k * npad + i] = 0.0
    for k in range(2, order + 1):
        web_scatter(work, offset, tiles, W.COEF + W.ROW * k, block + 3 * k * npad)
    bound_acceleration(work, offset, tiles, order, h)
    return order, h


@kernel
def bond_rate(work, gs, go, velocity, npad):
    """Return the largest speed of one bead of a bond against the other [length / time]."""
    low = go + gs[go + LOW]
    high = go + gs[go + HIGH]
    largest = 0.0
    for k in range(gs[go + BONDS]):
        i = velocity + gs[low + k]
        j = velocity + gs[high + k]
        square = 0.0
        for c in range(3):
            square += (work[j + c * npad] - work[i + c * npad]) ** 2
        largest = max(largest, square)
    return math.sqrt(largest)


@kernel
def bound_acceleration(work, offset, tiles, order, h):
    """Fill BOUND with sum_k k (k - 1) |c_k| h^(k-2) of every component."""
    for t in range(tiles):
        w = offset + t * W.TILE
        for i in range(W.ROW):
            work[w + W.BOUND + i] = 0.0
        power = 1.0
        for k in range(2, order + 1):
            for i in range(W.ROW):
                work[w + W.BOUND + i] += k * (k - 1) * power * abs(work[w + W.COEF + W.ROW * k + i])
            power *= h
