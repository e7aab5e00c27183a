"""How long an autocorrelation lasts."""

import numpy as np

WINDOW = 5.0
"""The integral ends at the first lag that is so many times longer than what has been integrated so far."""


def integrated(lags: np.ndarray, values: np.ndarray) -> float:
    """Return the integral of an autocorrelation over its lags, by trapezoids, in the lags' unit.

    It ends where the lag is WINDOW times the integral so far (Sokal's rule): beyond it there is noise alone. Where the
    lags end before, the integral over all of them is a lower bound or a rough guess.

    Parameters
    ----------
    lags, values : (k,) float64 arrays
        From lag 0 on, values[0] = 1.

    Returns
    -------
    float
        NaN for fewer than two lags.
    """
    if len(lags) < 2:
        return np.nan
    so_far = np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(lags))
    done = np.flatnonzero(lags[1:] >= WINDOW * so_far)
    return float(max(so_far[done[0] if len(done) else -1], 0.0))
