"""The run's log: one JSON object per report in run.jsonl, one line per report on stderr."""

import json
import logging
import math
import time

LOG = logging.getLogger("hpcchain.run")


class RunLog:
    """Writes what a report says, on rank 0 only.

    Parameters
    ----------
    path : Path or None
        run.jsonl; None on other ranks.
    end : float
        Simulated time at which the run ends, for the estimate of the time left [time].
    """

    def __init__(self, path, end):
        self.path = path
        self.end = end
        self.last = None

    def report(self, simulated, row):
        """Append a report.

        Parameters
        ----------
        simulated : float
            [time]
        row : dict
            Further entries by name; contacts is the total so far, energy_error relative.
        """
        now = time.time()
        speed = None
        if self.last is not None and now > self.last[0] and simulated > self.last[1]:
            speed = (simulated - self.last[1]) / (now - self.last[0])
        left = (self.end - simulated) / speed if speed else None
        self.last = (now, simulated)
        if self.path is None:
            return
        record = {"time": simulated, "wall": now, **row}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean(record)) + "\n")
        LOG.info("t %.6g  contacts %d  %.3g events/s  energy error %.1e  %s", simulated, row["contacts"],
                 row["events_per_second"], row["energy_error"], "" if left is None else f"{duration(left)} left")


def clean(record):
    """Return a record in which numbers that JSON lacks are None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}


def duration(seconds):
    """Return a time span for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
