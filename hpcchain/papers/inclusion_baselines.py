"""Integrators that Kaufman and Pai 2012 compare theirs with, dense and serial: all of them lose or gain energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.papers.inclusions import metric, momentum, moved
from hpcchain.papers.result import NoStep

if TYPE_CHECKING:
    from hpcchain.papers.inclusions import Mechanics, Method

MOST_CONTACTS, HALVINGS = 50, 60
NOTHING = 1e-14
"""Part of a step that is not made."""
OUTER = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
"""Length of the first and last of the three steps of order two that make one of order four (Yoshida 1990)."""


def ball(rule: str, height: float, steps: int, h: float, gravity: float = 9.8) -> tuple[np.ndarray, np.ndarray]:
    """Return heights and speeds (steps + 1,) of a unit mass that falls on the ground.

    Parameters
    ----------
    rule : str
        "midpoint" or "endpoint": the midpoint rule with the contact's force put in, so that the mean of both ends, or
        the end, is not below the ground. With "newmark" the explicit rule of Newmark for gravity, the contact's
        acceleration implicit, half of it in the position and all of it in the speed (Kane et al. 1999).
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


def plain(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step without contacts."""
    x = moved(system, method, q, p)
    return x, momentum(system, method, q, x, p, ())


def fourth(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what `plain` does, of order four: three steps of the base, the one in the middle backwards."""
    for part in (OUTER, 1.0 - 2.0 * OUTER, OUTER):
        q, p = plain(system, replace(method, h=part * method.h), q, p)
    return q, p


def collision(
    system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray, exact: bool = True, cut_by: Callable = plain
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and momentum after a step that is cut at each contact, reflected there, and gone on with.

    Parameters
    ----------
    exact : bool
        Whether contact is found by halving the step; else by linear interpolation of the gap over it.
    cut_by : callable
        Makes the steps to contacts and away from them.

    Raises
    ------
    NoStep
        When there are too many contacts within one step.
    """
    left, go = method.h, plain
    for _ in range(MOST_CONTACTS):
        if left <= NOTHING * method.h:
            return q, p
        part = replace(method, h=left)
        gap = system.gaps(q)[0]
        x, y = go(system, part, q, p)
        later = system.gaps(x)[0]
        if later.min() >= 0.0:
            return x, y
        worst, go = int(np.argmin(later)), cut_by
        if exact:
            used = cut(system, part, q, p, worst, cut_by)
        else:
            used = left * max(gap[worst], 0.0) / (gap[worst] - later[worst])
        if used > NOTHING * method.h:
            q, p = cut_by(system, replace(method, h=used), q, p)
            left -= used
        normal = system.gaps(q)[1][:, worst]
        weight = metric(system, method, q)
        rate = normal @ weight @ p
        p = p - 2.0 * min(rate, 0.0) / (normal @ weight @ normal) * normal
    raise NoStep("too many contacts within a step")


def cut(system: Mechanics, method: Method, q: np.ndarray, p: np.ndarray, which: int, cut_by: Callable) -> float:
    """Return the longest part of a step found by halving after which a gap that is negative at its end is not."""
    low, high = 0.0, method.h
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if system.gaps(cut_by(system, replace(method, h=middle), q, p)[0])[0][which] >= 0.0:
            low = middle
        else:
            high = middle
    return low


finer = partial(collision, cut_by=fourth)
"""Steps of order four to contacts and away from them. With reflections that keep H2 these are the two parts that
stabilize collisions in Bond and Leimkuhler 2007."""
interpolated = partial(collision, exact=False)
"""Interpolated contact."""
