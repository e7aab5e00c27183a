"""The run's log: one JSON object per report in run.jsonl."""

import json
import math
import time
from pathlib import Path
from typing import Any

from hpcchain.io.hdf5 import plain
from hpcchain.observe.observables import total_energy


class RunLog:
    """Writes what a report says, on rank 0 only.

    Parameters
    ----------
    path : Path or None
        run.jsonl; None on other ranks.
    contacts : int
        Contacts of the run before this start.
    """

    def __init__(self, path: Path | None, contacts: int = 0) -> None:
        self._path = path
        self._last = (time.perf_counter(), contacts)

    def report(
        self,
        simulated: float,
        observables: dict,
        contacts: int,
        wall_contacts: int,
        error: float,
        windows: dict | None = None,
        left: float | None = None,
    ) -> Any:
        """Append a report; return it in a few words.

        Parameters
        ----------
        simulated : float
            [time]
        observables : dict
            See `Observables.measure`.
        contacts, wall_contacts : int
            Between beads, and with walls, of the whole run so far.
        error : float
            Of the energy, relative (`EnergyWatch`).
        windows : dict of str -> number, optional
            How the ranks work together: passes_per_window, imbalance, ...
        left : float, optional
            Wall seconds to the end of the run; None: not known.
        """
        events = contacts + wall_contacts
        rate = self._rate(events)
        row = {
            "time": simulated,
            "wall": time.time(),
            "events": events,
            "contacts": contacts,
            "wall_contacts": wall_contacts,
            "events_per_second": rate,
            "energy": total_energy(observables),
            "energy_error": error,
            "temperature": observables["temperature"],
            "pressure": observables["pressure"],
            "momentum": float(abs(observables["momentum"]).max()),
            "time_left": left,
            **(windows or {}),
        }
        if self._path is not None:
            with plain.appending(self._path) as file:
                file.write(json.dumps(clean(row)) + "\n")
        return f"events {events}  {rate:.3g} events/s  energy error {error:.1e}"

    def _rate(self, events: int) -> Any:
        """Return events per wall second since the last report; 0 where no time has passed."""
        now, (then, before) = time.perf_counter(), self._last
        self._last = (now, events)
        return (events - before) / (now - then) if now > then else 0.0


def clean(line: dict) -> dict:
    """Return a line in which numbers that JSON lacks are None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}


def duration(seconds: float) -> str:
    """Return a time span for people."""
    if seconds < 9.5:
        return f"{seconds:.2g} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    for unit, length, most in (("h", 3600.0, 48.0), ("days", 86400.0, 730.0), ("years", 365.25 * 86400.0, 3e10)):
        if seconds < most * length:
            return f"{seconds / length:.1f} {unit}"
    return "longer than anyone can wait"
