"""Wall seconds per phase of a run, for the table at the end and in every checkpoint."""

import time
from contextlib import contextmanager


class Timers:
    """Named stop watches.

    Attributes
    ----------
    seconds : dict of str -> float
        Wall seconds of this rank by phase.
    """

    def __init__(self):
        self.seconds = {}
        self.begin = time.perf_counter()
        self.cpu = time.process_time()

    @contextmanager
    def phase(self, name):
        """Count the time spent inside towards a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @property
    def wall(self):
        """Wall seconds since the start."""
        return time.perf_counter() - self.begin

    def table(self, comm):
        """Return dict of phase -> (min, avg, max) wall seconds over ranks; collective."""
        own = dict(self.seconds, total=self.wall)
        every = comm.allgather(own)
        names = sorted({name for rank in every for name in rank}, key=lambda name: -max(r.get(name, 0.0) for r in every))
        columns = {name: [rank.get(name, 0.0) for rank in every] for name in names}
        return {name: (min(v), sum(v) / len(v), max(v)) for name, v in columns.items()}
