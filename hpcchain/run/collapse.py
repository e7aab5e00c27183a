"""Notices inelastic collapse: beads that lose energy and are pressed together meet ever more often in no time."""

import time

MANY = 10_000
MOST_PER_TICK = 100.0
PAUSE = 1.0


class CollapseWatch:
    """Compares contacts with the time in which they came.

    Parameters
    ----------
    physics : Physics
    beads : int
        Of the whole system.
    clock : function, optional
        Wall seconds; looks are at least PAUSE apart.
    """

    def __init__(self, physics, beads, clock=time.monotonic):
        self._loses, self._tick, self._beads, self._clock = physics.restitution < 1.0, physics.tick, beads, clock
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
        first = self._looked == -float("inf")
        self._looked, self._contacts, self._time = now, contacts, reached
        if first or found < MANY or found <= MOST_PER_TICK * self._beads * passed / self._tick:
            return None
        self._loses = False
        return (f"{found} contacts in {passed:.3g} of time: beads that lose energy are pressed together and meet ever "
                "more often (inelastic collapse), and the run hardly gets on; a contact.contact_time ends that, where "
                "contact.restitution is not 0")
