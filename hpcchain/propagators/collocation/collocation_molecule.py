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

`Web.rest` is the workspace of `collocation`. The stages' constants, in the static table, are how many there are, the
tolerance of the solver, variant, solver, width of nested intervals, whether stages fall in them, and the arrays of
GaussTables.
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.collocation.collocation import (
    SOLVED,
    SWEEPS,
    collocation_interval,
    collocation_order,
    collocation_segment,
    collocation_size,
    collocation_state,
    nth,
    stage_work,
)
from hpcchain.propagators.collocation.gauss_coefficients import INDEX1, PAPER, GaussTables, gauss_tables
from hpcchain.propagators.taylor.graph import energy_of
from hpcchain.propagators.taylor.graph_molecule import (
    web_gather_state,
    web_of,
    web_prepare,
    web_scatter,
    web_size,
    web_spread,
)

STAGES, ACCURACY, VARIANT, SOLVER, WIDTH, FALLING, HEADER = range(7)
FEWEST = 2  # of falling stages; one alone is of no order that printed collocation has
MOST_HALVINGS = 40
NOTHING = 2.0**-60


def stage_table(
    s: int, accuracy: float, variant: str = "index2", solver: str = "auto", width: float = 0.0, falling: bool = False
) -> np.ndarray:
    """Return the flat constants of s stages for a molecule's static table, then nodes of s, s - 1, ... 1 stages.

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
    """Return the length of the constants of s stages, behind which the nodes follow."""
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
def stages_workspace(g, tiles, s, solver):
    """Return how many floats of workspace the molecule takes, tiles included; `solver` is a code of SOLVERS."""
    return web_size(g, tiles) + collocation_size(g, W.LANES * tiles, s, solver)


@kernel
def _tables(constants):
    """Return views of stages' constants as GaussTables."""
    s = int(constants[STAGES])
    node = HEADER
    a = node + s
    weight = a + s * s
    legendre = weight + s
    monomial = legendre + s * s
    correction = monomial + (s + 1) * (s + 1)
    return GaussTables(
        constants[node:a],
        constants[a:weight].reshape(s, s),
        constants[weight:legendre],
        constants[legendre:monomial].reshape(s, s),
        constants[monomial:correction].reshape(s + 1, s + 1),
        constants[correction : correction + s * s].reshape(s, s),
        int(constants[VARIANT]),
        int(constants[SOLVER]),
    )


@kernel
def _solve(web, constants, tau):
    """Solve the stages of the state in the scratch block over a time; return the status, tables and StageWork."""
    tables, ws, accuracy = _tables(constants), web.rest, constants[ACCURACY]
    status = collocation_state(web.g, web.place, web.velocity, web.im, tau, accuracy, tables, ws, web.factors)
    return status, tables, stage_work(web.g, web.npad, len(tables.node), ws)


@outlined
def stages_move(s, offset, m, dt):
    """Move the state in the tiles on by dt; return the solver's status.

    Unless that is SOLVED the state is left as it is.
    """
    if dt == 0.0:
        return SOLVED
    web = web_of(s, offset, m)
    web_gather_state(web)
    status, tables, end = _solve(web, web.constants, dt)
    if status == SOLVED:
        web_scatter(web, W.COEF, end.place)
        kept = _lost(web, end.raw, end.projected) == 0.0
        web_scatter(web, W.COEF + W.ROW, end.projected if kept else end.raw)
        if tables.variant == INDEX1:
            web_prepare(s, offset, m)
            web_prepare(s, offset, m)
    return status


@kernel
def stages_iterations(s, offset, m):
    """Return how many sweeps, or Newton steps, the stages solved last in this workspace took."""
    return np.int64(web_of(s, offset, m).rest[SWEEPS])


@kernel
def stages_solve(s, offset, m, count, span):
    """Solve so many falling stages over a span from the state in the tiles; return the solver's status.

    `stages_state` and `stages_jump` read them.
    """
    web = web_of(s, offset, m)
    constants = web.constants[falling_table(int(web.constants[STAGES]), count) :]
    web_gather_state(web)
    tables = _tables(constants)
    return _solve(web, constants, span * tables.node[-1] if tables.variant == PAPER else span)[0]


@kernel
def _stage(web, count, k):
    """Return positions and velocities of stage k of those that `stages_solve` found, vectors of beads."""
    stages = stage_work(web.g, web.npad, count, web.rest)
    return stages.positions[nth(k, web.size)], stages.velocities[nth(k, web.size)]


@kernel
def stages_state(s, offset, m, count, k, b):
    """Return position and velocity of bead b of the molecule at stage k of those that `stages_solve` found."""
    web = web_of(s, offset, m)
    x, v = _stage(web, count, k)
    n = web.npad
    return x[b], x[b + n], x[b + 2 * n], v[b], v[b + n], v[b + 2 * n]


@kernel
def stages_jump(s, offset, m, count, k):
    """Put the state of stage k of those that `stages_solve` found in the tiles."""
    web = web_of(s, offset, m)
    position, velocity = _stage(web, count, k)
    web_scatter(web, W.COEF, position)
    web_scatter(web, W.COEF + W.ROW, velocity)


@kernel
def _lost(web, raw, projected):
    """Return the kinetic energy of the difference of two velocities, 0 where that is NOTHING of the first's."""
    for k in range(web.size):
        web.vector[k] = raw[k] - projected[k]
    lost = energy_of(web.im, web.vector)
    return lost if lost > NOTHING * energy_of(web.im, raw) else 0.0


@kernel
def stages_project(s, offset, m):
    """Make bond vectors and factors and put the state on the bonds; return the kinetic energy to be given back."""
    web = web_of(s, offset, m)
    web_gather_state(web)
    web_prepare(s, offset, m)
    return _lost(web, web.velocity, web.vector) if web.constants[VARIANT] != PAPER else 0.0


@outlined
def stages_series(s, offset, m, h):
    """Expand the free motion of the state in the tiles; return order and length, halved until the stages are found.

    The length is NaN when they never are, as for a state that is not a number.
    """
    web = web_of(s, offset, m)
    web_gather_state(web)
    tables, ws, accuracy = _tables(web.constants), web.rest, web.constants[ACCURACY]
    order = collocation_order(len(tables.node))
    for _ in range(MOST_HALVINGS):
        status = collocation_segment(web.g, web.block, web.npad, web.im, h, accuracy, tables, ws, web.factors)
        if status == SOLVED:
            web_spread(web, order, h)
            return order, h
        h *= 0.5
    return order, np.nan


@kernel
def stages_error(s, offset, m, order, h):
    """Return a bound of how far the series of stages is from its states within h [length].

    The part of the velocity that goes as the Legendre polynomial of degree s makes collocation's series start with the
    molecule's velocity: it is what the stages alone get wrong there. Its amplitude times the interval that they were
    solved over is several times the error found.
    """
    largest = 0.0
    for b in range(s.mol[m, L.MOL_BEADS]):
        x, y, z = W.vector(s.work, W.bead_offset(offset, b) + W.COEF + W.ROW * order)
        largest = max(largest, x**2 + y**2 + z**2)
    interval = collocation_interval(_tables(web_of(s, offset, m).constants), h)
    bound = order * math.sqrt(largest) * interval**order
    degree = order - 1
    for k in range(1, degree + 1):
        bound *= k / (degree + k)
    return bound
