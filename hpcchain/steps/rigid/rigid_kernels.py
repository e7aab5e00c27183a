"""Molecules with rigid bonds and rods: one step of each, and velocities put onto its bonds.

Bonds: `propagators.steps.rattle_and_variational` finds the multipliers of a step that begins with velocities to which
half a step of forces has been added; the part of its velocity on the new bonds comes when the second half is added.
Rods: the line is fitted to the unconstrained step, each bead weighted by its mass (Tapia-McClung and
Grønbech-Jensen 2005 in closed form).
"""

import math

from hpcchain.jit.decorators import kernel
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.steps.rattle_and_variational import SOLVED, TRIDIAGONAL, step_offsets, step_solve
from hpcchain.propagators.taylor.graph import graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve


@kernel
def move_bonded(position, own, velocity, rows, gs, npad, shape, step, tolerance, work):
    """Move molecules of one kind for a step; return -1, or the first that has no solution.

    Parameters
    ----------
    position, velocity : (n, 3), (m, 3) float64 arrays
        Of local and of own beads [length], [length / time].
    own : (m,) int64 array
        Which local beads are own.
    rows : (k,) int64 array
        First rows of the molecules among own beads.
    gs : int64 array
        Their bond graph.
    npad : int
        Beads rounded up.
    shape : (2 npad,) float64 array
        Inverse masses and squared bond lengths.
    step, tolerance : float
        [time]; of the solution, relative.
    work : (float64 array, float64 array, float64 array)
        Room: the molecule, for `step_solve`, and for factors.
    """
    block, ws, factors = work
    n, nb, stride = gs[BEADS], gs[BONDS], gs[STRIDE]
    for m in range(len(rows)):
        r = rows[m]
        for i in range(n):
            for c in range(3):
                block[c * npad + i] = position[own[r + i], c]
                block[(3 + c) * npad + i] = velocity[r + i, c]
        status = step_solve(
            gs, 0, TRIDIAGONAL, block, 0, npad, shape, 0, step, tolerance, factors, 0, ws, 0, factors, 0
        )
        if status != SOLVED:
            return m
        chord, place, half, multipliers, residuals, start, end, pairs, rest = step_offsets(gs, 0, npad, 0)
        graph_bonds(gs, 0, ws, place, npad, ws, end, stride)
        graph_factor(gs, 0, ws, end, stride, shape, 0, factors, 0)
        for k in range(nb):
            b2 = ws[end + k] ** 2 + ws[end + stride + k] ** 2 + ws[end + 2 * stride + k] ** 2
            ws[multipliers + k] = -0.5 * (b2 - shape[npad + k])
        graph_solve(gs, 0, factors, 0, ws, multipliers)
        graph_gt(gs, 0, ws, end, stride, ws, multipliers, shape, 0, ws, place, npad)
        for i in range(n):
            for c in range(3):
                position[own[r + i], c] = ws[place + c * npad + i]
                velocity[r + i, c] = ws[chord + c * npad + i]
    return -1


@kernel
def project_bonded(position, own, velocity, rows, gs, npad, shape, work):
    """Take from velocities of molecules of one kind what would stretch bonds; see `move_bonded`."""
    block, ws, factors = work
    n, stride = gs[BEADS], gs[STRIDE]
    multipliers = 3 * stride
    for m in range(len(rows)):
        r = rows[m]
        for i in range(n):
            for c in range(3):
                block[c * npad + i] = position[own[r + i], c]
                block[(3 + c) * npad + i] = velocity[r + i, c]
        graph_bonds(gs, 0, block, 0, npad, ws, 0, stride)
        graph_factor(gs, 0, ws, 0, stride, shape, 0, factors, 0)
        graph_gv(gs, 0, ws, 0, stride, block, 3 * npad, npad, ws, multipliers)
        for k in range(gs[BONDS]):
            ws[multipliers + k] = -ws[multipliers + k]
        graph_solve(gs, 0, factors, 0, ws, multipliers)
        graph_gt(gs, 0, ws, 0, stride, ws, multipliers, shape, 0, block, 3 * npad, npad)
        for i in range(n):
            for c in range(3):
                velocity[r + i, c] = block[(3 + c) * npad + i]


@kernel
def fit(rows, first, mass, place, line):
    """Write centre and slope (2, 3) of the mass-weighted line through rows first ... of an (m, 3) array.

    Coordinates `place` (n,) are from the centre of mass.
    """
    total, second = 0.0, 0.0
    for i in range(len(mass)):
        total += mass[i]
        second += mass[i] * place[i] * place[i]
    for c in range(3):
        base, mean, slope = rows[first, c], 0.0, 0.0
        for i in range(len(mass)):
            mean += mass[i] * (rows[first + i, c] - base)
        mean /= total
        for i in range(len(mass)):
            slope += mass[i] * place[i] * ((rows[first + i, c] - base) - mean)
        line[0, c] = base + mean
        line[1, c] = slope / second


@kernel
def _fit_rod(position, own, velocity, r, mass, place, work):
    """Write the line and its motion that fit best to the beads of the rod from row r on; see `move_rods`."""
    here, line, motion = work
    for i in range(len(mass)):
        for c in range(3):
            here[i, c] = position[own[r + i], c]
    fit(here, 0, mass, place, line)
    fit(velocity, r, mass, place, motion)


@kernel
def move_rods(position, own, velocity, rows, mass, place, step, work):
    """Move rods of one kind for a step; return -1, or the first that would turn too far.

    Parameters
    ----------
    position, own, velocity, rows :
        See `move_bonded`.
    mass, place : (n,) float64 arrays
        Of a rod's beads; coordinates from the centre of mass [mass], [length].
    step : float
        [time]
    work : ((n, 3), (2, 3), (2, 3)) float64 arrays
        Room.
    """
    _, line, motion = work
    n = len(mass)
    for m in range(len(rows)):
        r = rows[m]
        _fit_rod(position, own, velocity, r, mass, place, work)
        along, norm = 0.0, 0.0
        for c in range(3):
            norm += line[1, c] * line[1, c]
        norm = math.sqrt(norm)
        for c in range(3):
            line[1, c] /= norm
            along += motion[1, c] * line[1, c]
        across = 0.0
        for c in range(3):
            motion[1, c] = step * (motion[1, c] - along * line[1, c])
            across += motion[1, c] * motion[1, c]
        if not across < 1.0:
            return m
        rest = math.sqrt(1.0 - across)
        for c in range(3):
            old = line[1, c]
            new = motion[1, c] + rest * old
            for i in range(n):
                position[own[r + i], c] = line[0, c] + step * motion[0, c] + place[i] * new
                velocity[r + i, c] = motion[0, c] + place[i] * ((new - old) / step)
    return -1


@kernel
def project_rods(position, own, velocity, rows, mass, place, work):
    """Make velocities of rods of one kind those of rigid motion; see `move_rods`."""
    _, line, motion = work
    n = len(mass)
    for m in range(len(rows)):
        r = rows[m]
        _fit_rod(position, own, velocity, r, mass, place, work)
        along, norm = 0.0, 0.0
        for c in range(3):
            along += motion[1, c] * line[1, c]
            norm += line[1, c] * line[1, c]
        for c in range(3):
            turn = motion[1, c] - along / norm * line[1, c]
            for i in range(n):
                velocity[r + i, c] = motion[0, c] + place[i] * turn
