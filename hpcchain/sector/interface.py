"""What every engine does, whatever moves the beads and however many ranks take part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hpcchain.model.system import Physics, State

Frame = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
"""Position [length], velocity [length / time] and image counts, (n, 3) each."""
EVENT_ROW = np.dtype([("time", "f8"), ("kind", "u1"), ("bead", "i8", (2,)), ("impulse", "f8")])
ROUGH_EVENT_ROW = np.dtype([*((name, EVENT_ROW[name]) for name in EVENT_ROW.names), ("tangential", "f8", (3,))])
"""Of runs whose contacts make beads spin."""


def event_row(physics: Physics) -> np.dtype:
    """Return the type of a contact that runs with these constants log."""
    return ROUGH_EVENT_ROW if physics.extended.rough else EVENT_ROW


@runtime_checkable
class Engine(Protocol):
    """Carries this rank's part of a system forward in time.

    With several ranks `advance` and `window_report` are collective. Sums are this rank's share: those of all ranks add
    up to what one rank would have.

    Attributes
    ----------
    ids : (n,) int64 array
        Global ids of the beads of this rank, in the order of `frame` and `state`; others after each `advance`.
    sums : list of SUMS int
        Over contacts so far, by their places in `layout.arrays`, zeros where an engine does not count them.
        SUM_VIRIAL: impulse times centre-of-mass vector, in units of `quantum`. From SUM_TENSOR on: parts of its tensor
        besides the trace, yy, zz, xy, xz, yz, and energy carried from molecule to molecule times that vector, x, y, z
        (FLOW_SCALE). From SUM_WALL_IMPULSE on: impulse on the walls of each axis, in units of `impulse_quantum`.
        SUM_WORK, SUM_HEAT: energy that has come in through walls that move, and as heat, in units of `energy_quantum`.
    quantum, impulse_quantum, energy_quantum : float
        Powers of two [mass length^2 / time], [mass length / time], [mass length^2 / time^2].
    time : float
        A time before which all events are done [time].
    counters : dict
        Name -> number of events and operations so far (int).
    seconds : dict
        Name -> wall seconds of this rank in a part of `advance` so far; they add up to all of it. Empty where
        an engine's work is not told apart.
    """

    quantum: float
    impulse_quantum: float
    energy_quantum: float

    @property
    def ids(self) -> NDArray[np.int64]: ...

    @property
    def sums(self) -> list[int]: ...

    @property
    def time(self) -> float: ...

    @property
    def counters(self) -> dict[str, int]: ...

    @property
    def seconds(self) -> dict[str, float]: ...

    def advance(self, time: float, pause: Callable[[], bool] | None = None) -> bool:
        """Run all up to and including a time; return whether it was reached, the same on all ranks.

        Parameters
        ----------
        time : float
            Where to stop, in the engine of steps a whole number of steps [time].
        pause : callable, optional
            Called on every rank now and then; a true result of any stops all. It may also end earlier without one.

        Raises
        ------
        EngineError
            On every rank.
        """

    def frame(self, time: float) -> Frame:
        """Return position, velocity and image counts of the beads `ids` at a time up to which events are done."""

    def state(self) -> State:
        """Return the state of the beads `ids` from which a run continues to the same bits."""

    def drain_events(self) -> NDArray[np.void]:
        """Return and forget the logged contacts: structured array of time, kind, bead (2,), impulse."""

    def window_report(self) -> dict[str, float]:
        """Return what the run log says of the ranks' working together: name -> number."""
