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
        if window.sum() >= 2:
            fit, doubt = sums.estimate(lambda x: diffusion(lag[window], rows(x, 3)[2][window]))
            names = (("diffusion", "length^2 / time"), ("diffusion_exponent", ""))
            found += [
                Value(name, self.kind.name, float(v), float(e), unit)
                for (name, unit), v, e in zip(names, fit, doubt, strict=True)
            ]
        return found


def diffusion(lag: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return D and the exponent of mean squared displacements: the slope of a line over 6, and d log / d log."""
    slope = np.polynomial.polynomial.polyfit(lag, square, 1)[1] if np.all(np.isfinite(square)) else np.nan
    known = np.all(np.isfinite(square)) and np.all(square > 0.0)
    exponent = np.polynomial.polynomial.polyfit(np.log(lag), np.log(square), 1)[1] if known else np.nan
    return np.array([slope / 6.0, exponent])
