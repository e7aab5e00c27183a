"""Integrators that Kaufman and Pai 2012 compare theirs with, dense and serial: all of them lose or gain energy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.papers.inclusions import NoStep, metric, momentum, moved

if TYPE_CHECKING:
    from hpcchain.papers.inclusions import Mechanics, Method

MOST_CONTACTS, HALVINGS = 50, 60


def ball(rule: str, height: float, steps: int, h: float, gravity: float = 9.8) -> tuple[np.ndarray, np.ndarray]:
    """Return heights and speeds (steps + 1,) of a unit mass that falls on the ground.

    Parameters
    ----------
    rule : str
        "midpoint" or "endpoint": the midpoint rule with the contact's force put in, so that the mean of both ends, or
        the end, is not below the ground. "newmark": the explicit rule of Newmark for gravity, the
        contact's acceleration implicit, half of it in the position and all of it in the speed (Kane et al. 1999).
    """
    q, v = np.empty(steps + 1), np.empty(steps + 1)
    q[0], v[0] = height, 0.0
    for k in range(steps):
        free = q[k] + h * v[k] - 0.5 * h * h * gravity
        if rule == "newmark":
            contact = max(-2.0 * free / h**2, 0.0)
            q[k + 1] = max(free, 0.0)
            v[k + 1] = v[k] + 0.5 * h * (-gravity - gravity) + h * contact
            continue
        q[k + 1] = max(free, -q[k] if rule == "midpoint" else 0.0)
        v[k + 1] = 2.0 * (q[k + 1] - q[k]) / h - v[k]
    return q, v


def restitution(xi: float, h: float = 1e-3) -> float:
    """Return the speed after over that before a contact of the endpoint rule, at xi h |v| above the ground at first."""
    q, v = xi * h, -1.0
    free = q + h * v
    return v + 2.0 * max(-free, 0.0) / h


def collision(
    system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray, exact: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step that is cut at each contact, reflected there, and gone on with.

    Parameters
    ----------
    exact : bool
        Whether contact is found by halving the step; else by linear interpolation of the gap over it.

    Raises
    ------
    NoStep
        When there are too many contacts within one step.
    """
    left = method.h
    for _ in range(MOST_CONTACTS):
        part = replace(method, h=left)
        gap = system.gaps(q)[0]
        x = moved(system, part, q, p)
        later = system.gaps(x)[0]
        if later.min() >= 0.0:
            return x, momentum(system, part, q, x, p, ())
        worst = int(np.argmin(later))
        used = cut(system, part, q, p, worst) if exact else left * max(gap[worst], 0.0) / (gap[worst] - later[worst])
        if used > 1e-14 * method.h:
            part = replace(method, h=used)
            x = moved(system, part, q, p)
            q, p = x, momentum(system, part, q, x, p, ())
            left -= used
        normal = system.gaps(q)[1][:, worst]
        weight = metric(system, method, q)
        rate = normal @ weight @ p
        p = p - 2.0 * min(rate, 0.0) / (normal @ weight @ normal) * normal
    raise NoStep("too many contacts within a step")


def cut(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray, which: int) -> float:
    """Return the longest part of a step found by halving after which a gap that is negative at its end is not."""
    low, high = 0.0, method.h
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if system.gaps(moved(system, replace(method, h=middle), q, p))[0][which] >= 0.0:
            low = middle
        else:
            high = middle
    return low


def interpolated(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step of `collision` with interpolated contact."""
    return collision(system, method, q, p, exact=False)
