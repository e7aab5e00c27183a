"""Notices that a start hardly grows any more: a few beads that are caught, or a slice that takes long."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcchain.sector.interface import Engine

LOG = logging.getLogger("hpcchain.run")
WALLS_PER_CONTACT = 400
STALLED_CONTACTS, STALLED_PACE = 200_000, 40_000.0  # contacts that come at a pace of so many a bead and slice: a jam
SLOW_SECONDS, SLOW_SHARE = 15.0, 0.05  # wall time of a slice that is told of, and share of the most contacts by then


class Stall:
    """Notices a few beads that are caught: they meet ever faster, and the slice never ends.

    Beads that grow without a way out meet so often, towards the time at which they touch, that any pace is surpassed.
    So what this finds is a jam in any case; it only spares the wait for MOST_CONTACTS of all beads.

    Parameters
    ----------
    beads : float
        Of this rank.
    length : float
        Of the slice [time].
    """

    def __init__(self, beads: float, length: float) -> None:
        self._pace = STALLED_PACE * beads / length
        self._contacts, self._time, self.found = 0, 0.0, False

    def look(self, engine: Engine) -> bool:
        """Return whether beads are caught."""
        contacts = met(engine)
        more, passed = contacts - self._contacts, engine.time - self._time
        if more >= STALLED_CONTACTS:
            self.found = self.found or more > self._pace * passed
            self._contacts, self._time = contacts, engine.time
        return self.found


class SlowSlice:
    """Tells the user, once, that a slice from a size `scale` takes long in which `most` contacts are allowed."""

    def __init__(self, scale: float, most: float) -> None:
        self._scale, self._most = scale, most
        self._begin, self._warned = time.monotonic(), False

    def look(self, engine: Engine) -> int:
        """Return how often beads of this rank have met in the slice; see the class."""
        found = met(engine)
        late = time.monotonic() > self._begin + SLOW_SECONDS
        if late and not self._warned and found > SLOW_SHARE * self._most:
            self._warned = True
            LOG.warning(
                "making the start: at %.4f of their diameters the beads meet so often that it hardly gets on; "
                "it is given up, or done again another way, after %.3g contacts (%.3g so far); a larger box "
                "helps",
                self._scale,
                self._most,
                found,
            )
        return found


def met(engine: Engine) -> int:
    """Return how often this rank's beads have met; contacts with walls count less, as narrow gaps have many."""
    return engine.counters["contacts"] + engine.counters["wall_contacts"] // WALLS_PER_CONTACT
