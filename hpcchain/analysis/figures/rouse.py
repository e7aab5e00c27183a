"""Rouse modes of chains: their mean squares, and how long they last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import autocorrelations, correlation_times, flat
from hpcchain.analysis.figures.figure import AREA, TIME, Slab, rows
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

MODES = 16
DRAWN = 4
"""Modes whose whole correlations are given."""

NOTHING = 1e-20
"""A mode whose mean square is less than this part of the greatest is round-off, as even modes of rods are."""


class RouseModes:
    """X_p = 1/b sum over beads i = 0 ... b - 1 of r_i cos(p pi (i + 1/2) / b), p = 1, 2, ... (Doi and Edwards 1986)."""

    of_velocity = False

    def __init__(self, kind: Kind) -> None:
        self.kind, self.columns = kind, min(kind.size - 1, MODES)
        p, i = np.arange(1, self.columns + 1)[:, None], np.arange(kind.size)
        self.waves = np.cos(p * np.pi * (i + 0.5) / kind.size) / kind.size

    def curves(self, slab: Slab) -> np.ndarray:
        """Return the products of each mode by lag, summed over molecules."""
        modes = (np.einsum("tmbd,b->tmd", slab.position, wave) for wave in self.waves)
        return np.array([autocorrelations(flat(mode)) for mode in modes])

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the mean squares, the correlation times, and the first modes' correlations."""
        count, name = self.columns, self.kind.name
        p = np.arange(1.0, count + 1.0)
        square, doubt = sums.estimate(lambda x: rows(x, count)[:, 0])
        found: list[Value | Curve] = [Curve("rouse_squares", name, AREA, "mode", "", p, square, doubt, ("log", "log"))]
        if len(lag) < 2:
            return found

        def correlations(x: np.ndarray) -> np.ndarray:
            table = rows(x, count)
            real = table[:, :1] > NOTHING * table[:, 0].max()
            return np.where(real, table / table[:, :1], np.nan)

        times, errors = correlation_times(sums, lag, correlations)
        found.append(Curve("rouse_times", name, TIME, "mode", "", p, times, errors, ("log", "log")))
        value, error = sums.estimate(lambda x: correlations(x).ravel())
        for mode in range(min(count, DRAWN)):
            y, e = rows(value, count)[mode], rows(error, count)[mode]
            found.append(Curve(f"rouse_correlation_{mode + 1}", name, "", "lag", TIME, lag, y, e))
        return found
