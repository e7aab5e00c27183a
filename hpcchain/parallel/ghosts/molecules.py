"""Molecules on their way between ranks, or into a patch: their beads' states, and where these are at the present."""

from dataclasses import dataclass

import numpy as np

from hpcchain.model.system import State

COLUMNS = {"position": 3, "velocity": 3, "image": 3, "ticks": 1, "remainder": 1, "depth": 1, "struck": 1, "step": 1,
           "in_contact": 1}
WIDTH = 1 + sum(COLUMNS.values()) + 3


@dataclass
class Held:
    """Some molecules.

    Attributes
    ----------
    names : (k,) int64 array
        Global numbers, in ascending order.
    state : State
        Of their beads, one molecule after another.
    here : (n, 3) float64 array
        Where the beads are at the time of the choice [length].
    """

    names: np.ndarray
    state: State
    here: np.ndarray

    def rows(self, composition, which):
        """Return the rows of the beads of some of the molecules, given as a mask of them."""
        return np.flatnonzero(np.repeat(which, composition.size_of(self.names)))

    def only(self, composition, which):
        """Return some of the molecules, given as a mask of them."""
        at = self.rows(composition, which)
        return Held(self.names[which], taken(self.state, at), self.here[at])

    def packed(self, composition, which):
        """Return (n, WIDTH) float64 rows of the beads of some of the molecules: id, state, present place."""
        at = self.rows(composition, which)
        return pack(composition.beads_of(self.names[which]), taken(self.state, at), self.here[at])


def taken(state, at):
    """Return the State of the beads in these rows of another."""
    return State(**{name: getattr(state, name)[at] for name in State.ARRAYS})


def pack(ids, state, here):
    """Return (n, WIDTH) float64 rows of beads: global id, state, present place."""
    rows = np.empty((len(ids), WIDTH))
    rows[:, 0] = ids
    at = 1
    for name, width in COLUMNS.items():
        rows[:, at : at + width] = getattr(state, name).reshape(len(ids), width)
        at += width
    rows[:, at:] = here
    return rows


def unpack(composition, rows):
    """Return the Held that `pack` made rows of."""
    ids = rows[:, 0].astype(np.int64)
    molecules = composition.molecule_of(ids)
    types = State.at_rest_clock(np.empty((0, 3)), np.empty((0, 3)))
    arrays, at = {}, 1
    for name, width in COLUMNS.items():
        like = getattr(types, name)
        arrays[name] = rows[:, at : at + width].astype(like.dtype).reshape(len(ids), *like.shape[1:])
        at += width
    return Held(molecules[composition.first_bead_of(molecules) == ids], State(**arrays), rows[:, at:].copy())


def merged(composition, parts):
    """Return the molecules of several Held, which have none in common, as one."""
    names = np.concatenate([part.names for part in parts])
    size = composition.size_of(names)
    order = np.argsort(names)
    start = (np.cumsum(size) - size)[order]
    size = size[order]
    at = np.arange(int(size.sum())) + np.repeat(start - (np.cumsum(size) - size), size)
    state = {name: np.concatenate([getattr(part.state, name) for part in parts])[at] for name in State.ARRAYS}
    return Held(names[order], State(**state), np.concatenate([part.here for part in parts])[at])
