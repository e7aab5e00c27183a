"""Notices that contacts come in next to no time: in inelastic collapse, or where beads rattle in narrow gaps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hpcchain.model.starts.start import RESTING
from hpcchain.observe.runlog import duration
from hpcchain.sector.collapse import falls, loses, way_out

if TYPE_CHECKING:
    from hpcchain.model.system import Physics
    from hpcchain.sector.interface import Engine

MANY = 2000
MOST_PER_TICK = 100.0
PAUSE = 1.0
LONG = 60.0  # wall seconds to the end from which narrow gaps are reported


class CollapseWatch:
    """Compares contacts with the time in which they came.

    Parameters
    ----------
    physics : Physics
    beads : int
        Of the whole system, or this rank's share.
    end : float, optional
        End time of the run [time].
    clock : function, optional
        Wall seconds; looks are at least PAUSE apart.
    """

    def __init__(
        self, physics: Physics, beads: float, end: float = float("inf"), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._physics, self._silent = physics, False
        self._beads, self._end, self._clock = beads, end, clock
        self._looked, self._counted, self._contacts, self._time = -float("inf"), 0.0, 0, 0.0

    def warning(self, engine: Engine) -> str | None:
        """Return what to say to the user, None for nothing; said once.

        Dense liquids have some contact a bead and tick, which is a 32nd of what a bead takes for its diameter or less.
        """
        now = self._clock()
        if self._silent or now < self._looked + PAUSE:
            return None
        contacts, reached = engine.counters["contacts"] + engine.counters["wall_contacts"], engine.time
        found, passed = contacts - self._contacts, reached - self._time
        first, self._looked = self._looked == -float("inf"), now
        if not first and found < MANY:  # so that slow runs are not measured by how fast they are
            return None
        wall, self._counted = now - self._counted, now
        self._contacts, self._time = contacts, reached
        if first or found <= MOST_PER_TICK * self._beads * passed / self._physics.tick:
            return None
        reason = self._reason(passed, wall, passed * self._beads / found)
        self._silent = reason is not None
        return reason and f"{found} contacts in {passed:.3g} of time: {reason}"

    def _reason(self, passed: float, wall: float, apart: float) -> str | None:
        """Return what so many contacts mean, `passed` [time] having taken `wall` seconds; None if the end is near."""
        # A bead's are `apart` [time] in the mean.
        if loses(self._physics):
            return (
                "beads that lose energy are pressed together and meet ever more often (inelastic collapse), and "
                f"the run hardly gets on; {way_out(self._physics, apart)}"
            )
        left = (self._end - self._time) * wall / passed if passed > 0.0 else float("inf")
        if left < LONG:
            return None
        pace = f"and the run hardly gets on: at this pace it takes {duration(left)} more"
        if falls(self._physics):
            return f"beads lie on a wall or on others, or in very narrow gaps, {pace}; {RESTING}"
        found = "beads rattle in very narrow gaps, between others or walls"
        return f"{found}, {pace}; larger gaps, or a larger box, are faster"
