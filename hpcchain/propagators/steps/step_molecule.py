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

`Web.rest` has EXCESS, MARGIN (how far the cubic may be from the truncated steps) and PLANNED (the energy of V over the
whole step), then the workspace of `rattle_and_variational`.
"""

import math

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import tree_walk
from hpcchain.propagators.steps.rattle_and_variational import (
    ITERATIONS,
    NULL_SPACE,
    SOLVED,
    step_response,
    step_size,
    step_solve,
    step_work,
)
from hpcchain.propagators.taylor.graph import energy_of
from hpcchain.propagators.taylor.graph_molecule import (
    web_gather,
    web_gather_state,
    web_of,
    web_refresh,
    web_scatter,
    web_size,
    web_spread,
    web_still,
)

SOLVER, ACCURACY, WALK_FROM = range(3)  # of `step_table`
EXCESS, MARGIN, PLANNED, HEADER = range(4)
ORDER = 3
MOST_HALVINGS = 40
NEARLY_STILL = 2.0**-52  # square of the way of a bead, in bonds, on which these turn it by less than round-off
WRONG = 0.5  # of the sum in `cubic_error`; the largest found among 3000 random molecules was .17


def step_table(name: str, accuracy: float, n: int, bonds: np.ndarray) -> np.ndarray:
    """Return a molecule's constants: solver by name, tolerance (relative residual), the walk of null-space.

    Raises
    ------
    ConfigError
        If the solver cannot move this molecule.
    """
    solver = STEP_SOLVER_CODES[name]
    walk = tree_walk(n, bonds) if solver == NULL_SPACE else np.zeros(0)
    return np.concatenate([[solver, accuracy], walk])


@kernel
def steps_workspace(g, tiles, solver):
    """Return how many floats of workspace the molecule takes, tiles included."""
    return web_size(g, tiles) + HEADER + step_size(g, W.LANES * tiles, solver)


@kernel
def _solve(web, tau):
    """Solve the step of the state in the scratch block; return the status and its StepWork."""
    solver, ws = int(web.constants[SOLVER]), web.rest[HEADER:]
    accuracy, walk = web.constants[ACCURACY], web.constants[WALK_FROM:]
    status = step_solve(web.g, solver, web.place, web.velocity, web.im, tau, accuracy, walk, ws, web.factors)
    return status, step_work(web.g, web.npad, ws)


@outlined
def steps_move(s, offset, m, dt):
    """Move the state in the tiles on by dt and put its velocities on the bonds; return the solver's status.

    Unless that is SOLVED the state is left as it is.
    """
    web = web_of(s, offset, m)
    web.rest[EXCESS] = 0.0
    if dt == 0.0:
        return SOLVED
    web_gather_state(web)
    if _nearly_still(web, dt):
        for k in range(web.size):
            web.place[k] += dt * web.velocity[k]
        _arrive(s, offset, m, web, web.place, web.velocity)
        web.rest[HEADER + ITERATIONS] = 0.0
        return SOLVED
    status, step = _solve(web, dt)
    if status == SOLVED:
        _arrive(s, offset, m, web, step.place, step.chord)
        web.rest[EXCESS] = energy_of(web.im, step.chord) - energy_of(web.im, web.vector)
    return status


@kernel
def _nearly_still(web, dt):
    """Whether all beads go so little of a bond within dt that differences of places over dt would be round-off."""
    fastest = 0.0
    for k in range(web.size):
        fastest = max(fastest, abs(web.velocity[k]))
    shortest = np.inf
    for k in range(web.g[BONDS]):
        shortest = min(shortest, web.lengths[k])
    return (fastest * dt) ** 2 <= NEARLY_STILL * shortest


@kernel
def _arrive(s, offset, m, web, place, velocity):
    """Put a place in the tiles, and the part of a velocity that keeps the bonds there."""
    web_scatter(web, W.COEF, place)
    web_refresh(s, offset, m)
    for k in range(web.size):
        web.vector[k] = velocity[k]
    web_still(web)
    web_scatter(web, W.COEF + W.ROW, web.vector)


@outlined
def steps_series(s, offset, m, h):
    """Expand the step of the state in the tiles; return order and length, halved until the step is found.

    The length is NaN when it never is, as for a state that is not a number.
    """
    web = web_of(s, offset, m)
    web_gather_state(web)
    square, cube = web.block[2 * web.size : 3 * web.size], web.block[3 * web.size : 4 * web.size]
    for _ in range(MOST_HALVINGS):
        status, step = _solve(web, h)
        if status == SOLVED:
            for k in range(web.size):
                mean = (step.chord[k] - web.velocity[k]) / h
                square[k] = step.half[k]
                cube[k] = (mean - step.half[k]) / h
            web_spread(web, ORDER, h)
            web.rest[MARGIN] = cubic_error(web.g, square, cube, step.start, step.end, h)
            web.rest[PLANNED] = energy_of(web.im, step.chord)
            return ORDER, h
        h *= 0.5
    return ORDER, np.nan


@kernel
def cubic_error(g, square, cube, start, end, h):
    """Return a bound of how far a cubic is from the truncated steps within h [length].

    It is WRONG (|c3| h^3 + |c2 + c3 h| h^2 (omega h)^2), the largest of all beads and of the bonds' turning rates
    omega. That is what an acceleration that turns with the bonds leaves out of a cubic, and its last term in case it
    does so faster.

    Parameters
    ----------
    square, cube : coefficients c2 and c3, vectors of beads
    start, end : bonds at the ends of the step
    """
    npad, stride = len(cube) // 3, g[STRIDE]
    last = 0.0
    all_of_it = 0.0
    for i in range(g[BEADS]):
        a = 0.0
        b = 0.0
        for c in range(0, 3 * npad, npad):
            a += cube[c + i] ** 2
            b += (square[c + i] + h * cube[c + i]) ** 2
        last = max(last, a)
        all_of_it = max(all_of_it, b)
    turned = 0.0
    for k in range(g[BONDS]):
        moved = 0.0
        length = 0.0
        for c in range(0, 3 * stride, stride):
            moved += (end[c + k] - start[c + k]) ** 2
            length += start[c + k] ** 2
        turned = max(turned, moved / length)
    return WRONG * (math.sqrt(last) * h + math.sqrt(all_of_it) * turned) * h * h


@kernel
def steps_figures(s, offset, m):
    """Return how far the cubic in the tiles may be from the truncated steps [length], and the energy of V."""
    rest = web_of(s, offset, m).rest
    return rest[MARGIN], rest[PLANNED]


@kernel
def steps_excess(s, offset, m):
    """Return where the difference between the energies of V and of the state in the tiles is kept."""
    return offset + web_size(s.graph[s.mol[m, L.MOL_GRAPH] :], s.mol[m, L.MOL_TILES]) + EXCESS


@kernel
def steps_iterations(s, offset, m):
    """Return how many iterations the last step solved in this workspace took."""
    return np.int64(web_of(s, offset, m).rest[HEADER + ITERATIONS])


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
def steps_energy(s, offset, m, tau, kappa):
    """Return the energy of the step over tau begun with v + kappa (v' - v), and its derivative by kappa.

    v stands in KEPT, v' in the velocity rows. The status of the solver comes first.
    """
    web = web_of(s, offset, m)
    velocity, vector, npad = web.velocity, web.vector, web.npad
    web_gather(web, W.COEF, web.place)
    web_gather(web, W.KEPT, velocity)
    web_gather(web, W.COEF + W.ROW, vector)
    for k in range(web.size):
        vector[k] -= velocity[k]
        velocity[k] += kappa * vector[k]
    status, step = _solve(web, tau)
    if status != SOLVED:
        return status, 0.0, 0.0
    response = web.block[2 * web.size : 3 * web.size]
    step_response(web.g, web.im, vector, response, step)
    slope = 0.0
    for i in range(web.g[BEADS]):
        for c in range(0, 3 * npad, npad):
            slope += step.chord[c + i] * response[c + i] / web.im[i]
    return status, energy_of(web.im, step.chord), slope
