"""Single steps (`rattle_and_variational`) of the molecules of `molecules`, and chains of steps."""

import numpy as np

from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import tree_walk
from hpcchain.propagators.steps.rattle_and_variational import (
    NULL_SPACE,
    SOLVED,
    step_size,
    step_solve,
    step_work,
)
from tests.support import twins
from tests.support.molecules import WO, views

TOLERANCE = 1e-15


def step(m, tau, solver="tridiagonal", tol=TOLERANCE):
    """Return status, discrete velocity V, end position, acceleration at the start, and the workspace of one step."""
    code = STEP_SOLVER_CODES[solver]
    walk = tree_walk(m.n, m.bonds) if code == NULL_SPACE else np.zeros(1)
    ws = np.full(WO + step_size(m.g, m.npad, code), np.nan)[WO:]
    status = step_solve(m.g, code, m.term(0), m.term(1), m.im, tau, tol, walk, ws, m.fac)
    found = views(step_work, m.g, m.npad, ws)
    v, x, half = (m.get(one) for one in (found.chord, found.place, found.half))
    return status, v, x, 2 * half, ws


def march(m, tau, count, solver="tridiagonal"):
    """Take steps, each from the end of the last with its velocities put on the bonds; return the last state.

    The block of m is left at the last state.
    """
    for _ in range(count):
        status, v, x, _, _ = step(m, tau, solver)
        if status != SOLVED:
            raise RuntimeError("the step was not solved")
        m.put(0, x)
        m.put(1, still(m, x, v))
    return state(m)


def still(m, x, v):
    """Return the part of v on the bonds at x, by the kernels."""
    block = m.get(m.term(0)), m.get(m.term(1))
    m.put(0, x)
    m.factor()
    after = v - m.gt(m.solve(m.gv(v)))
    m.put(0, block[0])
    m.put(1, block[1])
    return after


def state(m):
    """Return the block's positions and velocities."""
    return m.get(m.term(0)), m.get(m.term(1))


def dense_step(bonds, x, v, mass, tau):
    """Return V and the end position by dense Newton on the multipliers, from the equations as they are written."""
    g = twins.gradient(bonds, x)
    square = np.sum(g.reshape(len(bonds), -1, 3) ** 2, axis=(1, 2)) / 2
    mu = np.zeros(len(bonds))
    for _ in range(30):
        rate = v + (g.T @ mu).reshape(-1, 3) / mass[:, None]
        end = x + tau * rate
        after = twins.gradient(bonds, end)
        error = (np.sum(after.reshape(len(bonds), -1, 3) ** 2, axis=(1, 2)) / 2 - square) / (2 * tau)
        mu = mu - np.linalg.lstsq(after @ (g / np.repeat(mass, 3)).T, error, rcond=1e-11)[0]
    return rate, end


def on_bonds(m, x):
    """Return x one Newton step nearer to the lengths of the bonds of m."""
    g = twins.gradient(m.bonds, x)
    off = (twins.lengths(m.bonds, m.x) ** 2 - twins.lengths(m.bonds, x) ** 2) / 2
    return x + (g.T @ np.linalg.solve(twins.tension_matrix(m.bonds, x, m.mass), off)).reshape(-1, 3) / m.mass[:, None]


def form(mass, one, other):
    """Return the symplectic form of two (position, velocity) changes."""
    return np.sum(mass[:, None] * (one[0] * other[1] - other[0] * one[1]))
