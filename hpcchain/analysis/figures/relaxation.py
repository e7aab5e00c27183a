"""Autocorrelations of end-to-end vectors and of velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import autocorrelation, integrated
from hpcchain.analysis.figures.figure import TIME, Slab, rows
from hpcchain.analysis.tables import Curve, Value

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
        return autocorrelation(slab.position[:, :, high] - slab.position[:, :, low])[None]

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the normalised correlation, and its integral, the correlation time."""
        value, error = sums.estimate(lambda x: x / x[0])
        name = self.kind.name
        time, doubt = sums.estimate(lambda x: integrated(lag, x / x[0]) if x[0] > 0.0 else np.nan)
        return [
            Curve("end_correlation", name, "", "lag", TIME, lag, value, error),
            Value("end_correlation_time", name, float(time[0]), float(doubt[0]), TIME),
        ]


class VelocityCorrelation:
    """The autocorrelations of the velocities of beads and of centres of mass, each over its value at lag 0."""

    columns, of_velocity = 2, True

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def curves(self, slab: Slab) -> np.ndarray:
        """Return the products by lag, of beads and of centres, summed over molecules."""
        beads = autocorrelation(slab.velocity) / self.kind.size
        return np.array([beads, autocorrelation(self.kind.centres(slab.velocity))])

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the normalised correlations, and the mean squared velocities."""
        value, error = sums.estimate(lambda x: (rows(x, 2) / rows(x, 2)[:, :1]).ravel())
        square, doubt = sums.estimate(lambda x: rows(x, 2)[:, 0])
        found: list[Value | Curve] = []
        for number, of in enumerate(("bead", "centre")):
            if of == "centre" or self.kind.size > 1:
                y, e = rows(value, 2)[number], rows(error, 2)[number]
                found.append(Curve(f"velocity_correlation_{of}", self.kind.name, "", "lag", TIME, lag, y, e))
                found.append(
                    Value(
                        f"velocity_square_{of}",
                        self.kind.name,
                        float(square[number]),
                        float(doubt[number]),
                        "length^2 / time^2",
                    )
                )
        return found
