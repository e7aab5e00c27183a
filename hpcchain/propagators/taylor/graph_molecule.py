"""Molecules with any bond graph in the tiled workspace: the same steps as `chain`, through the sparse solver `graph`.

The scratch of such a molecule follows its tiles; `web_of` returns both as a Web.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import BONDS, STRIDE
from hpcchain.propagators.taylor.graph import (
    factor_size,
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_project,
    graph_series,
    graph_solve,
    largest_of,
    series_duration,
    series_size,
)

BOND_ERROR = 5e-15
LEAST_ORDER = 3


class Web(NamedTuple):
    """Views of a molecule's scratch, component-major as `graph` wants it, of its tiles, and of its static table.

    Attributes
    ----------
    tiles : float64 array
    g : int64 array
        Its bond graph.
    npad, size : int
        Beads padded, and the floats of a vector of them.
    block, place, velocity : float64 arrays
        Position coefficients of all orders; those of order 0 and of order 1.
    im, lengths : float64 arrays
        Inverse masses, squared bond lengths.
    bonds, rhs, vector, factors : float64 arrays
        Bond vectors, right-hand side, one vector of beads, the factorisation of T.
    rest : float64 array
        What follows: the series' workspace, or what stages and steps have in its place.
    constants : float64 array
        What stages or steps know of the molecule, and further tables.
    """

    tiles: np.ndarray
    g: np.ndarray
    npad: int
    size: int
    block: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    im: np.ndarray
    lengths: np.ndarray
    bonds: np.ndarray
    rhs: np.ndarray
    vector: np.ndarray
    factors: np.ndarray
    rest: np.ndarray
    constants: np.ndarray


@kernel
def web_size(g, tiles):
    """Return how many floats of workspace a molecule takes up to what follows in `Web.rest`, tiles included."""
    npad = W.LANES * tiles
    return tiles * W.TILE + (3 * W.KMAX + 7) * npad + 4 * g[STRIDE] + factor_size(g)


@kernel
def web_workspace(g, tiles):
    """Return how many floats of workspace a molecule takes, tiles included."""
    return web_size(g, tiles) + series_size(g, W.KMAX)


@kernel
def web_of(s, offset, m):
    """Return the Web of molecule m, whose tiles begin at `offset`."""
    work, g, tiles = s.work, s.graph[s.mol[m, L.MOL_GRAPH] :], s.mol[m, L.MOL_TILES]
    npad, stride = W.LANES * tiles, g[STRIDE]
    size = 3 * npad
    block = offset + tiles * W.TILE
    im = block + (W.KMAX + 1) * size
    bonds = im + npad
    rhs = bonds + 3 * stride
    vector = rhs + stride
    factors = vector + size
    rest = factors + factor_size(g)
    constants = constants_at(s, m)
    return Web(
        work[offset:block],
        g,
        npad,
        size,
        work[block:im],
        work[block : block + size],
        work[block + size : block + 2 * size],
        work[im:bonds],
        s.table[constants - stride : constants],
        work[bonds:rhs],
        work[rhs:vector],
        work[vector:factors],
        work[factors:rest],
        work[rest:],
        s.table[constants:],
    )


@kernel
def constants_at(s, m):
    """Return where what stages or steps know of molecule m begins in the static table: behind the bond lengths."""
    return s.mol[m, L.MOL_TABLE] + s.mol[m, L.MOL_TILES] * W.TABLE + s.graph[s.mol[m, L.MOL_GRAPH] + STRIDE]


@kernel
def web_gather(web, row, to):
    """Copy three rows of every tile (bead vectors at `row`) to a vector of beads."""
    for t in range(web.npad // W.LANES):
        for c in range(3):
            for i in range(W.LANES):
                to[c * web.npad + W.LANES * t + i] = web.tiles[t * W.TILE + row + W.LANES * c + i]


@kernel
def web_gather_state(web):
    """Copy positions and velocities of every tile to the first two orders of the block."""
    web_gather(web, W.COEF, web.place)
    web_gather(web, W.COEF + W.ROW, web.velocity)


@kernel
def web_scatter(web, row, source):
    """Copy a vector of beads to three rows of every tile."""
    for t in range(web.npad // W.LANES):
        for c in range(3):
            for i in range(W.LANES):
                web.tiles[t * W.TILE + row + W.LANES * c + i] = source[c * web.npad + W.LANES * t + i]


@kernel
def web_load(s, offset, m):
    """Fill the masses of the scratch from the tiles."""
    web = web_of(s, offset, m)
    for t in range(s.mol[m, L.MOL_TILES]):
        for i in range(W.LANES):
            web.im[W.LANES * t + i] = web.tiles[t * W.TILE + W.INVM + i]


@outlined
def web_refresh(s, offset, m):
    """Make bond vectors and factors of T from the positions in the workspace."""
    web = web_of(s, offset, m)
    web_gather(web, W.COEF, web.place)
    graph_bonds(web.g, web.place, web.bonds)
    graph_factor(web.g, web.bonds, web.im, web.factors)


@outlined
def web_prepare(s, offset, m):
    """Make bond vectors and factors, and move positions and velocities onto the bonds (see `chain_prepare`)."""
    web = web_of(s, offset, m)
    bonds, lengths, rhs = web.bonds, web.lengths, web.rhs
    stride = web.g[STRIDE]
    web_refresh(s, offset, m)
    worst = 0.0
    for k in range(web.g[BONDS]):
        square = bonds[k] ** 2 + bonds[stride + k] ** 2 + bonds[2 * stride + k] ** 2
        off = 0.5 * (lengths[k] - square)
        rhs[k] = off
        worst = max(worst, abs(off) / lengths[k])
    if worst > BOND_ERROR:
        graph_solve(web.g, web.factors, rhs)
        graph_gt(web.g, bonds, rhs, web.im, web.place)
        web_scatter(web, W.COEF, web.place)
        web_refresh(s, offset, m)
    web_gather(web, W.COEF + W.ROW, web.vector)
    web_still(web)
    web_scatter(web, W.COEF + W.ROW, web.vector)


@kernel
def web_still(web):
    """Remove from the scratch vector the part that would change the lengths of bonds."""
    graph_project(web.g, web.bonds, web.im, web.factors, web.rhs, web.vector)


@kernel
def web_kick(s, offset, m, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse on one bead; return the inverse effective mass."""
    web = web_of(s, offset, m)
    vector, npad = web.vector, web.npad
    vector[:] = 0.0
    vector[bead] = web.im[bead] * nx
    vector[npad + bead] = web.im[bead] * ny
    vector[2 * npad + bead] = web.im[bead] * nz
    web_still(web)
    web_scatter(web, W.KICK, vector)
    return nx * vector[bead] + ny * vector[npad + bead] + nz * vector[2 * npad + bead]


@outlined
def web_series(s, offset, m, h, tolerance):
    """Expand the free motion of the state in the tiles; return order and length (see `chain_series`)."""
    web = web_of(s, offset, m)
    web_gather_state(web)
    return _expanded(web, h, tolerance * _bond_rate(web) * h / W.KMAX, web.vector[:0])


@outlined
def web_hanging(s, offset, m, h, tolerance):
    """Do what `web_series` does where all beads but those that are fixed fall."""
    web = web_of(s, offset, m)
    vector, npad = web.vector, web.npad
    gx, gy, gz = s.par[L.GRAVITY], s.par[L.GRAVITY + L.Y], s.par[L.GRAVITY + L.Z]
    web_gather_state(web)
    for i in range(npad):
        falls = 1.0 if web.im[i] > 0.0 else 0.0
        vector[i] = falls * gx
        vector[npad + i] = falls * gy
        vector[2 * npad + i] = falls * gz
    speed = _bond_rate(web) + h * math.sqrt(gx * gx + gy * gy + gz * gz)
    return _expanded(web, h, tolerance * speed * h / W.KMAX, vector)


@kernel
def _expanded(web, h, small, pull):
    """Expand the state in the block, with last terms below `small` [length]; return order and length."""
    # `pull` is that of `graph_series`.
    order = LEAST_ORDER
    if small > 0.0:
        order = graph_series(
            web.g, web.block, web.npad, web.im, h, small, LEAST_ORDER, W.KMAX, web.rest, web.factors, pull
        )
        if order == W.KMAX:
            h = min(h, series_duration(web.rest, W.KMAX, small))
    else:
        web.block[2 * web.size : (LEAST_ORDER + 1) * web.size] = 0.0
    web_spread(web, order, h)
    return order, h


@kernel
def web_spread(web, order, h):
    """Copy the block's coefficients from order 2 on to the tiles, and fill BOUND for a time h."""
    for k in range(2, order + 1):
        web_scatter(web, W.COEF + W.ROW * k, web.block[k * web.size :])
    bound_acceleration(web.tiles, 0, web.npad // W.LANES, order, h)


@kernel
def _bond_rate(web):
    """Return the largest speed of one bead of a bond against the other [length / time]; the series' space is used."""
    rates = web.rest[: 3 * web.g[STRIDE]]
    graph_bonds(web.g, web.velocity, rates)
    return largest_of(rates, web.g[BONDS])


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
