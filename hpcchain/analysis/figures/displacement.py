"""Mean squared displacements g1, g2 and g3, and the diffusion coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import square_displacement
from hpcchain.analysis.figures.figure import AREA, TIME
from hpcchain.analysis.figures.motion import Slab, rows
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

INNER = 5
"""Beads in the middle of a chain that g1 and g2 are of."""
WINDOW = 0.1, 0.5
"""Lags between which D is fitted, as parts of the time analysed."""
NEAR, SURE = 0.1, 0.15
"""Motion is diffusive where the exponent is 1 within so much or two errors, and its error is no greater than that."""


class Displacement:
    """g1 of beads, g2 of beads about their molecule's centre of mass, g3 of the centres (Kremer and Grest 1990).

    Of chains longer than INNER the beads are those in the middle; of other molecules all.
    """

    columns, of_velocity = 3, False

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        first = (kind.size - INNER) // 2 if kind.linear and kind.size > INNER else 0
        self.inner = slice(first, first + INNER) if first else slice(None)

    def curves(self, slab: Slab) -> np.ndarray:
        """Return g1, g2 and g3 by lag, summed over molecules."""
        centre = self.kind.centres(slab.position)
        beads = slab.position[:, :, self.inner]
        count = beads.shape[2]
        return np.array(
            [
                square_displacement(beads) / count,
                square_displacement(beads - centre[:, :, None]) / count,
                square_displacement(centre),
            ]
        )

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the curves, and of g3 the diffusion coefficient with the exponent in the window of its fit."""
        value, error = sums.estimate(lambda x: x)
        found: list[Value | Curve] = []
        for name, y, e in zip(("g1", "g2", "g3"), rows(value, 3), rows(error, 3), strict=True):
            if name == "g3" or self.kind.size > 1:
                later = lag > 0.0
                found.append(
                    Curve(name, self.kind.name, AREA, "lag", TIME, lag[later], y[later], e[later], ("log", "log"))
                )
        window = (lag >= WINDOW[0] * lag[-1]) & (lag <= WINDOW[1] * lag[-1])
        if window.sum() < 2:
            why = "fewer than two lags from 0.1 to 0.5 of the time analysed: more frames are needed"
            return [*found, Value("diffusion", self.kind.name, np.nan, np.nan, "length^2 / time", why=why)]
        fit, doubt = sums.estimate(lambda x: diffusion(lag[window], rows(x, 3)[2][window]))
        why = not_diffusive(float(fit[1]), float(doubt[1]), lag[window])
        if why:
            fit[0] = doubt[0] = np.nan
        return [
            *found,
            Value("diffusion", self.kind.name, float(fit[0]), float(doubt[0]), "length^2 / time", why=why),
            Value("diffusion_exponent", self.kind.name, float(fit[1]), float(doubt[1])),
        ]


def not_diffusive(exponent: float, error: float, lag: np.ndarray) -> str:
    """Return why mean squared displacements of such an exponent at these lags give no D; "" where they do."""
    if np.isnan(exponent):
        return f"g3 does not grow from lag {lag[0]:.4g} to {lag[-1]:.4g}"
    doubt = "unknown" if np.isnan(error) else f"{error:.2g}"
    there = f"g3 grows as t^{exponent:.2f} from lag {lag[0]:.4g} to {lag[-1]:.4g}, error {doubt}"
    if abs(exponent - 1.0) > max(NEAR, 2.0 * np.nan_to_num(error)):
        return f"{there}; in diffusion it is t^1: make the run longer"
    if not error <= SURE:
        return f"{there}: too uncertain to be diffusion; more molecules or a longer run are needed"
    return ""


def diffusion(lag: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return D and the exponent of mean squared displacements: the slope of a line over 6, and d log / d log."""
    slope = np.polynomial.polynomial.polyfit(lag, square, 1)[1] if np.all(np.isfinite(square)) else np.nan
    known = np.all(np.isfinite(square)) and np.all(square > 0.0)
    exponent = np.polynomial.polynomial.polyfit(np.log(lag), np.log(square), 1)[1] if known else np.nan
    return np.array([slope / 6.0, exponent])
