"""Time as a count of power-of-two ticks plus a remainder, so that precision does not fade in a long run."""

import math

import numpy as np


def tick_for(scale: float) -> float:
    """Return the power of two at or below a 32nd of a characteristic time.

    Parameters
    ----------
    scale : float
        A characteristic time of the run, for example contact distance over thermal speed [time].

    Returns
    -------
    float
        The tick [time].
    """
    if not (scale > 0.0 and math.isfinite(scale)):
        return 2.0**-5
    return 2.0 ** (math.floor(math.log2(scale)) - 5)


def split(time: float, tick: float) -> tuple[float, float]:
    """Return (count, remainder) of a time: count is whole and stored as float64, 0 <= remainder < tick."""
    count = np.floor(time / tick)
    return count, time - count * tick


def since(ticks: np.ndarray, remainder: np.ndarray, time: float, tick: float) -> np.ndarray:
    """Return how long before a time the times are that ticks and remainder say [time]."""
    now, rest = split(time, tick)
    return (now - ticks) * tick + (rest - remainder)


def later(time: tuple[float, float], span: float, tick: float) -> tuple[float, float]:
    """Return the (count, remainder) that is a span [time] after another."""
    remainder = time[1] + span
    whole = math.floor(remainder / tick)
    return time[0] + whole, remainder - whole * tick
