"""Autocorrelations of end-to-end vectors, of velocities and of Rouse modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import autocorrelations, correlation_times, flat
from hpcchain.analysis.figures.figure import AREA, TIME, Motion, Slab, rows
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

MODES = 16
DRAWN = 4
"""Modes whose whole correlations are given."""

NOTHING = 1e-20
"""A mode whose mean square is less than this part of the greatest is round-off, as even modes of rods are."""


class EndRelaxation(Motion):
    """The autocorrelation of the vector between a molecule's ends (`far_ends`), whose mean is taken as zero."""

    def curves(self, slab: Slab) -> np.ndarray:
        """Return the products by lag, summed over molecules."""
        low, high = self.kind.ends
        return autocorrelations(flat(slab.position[:, :, high] - slab.position[:, :, low]))[None]

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the normalised correlation, and its integral, the correlation time."""
        value, error = sums.estimate(lambda x: x / x[0])
        name = self.kind.name
        time = correlation_times(sums, lag, lambda x: (x / x[0] if x[0] > 0.0 else np.full_like(x, np.nan))[None])
        return [
            Curve("end_correlation", name, "", "lag", TIME, lag, value, error),
            *numbers(["end_correlation_time"], name, time, [TIME]),
        ]


class VelocityCorrelation(Motion):
    """The autocorrelations of the velocities of beads and of centres of mass, each over its value at lag 0."""

    columns, of_velocity = 2, True

    def curves(self, slab: Slab) -> np.ndarray:
        """Return the products by lag, of beads and of centres, summed over molecules."""
        beads = autocorrelations(flat(slab.velocity)) / self.kind.size
        return np.array([beads, autocorrelations(flat(self.kind.centres(slab.velocity)))])

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the normalised correlations, and the mean squared velocities."""
        value, error = sums.estimate(lambda x: (rows(x, 2) / rows(x, 2)[:, :1]).ravel())
        squares = sums.estimate(lambda x: rows(x, 2)[:, 0])
        names = ("velocity_square_bead", "velocity_square_centre")
        found: list[Value | Curve] = []
        for number, of in enumerate(("bead", "centre")):
            if of == "centre" or self.kind.size > 1:
                y, e = rows(value, 2)[number], rows(error, 2)[number]
                found.append(Curve(f"velocity_correlation_{of}", self.kind.name, "", "lag", TIME, lag, y, e))
                found.append(numbers(names, self.kind.name, squares, ["length^2 / time^2"] * 2)[number])
        return found


class RouseModes(Motion):
    """X_p = 1/b sum over beads i = 0 ... b - 1 of r_i cos(p pi (i + 1/2) / b), p = 1, 2, ... (Doi and Edwards 1986)."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.columns = min(kind.size - 1, MODES)
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
