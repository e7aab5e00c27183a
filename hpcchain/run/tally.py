"""Contacts and virial of a run and of the present report interval, over all ranks and continued across restarts."""

from fractions import Fraction


class Tally:
    """Adds what the ranks' engines have counted since they were made to what the run had before.

    All sums are of whole numbers, so that neither the number of ranks nor restarts change a bit of them.

    Parameters
    ----------
    engine : Engine
        Fresh: its counts are zero.
    counters : dict
        Those of the checkpoint that the run goes on from; empty for a new run.
    comm : Single or World

    Attributes
    ----------
    contacts, wall_contacts : int
        Contacts between beads, and with walls, of the run up to the last `gather`.
    """

    def __init__(self, engine, counters, comm):
        self._engine, self._comm = engine, comm
        self._before = tuple(counters.get(name, 0) for name in ("contacts", "wall_contacts", "no_roots"))
        self._interval = (counters.get("interval_contacts", 0), restored_virial(counters, engine.quantum))
        self._now, self._start = (0, 0, 0, 0), (0, 0, 0, 0)

    def gather(self):
        """Bring the ranks' counts up to date; collective."""
        counters = self._engine.counters
        own = counters["contacts"], counters["wall_contacts"], self._engine.virial, counters["no_roots"]
        self._now = tuple(map(sum, zip(*self._comm.allgather(own), strict=True)))

    @property
    def contacts(self):
        return self._before[0] + self._now[0]

    @property
    def wall_contacts(self):
        return self._before[1] + self._now[1]

    @property
    def no_roots(self):
        """Contacts of the run that have the exact impulse because the variational law had no root."""
        return self._before[2] + self._now[3]

    @property
    def interval_contacts(self):
        """Contacts of both sorts since the last `begin_interval`."""
        return self._interval[0] + sum(self._now[:2]) - sum(self._start[:2])

    @property
    def interval_virial(self):
        """Virial since the last `begin_interval` [mass length^2 / time]."""
        return float(self._interval_quanta * Fraction(self._engine.quantum))

    def begin_interval(self):
        """Count contacts and virial anew, from the last `gather` on."""
        self._interval, self._start = (0, 0), self._now

    def saved(self):
        """Return the counters that a checkpoint keeps."""
        names = ("contacts", "wall_contacts", "no_roots", "interval_contacts")
        return {name: getattr(self, name) for name in names} | {
            "interval_quanta": self._interval_quanta, "virial_quantum": self._engine.quantum,
        }  # fmt: skip

    @property
    def _interval_quanta(self):
        return self._interval[1] + self._now[2] - self._start[2]


def restored_virial(counters, quantum):
    """Return the virial of the interval that a checkpoint was written in, an int in units of `quantum`.

    Checkpoints of earlier versions keep it as a rounded sum.
    """
    if "interval_quanta" in counters:
        virial = counters["interval_quanta"] * Fraction(counters["virial_quantum"])
    else:
        virial = Fraction(counters.get("interval_virial", 0.0))
    return round(virial / Fraction(quantum))
