"""What is said of runs that cannot go on: beads that collapse, are wedged, or whose motion has become no number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import ConfigError, EngineError, StepError
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import MOST_DEPTH
from hpcchain.model.physics.external import loses_energy
from hpcchain.model.starts.start import RESTING
from hpcchain.propagators.catalogue import PROPAGATORS
from hpcchain.sector.queue.event_order import next_key_of

if TYPE_CHECKING:
    from hpcchain.model.system import Physics

# Segments that each molecule may begin while the clock hardly moves: a cube of 1000 touching beads begins 13 each.
# Where energy is lost a burst of contacts may pass, so more of them are waited for.
MOST_SEGMENTS, MOST_LOSING = 2000, 100000

INSTANT = 2.0**-20
"""Of a tick: what is at one instant (`sector.setup.allocate`)."""


class Standstill:
    """Notices that all that happens takes no time: contacts of beads that are wedged between others or walls."""

    def __init__(self, physics: Physics) -> None:
        self._most = MOST_SEGMENTS if physics.restitution == 1.0 else MOST_LOSING
        self._since, self._segments = (-np.inf, 0.0), 0

    def bead(self, s: Any) -> int | None:
        """Return the local number of a bead that moves on at a standstill of sector s, None where time gets on."""
        m = int(s.winner[L.TOP, L.ROOT])
        if m < 0:
            return None
        now = next_key_of(s, m)[:2]
        if not np.isfinite(now[0]):
            return None
        ticks, remainder = self._since
        segments = int(s.count[L.N_SEGMENTS])
        if (now[0] - ticks) * s.par[L.TICK] + now[1] - remainder > s.par[L.SIMULTANEOUS]:
            self._since, self._segments = now, segments
            return None
        begun = segments - self._segments
        if begun <= 2 * self._most:  # two molecules at least
            return None
        first = s.mol[:, L.MOL_FIRST]
        busy = (s.starts[first, L.START_TICKS] - ticks) * s.par[L.TICK] + s.starts[
            first, L.START_REM
        ] - remainder >= 0.0
        return int(first[m]) if begun > self._most * max(int(np.count_nonzero(busy)), 2) else None


def falls(physics: Physics) -> bool:
    """Return whether gravity acts."""
    return any(physics.extended.gravity)


def loses(physics: Physics) -> bool:
    """Return whether contacts take energy, between beads or with walls."""
    return not physics.is_elastic or loses_energy(physics)


def way_out(physics: Physics, apart: float = np.inf) -> str:
    """Return what ends the inelastic collapse of a run with these constants.

    `apart`: from one contact of a bead to the next; within contact.contact_time they keep their energy [time].
    """
    if physics.contact_time > apart:
        kept = (
            f"contacts keep their energy already, as they come within contact.contact_time = {physics.contact_time:g}"
        )
        return f"{kept}; {RESTING if falls(physics) else 'start from positions with larger gaps, or enlarge the box'}"
    if physics.restitution == 0.0:
        return "take a contact.restitution above 0 and a contact.contact_time"
    return f"a {'longer ' if physics.contact_time > 0.0 else ''}contact.contact_time ends that"


def stuck(physics: Physics, bead: int | None = None, time: float | None = None) -> ConfigError:
    """Return the ConfigError for too many contacts at one instant, of a bead and at a time [time] if they are known."""
    where = f"{'' if bead is None else f'bead {bead}: '}{'' if time is None else f't {time:.6g}: '}"
    if loses(physics) and physics.contact_time <= physics.tick * INSTANT:
        return ConfigError(
            f"{where}more than {MOST_DEPTH} contacts at one instant: beads that lose energy are pressed "
            f"together (inelastic collapse); {way_out(physics)}"
        )
    return ConfigError(
        f"{where}contacts at one instant have no end: beads are wedged between others or walls, without "
        "room to move; start from positions with gaps, or make box.size larger"
        + (f"; or {RESTING}" if falls(physics) else "")
    )


def not_a_number(physics: Physics, what: str) -> EngineError:
    """Return the error for what is not a number: where propagators make steps these are too long."""
    if any(PROPAGATORS[each.propagator].stepped for each in physics.every()):
        return StepError(
            f"{what} is not a number: make propagator.step smaller, as it is too long for how fast beads move and "
            "bonds turn"
        )
    return EngineError(f"{what} is not a number; check masses, lengths and velocities for extreme values")
