"""What a serial engine shows, in global bead order: engines show their beads in an order of their own."""

import numpy as np

from hpcchain.model.system import State


def frame_of(engine, time):
    """Return (N, 3) position, velocity and image counts of all beads at a time."""
    order = np.argsort(engine.ids)
    return tuple(rows[order] for rows in engine.frame(time))


def state_of(engine):
    """Return the start states of the present segments of all beads."""
    order, state = np.argsort(engine.ids), engine.state()
    return State(**{name: getattr(state, name)[order] for name in State.ARRAYS})
