"""The run's log: one JSON object per report in run.jsonl, one line per report on stderr."""

import json
import logging
import math
import time
from pathlib import Path
from typing import Any

from hpcchain.io.hdf5 import plain
from hpcchain.observe.observables import total_energy

LOG = logging.getLogger("hpcchain.run")


class RunLog:
    """Writes what a report says, on rank 0 only.

    Parameters
    ----------
    path : Path or None
        run.jsonl; None on other ranks.
    end : float
        Simulated time at which the run ends, for the estimate of the time left [time].
    begin : float
        Simulated time at which this start of the run begins [time].
    contacts : int
        Contacts of the run before this start.

    Attributes
    ----------
    energy : float or None
        Energy of the run's first report, which errors refer to [mass length^2 / time^2].
    """

    def __init__(
        self, path: Path | None, end: float, begin: float = 0.0, contacts: int = 0, energy: float | None = None
    ) -> None:
        self.energy = energy
        self._path = path
        self._end = end
        self._last = (time.perf_counter(), begin, contacts)

    def report(
        self,
        simulated: float,
        observables: dict[str, Any],
        contacts: int,
        wall_contacts: int,
        windows: dict | None = None,
    ) -> None:
        """Append a report.

        Parameters
        ----------
        simulated : float
            [time]
        observables : dict
            See `Observables.measure`.
        contacts, wall_contacts : int
            Between beads, and with walls, of the whole run so far.
        windows : dict of str -> number, optional
            How the ranks work together: passes_per_window, imbalance, ...
        """
        events = contacts + wall_contacts
        speed, rate = self._speeds(simulated, events)
        energy = total_energy(observables)
        if self.energy is None:
            self.energy = energy
        row = {
            "time": simulated,
            "wall": time.time(),
            "events": events,
            "contacts": contacts,
            "wall_contacts": wall_contacts,
            "events_per_second": rate,
            "energy": energy,
            "energy_error": relative_error(energy, self.energy),
            "temperature": observables["temperature"],
            "pressure": observables["pressure"],
            "momentum": float(abs(observables["momentum"]).max()),
            "time_left": (self._end - simulated) / speed if speed else None,
            **(windows or {}),
        }
        if self._path is None:
            return
        plain.appended(self._path, json.dumps(clean(row)) + "\n")
        left = "" if row["time_left"] is None else f"  {duration(row['time_left'])} left"
        LOG.info(
            "t %.6g  events %d  %.3g events/s  energy error %.1e%s", simulated, events, rate, row["energy_error"], left
        )

    def _speeds(self, simulated: float, events: int) -> list:
        """Return simulated time and events per wall second since the last report; 0 where no time has passed."""
        now = time.perf_counter()
        elapsed = now - self._last[0]
        advance = (simulated - self._last[1], events - self._last[2])
        self._last = (now, simulated, events)
        return [change / elapsed if elapsed > 0.0 else 0.0 for change in advance]


def relative_error(energy: Any, reference: float | None) -> float:
    """Return how far an energy is off the reference, relative; 0 where that is 0 or not known."""
    return energy / reference - 1.0 if reference else 0.0


def clean(record: dict) -> dict:
    """Return a record in which numbers that JSON lacks are None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}


def duration(seconds: float) -> str:
    """Return a time span for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
