"""Molecules that move in steps, rattle and variational: between tiles and sector.

A segment is one step: from a node, with velocities on the bonds, to the next point of the grid k * step of absolute
time. Wherever a state inside it is wanted, at a contact, in a frame, at its end, the step is solved for the time till
then. So every state is one truncated step (Leyendecker et al. 2012, (13)) from the segment's start. The polynomial that
contact search reads is the cubic with the start's position, velocity and acceleration that ends where the step ends.
How far it may be from the truncated steps is judged by how much the acceleration changed (`cubic_error`).

**The discrete energy.** A truncated step has velocity V; the node that it ends in has the part p of V on the bonds, of
less energy. EXCESS is that difference. The exact impulse changes p as if V did not exist. Leyendecker et al. 2012's law
(14)-(16) conserves the energy of V over a contact instead. The impulse is kappa times the exact one. With this kappa
the next steps, each molecule's to its own point of the grid, have the energy of the last ones
(`contact.laws.variational`). Where a contact comes before that point is reached, the step was not taken. What the
molecule had is then the energy of the step that was planned. So none is lost or won from contact to contact, and
momentum and angular momentum stay exact.

The scratch follows that of `graph_molecule`, where the series' workspace would be. It has solver, accuracy, EXCESS,
MARGIN (how far the cubic may be from the truncated steps) and PLANNED (the energy of V over the whole step). Then come
the walk through the beads (null-space only) and the workspace of `rattle_and_variational`.
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import WALK, tree_walk
from hpcchain.propagators.steps.rattle_and_variational import (
    ITERATIONS,
    NULL_SPACE,
    SOLVED,
    step_offsets,
    step_response,
    step_size,
    step_solve,
)
from hpcchain.propagators.taylor.graph_molecule import (
    bound_acceleration,
    web_gather,
    web_gather_state,
    web_offsets,
    web_refresh,
    web_scatter,
    web_still,
)

SOLVER, ACCURACY, EXCESS, MARGIN, PLANNED, HEADER = range(6)
ORDER = 3
MOST_HALVINGS = 40
NEARLY_STILL = 2.0**-52  # square of the way of a bead, in bonds, on which these turn it by less than round-off
WRONG = 0.5  # of the sum in `cubic_error`; the largest found among 3000 random molecules was .17


def step_table(name: str, accuracy: float, n: int, bonds: np.ndarray) -> np.ndarray:
    """Return a molecule's constants: solver by name, tolerance (relative residual).

    Raises
    ------
    ConfigError
        If the solver cannot move this molecule.
    """
    solver = STEP_SOLVER_CODES[name]
    walk = tree_walk(n, bonds) if solver == NULL_SPACE else np.zeros(0)
    return np.concatenate([[solver, accuracy, 0.0, 0.0, 0.0], walk])


@kernel
def _header(solver, n):
    return HEADER + WALK * (n - 1) if solver == NULL_SPACE else HEADER


@kernel
def steps_workspace(gs, go, tiles, solver):
    """Return how many floats of workspace the molecule takes, tiles included."""
    return (
        web_offsets(gs, go, tiles, 0)[7] + _header(solver, gs[go + BEADS]) + step_size(gs, go, W.LANES * tiles, solver)
    )


@kernel
def steps_load(work, offset, tiles, gs, go, table, at):
    """Fill the solver's constants from the molecule's static table, where they follow the bond lengths."""
    to = web_offsets(gs, go, tiles, offset)[7]
    source = at + tiles * W.TABLE + gs[go + STRIDE]
    for k in range(_header(int(table[source]), gs[go + BEADS])):
        work[to + k] = table[source + k]


@kernel
def _solve(work, offset, tiles, gs, go, tau):
    """Solve the step of the state in the scratch block; return the status and where its workspace is."""
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    solver = int(work[constants + SOLVER])
    ws = constants + _header(solver, gs[go + BEADS])
    status = step_solve(
        gs,
        go,
        solver,
        work,
        block,
        W.LANES * tiles,
        work,
        im,
        tau,
        work[constants + ACCURACY],
        work,
        constants + HEADER,
        work,
        ws,
        work,
        factors,
    )
    return status, ws


@kernel
def steps_excess(offset, tiles, gs, go):
    """Return where the difference between the energies of V and of the state in the tiles is kept."""
    return web_offsets(gs, go, tiles, offset)[7] + EXCESS


@outlined
def steps_move(work, offset, tiles, gs, go, dt):
    """Move the state in the tiles on by dt and put its velocities on the bonds; return the solver's status.

    Unless that is SOLVED the state is left as it is.
    """
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    work[constants + EXCESS] = 0.0
    if dt == 0.0:
        return SOLVED
    web_gather_state(work, offset, tiles, block)
    if _nearly_still(work, tiles, gs, go, block, lengths, dt):
        _move_straight(work, offset, tiles, gs, go, dt)
        return SOLVED
    status, ws = _solve(work, offset, tiles, gs, go, dt)
    if status == SOLVED:
        chord, place, half, multipliers, residuals, start, stop, pairs, rest = step_offsets(gs, go, W.LANES * tiles, ws)
        web_scatter(work, offset, tiles, W.COEF, place)
        web_refresh(work, offset, tiles, gs, go)
        for k in range(W.ROW * tiles):
            work[vector + k] = work[chord + k]
        web_still(work, offset, tiles, gs, go)
        web_scatter(work, offset, tiles, W.COEF + W.ROW, vector)
        work[constants + EXCESS] = _energy(work, im, chord, W.LANES * tiles) - _energy(
            work, im, vector, W.LANES * tiles
        )
    return status


@kernel
def _nearly_still(work, tiles, gs, go, block, lengths, dt):
    """Whether all beads go so little of a bond within dt that differences of places over dt would be round-off."""
    fastest = 0.0
    for k in range(W.ROW * tiles):
        fastest = max(fastest, abs(work[block + W.ROW * tiles + k]))
    shortest = np.inf
    for k in range(gs[go + BONDS]):
        shortest = min(shortest, work[lengths + k])
    return (fastest * dt) ** 2 <= NEARLY_STILL * shortest


@kernel
def _move_straight(work, offset, tiles, gs, go, dt):
    """Move the state in the tiles, which the scratch block holds too, on straight, and its velocities to the bonds."""
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    for k in range(W.ROW * tiles):
        work[block + k] += dt * work[block + W.ROW * tiles + k]
        work[vector + k] = work[block + W.ROW * tiles + k]
    web_scatter(work, offset, tiles, W.COEF, block)
    web_refresh(work, offset, tiles, gs, go)
    web_still(work, offset, tiles, gs, go)
    web_scatter(work, offset, tiles, W.COEF + W.ROW, vector)
    work[constants + _header(int(work[constants + SOLVER]), gs[go + BEADS]) + ITERATIONS] = 0.0


@kernel
def _energy(work, im, v, npad):
    """Return the kinetic energy of a vector array of velocities."""
    energy = 0.0
    for i in range(npad):
        if work[im + i] > 0.0:
            for c in range(0, 3 * npad, npad):
                energy += 0.5 * work[v + c + i] ** 2 / work[im + i]
    return energy


@outlined
def steps_series(work, offset, tiles, gs, go, h):
    """Expand the step of the state in the tiles; return order and length, halved until the step is found.

    The length is NaN when it never is, as for a state that is not a number.
    """
    block = web_offsets(gs, go, tiles, offset)[0]
    web_gather_state(work, offset, tiles, block)
    for _ in range(MOST_HALVINGS):
        status, ws = _solve(work, offset, tiles, gs, go, h)
        if status == SOLVED:
            chord, place, half, multipliers, residuals, start, stop, pairs, rest = step_offsets(
                gs, go, W.LANES * tiles, ws
            )
            square = block + 2 * W.ROW * tiles
            cube = block + 3 * W.ROW * tiles
            for k in range(W.ROW * tiles):
                mean = (work[chord + k] - work[block + W.ROW * tiles + k]) / h
                work[square + k] = work[half + k]
                work[cube + k] = (mean - work[half + k]) / h
            web_scatter(work, offset, tiles, W.COEF + 2 * W.ROW, square)
            web_scatter(work, offset, tiles, W.COEF + 3 * W.ROW, cube)
            bound_acceleration(work, offset, tiles, ORDER, h)
            constants = web_offsets(gs, go, tiles, offset)[7]
            im = web_offsets(gs, go, tiles, offset)[1]
            work[constants + MARGIN] = cubic_error(work, gs, go, square, W.LANES * tiles, start, stop, h)
            work[constants + PLANNED] = _energy(work, im, chord, W.LANES * tiles)
            return ORDER, h
        h *= 0.5
    return ORDER, np.nan


@kernel
def cubic_error(work, gs, go, square, npad, start, stop, h):
    """Return a bound of how far a cubic is from the truncated steps within h [length].

    It is WRONG (|c3| h^3 + |c2 + c3 h| h^2 (omega h)^2), the largest of all beads and of the bonds' turning rates
    omega. That is what an acceleration that turns with the bonds leaves out of a cubic, and its last term in case it
    does so faster.

    Parameters
    ----------
    square : int
        Where in `work` the coefficients c2 are, c3 behind them.
    start, stop : int
        Where the bonds at the ends of the step are.
    """
    cube = square + 3 * npad
    last = 0.0
    all_of_it = 0.0
    for i in range(gs[go + BEADS]):
        a = 0.0
        b = 0.0
        for c in range(0, 3 * npad, npad):
            a += work[cube + c + i] ** 2
            b += (work[square + c + i] + h * work[cube + c + i]) ** 2
        last = max(last, a)
        all_of_it = max(all_of_it, b)
    stride = gs[go + STRIDE]
    turned = 0.0
    for k in range(gs[go + BONDS]):
        moved = 0.0
        length = 0.0
        for c in range(0, 3 * stride, stride):
            moved += (work[stop + c + k] - work[start + c + k]) ** 2
            length += work[start + c + k] ** 2
        turned = max(turned, moved / length)
    return WRONG * (math.sqrt(last) * h + math.sqrt(all_of_it) * turned) * h * h


@kernel
def steps_figures(work, offset, tiles, gs, go):
    """Return how far the cubic in the tiles may be from the truncated steps [length], and the energy of V."""
    constants = web_offsets(gs, go, tiles, offset)[7]
    return work[constants + MARGIN], work[constants + PLANNED]


@kernel
def steps_iterations(work, offset, tiles, gs, go):
    """Return how many iterations the last step solved in this workspace took."""
    constants = web_offsets(gs, go, tiles, offset)[7]
    return np.int64(work[constants + _header(int(work[constants + SOLVER]), gs[go + BEADS]) + ITERATIONS])


@kernel
def to_grid(ticks, remainder, tick, step):
    """Return how long it is from a time to the next point of the grid k * step, at least a millionth of a step."""
    time = ticks * tick + remainder
    count = math.floor(time / step) + 1.0
    left = (count * step - ticks * tick) - remainder
    while left <= step * 2.0**-20:
        count += 1.0
        left = (count * step - ticks * tick) - remainder
    return min(left, step)


@kernel
def steps_energy(work, offset, tiles, gs, go, tau, kappa):
    """Return the energy of the step over tau begun with v + kappa (v' - v), and its derivative by kappa.

    v stands in KEPT, v' in the velocity rows. The status of the solver comes first.
    """
    block, im, lengths, bonds, rhs, vector, factors, constants, end = web_offsets(gs, go, tiles, offset)
    npad = W.LANES * tiles
    web_gather(work, offset, tiles, W.COEF, block)
    web_gather(work, offset, tiles, W.KEPT, block + 3 * npad)
    web_gather(work, offset, tiles, W.COEF + W.ROW, vector)
    for k in range(3 * npad):
        work[vector + k] -= work[block + 3 * npad + k]
        work[block + 3 * npad + k] += kappa * work[vector + k]
    status, ws = _solve(work, offset, tiles, gs, go, tau)
    if status != SOLVED:
        return status, 0.0, 0.0
    chord = step_offsets(gs, go, npad, ws)[0]
    response = block + 6 * npad
    step_response(gs, go, npad, work, im, work, vector, work, response, work, ws)
    energy = 0.0
    slope = 0.0
    for i in range(gs[go + BEADS]):
        for c in range(0, 3 * npad, npad):
            energy += 0.5 * work[chord + c + i] ** 2 / work[im + i]
            slope += work[chord + c + i] * work[response + c + i] / work[im + i]
    return status, energy, slope
