"""Contacts and virial of a run and of the present report interval, continued across restarts."""


class Tally:
    """Adds what the engine has counted since it was made to what the run had before.

    Parameters
    ----------
    engine : Engine
        Fresh: its counts are zero.
    counters : dict
        Those of the checkpoint that the run goes on from; empty for a new run.
    """

    def __init__(self, engine, counters):
        self._engine = engine
        self._contacts = counters.get("contacts", 0)
        self._wall_contacts = counters.get("wall_contacts", 0)
        self._interval_contacts = counters.get("interval_contacts", 0)
        self._interval_virial = counters.get("interval_virial", 0.0)
        self._start = (0, 0.0)

    @property
    def contacts(self):
        """Contacts between beads so far."""
        return self._contacts + self._engine.counters["contacts"]

    @property
    def wall_contacts(self):
        """Contacts with walls so far."""
        return self._wall_contacts + self._engine.counters["wall_contacts"]

    @property
    def interval_contacts(self):
        """Contacts of both sorts since the last `begin_interval`."""
        return self._interval_contacts + self._engine_contacts() - self._start[0]

    @property
    def interval_virial(self):
        """Virial since the last `begin_interval` [mass length^2 / time]."""
        return self._interval_virial + (self._engine.virial - self._start[1])

    def begin_interval(self):
        """Count contacts and virial anew."""
        self._interval_contacts, self._interval_virial = 0, 0.0
        self._start = (self._engine_contacts(), self._engine.virial)

    def saved(self):
        """Return the counters that a checkpoint keeps."""
        names = ("contacts", "wall_contacts", "interval_contacts", "interval_virial")
        return {name: getattr(self, name) for name in names}

    def _engine_contacts(self):
        counters = self._engine.counters
        return counters["contacts"] + counters["wall_contacts"]
