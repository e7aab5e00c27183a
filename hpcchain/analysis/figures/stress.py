"""The autocorrelation of the stress, and the shear viscosity by Helfand's moment and by Green and Kubo.

The stress of an interval between two reports is the mean of contacts' part in it, which is exact though contacts are
sudden, and of the centres' part at its two ends. Its sum is Helfand's moment at the reports' times. Five components
of the traceless tensor are independent where nothing has a direction; so are blocks of time much longer than the lags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcchain.analysis.correlate import lags_of
from hpcchain.analysis.figures.figure import TIME
from hpcchain.analysis.statistics import left_out, mean_and_error, split
from hpcchain.analysis.tables import Curve, Value

PART = 20
"""The longest lag is the time analysed over this."""
BLOCKS = 8
"""Of origins of time, kept apart for the errors: each is longer than two of the longest lags."""
FEWEST = 8 * PART
"""Intervals without which there is nothing to find."""
ZERO = 2.0
"""What later lags add to the integral is zero within so many of its errors."""
REACH = 16
"""Later lags that are looked at are so many times longer: beyond them there is noise alone."""
SURE = 0.15
"""A viscosity whose error is a greater part of it than this is none."""
COARSE = 0.02
"""The same of what the centres' part between reports is not known by."""
DIRECTED = 5.0
"""A component whose mean is so many errors from zero shows that there is a direction."""
VISCOSITY = "mass / (length time)"
CURVES = (
    ("stress_correlation", "energy / length^3", "log"),
    ("stress_integral", VISCOSITY, "linear"),
    ("stress_moment", "mass / length", "log"),
)
"""Names, units and scales, in the order of the sums."""


def traceless(tensor: np.ndarray) -> np.ndarray:
    """Return (R, 5) xy, xz, yz, (xx - yy) / 2 and (2 zz - xx - yy) / (2 sqrt 3) of (R, 3, 3): equal mean squares."""
    xx, yy, zz = (tensor[:, k, k] for k in range(3))
    pairs = [tensor[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    return np.stack([*pairs, 0.5 * (xx - yy), (2.0 * zz - xx - yy) / np.sqrt(12.0)], axis=1)


@dataclass(frozen=True)
class StressSeries:
    """The stress at even distances of time.

    Attributes
    ----------
    step : float
        From one report to the next [time].
    centres : (n + 1, 5) float64 array
        Of centres of mass, at each report [energy / length^3].
    contacts : (n, 5) float64 array
        Of contacts, in the mean from each report to the next [energy / length^3].
    scale : float
        Volume over temperature [length^3 / energy].
    """

    step: float
    centres: np.ndarray
    contacts: np.ndarray
    scale: float

    @property
    def mean(self) -> np.ndarray:
        """(n, 5) the stress of each interval."""
        return self.contacts + 0.5 * (self.centres[1:] + self.centres[:-1])

    def figures(self) -> list[Value | Curve]:
        """Return correlation, its integral and Helfand's moment by lag, and the viscosity or why there is none."""
        lags = lags_of(len(self.contacts) // PART + 1)
        sums, origins = self.sums(lags)
        found = sums.sum(axis=0) / origins.sum()
        error = left_out(sums, origins, lambda x: x)
        curves: list[Value | Curve] = []
        for (name, unit, scale), y, e in zip(CURVES, found.reshape(3, -1), error.reshape(3, -1), strict=True):
            curves.append(Curve(name, "", unit, "lag", TIME, lags[1:] * self.step, y[1:], e[1:], ("log", scale)))
        return [*curves, *self.viscosity(lags, sums, origins)]

    def sums(self, lags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums over origins of time in each block, of each component apart, and how many origins these are.

        Parameters
        ----------
        lags : (k,) int64 array
            In reports, from 0 on.

        Returns
        -------
        sums : (5 BLOCKS, 3 k) float64 array
            G(t), its integral to t, and half the squared change of Helfand's moment, times volume over temperature.
        origins : (5 BLOCKS,) float64 array
        """
        stress, last = self.mean, int(lags[-1])
        moment = self.step * np.concatenate([np.zeros((1, 5)), np.cumsum(stress, axis=0)])
        rows, origins = [], []
        bounds = split(len(stress) - last, BLOCKS)
        for low, high in zip(bounds, bounds[1:], strict=False):
            product = self.scale * products(stress[low : high + last], high - low)[: last + 1]
            integral = self.step * (np.cumsum(product, axis=0) - 0.5 * (product[0] + product))
            change = [moment[low + lag : high + lag] - moment[low:high] for lag in lags]
            squares = 0.5 * self.scale * np.array([np.sum(one**2, axis=0) for one in change])
            rows.append(np.concatenate([product[lags], integral[lags], squares]).T)
            origins.append(np.full(5, float(high - low)))
        return np.concatenate(rows), np.concatenate(origins)

    def viscosity(self, lags: np.ndarray, sums: np.ndarray, origins: np.ndarray) -> list[Value | Curve]:
        """Return the viscosity from both, and the lag from which on the integral is level; or why there is none."""
        start, why = self.plateau(lags, sums, origins)
        if why:
            return [Value("viscosity", "", np.nan, np.nan, VISCOSITY, why=why)]
        level, count = (lags >= 2 * start) & (lags <= 4 * start), len(lags)

        def both(x: np.ndarray) -> np.ndarray:
            slope = np.polynomial.polynomial.polyfit(lags[level] * self.step, x[2 * count :][level], 1)[1]
            return np.array([slope, x[count : 2 * count][level].mean()])

        value, error = both(sums.sum(axis=0) / origins.sum()), left_out(sums, origins, both)
        between = self.unknown()
        error = np.hypot(error, between)
        if between > COARSE * value[0]:
            shorter = self.step * np.sqrt(COARSE * max(value[0], 0.0) / between)
            why = f"reports are too far apart for the centres' part: a report_every below {shorter:.2g} is needed"
        elif not error[0] <= SURE * value[0]:
            why = f"its error of {error[0]:.2g} is more than {SURE:g} of {value[0]:.3g}: make the run longer"
        if why:
            return [Value("viscosity", "", np.nan, np.nan, VISCOSITY, why=why)]
        return [
            Value("viscosity", "", float(value[0]), float(error[0]), VISCOSITY),
            Value("viscosity_green_kubo", "", float(value[1]), float(error[1]), VISCOSITY),
            Value("stress_plateau", "", 2.0 * start * self.step, np.nan, TIME),
        ]

    def plateau(self, lags: np.ndarray, sums: np.ndarray, origins: np.ndarray) -> tuple[int, str]:
        """Return the shortest lag from which on no doubling adds to the integral, in reports; or 0 and why none is."""
        directed = self.directed()
        if directed:
            return 0, directed
        longest, count = int(lags[-1]), len(lags)
        times = np.unique((longest / np.sqrt(2.0) ** np.arange(60)).astype(np.int64))
        at = np.searchsorted(lags, times[times > 0])
        why = ""
        for start in at[4 * lags[at] <= longest]:
            first = lags[start]
            later = at[(lags[at] >= 2 * first) & (lags[at] <= REACH * first)]
            more, error = added(sums, origins, count + start, count + later)
            most = int(np.argmax(np.abs(more) / error))
            if np.abs(more[most]) <= ZERO * error[most]:
                return int(first), ""
            why = (
                f"G(t) has not come to zero: after lag {first * self.step:.4g} it adds {more[most]:.3g} to the "
                f"integral, error {error[most]:.2g}; make the run longer"
            )
        return 0, why

    def directed(self) -> str:
        """Return which component's mean is not zero, where a viscosity has no meaning; "" where none is."""
        for name, series in zip(("xy", "xz", "yz", "xx - yy", "2 zz - xx - yy"), self.mean.T, strict=True):
            mean, error = mean_and_error(series)
            if abs(mean) > DIRECTED * error:
                return (
                    f"the mean of the stress {name} is {mean:.3g}, error {error:.2g}: there is a flow, a field or an "
                    "order, or the run is too short"
                )
        return ""

    def unknown(self) -> float:
        """Return what the viscosity may be wrong by, since the centres' part is known at reports alone.

        The sum over reports in place of the integral of a correlation that decays as an exponential.
        """
        square = float(np.mean(self.centres**2))
        ratio = float(np.mean(self.centres[1:] * self.centres[:-1])) / square if square > 0.0 else 1.0
        if ratio >= 1.0:
            return 0.0
        decay = 1.0 / np.log(ratio) if ratio > 0.0 else 0.0
        return self.scale * square * self.step * (0.5 * (1.0 + max(ratio, 0.0)) / (1.0 - max(ratio, 0.0)) + decay)


def added(sums: np.ndarray, origins: np.ndarray, first: int, later: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much means of the columns `later` exceed that of the column `first`, and the errors."""
    return (
        (sums[:, later] - sums[:, [first]]).sum(axis=0) / origins.sum(),
        left_out(sums, origins, lambda x: x[later] - x[first]),
    )


def products(series: np.ndarray, origins: int) -> np.ndarray:
    """Return sums over the first so many rows of their products with those 0, 1, ... rows later, by transforms.

    Parameters
    ----------
    series : (n, c) float64 array
    origins : int

    Returns
    -------
    (n - origins + 1, c) float64 array
    """
    length = 1 << (len(series) - 1).bit_length()
    early, all_rows = np.fft.rfft(series[:origins], length, axis=0), np.fft.rfft(series, length, axis=0)
    return np.fft.irfft(early.conj() * all_rows, length, axis=0)[: len(series) - origins + 1]
