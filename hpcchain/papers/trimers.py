"""Hartmann et al. 2009's trimers in the engine: their starts, its methods, and exact contacts.

Contacts of Leyendecker et al. 2012's trimer, which is `colliding`, are exactly at t_k = first + (k - 1) period. These
are sqrt(6) (E(150°) - E(45°)) and sqrt(6) (E(150°) - E(30°)), E the incomplete elliptic integral of the second kind of
parameter m = 2/3, evaluated to 18 digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.model.system import Options, System
from hpcchain.papers.engine import Track, followed, system_of
from hpcchain.papers.single_chain import trimer
from hpcchain.propagators.collocation.gauss_coefficients import gauss_tables

EXACT_FIRST, EXACT_PERIOD = 3.13359423732462494, 3.68939049002904533


def crossing(**method: Any) -> System:
    """Return the self-intersecting trimer of V A, which never collides; 2 E = 1."""
    velocity = [[0.5, -0.5, 0], [0.5, 0, 0], [-0.5, 0, 0]]
    return system_of([[1, 0, 0], [0, 0, 0], [0, 1, 0]], velocity, 3, collide=False, **method)


def colliding(**method: Any) -> System:
    """Return the trimer of V C, whose ends collide."""
    chain = trimer()
    return system_of(chain.position, chain.velocity, 3, **method)


def two(**method: Any) -> System:
    """Return the two trimers of V B as six beads."""
    position = [[1, 0, 0], [0, 0, 0], [0, -1, 0], [2, 0.5, 0], [3, 0.5, 0], [4, 0.5, 0]]
    velocity = [[0.5, 0, 0], [0.5, 0, 0], [0, 0, 0], [-0.5, 0, 0], [-0.5, 0, 0], [-0.5, 0, 0]]
    return system_of(position, velocity, 3, **method)


def collocation(tau: float, s: int, variant: str = "index2", solver: str = "auto", nested: bool = False) -> dict:
    """Return the settings of Physics of collocation by s stages over intervals tau [time].

    Steps of the printed variant ("paper") end at the last stage.

    Parameters
    ----------
    tau, s : float, int
    variant, solver : str
        As for `gauss_tables`.
    nested : bool
        Whether contacts are found by nested intervals down to 1e-4, as printed; else by their roots.
    """
    options = Options(variant=variant, stage_solver=solver, contact_search="nested" if nested else "root")
    step = float(tau * gauss_tables(s).node[-1]) if variant == "paper" else tau
    return {"propagator": "collocation", "stages": s, "step": step, "options": options}


def verlet(h: float, solver: str = "analytic") -> dict:
    """Return the settings of Physics of velocity Verlet with SHAKE and RATTLE, contacts by bisection."""
    return {"propagator": "rattle", "step": h, "options": Options(solver=solver, contact_search="bisection")}


def at_nodes(make: Any, method: dict, duration: float) -> Track:
    """Return the Track of a trimer at the nodes of a method until a time."""
    return followed(make(**method), np.arange(0.0, duration + 1e-9, method["step"]))


def interpolate(track: Track, times: np.ndarray) -> Any:
    """Return positions at given times from a Track without contacts, by cubics through positions and velocities."""
    k = np.clip(np.searchsorted(track.time, times) - 1, 0, len(track.time) - 2)
    h = (track.time[k + 1] - track.time[k])[:, None, None]
    u = (times - track.time[k])[:, None, None] / h
    a, b = track.position[k], track.position[k + 1]
    p, q = h * track.velocity[k], h * track.velocity[k + 1]
    return a + u * (p + u * ((3 * (b - a) - 2 * p - q) + u * (2 * (a - b) + p + q)))


def lengths(off: np.ndarray) -> np.ndarray:
    """Return the lengths (k,) of differences (k, n, 3) in the space of all coordinates."""
    return np.linalg.norm(off.reshape(len(off), -1), axis=1)


def contact_times(count: int) -> Any:
    """Return the exact times of the first contacts of `colliding`, period 3.689... (Leyendecker et al. 2012)."""
    return EXACT_FIRST + EXACT_PERIOD * np.arange(count)
