"""Autocorrelation of many vectors at once, frame by frame, by the multiple-tau method, and the time that it lasts.

Ramirez, Sukumaran, Vorselaars and Likhtman, J. Chem. Phys. 133, 154103 (2010). Short lags are correlated as they come;
for longer ones neighbouring values are averaged in pairs, again and again. So memory grows with the logarithm of the
number of frames: at most LAGS values of each vector are kept per doubling.
"""

import numpy as np

LAGS = 16
"""Lags of the first level, in values; each further level has the second half of so many again, of twice the length."""

WINDOW = 5.0
"""The integral ends at the first lag that is so many times longer than what has been integrated so far."""


class Correlator:
    """Sums for the autocorrelation of n vectors whose mean is known to be zero.

    That the mean is known, and not taken from the run, tells a run that is much shorter than its correlation time.
    """

    def __init__(self) -> None:
        self._levels = []

    def add(self, vectors: np.ndarray) -> None:
        """Take the (n, d) float64 vectors of the next frame; frames come at equal intervals."""
        for number in range(64):  # more frames than 2**64 never come
            if number == len(self._levels):
                self._levels.append(_Level(0 if number == 0 else LAGS // 2))
            vectors = self._levels[number].add(vectors)
            if vectors is None:
                return

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (lags, values): lags (k,) in frames from 0 on, and the autocorrelation (k,), 1 at lag 0.

        Empty arrays where there is no frame, and where all vectors are zero.
        """
        lags, values = [], []
        for number, level in enumerate(self._levels):
            for lag in range(level.first, LAGS):
                if level.pairs[lag]:
                    lags.append(lag * 2**number)
                    values.append(level.sums[lag] / level.pairs[lag])
        if not values or not values[0] > 0.0:
            return np.empty(0), np.empty(0)
        return np.array(lags, dtype=np.float64), np.array(values) / values[0]

    def time(self) -> float:
        """Return the integrated correlation time in frames (`integrated`), NaN where there is none."""
        return integrated(*self.curve())


class _Level:
    """Lags of one resolution: the last LAGS values and, per lag, the sum of products and how many."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.sums, self.pairs = np.zeros(LAGS), np.zeros(LAGS, dtype=np.int64)
        self._kept, self._waiting = [], None

    def add(self, vectors: np.ndarray) -> np.ndarray | None:
        """Take the next value; return the mean of two where a pair is complete, for the next level, else None."""
        self._kept = [vectors, *self._kept[: LAGS - 1]]
        for lag in range(self.first, len(self._kept)):
            self.sums[lag] += np.vdot(vectors, self._kept[lag])
            self.pairs[lag] += 1
        if self._waiting is None:
            self._waiting = vectors  # type: ignore[assignment]
            return None
        pair, self._waiting = 0.5 * (self._waiting + vectors), None
        return pair


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
