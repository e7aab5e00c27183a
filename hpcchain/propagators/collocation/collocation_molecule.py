"""Molecules in the tiled workspace that are moved by Gauss collocation: `collocation` between tiles and sector.

A segment is solved from its start state over its whole length for the dense polynomial that contact search reads. It is
solved once more over a shorter time wherever a state inside it is wanted: at a contact, in a frame, at its end. Such a
state is of order 2s and a function of the start state and the time alone, so nothing but the start state has to be
kept.

**Which velocity is carried.** Nodes keep the end velocity as it comes, for energy, momenta and |b|^2 to hold to
round-off: projecting it to G v = 0 loses energy of order tau^2s at every node, always in the same direction. Where that
is below NOTHING of the kinetic energy it is projected, so that G v, O(tau^s) a step, does not walk. A contact projects
both molecules, and its impulse is made so much larger that it gives back the energy that this took. Measured:

=================================  ==============  ==============  =============  ===============
1e5 free segments, s, tau          energy          ang. momentum   bonds          G v
=================================  ==============  ==============  =============  ===============
chain of 4, s = 6, tau = .05       5e-14           2e-14           6e-14          3e-8
ring of 6, s = 6, tau = .05        4e-14           6e-14           8e-14          5e-8
star of 7, s = 4, tau = .05        6e-14           1e-13           2e-13          3e-5
chain of 11, s = 4, tau = .1       1e-12           1e-12           2e-13          6e-2
=================================  ==============  ==============  =============  ===============

(as it comes throughout; with the rule above the first two lines' G v stays below 2e-8). Thermal chain of 5
over 220 contacts, s, tau = 6, .05 / 4, .1 / 3, .1 / 2, .05: energy to 9e-16 / 4e-14 / 1e-14 / 5e-15.

That is index2. The state of index1 is put on its bonds, which it leaves by O(tau^(2s + 1)) a step, so it loses energy
at that order. That of paper is carried as its last stage has it. What a contact's projection takes is not given back,
since no energy holds there.

The scratch follows that of `graph_molecule`, where the series' workspace would be. It has the stages' constants and the
workspace of `collocation`. The constants are number of stages, tolerance of the solver, variant, solver, width of
nested intervals, whether stages fall in them, then the arrays of GaussTables.
"""

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import STRIDE
from hpcchain.propagators.collocation.collocation import (
    END,
    SOLVED,
    SWEEPS,
    collocation_interval,
    collocation_order,
    collocation_segment,
    collocation_size,
    collocation_state,
)
from hpcchain.propagators.collocation.gauss_coefficients import INDEX1, PAPER, GaussTables, gauss_tables
from hpcchain.propagators.taylor.graph_molecule import (
    bound_acceleration,
    web_gather_state,
    web_offsets,
    web_prepare,
    web_scatter,
)

STAGES, ACCURACY, VARIANT, SOLVER, WIDTH, FALLING, HEADER = range(7)
FEWEST = 2  # of falling stages; one alone is of no order that printed collocation has
MOST_HALVINGS = 40
NOTHING = 2.0**-60


def stage_table(
    s: int, accuracy: float, variant: str = "index2", solver: str = "auto", width: float = 0.0, falling: bool = False
) -> np.ndarray:
    """Return the flat constants of s stages for a molecule's static table: what the kernels copy, then nodes.

    With falling stages the constants of s - 1, s - 2, ... stages follow, as `falling_table` finds them.

    Parameters
    ----------
    s : int
    accuracy : float
        Largest relative violation of the constraints at the stages.
    variant, solver : str
        As for `gauss_tables`.
    width : float
        Where nested intervals about a contact end [time]; 0 = the root is solved for.
    falling : bool
        Whether nested intervals are solved with ever fewer stages, as printed, or with all of them.
    """
    nodes = [gauss_tables(k).node for k in range(s, 0, -1)]
    counts = range(s - 1, FEWEST - 1, -1) if falling else ()
    fewer = [_constants(k, accuracy, variant, solver, width, falling) for k in counts]
    return np.concatenate([_constants(s, accuracy, variant, solver, width, falling), *nodes, *fewer])


def _constants(s: int, accuracy: float, variant: str, solver: str, width: float, falling: bool) -> np.ndarray:
    *arrays, variant_code, solver_code = gauss_tables(s, variant, solver)
    return np.concatenate([[s, accuracy, variant_code, solver_code, width, falling], *map(np.ravel, arrays)])


@kernel
def stage_table_size(s):
    """Return the length of the part of `stage_table` that is copied; the nodes of s, s - 1, ... 1 stages follow."""
    return HEADER + 2 * s + 3 * s * s + (s + 1) * (s + 1)


@kernel
def falling_table(s, k):
    """Return where in `stage_table` of s falling stages the constants of k <= s stages begin."""
    at = 0
    if k < s:
        at = stage_table_size(s) + s * (s + 1) // 2
        for more in range(k + 1, s):
            at += stage_table_size(more)
    return at


@kernel
def stages_workspace(gs, go, tiles, s, solver):
    """Return how many floats of workspace the molecule takes, tiles included; `solver` is a code of SOLVERS."""
    return web_offsets(gs, go, tiles, 0)[7] + stage_table_size(s) + collocation_size(gs, go, W.LANES * tiles, s, solver)


@kernel
def stages_load(work, offset, tiles, gs, go, table, at):
    """Fill the stages' constants from the molecule's static table, where they follow the bond lengths."""
    _copy(work, web_offsets(gs, go, tiles, offset)[7], table, stages_at(tiles, gs, go, at))


@kernel
def stages_at(tiles, gs, go, at):
    """Return where in the static table the constants of the stages of the molecule begin whose part begins at `at`."""
    return at + tiles * W.TABLE + gs[go + STRIDE]


@kernel
def _copy(work, to, table, source):
    for k in range(stage_table_size(int(table[source]))):
        work[to + k] = table[source + k]


@kernel
def stage_tables(work, at):
    """Return views of the constants as GaussTables, and where the workspace behind them begins."""
    s = int(work[at + STAGES])
    node = at + HEADER
    a = node + s
    weight = a + s * s
    legendre = weight + s
    monomial = legendre + s * s
    correction = monomial + (s + 1) * (s + 1)
    end = correction + s * s
    return GaussTables(
        work[node:a],
        work[a:weight].reshape(s, s),
        work[weight:legendre],
        work[legendre:monomial].reshape(s, s),
        work[monomial:correction].reshape(s + 1, s + 1),
        work[correction:end].reshape(s, s),
        int(work[at + VARIANT]),
        int(work[at + SOLVER]),
    ), end


@kernel
def stages_interval(work, offset, tiles, gs, go, h):
    """Return the time over which the stages of a segment of length h are solved."""
    tables, end = stage_tables(work, web_offsets(gs, go, tiles, offset)[7])
    return collocation_interval(tables, h)


@outlined
def stages_move(work, offset, tiles, gs, go, dt):
    """Move the state in the tiles on by dt; return the solver's status.

    Unless that is SOLVED the state is left as it is.
    """
    if dt == 0.0:
        return SOLVED
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    web_gather_state(work, offset, tiles, block)
    tables, ws = stage_tables(work, constants)
    status = collocation_state(
        gs, go, work, block, W.LANES * tiles, work, im, dt, work[constants + ACCURACY], tables, work, ws, work, factors
    )
    if status == SOLVED:
        projected = ws + END + W.ROW * tiles
        raw = ws + END + 2 * W.ROW * tiles
        lost, energy = _energies(work, im, raw, projected, W.LANES * tiles)
        web_scatter(work, offset, tiles, W.COEF, ws + END)
        web_scatter(work, offset, tiles, W.COEF + W.ROW, projected if lost <= NOTHING * energy else raw)
        if tables.variant == INDEX1:
            web_prepare(work, offset, tiles, gs, go)
            web_prepare(work, offset, tiles, gs, go)
    return status


@kernel
def stages_iterations(work, offset, tiles, gs, go):
    """Return how many sweeps, or Newton steps, the stages solved last in this workspace took."""
    tables, ws = stage_tables(work, web_offsets(gs, go, tiles, offset)[7])
    return np.int64(work[ws + SWEEPS])


@kernel
def stages_solve(work, offset, tiles, gs, go, table, at, k, span):
    """Solve k falling stages over a span from the state in the tiles; return the solver's status.

    `stages_state` and `stages_jump` read them. The constants of all stages are those of k then, until the next load.
    """
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    source = stages_at(tiles, gs, go, at)
    _copy(work, constants, table, source + falling_table(int(table[source + STAGES]), k))
    web_gather_state(work, offset, tiles, block)
    tables, ws = stage_tables(work, constants)
    last_node = span * tables.node[-1] if tables.variant == PAPER else span
    return collocation_state(
        gs,
        go,
        work,
        block,
        W.LANES * tiles,
        work,
        im,
        last_node,
        work[constants + ACCURACY],
        tables,
        work,
        ws,
        work,
        factors,
    )


@kernel
def _stage(work, offset, tiles, gs, go, k):
    """Return where positions and velocities of stage k are that `stages_solve` found."""
    tables, ws = stage_tables(work, web_offsets(gs, go, tiles, offset)[7])
    position = ws + END + 3 * W.ROW * tiles + W.ROW * tiles * k
    return position, position + W.ROW * tiles * len(tables.node)


@kernel
def stages_state(work, offset, tiles, gs, go, k, b):
    """Return position and velocity of bead b of the molecule at stage k that `stages_solve` found."""
    p, q = _stage(work, offset, tiles, gs, go, k)
    p += b
    q += b
    n = W.LANES * tiles
    return work[p], work[p + n], work[p + 2 * n], work[q], work[q + n], work[q + 2 * n]


@kernel
def stages_jump(work, offset, tiles, gs, go, k):
    """Put the state of stage k that `stages_solve` found in the tiles."""
    position, velocity = _stage(work, offset, tiles, gs, go, k)
    web_scatter(work, offset, tiles, W.COEF, position)
    web_scatter(work, offset, tiles, W.COEF + W.ROW, velocity)


@kernel
def _energies(work, im, raw, projected, npad):
    """Return the kinetic energy of the difference of two velocities, and that of the first."""
    lost = 0.0
    energy = 0.0
    for i in range(npad):
        if work[im + i] > 0.0:
            for c in range(0, 3 * npad, npad):
                lost += 0.5 * (work[raw + c + i] - work[projected + c + i]) ** 2 / work[im + i]
                energy += 0.5 * work[raw + c + i] ** 2 / work[im + i]
    return lost, energy


@kernel
def stages_project(work, offset, tiles, gs, go):
    """Make bond vectors and factors and put the state on the bonds; return the kinetic energy to be given back."""
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    web_gather_state(work, offset, tiles, block)
    velocity = block + W.ROW * tiles
    web_prepare(work, offset, tiles, gs, go)
    lost, energy = _energies(work, im, velocity, vector, W.LANES * tiles)
    if work[constants + VARIANT] == PAPER:
        return 0.0
    return lost if lost > NOTHING * energy else 0.0


@outlined
def stages_series(work, offset, tiles, gs, go, h):
    """Expand the free motion of the state in the tiles; return order and length, halved until the stages are found.

    The length is NaN when they never are, as for a state that is not a number.
    """
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    web_gather_state(work, offset, tiles, block)
    tables, ws = stage_tables(work, constants)
    order = collocation_order(len(tables.node))
    for _ in range(MOST_HALVINGS):
        status = collocation_segment(
            gs,
            go,
            work,
            block,
            W.LANES * tiles,
            work,
            im,
            h,
            work[constants + ACCURACY],
            tables,
            work,
            ws,
            work,
            factors,
        )
        if status == SOLVED:
            for k in range(2, order + 1):
                web_scatter(work, offset, tiles, W.COEF + W.ROW * k, block + W.ROW * tiles * k)
            bound_acceleration(work, offset, tiles, order, h)
            return order, h
        h *= 0.5
    return order, np.nan
