"""Which rank owns which molecules, and the ghosts: places of others' beads that own ones may interact with.

Ghosts are chosen whenever neighbour lists are made, at the same steps on all ranks, and owners some of these times. A
rank needs the beads that are nearer to own ones than lists look (`parallel.ghosts.surroundings`). Then one message goes
to each of its neighbours at each step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.physics.extended import complete
from hpcchain.parallel.ghosts.ghost_cells import Balls
from hpcchain.parallel.ghosts.migration import Migration, share_of
from hpcchain.parallel.ghosts.molecules import WIDTH, MoleculeSet, unpack
from hpcchain.parallel.ghosts.surroundings import Surroundings

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import System

ROUNDING = 1e-6


class SingleExchange:
    """What an `Exchange` is to the only rank that there is."""

    rank, size = 0, 1

    def allgather(self, value: Any) -> list:
        """Return the list of every rank's object."""
        return [value]

    def maximum(self, values: np.ndarray, asleep: bool = False) -> np.ndarray:
        """Return the element-wise maximum over ranks."""
        return values

    def total(self, values: np.ndarray) -> Any:
        """Return the element-wise sum over ranks."""
        return values

    def exchange_known(self, outgoing: dict, sources: list, asleep: bool = False) -> dict:
        """Return what ranks have sent: nothing."""
        return {}


@dataclass
class Ghosts:
    """Beads of other ranks that own ones may interact with.

    Attributes
    ----------
    ids : (g,) int64 array
        Global numbers, ascending.
    position : (g, 3) float64 array
        Where they are when they are chosen [length].
    sent : dict of rank -> (s,) int64 array
        Which own beads, by their rows, a rank is sent.
    received : dict of rank -> (r,) int64 array
        Which ghosts, by their rows here, a rank sends.
    """

    ids: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    position: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    sent: dict = field(default_factory=dict)
    received: dict = field(default_factory=dict)


class Domain:
    """The ranks' sectors.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it.
    composition : Composition
    comm : Exchange
    sectors : sequence of 3 int or None

    Attributes
    ----------
    held : MoleculeSet
        What this rank is given of the system, in arrays of its own.
    """

    def __init__(self, system: System, composition: Composition, comm: Any, sectors: tuple | list | None) -> None:
        self.box, self.composition, self.comm = system.box, composition, comm
        held = share_of(system, composition, comm)
        self.held = held.only(composition, np.ones(len(held.molecule_ids), dtype=bool))
        state = self.held.state
        self.held.state = replace(state, extra=complete(state.extra, system.physics, 0), parts=state.parts[:, :0])
        self.width = WIDTH + self.held.state.extra.shape[1]
        if comm.size > 1:
            self.migration = Migration(system.box, composition, comm, sectors, self.held)

    def settled(self, held: MoleculeSet) -> MoleculeSet:
        """Hand molecules over to the ranks whose sectors they are in, and return what is own then; collective."""
        if self.comm.size == 1:
            return held
        return self.migration.settled(held, lambda rows: unpack(self.composition, rows.reshape(-1, self.width)))

    def ghosts(self, ids: np.ndarray, position: np.ndarray, list_radius: float) -> Ghosts:
        """Return the Ghosts that are nearer to own beads than a distance; collective.

        Parameters
        ----------
        ids, position : (m,), (m, 3) arrays
            Of own beads [length].
        list_radius : float
            0: there are no forces between beads of different molecules [length].
        """
        if self.comm.size == 1 or list_radius <= 0.0:
            return Ghosts()
        half, beads = 0.5 * list_radius * (1.0 + ROUNDING), len(ids)
        one_each = np.ones(beads, dtype=np.int64)
        balls = Balls(position, np.full(beads, half), np.arange(beads), one_each, np.zeros(beads))
        around = Surroundings(self.box, half, self.comm)
        around.look_around(balls, set(), False)
        near = sorted(around.neighbours)
        sent = {rank: np.flatnonzero(around.needed_by(rank, balls)) for rank in near}
        rows = {rank: np.column_stack([ids[which], position[which]]).ravel() for rank, which in sent.items()}
        news = {rank: rows.reshape(-1, 4) for rank, rows in self.comm.exchange_known(rows, near).items()}
        every = np.concatenate([np.zeros((0, 4)), *(news[rank] for rank in near)])
        every = every[np.argsort(every[:, 0])]
        return Ghosts(
            every[:, 0].astype(np.int64),
            every[:, 1:].copy(),
            {rank: which for rank, which in sent.items() if len(which)},
            {rank: np.searchsorted(every[:, 0], news[rank][:, 0]) for rank in near if len(news[rank])},
        )


class Refresh:
    """Sends the places of own beads to those that have them as ghosts, one message each, and takes theirs in.

    Parameters
    ----------
    comm : Exchange
    ghosts : Ghosts
    own, at : (m,), (g,) int64 arrays
        Local numbers of own beads and of ghosts.
    """

    def __init__(self, comm: Any, ghosts: Ghosts, own: np.ndarray, at: np.ndarray) -> None:
        self.comm = comm
        self._sent = {rank: own[which] for rank, which in ghosts.sent.items()}
        self._received = {rank: at[which] for rank, which in ghosts.received.items()}
        self._sources = sorted(self._received)

    def __call__(self, position: np.ndarray) -> None:
        """Bring the ghosts' positions up to date."""
        leaving = {rank: position[which].ravel() for rank, which in self._sent.items()}
        news = self.comm.exchange_known(leaving, self._sources)
        for rank in self._sources:
            position[self._received[rank]] = news[rank].reshape(-1, 3)
