"""Discrete Euler-Lagrange inclusions for small systems, dense and with any constraints (Kaufman and Pai 2012).

Energies, gradients and Hessians come from the caller. Bases: `verlet` and `midpoint`. Equations are those of the paper
with its slips corrected. Gradients of inequalities are projected to the cotangent space of equalities by I - F (F^T
M^-1 F)^+ F^T M^-1, the smooth set takes contacts that touch, and reflections test and keep the energy's own metric W.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcchain.papers.result import NoStep
from hpcchain.steps.contacts.complementarity import reflected, residual, slopes

TOUCH = 1e-9
MOST, SOLVED = 60, 1e-13


def nothing(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return no constraints: values (0,) and gradients (n, 0)."""
    return np.zeros(0), np.zeros((len(q), 0))


@dataclass(frozen=True)
class Mechanics:
    """A mechanical system of n coordinates.

    Attributes
    ----------
    mass : (n,) float64 array
    potential, slope, curvature : functions of q (n,)
        Energy, gradient (n,), Hessian (n, n).
    gaps, holds : functions of q
        Inequalities g >= 0, equalities f = 0: values (m,) and gradients (n, m).
    """

    mass: np.ndarray
    potential: Any
    slope: Any
    curvature: Any
    gaps: Any = nothing
    holds: Any = nothing

    def energy(self, q: np.ndarray, p: np.ndarray) -> float:
        """Return the energy H."""
        return 0.5 * float(p @ (p / self.mass)) + float(self.potential(q))


@dataclass(frozen=True)
class Method:
    """How a step is made.

    Attributes
    ----------
    h : float
        Its length.
    base : str
        "verlet" or "midpoint".
    energy : str
        "H" or "H2": what reflections keep.
    smooth_only : bool
        Whether there are no reflections: the discrete-smooth integrator.
    linearized : bool
        Whether reflections act along gradients where the step is predicted to end: the variant of Fig 8 (d).
    """

    h: float
    base: str = "midpoint"
    energy: str = "H"
    smooth_only: bool = False
    linearized: bool = False


def metric(system: Mechanics, method: Method, q: np.ndarray) -> np.ndarray:
    """Return W (n, n) of the energy's part p W p / 2."""
    inverse = np.diag(1.0 / system.mass)
    if method.energy == "H":
        return inverse
    factor = method.h**2 / 6.0 if method.base == "verlet" else -(method.h**2) / 12.0
    return inverse + factor * inverse @ system.curvature(q) @ inverse


def projected(system: Mechanics, q: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return gradients (n, m) of inequalities in the cotangent space of the equalities."""
    _, hold = system.holds(q)
    if hold.shape[1] == 0:
        return gradients
    lift = hold / system.mass[:, None]
    return gradients - hold @ np.linalg.lstsq(hold.T @ lift, lift.T @ gradients, rcond=None)[0]


def moved(
    system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray, smooth: Any = (), at_end: bool = False
) -> np.ndarray:
    """Return x of the position update with some smooth inequalities, or of the prediction without.

    A semismooth Newton method for x and all multipliers at once. `at_end`: forces of inequalities act along gradients
    at the step's end, half as far: the direct method.
    """
    h, n, smooth = method.h, len(q), np.asarray(smooth, dtype=int)
    _, hold = system.holds(q)
    push = projected(system, q, system.gaps(q)[1][:, smooth]) if len(smooth) else np.zeros((n, 0))
    e, s = hold.shape[1], len(smooth)
    z = np.concatenate([q + h * p / system.mass, np.zeros(e + s)])
    for _ in range(MOST):
        x, nu, lam = z[:n], z[n : n + e], z[n + e :]
        middle = 0.5 * (q + x)
        pull = system.slope(middle) if method.base == "midpoint" else system.slope(q)
        gap, gradient = system.gaps(x)
        value, end_hold = system.holds(x)
        if at_end:
            push = 0.5 * projected(system, x, gradient[:, smooth])
        first = system.mass * (x - q) / h - p + 0.5 * h * pull - push @ lam - hold @ nu
        w = gap[smooth]
        f = np.concatenate([first, value, residual(lam, w)])
        if np.abs(f).max() < SOLVED * (1.0 + np.abs(p).max() + np.abs(q).max() / abs(h)):
            return x
        along, across = slopes(lam, w)
        j = np.zeros((n + e + s, n + e + s))
        j[:n, :n] = np.diag(system.mass) / h
        if method.base == "midpoint":
            j[:n, :n] += 0.25 * h * system.curvature(middle)
        j[:n, n : n + e], j[:n, n + e :] = -hold, -push
        j[n : n + e, :n] = end_hold.T
        j[n + e :, :n] = across[:, None] * gradient[:, smooth].T
        j[n + e :, n + e :] = np.diag(along)
        z = z - np.linalg.lstsq(j, f, rcond=1e-14)[0]
    raise NoStep(f"the equations of a step of {h:g} have no solution that was found")


def momentum(system: Mechanics, method: Method, q: np.ndarray, x: np.ndarray, p: np.ndarray, smooth: Any) -> np.ndarray:
    """Return the momentum at a step's end, without what is against equalities and smooth inequalities that touch."""
    h = method.h
    pull = system.slope(0.5 * (q + x)) if method.base == "midpoint" else system.slope(x)
    y = system.mass * (x - q) / h - 0.5 * h * pull
    gap, gradient = system.gaps(x)
    _, hold = system.holds(x)
    touching = [k for k in smooth if abs(gap[k]) <= 10.0 * TOUCH]
    normal = np.concatenate([hold, gradient[:, touching]], axis=1)
    if normal.shape[1] == 0:
        return y
    lift = normal / system.mass[:, None]
    return y - normal @ np.linalg.lstsq(normal.T @ lift, lift.T @ y, rcond=1e-12)[0]


def step(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step: of the generalised or of the discrete-smooth integrator."""
    gap, gradient = system.gaps(q)
    if method.smooth_only:
        smooth = np.arange(len(gap))
    else:
        later, ahead = system.gaps(moved(system, method, q, p))
        gradient = ahead if method.linearized else gradient
        active = np.flatnonzero((later <= 0.0) | (np.abs(gap) <= TOUCH))
        if len(active):
            normal = projected(system, q, gradient[:, active])
            weight = metric(system, method, q)
            impulse, _ = reflected(normal.T @ weight @ normal, normal.T @ weight @ p)
            p = p + normal @ impulse
        rate = projected(system, q, gradient).T @ (p / system.mass)
        smooth = np.flatnonzero((np.abs(gap) <= TOUCH) & (np.abs(rate) <= TOUCH * (1.0 + np.abs(p).max())))
    x = moved(system, method, q, p, smooth)
    return x, momentum(system, method, q, x, p, smooth)


def direct(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step of the midpoint rule, inequalities put in at its end (appendix B)."""
    x = moved(system, method, q, p, np.arange(len(system.gaps(q)[0])), at_end=True)
    return x, 2.0 * system.mass * (x - q) / method.h - p
