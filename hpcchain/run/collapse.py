"""Notices inelastic collapse: beads that lose energy and are pressed together meet ever more often in no time."""

import time

from hpcchain.sector.collapse import way_out

MANY = 2000
MOST_PER_TICK = 100.0
PAUSE = 1.0


class CollapseWatch:
    """Compares contacts with the time in which they came.

    Parameters
    ----------
    physics : Physics
    beads : int
        Of the whole system, or this rank's share.
    clock : function, optional
        Wall seconds; looks are at least PAUSE apart.
    """

    def __init__(self, physics, beads, clock=time.monotonic):
        self._physics, self._loses = physics, physics.restitution < 1.0
        self._beads, self._clock = beads, clock
        self._looked, self._contacts, self._time = -float("inf"), 0, 0.0

    def warning(self, engine):
        """Return what to tell the user, None for nothing; said once.

        Dense liquids have some contact a bead and tick, which is a 32nd of what a bead takes for its diameter or less.
        """
        now = self._clock()
        if not self._loses or now < self._looked + PAUSE:
            return None
        contacts, reached = engine.counters["contacts"] + engine.counters["wall_contacts"], engine.time
        found, passed = contacts - self._contacts, reached - self._time
        first, self._looked = self._looked == -float("inf"), now
        if not first and found < MANY:  # so that slow runs are not measured by how fast they are
            return None
        self._contacts, self._time = contacts, reached
        if first or found <= MOST_PER_TICK * self._beads * passed / self._physics.tick:
            return None
        self._loses = False
        return (f"{found} contacts in {passed:.3g} of time: beads that lose energy are pressed together and meet ever "
                f"more often (inelastic collapse), and the run hardly gets on; {way_out(self._physics)}")
