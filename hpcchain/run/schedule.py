"""When frames, reports and checkpoints are due: whole multiples of an interval, counted, never summed."""

import math
from fractions import Fraction


class Schedule:
    """Times k * every for k = 0, 1, 2, ….

    The interval is taken as it is written in decimal and each multiple is rounded once, so the third multiple of 0.1
    is 0.3, and schedules of different intervals meet at the very same times.

    Parameters
    ----------
    every : float
        Interval [time].
    start : float
        Times before it are not due [time].
    served : float, optional
        Time that was served last; times up to it are not due again [time].

    Attributes
    ----------
    next : float
        The next time due [time].
    served : float or None
        The time that was served last [time].
    """

    def __init__(self, every: float, start: float = 0.0, served: float | None = None) -> None:
        self._every = Fraction(repr(float(every)))
        self.served = served
        self.next = self._first(start if served is None else max(start, math.nextafter(served, math.inf)))

    def due(self, time: float) -> bool:
        """Return whether the next one is due at this very time."""
        return self.next == time

    def serve(self) -> None:
        """Note that the next one is done."""
        self.served = self.next
        self.next = self._first(math.nextafter(self.served, math.inf))

    def _first(self, time: float) -> float:
        """Return the first multiple, as rounded, that is not before a time."""
        count = math.ceil(Fraction(time) / self._every)
        if count > 0 and float((count - 1) * self._every) >= time:
            count -= 1
        return float(count * self._every)
