"""Autocorrelations of end-to-end vectors and of velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import autocorrelations, correlation_times, flat
from hpcchain.analysis.figures.figure import TIME, Slab, rows
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums


class EndRelaxation:
    """The autocorrelation of the vector between a molecule's ends (`far_ends`), whose mean is taken as zero."""

    columns, of_velocity = 1, False

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

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


class VelocityCorrelation:
    """The autocorrelations of the velocities of beads and of centres of mass, each over its value at lag 0."""

    columns, of_velocity = 2, True

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

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
