"""Autocorrelations of stress, pressure and flux of heat; viscosities and conductivity by Helfand, by Green and Kubo.

The flux of an interval between two reports is the mean of contacts' part in it, which is exact though contacts are
sudden, and of the centres' part at its two ends. Its sum is Helfand's moment at the reports' times. Five components
of the traceless tensor are independent where nothing has a direction, and so are the three of a vector, and blocks of
time much longer than the lags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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

SCALES = "log", "linear", "log"
"""Of the curves, in plots."""


class Transport(NamedTuple):
    """What fluxes show.

    Attributes
    ----------
    name, unit : str
        Of the coefficient.
    flux : str
        Its curves' names begin with this.
    units : (str, str, str)
        Of the flux's correlation, its integral, and the moment.
    components : tuple of str
    about_mean : bool
        Whether the flux is that about its mean over all reports, which is not zero.
    """

    name: str
    unit: str
    flux: str
    units: tuple[str, str, str]
    components: tuple[str, ...]
    about_mean: bool = False


VISCOSITY = "mass / (length time)"
OF_STRESS = "energy / length^3", VISCOSITY, "mass / length"
SHEAR = Transport("viscosity", VISCOSITY, "stress", OF_STRESS, ("xy", "xz", "yz", "xx - yy", "2 zz - xx - yy"))
BULK = Transport("bulk_viscosity", VISCOSITY, "pressure", OF_STRESS, ("pressure",), about_mean=True)
HEAT = Transport(
    "heat_conductivity",
    "1 / (length time)",
    "heat_flux",
    ("1 / (length time^2)", "1 / (length time)", "1 / length"),
    ("x", "y", "z"),
)


def traceless(tensor: np.ndarray) -> np.ndarray:
    """Return (R, 5) xy, xz, yz, (xx - yy) / 2 and (2 zz - xx - yy) / (2 sqrt 3) of (R, 3, 3): equal mean squares."""
    xx, yy, zz = (tensor[:, k, k] for k in range(3))
    pairs = [tensor[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    return np.stack([*pairs, 0.5 * (xx - yy), (2.0 * zz - xx - yy) / np.sqrt(12.0)], axis=1)


def trace(tensor: np.ndarray) -> np.ndarray:
    """Return (R, 1) the pressure, a third of the trace of (R, 3, 3)."""
    return np.trace(tensor, axis1=1, axis2=2)[:, None] / 3.0


@dataclass(frozen=True)
class FluxSeries:
    """A flux of c components at even distances of time.

    Attributes
    ----------
    of : Transport
    step : float
        From one report to the next [time].
    centres : (n + 1, c) float64 array
        Of centres of mass, at each report.
    contacts : (n, c) float64 array
        Of contacts, in the mean from each report to the next.
    scale : float
        Volume over temperature, for heat over its square.
    memory : float
        The molecules' longest correlation time: a shorter lag is taken for no plateau, however level noise lets the
        integral look, since what molecules carry as they turn decays half as long [time].
    """

    of: Transport
    step: float
    centres: np.ndarray
    contacts: np.ndarray
    scale: float
    memory: float = 0.0

    @property
    def mean(self) -> np.ndarray:
        """(n, c) the flux of each interval."""
        found = self.contacts + 0.5 * (self.centres[1:] + self.centres[:-1])
        return found - found.mean(axis=0) if self.of.about_mean else found

    def figures(self) -> list[Value | Curve]:
        """Return correlation, its integral and Helfand's moment by lag, and the coefficient or why there is none."""
        lags = lags_of(len(self.contacts) // PART + 1)
        sums, origins = self.sums(lags)
        found = sums.sum(axis=0) / origins.sum()
        error = left_out(sums, origins, lambda x: x)
        names = [f"{self.of.flux}_{part}" for part in ("correlation", "integral", "moment")]
        values = zip(found.reshape(3, -1), error.reshape(3, -1), strict=True)
        curves: list[Value | Curve] = []
        for name, unit, scale, (y, e) in zip(names, self.of.units, SCALES, values, strict=True):
            curves.append(Curve(name, "", unit, "lag", TIME, lags[1:] * self.step, y[1:], e[1:], ("log", scale)))
        return [*curves, *self.coefficient(lags, sums, origins)]

    def sums(self, lags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums over origins of time in each block, of each component apart, and how many origins these are.

        Parameters
        ----------
        lags : (k,) int64 array
            In reports, from 0 on.

        Returns
        -------
        sums : (c BLOCKS, 3 k) float64 array
            The correlation, its integral to t, and half the squared change of Helfand's moment, times the scale.
        origins : (c BLOCKS,) float64 array
        """
        flux, last = self.mean, int(lags[-1])
        moment = self.step * np.concatenate([np.zeros((1, flux.shape[1])), np.cumsum(flux, axis=0)])
        rows, origins = [], []
        bounds = split(len(flux) - last, BLOCKS)
        for low, high in zip(bounds, bounds[1:], strict=False):
            product = self.scale * products(flux[low : high + last], high - low)[: last + 1]
            integral = self.step * (np.cumsum(product, axis=0) - 0.5 * (product[0] + product))[lags]
            change = [moment[low + lag : high + lag] - moment[low:high] for lag in lags]
            squares = 0.5 * self.scale * np.array([np.sum(one**2, axis=0) for one in change])
            if self.of.about_mean:  # what the mean over all takes of both, which makes the moment come back to zero
                part = (lags / len(flux))[:, None]
                integral, squares = integral / (1.0 - 2.0 * part), squares / (1.0 - part)
            rows.append(np.concatenate([product[lags], integral, squares]).T)
            origins.append(np.full(flux.shape[1], float(high - low)))
        return np.concatenate(rows), np.concatenate(origins)

    def none(self, why: str) -> Value:
        """Return the coefficient as a Value that there is not, and why."""
        return Value(self.of.name, "", np.nan, np.nan, self.of.unit, why=why)

    def coefficient(self, lags: np.ndarray, sums: np.ndarray, origins: np.ndarray) -> list[Value | Curve]:
        """Return the coefficient from both, and the lag from which on the integral is level; or why there is none."""
        start, why = self.plateau(lags, sums, origins)
        if why:
            return [self.none(why)]
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
            return [self.none(why)]
        name, unit = self.of.name, self.of.unit
        return [
            Value(name, "", float(value[0]), float(error[0]), unit),
            Value(f"{name}_green_kubo", "", float(value[1]), float(error[1]), unit),
            Value(f"{self.of.flux}_plateau", "", 2.0 * start * self.step, np.nan, TIME),
        ]

    def plateau(self, lags: np.ndarray, sums: np.ndarray, origins: np.ndarray) -> tuple[int, str]:
        """Return the shortest lag from which on no doubling adds to the integral, in reports; or 0 and why none is."""
        directed = self.directed()
        if directed:
            return 0, directed
        longest, count = int(lags[-1]), len(lags)
        times = np.unique((longest / np.sqrt(2.0) ** np.arange(60)).astype(np.int64))
        at = np.searchsorted(lags, times[times > 0])
        why = (
            f"the longest lag, {longest * self.step:.4g}, is less than twice the molecules' correlation time of "
            f"{self.memory:.3g}: make the run longer"
        )
        for start in at[(4 * lags[at] <= longest) & (2 * self.step * lags[at] >= self.memory)]:
            first = lags[start]
            later = at[(lags[at] >= 2 * first) & (lags[at] <= REACH * first)]
            more, error = added(sums, origins, count + start, count + later)
            most = int(np.argmax(np.abs(more) - ZERO * error))
            if np.abs(more[most]) <= ZERO * error[most]:
                return int(first), ""
            why = (
                f"the correlation has not come to zero: after lag {first * self.step:.4g} it adds {more[most]:.3g} to "
                f"the integral, error {error[most]:.2g}; make the run longer"
            )
        return 0, why

    def directed(self) -> str:
        """Return which component's mean is not zero, where the coefficient has no meaning; "" where none is."""
        for name, series in zip(self.of.components, self.mean.T, strict=True):
            mean, error = mean_and_error(series)
            if abs(mean) > DIRECTED * error and not self.of.about_mean:
                return (
                    f"the mean of the {self.of.flux.replace('_', ' ')} {name} is {mean:.3g}, error {error:.2g}: there "
                    "is a flow, a field or an order, or the run is too short"
                )
        return ""

    def unknown(self) -> float:
        """Return what the coefficient may be wrong by, since the centres' part is known at reports alone.

        The sum over reports in place of the integral of a correlation that decays as an exponential.
        """
        centres = self.centres - self.centres.mean(axis=0) if self.of.about_mean else self.centres
        square = float(np.mean(centres**2))
        ratio = float(np.mean(centres[1:] * centres[:-1])) / square if square > 0.0 else 1.0
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
