"""Particles on a rigid line, and the matrices that give their multipliers (Tapia-McClung and Grønbech-Jensen 2005).

Units: coordinates [length], masses [mass], damping [mass / time].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """Particles on a line.

    Attributes
    ----------
    mass : (N,) array
        [mass]
    place : (N,) array
        Coordinates along the line, the first 0 and the last the line's length, growing [length].
    damping : (N,) array
        alpha_j of m_j R_j'' + alpha_j R_j' = F_j [mass / time].
    """

    mass: np.ndarray
    place: np.ndarray
    damping: np.ndarray

    @property
    def length(self) -> float:
        """The line's length [length]."""
        return self.place[-1]


def matrices(line: Line, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the (N - 2, N - 2) matrices of (15) and (16), or of (24) and (26), for the gauge gamma = A_1 / A_N.

    Parameters
    ----------
    line : Line
    weights : (N,) array
        A_j or B_j.
    """
    first, last, inner = weights[0], weights[-1], weights[1:-1]
    to_first, to_last = line.place[1:-1], line.length - line.place[1:-1]
    across = np.outer(to_last, np.full(len(inner), first)) + np.outer(to_first, to_first / to_last) * last
    across += np.diag(inner * line.length**2 / to_last)
    along = np.full((len(inner), len(inner)), line.length * first) + np.diag(inner * line.length * (1.0 + first / last))
    return -across, -along


def condition_numbers(n: int) -> tuple[float, float]:
    """Return the 2-norm condition numbers (across, along) of n equal particles at equal distances: Fig 2."""
    line = Line(np.ones(n), np.linspace(0.0, 1.0, n), np.zeros(n))
    across, along = matrices(line, np.ones(n))
    return float(np.linalg.cond(across)), float(np.linalg.cond(along))
