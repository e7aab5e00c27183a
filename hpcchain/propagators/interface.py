"""One interface to all propagators: a molecule is loaded from its segment, kicked, and given a new segment.

The state in the workspace is COEF rows 0 and 1 (positions, velocities). `prepare` makes bond vectors and factors and
puts the state on the bonds; `kick` and `expand` need them.

`stepper` is None in a sector in which no molecule is a rigid body or moved by a method that solves for its steps
(collocation): then the code of these is not compiled at all.
"""

import math

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.bead_polynomials import everywhere, four_states, point, put, turned
from hpcchain.propagators.collocation.collocation_molecule import (
    stages_error,
    stages_iterations,
    stages_move,
    stages_project,
    stages_series,
)
from hpcchain.propagators.rigid.body import body_kick, body_load, body_prepare, body_series
from hpcchain.propagators.rigid.rod import rod_kick, rod_prepare, rod_series
from hpcchain.propagators.rigid.rod_steps import rod_step, rod_steps_error, rod_steps_series
from hpcchain.propagators.rigid.rotor import rotor_series
from hpcchain.propagators.steps.step_molecule import steps_iterations, steps_move, steps_series
from hpcchain.propagators.taylor.chain import chain_bonds, chain_factor, chain_kick, chain_prepare
from hpcchain.propagators.taylor.chain_series import chain_series
from hpcchain.propagators.taylor.graph_molecule import web_kick, web_load, web_prepare, web_refresh, web_series

# `chain_series` judges what a series leaves out, the other two its last terms, which must be smaller for the same.
LAST_TERM = 1e-1
LAST_TURN = 1e-2


@inlined
def _by_graph(solver):
    """Whether a code finds impulses and its bonds' state through the sparse solver."""
    return solver == L.GRAPH or solver == L.COLLOCATION or solver == L.STEPPER


@inlined
def _on_a_line(solver):
    """Whether a code moves rods."""
    return solver == L.ROD or solver == L.ROD_STEPPER


@outlined
def load(s, offset, m, dt):
    """Bring molecule m to the workspace at `offset`, a time dt after its segment's start."""
    _load_table(s, offset, m)
    if s.mol[m, L.MOL_SOLVER] == L.BALLISTIC:
        _load_single(s, offset, m, dt)
        return
    if s.stepper is not None:
        if s.mol[m, L.MOL_SOLVER] == L.COLLOCATION:
            _load_line(s, offset, m)
            if stages_move(s, offset, m, dt) == 0:
                return
        if s.mol[m, L.MOL_SOLVER] == L.STEPPER:
            _load_line(s, offset, m)
            if steps_move(s, offset, m, dt) == 0:
                return
        if s.mol[m, L.MOL_SOLVER] == L.ROD_STEPPER:
            _load_line(s, offset, m)
            rod_step(s.work, offset, s.mol[m, L.MOL_BEADS], dt)
            return
    _load_curves(s, offset, m, dt)


@kernel
def _load_curves(s, offset, m, dt):
    """Evaluate the beads' polynomials at dt, to the position and velocity rows; 0 in lanes without a bead."""
    begin = W.UNIT * s.mol[m, L.MOL_SERIES]
    first = s.mol[m, L.MOL_FIRST]
    n = s.mol[m, L.MOL_BEADS]
    order = s.mol[m, L.MOL_ORDER]
    size = W.curve(order)
    for b in range(0, W.LANES * s.mol[m, L.MOL_TILES], 4):
        at = W.bead_offset(offset, b) + W.COEF
        if b < n:
            four_states(s.starts, first + b, s.series, begin + b * size, size, order, dt, n - b, s.work, at, W.ROW)
        else:
            for c in range(0, 2 * W.ROW, W.LANES):
                put(s.work, at + c, everywhere(0.0))


@kernel
def _load_table(s, offset, m):
    """Copy what does not change of molecule m from its static table."""
    work, table = s.work, s.table
    tiles = s.mol[m, L.MOL_TILES]
    at = s.mol[m, L.MOL_TABLE]
    for t in range(tiles):
        w = offset + t * W.TILE
        for k in range(W.TABLE_MASK):
            work[w + W.INVM + k] = table[at + k]
        for k in range(W.LANES):
            work[w + W.MASK + k] = table[at + W.TABLE_MASK + k]
            work[w + W.LEN2 + k] = table[at + W.TABLE_LEN2 + k]
        at += W.TABLE
    if s.stepper is not None:
        if s.mol[m, L.MOL_SOLVER] == L.BODY:
            body_load(work, offset, tiles, table, at)
            return
    if _by_graph(s.mol[m, L.MOL_SOLVER]):
        web_load(s, offset, m)


@kernel
def load_start(s, offset, m):
    """Bring molecule m's start state, bit for bit, to the workspace at `offset`."""
    _load_table(s, offset, m)
    _load_line(s, offset, m)


@kernel
def _load_line(s, offset, m):
    _clear(s.work, offset, s.mol[m, L.MOL_TILES])
    first = s.mol[m, L.MOL_FIRST]
    for b in range(s.mol[m, L.MOL_BEADS]):
        p = W.bead_offset(offset, b) + W.COEF
        for c in range(3):
            s.work[p + W.LANES * c] = s.starts[first + b, c]
            s.work[p + W.ROW + W.LANES * c] = s.starts[first + b, L.VX + c]


@kernel
def _load_single(s, offset, m, dt):
    """Write position and velocity of a single bead on a straight line, or on a parabola if it falls."""
    _clear(s.work, offset, 1)
    i, p, at = s.mol[m, L.MOL_FIRST], offset + W.COEF, s.mol[m, L.MOL_TABLE]
    for c in range(3):
        mean = velocity = s.starts[i, L.VX + c]
        if s.table[at + L.FALLS_AT] != 0.0:
            change = s.par[L.GRAVITY + c] * dt
            mean, velocity = velocity + 0.5 * change, velocity + change
        s.work[p + W.LANES * c] = s.starts[i, c] + mean * dt
        s.work[p + W.ROW + W.LANES * c] = velocity


@inlined
def _clear(work, offset, tiles):
    """Set the state in the workspace to 0, as it is to be in lanes without a bead."""
    for t in range(tiles):
        for k in range(2 * W.ROW):
            work[offset + t * W.TILE + W.COEF + k] = 0.0


@kernel
def prepare(s, offset, m):
    """Make bond vectors and the factors of T, then put positions and velocities on the bonds.

    A molecule moved by collocation flies on as it is (see `collocation_molecule`); it is put on its bonds by `project`.
    """
    if s.mol[m, L.MOL_SOLVER] != L.COLLOCATION:
        project(s, offset, m)


@outlined
def project(s, offset, m):
    """Make bond vectors and the factors of T, then put positions and velocities on the bonds, for a contact.

    Returns the kinetic energy that this took [mass length^2 / time^2]; not round-off for collocation alone, else 0.
    """
    solver = s.mol[m, L.MOL_SOLVER]
    if solver == L.BALLISTIC:
        return 0.0
    if s.stepper is not None:
        if solver == L.COLLOCATION:
            return stages_project(s, offset, m)
        if solver == L.BODY:
            body_prepare(s.work, offset, s.mol[m, L.MOL_BEADS])
            return 0.0
    if solver == L.GRAPH or solver == L.STEPPER:
        web_prepare(s, offset, m)
        return 0.0
    if _on_a_line(solver):
        rod_prepare(s.work, offset, s.mol[m, L.MOL_BEADS])
        return 0.0
    chain_prepare(s.work, offset, s.mol[m, L.MOL_TILES])
    return 0.0


@outlined
def refresh(s, offset, m):
    """Make bond vectors and factors of T, leaving the state as it is."""
    solver = s.mol[m, L.MOL_SOLVER]
    if solver == L.BALLISTIC or solver == L.BODY or _on_a_line(solver):
        return
    if _by_graph(solver):
        web_refresh(s, offset, m)
        return
    chain_bonds(s.work, offset, s.mol[m, L.MOL_TILES], W.COEF, W.HIST)
    chain_factor(s.work, offset, s.mol[m, L.MOL_TILES])


@outlined
def kick(s, offset, m, bead, nx, ny, nz):
    """Fill KICK with the velocity change per unit impulse on one bead; return the inverse effective mass."""
    if s.stepper is not None:
        if s.mol[m, L.MOL_SOLVER] == L.BODY:
            return body_kick(s.work, offset, s.mol[m, L.MOL_BEADS], bead, nx, ny, nz)
    if _by_graph(s.mol[m, L.MOL_SOLVER]):
        return web_kick(s, offset, m, bead, nx, ny, nz)
    if _on_a_line(s.mol[m, L.MOL_SOLVER]):
        return rod_kick(s.work, offset, s.mol[m, L.MOL_BEADS], bead, nx, ny, nz)
    return chain_kick(s.work, offset, s.mol[m, L.MOL_TILES], s.mol[m, L.MOL_BONDS], bead, nx, ny, nz)


@kernel
def push(work, offset, tiles, p):
    """Add p times the KICK rows to the velocities."""
    for t in range(tiles):
        w = offset + t * W.TILE
        for k in range(W.ROW):
            work[w + W.COEF + W.ROW + k] += p * work[w + W.KICK + k]


@outlined
def expand(s, offset, m, h, tolerance):
    """Expand the free motion of the state in the workspace; return order and length of the segment."""
    work, solver = s.work, s.mol[m, L.MOL_SOLVER]
    if solver == L.BALLISTIC:
        return 1, h
    if solver == L.ROTOR:
        return rotor_series(work, offset, h, LAST_TURN * tolerance)
    if solver == L.ROD:
        return rod_series(work, offset, s.mol[m, L.MOL_BEADS], h, LAST_TURN * tolerance)
    if s.stepper is not None:
        if solver == L.BODY:
            return body_series(work, offset, s.mol[m, L.MOL_BEADS], h, LAST_TERM * tolerance)
        if solver == L.COLLOCATION:
            return stages_series(s, offset, m, h)
        if solver == L.STEPPER:
            return steps_series(s, offset, m, h)
        if solver == L.ROD_STEPPER:
            return rod_steps_series(work, offset, s.mol[m, L.MOL_BEADS], h, tolerance)
    if solver == L.GRAPH:
        return web_series(s, offset, m, h, LAST_TERM * tolerance)
    return chain_series(work, offset, s.mol[m, L.MOL_TILES], h, tolerance)


@kernel
def note_iterations(s, offset, m, first):
    """Count the last solve in molecule m's workspace, if its motion needs any: number, iterations and most of these.

    They stand in `count` from `first` on.
    """
    if s.stepper is not None:
        taken, count = np.int64(-1), s.count
        if s.mol[m, L.MOL_SOLVER] == L.COLLOCATION:
            taken = stages_iterations(s, offset, m)
        if s.mol[m, L.MOL_SOLVER] == L.STEPPER:
            taken = steps_iterations(s, offset, m)
        if taken >= 0:
            count[first] += 1
            count[first + L.OF_SUM] += taken
            count[first + L.OF_MOST] = max(count[first + L.OF_MOST], taken)


@kernel
def store(s, offset, m, order):
    """Copy the coefficients from the workspace to the molecule's beads, but those that are their start."""
    work, series = s.work, s.series
    s.mol[m, L.MOL_ORDER] = order
    n = s.mol[m, L.MOL_BEADS]
    size = W.curve(order)
    for b in range(0, n, 4):
        source = W.bead_offset(offset, b) + W.COEF + W.FIRST_TERM * W.ROW
        begin = W.UNIT * s.mol[m, L.MOL_SERIES] + b * size
        for begins in range(0, 3 * (order + 1 - W.FIRST_TERM), W.UNIT):
            k = min(begins, size - W.UNIT)  # the last ones end where the next bead's begin
            at = source + W.LANES * k
            p, q, r, last = turned(
                point(work, at), point(work, at + W.LANES), point(work, at + 2 * W.LANES), point(work, at + 3 * W.LANES)
            )
            put(series, begin + k, p)
            if b + 1 < n:
                put(series, begin + size + k, q)
            if b + 2 < n:
                put(series, begin + 2 * size + k, r)
            if b + 3 < n:
                put(series, begin + 3 * size + k, last)


@kernel
def acceleration_bound(work, offset, b):
    """Return the bound of bead b's acceleration over the segment in the workspace [length / time^2]."""
    p = W.bead_offset(offset, b) + W.BOUND
    return math.sqrt(work[p] ** 2 + work[p + W.LANES] ** 2 + work[p + 2 * W.LANES] ** 2)


@kernel
def series_error(s, offset, m, order, h):
    """Return a bound of how far a series of stages or of a rod's steps is from its states within h [length], else 0."""
    if s.mol[m, L.MOL_SOLVER] == L.COLLOCATION:
        return stages_error(s, offset, m, order, h)
    if s.mol[m, L.MOL_SOLVER] == L.ROD_STEPPER:
        return rod_steps_error(s.work, offset, s.mol[m, L.MOL_BEADS], order, h)
    return 0.0
