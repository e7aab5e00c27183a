"""Hartmann et al. 2009's trimers: their starts, exact motion, and a Verlet reference.

Contacts of Leyendecker et al. 2012's trimer, which is `colliding`, are exactly at t_k = first + (k - 1) period. These
are sqrt(6) (E(150°) - E(45°)) and sqrt(6) (E(150°) - E(30°)), E the incomplete elliptic integral of the second kind of
parameter m = 2/3, evaluated to 18 digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.papers.chains import Beads

EXACT_FIRST, EXACT_PERIOD = 3.13359423732462494, 3.68939049002904533
CHAIN = [(0, 1), (1, 2)]


def crossing() -> Any:
    """Return the self-intersecting trimer of V A, which never collides; 2 E = 1."""
    return Beads([[1, 0, 0], [0, 0, 0], [0, 1, 0]], [[0.5, -0.5, 0], [0.5, 0, 0], [-0.5, 0, 0]], CHAIN, 0.0)


def colliding() -> Any:
    """Return the trimer of V C, whose ends collide."""
    return Beads([[1, 0, 0], [0, 0, 0], [0, -1, 0]], [[0, 0.5, 0], [0, 0, 0], [-0.5, 0, 0]], CHAIN)


def two() -> Any:
    """Return the two trimers of V B as six beads."""
    position = [[1, 0, 0], [0, 0, 0], [0, -1, 0], [2, 0.5, 0], [3, 0.5, 0], [4, 0.5, 0]]
    velocity = [[0.5, 0, 0], [0.5, 0, 0], [0, 0, 0], [-0.5, 0, 0], [-0.5, 0, 0], [-0.5, 0, 0]]
    return Beads(position, velocity, [*CHAIN, (3, 4), (4, 5)])


def exact(make: Any, duration: float, step: float = 0.05) -> Any:
    """Return a Track that is exact to round-off: twelve stages of the sound variant at a small step."""
    return make().collocate(step, 12, duration)


def interpolate(track: Any, times: np.ndarray) -> Any:
    """Return positions at given times from a Track without contacts, by cubics through positions and velocities."""
    k = np.clip(np.searchsorted(track.time, times) - 1, 0, len(track.time) - 2)
    h = (track.time[k + 1] - track.time[k])[:, None, None]
    u = (times - track.time[k])[:, None, None] / h
    a, b = track.position[k], track.position[k + 1]
    p, q = h * track.velocity[k], h * track.velocity[k + 1]
    return a + u * (p + u * ((3 * (b - a) - 2 * p - q) + u * (2 * (a - b) + p + q)))


def contact_times(count: int) -> Any:
    """Return the exact times of the first contacts of `colliding`, period 3.689... (Leyendecker et al. 2012)."""
    return EXACT_FIRST + EXACT_PERIOD * np.arange(count)
