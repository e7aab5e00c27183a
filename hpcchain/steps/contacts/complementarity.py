"""Solve 0 <= x, 0 <= w(x), x . w(x) = 0: by a semismooth Newton method, or by sweeps.

Newton's is for the function of Fischer and Burmeister, sqrt(x^2 + w^2) - x - w, which is 0 where one of the two is 0
and the other is not negative (Fischer 1992). Unknowns and residuals are scaled to a matrix with a diagonal of 1. Where
the matrix is singular, as with more contacts than degrees of freedom, the least change is taken.

Newton's method stalls on some of these problems, where x and w are both 0 in places and the matrix is singular. They
are then solved by a method of active sets (Goldfarb and Idnani 1983), which ends after finitely many steps. The problem
is that of the least change u of velocities with G u >= -offset, G G^T being the matrix. That is strictly convex however
many rows G has.
"""

from collections.abc import Callable

import numpy as np

from hpcchain.errors import StepError

MOST_NEWTON, MOST_SWEEPS, HALVINGS, MOST_LINEAR = 60, 20000, 40, 20
"""Newton steps, sweeps, halvings of a step at most; linear problems at most that a problem is solved by."""
TOLERANCE = 1e-13
"""Of the residual of a linear problem, relative to its offset."""
DEPENDENT = 1e-11
"""What is left of a row's diagonal besides the active ones, from which on it counts as one of their sums."""
ENOUGH, ROUNDING = 30, 8.0 * float(np.finfo(np.float64).eps)
"""Newton steps after which what is left may be rounding; how much that is, relative to the sizes that are summed."""
LEFT = 8.0 * ROUNDING
"""The same of a solution that active sets have found."""
MOST_BLOWS, BLOWS = 10_000, 100
"""Reflections at most; reflections after which contacts that lose energy are only kept from approaching."""
AT_REST = 1e-9
"""Rate, relative to the greatest, that counts as none."""


def linear(matrix: np.ndarray, offset: np.ndarray, solver: str = "newton") -> np.ndarray:
    """Return x of 0 <= x, 0 <= matrix x + offset, orthogonal.

    Parameters
    ----------
    matrix : (n, n) float64 array
        Symmetric, positive semidefinite, its diagonal positive.
    offset : (n,) float64 array
    solver : str
        "newton" or "gauss-seidel".

    Raises
    ------
    StepError
        When no solution is found.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    unit = float(np.abs(scale * offset).max(initial=0.0))
    if unit == 0.0:
        return np.zeros(len(offset))
    a, b = scale[:, None] * matrix * scale, scale * offset / unit
    if solver == "gauss-seidel":
        return scale * unit * sweeps(a, b, TOLERANCE)
    x = newton_steps(lambda x: a @ x + b, lambda _: a, np.zeros(len(b)), TOLERANCE)
    return scale * unit * (active_set(a, b, TOLERANCE) if x is None else refined(a, b, x))


def refined(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a solution x of 0 <= x, 0 <= a x + b, orthogonal, without what rounding has left in it."""
    w = a @ x + b
    rows = np.flatnonzero(x > np.abs(w))
    better = x.copy()
    better[rows] = np.maximum(x[rows] - np.linalg.lstsq(a[np.ix_(rows, rows)], w[rows], rcond=1e-12)[0], 0.0)
    fits = np.abs(residual(better, a @ better + b)).max() <= np.abs(residual(x, w)).max()
    return better if fits else x


def residual(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the function of Fischer and Burmeister of two arrays."""
    return np.hypot(x, w) - x - w


def slopes(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of `residual` by x and by w; those of one direction where both are 0."""
    r = np.hypot(x, w)
    kink = r < 1e-300
    r = np.where(kink, 1.0, r)
    return np.where(kink, np.sqrt(0.5), x / r) - 1.0, np.where(kink, np.sqrt(0.5), w / r) - 1.0


def newton(function: Callable, slope: Callable, x: np.ndarray, tolerance: float) -> np.ndarray:
    """Return x with 0 <= x, 0 <= function(x), orthogonal; `slope` returns derivatives, their diagonal near 1.

    Where Newton's method stalls, the problem is made linear where it stands, and solved so, again and again (Josephy
    1979).
    """
    found = newton_steps(function, slope, x, tolerance)
    if found is not None:
        return found
    for _ in range(MOST_LINEAR):
        w, a = function(x), slope(x)
        if np.abs(residual(x, w)).max() <= max(tolerance, LEFT * float((np.abs(a) @ np.abs(x)).max())):
            return x
        x = active_set(a, w - a @ x, 0.1 * tolerance)
    raise StepError("contacts that hang together have no solution that was found; make steps.step smaller")


def newton_steps(function: Callable, slope: Callable, x: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Return what `newton` does, or None where Newton's method alone finds nothing."""
    w = function(x)
    value = residual(x, w)
    for k in range(MOST_NEWTON):
        if np.abs(value).max() <= tolerance:
            return np.maximum(x, 0.0)
        if k >= ENOUGH and np.all(np.abs(value) <= ROUNDING * (np.abs(slope(x)) @ np.abs(x))):
            return np.maximum(x, 0.0)
        along, across = slopes(x, w)
        jacobian = np.diag(along) + across[:, None] * slope(x)
        x, w, value = shortened(function, x, step_of(jacobian, value), value)
    return None


def active_set(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """Return x of 0 <= x, 0 <= a x + b, orthogonal; a (n, n) is symmetric, positive semidefinite, its diagonal 1.

    Raises
    ------
    StepError
        When there is no solution.
    """
    x, active = np.zeros(len(b)), list[int]()
    for _ in range(100 * len(b)):
        w = a @ x + b
        w[active] = 0.0
        wrong = w + LEFT * (np.abs(a) @ x)
        j = int(np.argmin(wrong))
        if wrong[j] >= -tolerance:
            return x
        _activate(a, x, active, j, float(w[j]))
        for _ in range(2):  # the second time takes out what rounding has left
            change = np.linalg.solve(a[np.ix_(active, active)], (a @ x + b)[active])
            x[active] = np.maximum(x[active] - change, 0.0)
    raise StepError("contacts that hang together have no solution that was found; make steps.step smaller")


def _activate(a: np.ndarray, x: np.ndarray, active: list, j: int, w: float) -> None:
    """Raise x[j] until row j, whose value is w < 0, is 0; those of active rows stay 0, or these drop out at x = 0."""
    while True:
        rest, change = float(a[j, j]), np.zeros(len(active))
        if active:
            change = np.linalg.solve(a[np.ix_(active, active)], a[active, j])
            rest -= float(a[j, active] @ change)
        falls = np.flatnonzero(change > 0.0)
        limits = x[active][falls] / change[falls] if len(falls) else np.zeros(0)
        whole = -w / rest if rest > DEPENDENT else np.inf
        part = min(whole, limits.min(initial=np.inf))
        if part == np.inf:
            raise Impossible
        x[active] -= part * change
        x[j] += part
        if part == whole:
            active.append(j)
            return
        w += part * rest
        gone = active.pop(int(falls[np.argmin(limits)]))
        x[gone] = 0.0


class Impossible(StepError):
    """No impulses end the approach of all contacts."""

    def __init__(self) -> None:
        super().__init__(
            "contacts that hang together leave no motion by which none of them is passed: make steps.step smaller"
        )


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


def sweeps(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """Return x of 0 <= x, 0 <= a x + b, orthogonal, by projected Gauss-Seidel sweeps."""
    x = np.zeros(len(b))
    for _ in range(MOST_SWEEPS):
        for k in range(len(x)):
            x[k] = max(0.0, x[k] - (a[k] @ x + b[k]) / a[k, k])
        if np.abs(residual(x, a @ x + b)).max() <= tolerance:
            return x
    raise StepError('contacts that hang together have no solution after many sweeps; use steps.solver = "newton"')


def reflected(
    matrix: np.ndarray,
    rates: np.ndarray,
    restitution: float | np.ndarray = 1.0,
    solver: str = "newton",
    moreau: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the impulses of a generalised reflection (Kaufman and Pai 2012, algorithm 2), and the rates after it.

    As long as contacts approach, all that do are projected together to rates that are not negative, and as much is
    added again, times the coefficient of restitution: a coefficient of 1 keeps the energy. Where contacts have
    coefficients of their own, they get impulses p with

        0 <= p,   0 <= w' + e w,   p . (w' + e w) = 0,

    w the rates before and w' after: the same where all e are. The energy changes by 1/2 sum p (1 - e) w, which is
    never above 0 as all w are below it (`contact.laws.joint`).

    Without loss this ends after finitely many times, if there are rates at which all contacts part. Beads that are
    wedged in have none, and no reflection keeps their energy. With loss, contacts may hand ever less on to one another
    for ever; after BLOWS times all that is left is projected at once, which ends all approach and takes a little more.

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
    """
    total, rates = np.zeros(len(rates)), rates.copy()
    greatest = float(np.abs(rates).max(initial=0.0))
    limit = 1e-13 * greatest
    for blow in range(MOST_BLOWS):
        if not np.any(rates < -limit):
            return total, rates
        if blow >= BLOWS and np.any(np.less(restitution, 1.0)):
            impulse = linear(matrix, rates, solver)
            return total + impulse, rates + matrix @ impulse
        if blow == BLOWS and not can_part(matrix):
            raise StepError(
                "beads are wedged in: contacts that hang together leave them no motion that keeps their energy; make "
                "steps.step smaller, or contact.restitution less than 1"
            )
        chosen = np.flatnonzero(rates <= AT_REST * greatest if moreau else rates < -limit)
        block = matrix[np.ix_(chosen, chosen)]
        if isinstance(restitution, np.ndarray):
            impulse = linear(block, (1.0 + restitution[chosen]) * rates[chosen], solver)
        else:
            impulse = (1.0 + restitution) * linear(block, rates[chosen], solver)
        total[chosen] += impulse
        rates = rates + matrix[:, chosen] @ impulse
    raise StepError("contacts that hang together never cease to approach; make steps.step smaller")


def can_part(matrix: np.ndarray) -> bool:
    """Return whether there are impulses of both signs after which all contacts of a matrix (n, n) part."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    try:
        active_set(scale[:, None] * matrix * scale, -np.ones(len(matrix)), 1e-9)
    except Impossible:
        return False
    return True
