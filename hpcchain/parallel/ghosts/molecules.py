"""Molecules on their way between ranks, or into a ghosted sector: beads' states, and where they are at the present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import in_blocks
from hpcchain.model.system import BEAD_STATE, State
from hpcchain.sector.setup.shell import default_shell

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import System
    from hpcchain.parallel.agreement import Ranks

COLUMNS = {column.name: max(column.columns, 1) for column in BEAD_STATE}
POSITION_NOW = 3
WIDTH = 1 + sum(COLUMNS.values()) + POSITION_NOW
"""Floats of a bead whose `State.extra` and `State.parts` have no columns."""


@dataclass
class MoleculeSet:
    """Some molecules.

    Attributes
    ----------
    molecule_ids : (k,) int64 array
        Global numbers, in ascending order; those of ghosts that come between choices are in any order.
    state : State
        Of their beads, one molecule after another.
    position_now : (n, 3) float64 array
        Where the beads are at the time of the choice, in the frame that moves with the system [length].
    """

    molecule_ids: np.ndarray
    state: State
    position_now: np.ndarray

    def let_go(self) -> None:
        """Drop all but the numbers: callers still hold the set when there is need of the memory."""
        none = np.zeros((0, 3))
        self.state, self.position_now = State.at_time_zero(none, none), none

    def only(self, composition: Composition, which: np.ndarray) -> MoleculeSet:
        """Return some of the molecules, given as a mask of them."""
        at = np.flatnonzero(np.repeat(which, composition.size_of(self.molecule_ids)))
        return MoleculeSet(self.molecule_ids[which], taken(self.state, at), self.position_now[at])

    def packed(self, composition: Composition, which: np.ndarray) -> np.ndarray:
        """Return the rows that `pack` makes of the beads of some of the molecules."""
        some = self.only(composition, which)
        return pack(composition.beads_of(some.molecule_ids), some.state, some.position_now)


def fitting_shell(system: System, places: np.ndarray, comm: Ranks) -> float:
    """Return the half width of lists' shell that suits all ranks' molecules, each with its own's places; collective."""
    return -float(comm.maximum(np.array([-default_shell(system, places)]))[0])


def taken(state: State, at: np.ndarray) -> State:
    """Return the State of the beads in these rows of another."""
    return State(**{name: getattr(state, name).take(at, axis=0) for name in State.ARRAYS})


def pack(ids: np.ndarray, state: State, position_now: np.ndarray) -> np.ndarray:
    """Return (n, WIDTH + columns of extra and parts) float64 rows of beads: global id, state, present place."""
    further = np.hstack([state.extra, state.parts])
    rows = np.empty((len(ids), WIDTH + further.shape[1]))
    rows[:, 0] = ids
    at = 1
    for name, width in COLUMNS.items():
        rows[:, at : at + width] = getattr(state, name).reshape(len(ids), width)
        at += width
    rows[:, at:-POSITION_NOW], rows[:, -POSITION_NOW:] = further, position_now
    return rows


def unpack(composition: Composition, message: np.ndarray, like: State) -> MoleculeSet:
    """Return the MoleculeSet that `pack` made rows of, with as many columns of extra and parts as another State has."""
    parts = like.parts.shape[1]
    rows = message.reshape(-1, WIDTH + like.extra.shape[1] + parts)
    ids = rows[:, 0].astype(np.int64)
    molecules = composition.molecule_of(ids)
    arrays, at = {}, 1
    for column in BEAD_STATE:
        width = COLUMNS[column.name]
        shape = (len(ids), width) if column.columns else len(ids)
        arrays[column.name] = rows[:, at : at + width].astype(column.dtype).reshape(shape)
        at += width
    end = rows.shape[1] - POSITION_NOW - parts
    state = State(**arrays, extra=rows[:, at:end].copy(), parts=rows[:, end:-POSITION_NOW].copy())
    return MoleculeSet(molecules[composition.first_bead_of(molecules) == ids], state, rows[:, -POSITION_NOW:].copy())


def merged(composition: Composition, parts: list) -> MoleculeSet:
    """Return the molecules of several MoleculeSets, which have none in common, as one."""
    molecule_ids = np.concatenate([part.molecule_ids for part in parts])
    size = composition.size_of(molecule_ids)
    sequence = np.argsort(molecule_ids)
    at = in_blocks((np.cumsum(size) - size)[sequence], size[sequence])
    state = {name: np.concatenate([getattr(part.state, name) for part in parts])[at] for name in State.ARRAYS}
    return MoleculeSet(
        molecule_ids[sequence], State(**state), np.concatenate([part.position_now for part in parts])[at]
    )
