"""Mean squared displacements g1, g2 and g3, and the diffusion coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.correlate import flat, square_distances
from hpcchain.analysis.figures.figure import AREA, TIME, Motion, Slab, rows
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

INNER = 5
"""Beads in the middle of a chain that g1 and g2 are of."""
LAST, WIDE, LEAST_WIDE = 0.5, 5.0, 1.5
"""D is fitted up to this part of the time analysed: from a lag to so many times that lag, or at least so many."""
NEAR, FAR, SURE = 0.03, 0.2, 0.25
"""Motion is diffusive where exponents are 1 within NEAR or two errors; that of the whole window is within FAR, too, and
its error is no greater than SURE."""

CUBE, CUBIC = 2.837297, 1e-9
"""What the images in a periodic cube add up to (Yeh and Hummer 2004); how much edges may differ, relative."""

TOO_SHORT = (
    "in a third of the time analysed centres of mass come no farther than the radius of gyration, so g3 "
    "does not show diffusion yet: make the run longer"
)


class Displacement(Motion):
    """g1 of beads, g2 of beads about their molecule's centre of mass, g3 of the centres (Kremer and Grest 1990).

    Of chains longer than INNER the beads are those in the middle; of other molecules all.
    """

    columns = 4

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        first = (kind.size - INNER) // 2 if kind.linear and kind.size > INNER else 0
        self.inner = slice(first, first + INNER) if first else slice(None)

    def curves(self, slab: Slab) -> np.ndarray:
        """Return g1, g2 and g3 by lag, summed over molecules, and R_g^2 of all lags."""
        centre = self.kind.centres(slab.position)
        beads = slab.position[:, :, self.inner]
        count = beads.shape[2]
        away = np.sum((slab.position - centre[:, :, None]) ** 2, axis=3) @ (self.kind.mass / self.kind.mass.sum())
        return np.array(
            [
                square_distances(flat(beads)) / count,
                square_distances(flat(beads - centre[:, :, None])) / count,
                square_distances(flat(centre)),
                np.full(len(centre), away.sum() / len(centre)),
            ]
        )

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the curves, and of g3 the diffusion coefficient with the exponent in the window of its fit."""
        value, error = sums.estimate(lambda x: x)
        found: list[Value | Curve] = []
        curves = zip(("g1", "g2", "g3"), rows(value, 4), rows(error, 4), strict=False)
        for name, y, e in curves:
            if name == "g3" or self.kind.size > 1:
                later = lag > 0.0
                found.append(
                    Curve(name, self.kind.name, AREA, "lag", TIME, lag[later], y[later], e[later], ("log", "log"))
                )
        return found + self.diffusion(sums, lag)

    def diffusion(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return the diffusion coefficient and the exponent of g3 in the window of its fit, or why there is none.

        Windows begin where centres have moved as far as their molecules' radius of gyration, which takes about the
        longest correlation time of a chain: in Rouse's model 0.8 of it. The first is taken in which motion is
        diffusive, each beginning at twice the lag of the one before.
        """
        _, _, g3, size = rows(sums.mean(), 4)
        moved = np.flatnonzero((g3 >= size) & (lag > 0.0))
        first = lag[moved[0]] if len(moved) else np.inf
        chosen = windows(lag, first)
        why = "" if chosen else TOO_SHORT
        value, error, reason = np.full(2, np.nan), np.full(2, np.nan), "more frames are needed"
        for window in chosen or windows(lag, LAST / WIDE * lag[-1])[:1]:
            fit, doubt = sums.estimate(lambda x, at=window: diffusion(lag[at], rows(x, 4)[2][at]))
            objection = not_diffusive(fit, doubt, lag[window])
            if not objection or not doubt[1] > SURE or np.isnan(value[1]):
                value, error, reason = fit[:2], doubt[:2], objection
            if not objection:
                break
        why = why or reason
        if why:
            value[0] = error[0] = np.nan
        found: list[Value | Curve] = [
            Value("diffusion", self.kind.name, float(value[0]), float(error[0]), "length^2 / time", why=why)
        ]
        if np.isfinite(value[1]):
            found.append(Value("diffusion_exponent", self.kind.name, float(value[1]), float(error[1])))
        return found


def without_box(diffusion: Value, viscosity: Value | None, temperature: float, box: np.ndarray) -> Value:
    """Return D in a box without end, of that in a periodic cube: D + xi T / (6 pi eta L) (Yeh and Hummer 2004).

    Parameters
    ----------
    diffusion, viscosity : Value
        Of the cube; their errors add up as squares.
    temperature : float
        [energy]
    box : (3,) float64 array
        Edges [length].
    """
    why = ""
    if viscosity is None or np.isnan(viscosity.value):
        why = "the viscosity is not known"
    elif np.isnan(diffusion.value):
        why = "the diffusion coefficient is not known"
    elif np.ptp(box) > CUBIC * box[0]:
        why = "the box is no cube"
    value = error = np.nan
    if viscosity is not None and not why:
        images = CUBE * temperature / (6.0 * np.pi * viscosity.value * float(box[0]))
        value = diffusion.value + images
        error = float(np.hypot(diffusion.error, images * viscosity.error / viscosity.value))
    return Value("diffusion_infinite_box", diffusion.molecules, value, error, diffusion.unit, why=why)


def windows(lag: np.ndarray, first: float) -> list[np.ndarray]:
    """Return the windows in which D may be fitted, as masks of the lags; each begins at twice the lag of the last."""
    found: list[np.ndarray] = []
    first = max(first, float(lag[1])) if len(lag) > 1 else np.inf
    while LEAST_WIDE * first <= LAST * lag[-1]:
        window = (lag >= first) & (lag <= min(WIDE * first, LAST * lag[-1]))
        if window.sum() > 1:
            found.append(window)
        first *= 2.0
    return found


def not_diffusive(fit: np.ndarray, doubt: np.ndarray, lag: np.ndarray) -> str:
    """Return why mean squared displacements at these lags give no D; "" where they do.

    Parameters
    ----------
    fit, doubt : (4,) float64 arrays
        What `diffusion` returns, with errors.
    lag : (k,) float64 array
    """
    for exponent, error, part in zip(fit[1:], doubt[1:], (lag, *halves(lag)), strict=True):
        if np.isnan(exponent):
            return f"g3 does not grow from lag {part[0]:.4g} to {part[-1]:.4g}"
        known = "unknown" if np.isnan(error) else f"{error:.2g}"
        there = f"g3 grows as t^{exponent:.2f} from lag {part[0]:.4g} to {part[-1]:.4g}, error {known}"
        far = FAR if part is lag and error <= SURE else np.inf
        if abs(exponent - 1.0) > min(max(NEAR, 2.0 * np.nan_to_num(error)), far):
            return f"{there}; in diffusion it is t^1: make the run longer"
        if part is lag and not error <= SURE:
            return f"{there}: too uncertain to be diffusion; more molecules or a longer run are needed"
    return ""


def halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second half of values; both have the one in the middle, and at least two."""
    middle = max(len(values) // 2, 1)
    return values[: middle + 1], values[min(middle, len(values) - 2) :]


def diffusion(lag: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Return D, the slope of mean squared displacements over 6, and d log / d log: of all, and of either half."""
    known = np.all(np.isfinite(square)) and np.all(square > 0.0)
    exponents = [
        slope(np.log(x), np.log(y)) if known else np.nan
        for x, y in ((lag, square), *zip(halves(lag), halves(square), strict=True))
    ]
    return np.array([slope(lag, square) / 6.0, *exponents])


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of the line that fits best."""
    away = x - x.mean()
    return float(away @ y / (away @ away))
