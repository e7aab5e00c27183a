"""Solve 0 <= x, 0 <= w(x), x . w(x) = 0: by a semismooth Newton method, or by sweeps.

Newton's is for the function of Fischer and Burmeister, sqrt(x^2 + w^2) - x - w, which is 0 where one of the two is 0
and the other is not negative (Fischer 1992). Unknowns and residuals are scaled to a matrix with a diagonal of 1. Where
the matrix is singular, as with more contacts than degrees of freedom, the least change is taken.
"""

from collections.abc import Callable

import numpy as np

from hpcchain.errors import EngineError

MOST_NEWTON, MOST_SWEEPS, HALVINGS = 200, 20000, 40
ENOUGH, ROUNDING = 30, 8.0 * float(np.finfo(np.float64).eps)
"""Newton steps after which what is left may be rounding; how much that is, relative to the sizes that are summed."""
BLOWS = 100
"""Times that contacts which lose energy are reflected; what still approaches then is only stopped."""
AT_REST = 1e-9
"""Rate, relative to the greatest, that counts as none."""


def linear(matrix: np.ndarray, offset: np.ndarray, solver: str = "newton", tolerance: float = 1e-13) -> np.ndarray:
    """Return x of 0 <= x, 0 <= matrix x + offset, orthogonal.

    Parameters
    ----------
    matrix : (n, n) float64 array
        Symmetric, positive semidefinite, its diagonal positive.
    offset : (n,) float64 array
    solver : str
        "newton" or "gauss-seidel".
    tolerance : float
        Of the residual, relative to the offset.

    Raises
    ------
    EngineError
        When no solution is found.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    unit = float(np.abs(scale * offset).max(initial=0.0))
    if unit == 0.0:
        return np.zeros(len(offset))
    a, b = scale[:, None] * matrix * scale, scale * offset / unit
    solve = sweeps if solver == "gauss-seidel" else newton
    return scale * unit * solve(lambda x: a @ x + b, lambda _: a, np.zeros(len(b)), tolerance)


def residual(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the function of Fischer and Burmeister of two arrays."""
    return np.hypot(x, w) - x - w


def newton(function: Callable, slope: Callable, x: np.ndarray, tolerance: float) -> np.ndarray:
    """Return x with 0 <= x, 0 <= function(x), orthogonal; `slope` returns derivatives, their diagonal near 1."""
    w = function(x)
    value = residual(x, w)
    for k in range(MOST_NEWTON):
        if np.abs(value).max() <= tolerance:
            return np.maximum(x, 0.0)
        if k >= ENOUGH and np.all(np.abs(value) <= ROUNDING * (np.abs(slope(x)) @ np.abs(x))):
            return np.maximum(x, 0.0)
        r = np.hypot(x, w)
        kink = r < 1e-300
        r = np.where(kink, 1.0, r)
        along = np.where(kink, np.sqrt(0.5), x / r) - 1.0
        across = np.where(kink, np.sqrt(0.5), w / r) - 1.0
        jacobian = np.diag(along) + across[:, None] * slope(x)
        x, w, value = shortened(function, x, step_of(jacobian, value), value)
    raise EngineError("contacts that hang together have no solution that was found; make steps.step smaller")


def step_of(jacobian: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the Newton step, the least one of a singular system."""
    if np.linalg.cond(jacobian) < 1e10:
        return -np.linalg.solve(jacobian, value)
    damped = jacobian.T @ jacobian + 1e-14 * max(1.0, float(value @ value)) * np.eye(len(value))
    return -np.linalg.solve(damped, jacobian.T @ value)


def shortened(
    function: Callable, x: np.ndarray, step: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, function and residual after a step, halved until the residual falls; the last half in any case."""
    before = float(value @ value)
    for _ in range(HALVINGS):
        trial = x + step
        w = function(trial)
        after = residual(trial, w)
        if float(after @ after) < before * (1.0 - 1e-4):
            break
        step = 0.5 * step
    return trial, w, after


def sweeps(function: Callable, slope: Callable, x: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the solution that `newton` finds, of a linear function, by projected Gauss-Seidel sweeps."""
    a, b = slope(x), function(np.zeros_like(x))
    for _ in range(MOST_SWEEPS):
        for k in range(len(x)):
            x[k] = max(0.0, x[k] - (a[k] @ x + b[k]) / a[k, k])
        if np.abs(residual(x, a @ x + b)).max() <= tolerance:
            return x
    raise EngineError('contacts that hang together have no solution after many sweeps; use steps.solver = "newton"')


def reflected(
    matrix: np.ndarray,
    rates: np.ndarray,
    restitution: float | np.ndarray = 1.0,
    solver: str = "newton",
    moreau: bool = False,
    most: int = 1000,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the impulses of a generalised reflection (Kaufman and Pai 2012, algorithm 2), and the rates after it.

    As long as contacts approach, all that do are projected together to rates that are not negative, and as much is
    added again, times the coefficient of restitution: a coefficient of 1 keeps the energy. Where contacts have
    coefficients of their own, they get impulses p with

        0 <= p,   0 <= w' + e w,   p . (w' + e w) = 0,

    w the rates before and w' after: the same where all e are. The energy changes by 1/2 sum p (1 - e) w, which is
    never above 0 as all w are below it (`contact.impulse`).

    Without loss this ends after finitely many times. With it, contacts may hand ever less on to one another for ever;
    after BLOWS times all that is left is projected at once, which ends all approach and takes a little energy more.

    Parameters
    ----------
    matrix : (n, n) float64 array
        What an impulse of one contact adds to the rate of another.
    rates : (n,) float64 array
        At which gaps grow.
    restitution : float or (n,) float64 array
        Of all, or of each.
    solver :
        See `linear`.
    moreau : bool
        Whether those that neither approach nor part are projected with them, as Moreau 1988 does (algorithm 3). Those
        that part are not: there would be no solution.
    most : int
        Times at most.
    """
    total, rates = np.zeros(len(rates)), rates.copy()
    greatest = float(np.abs(rates).max(initial=0.0))
    limit = 1e-13 * greatest
    for blow in range(most):
        if not np.any(rates < -limit):
            return total, rates
        if blow >= BLOWS and np.any(np.less(restitution, 1.0)):
            impulse = linear(matrix, rates, solver)
            return total + impulse, rates + matrix @ impulse
        chosen = np.flatnonzero(rates <= AT_REST * greatest if moreau else rates < -limit)
        block = matrix[np.ix_(chosen, chosen)]
        if isinstance(restitution, np.ndarray):
            impulse = linear(block, (1.0 + restitution[chosen]) * rates[chosen], solver)
        else:
            impulse = (1.0 + restitution) * linear(block, rates[chosen], solver)
        total[chosen] += impulse
        rates = rates + matrix[:, chosen] @ impulse
    raise EngineError("contacts that hang together never cease to approach; make steps.step smaller")
