"""How many events a kernel is given at once: what takes about a tenth of a second, for Python to look at signals."""

from collections.abc import Callable
from time import perf_counter

LEAST, MOST = 32, 20000
AIM = 0.1  # seconds


class EventBudget:
    """Follows what events cost; some methods' take a thousand times as long as others'.

    Attributes
    ----------
    size : int
        Events for the next call.
    """

    def __init__(self) -> None:
        self.size = 1000

    def run_timed(self, call: Callable, used_up: int) -> int:
        """Return a call's result, and learn from how long it took.

        Parameters
        ----------
        call : callable
            Takes the number of events.
        used_up : int
            Its result when it has carried out all of them.
        """
        begin = perf_counter()
        result = call(self.size)
        spent = perf_counter() - begin
        if spent > 2.0 * AIM:
            self.size = max(int(self.size * AIM / spent), LEAST)
        elif spent < 0.5 * AIM and result == used_up:
            self.size = min(2 * self.size, MOST)
        return result
