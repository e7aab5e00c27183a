"""Which rank owns which molecules, and the ghosts: places of others' beads that own ones may interact with.

Ghosts are chosen whenever neighbour lists are made, at the same steps on all ranks, and owners some of these times. A
rank needs the beads that are nearer to own ones than lists look (`parallel.ghosts.surroundings`). Then one message goes
to each of its neighbours at each step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.physics.extended import complete
from hpcchain.parallel.ghosts.ghost_cells import Balls
from hpcchain.parallel.ghosts.migration import share_of
from hpcchain.parallel.ghosts.surroundings import Surroundings

if TYPE_CHECKING:
    from hpcchain.model.system import Box, System
    from hpcchain.parallel.agreement import Ranks
    from hpcchain.parallel.ghosts.molecules import MoleculeSet

ROUNDING = 1e-6


def first_share(system: System, comm: Ranks) -> MoleculeSet:
    """Return what this rank is given of a system, which has all of it or a part, in arrays of its own."""
    held = share_of(system, system.topology, comm)
    held = held.only(system.topology, np.ones(len(held.molecule_ids), dtype=bool))
    state = held.state
    extra = complete(state.extra, system.physics, 0)
    return replace(held, state=replace(state, extra=extra, parts=state.parts[:, :0]))


def local_beads(
    box: Box, comm: Ranks, ids: np.ndarray, position: np.ndarray, list_radius: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Refresh]:
    """Return own beads, and as ghosts those of other ranks that are nearer to them than a distance; collective.

    Parameters
    ----------
    box : Box
    comm : Ranks
    ids, position : (m,), (m, 3) arrays
        Of own beads [length].
    list_radius : float
        0: there are no forces between beads of different molecules [length].

    Returns
    -------
    (n,) int64, (n, 3) float64, (m,) int64 arrays, Refresh
        Global numbers, ascending; places [length]; which are own; what keeps the ghosts' places up to date.
    """
    sent: dict[int, np.ndarray] = {}
    come: dict[int, np.ndarray] = {}
    if comm.size > 1 and list_radius > 0.0:
        half, beads = 0.5 * list_radius * (1.0 + ROUNDING), len(ids)
        one_each = np.ones(beads, dtype=np.int64)
        balls = Balls(position, np.full(beads, half), np.arange(beads), one_each, np.zeros(beads))
        around = Surroundings(box, half, comm)
        around.look_around(balls, set(), False)
        near = sorted(around.neighbours)
        sent = {rank: np.flatnonzero(around.needed_by(rank, balls)) for rank in near}
        leaving = {rank: np.column_stack([ids[which], position[which]]).ravel() for rank, which in sent.items()}
        come = {rank: rows.reshape(-1, 4) for rank, rows in comm.exchange_known(leaving, near).items()}
    every = np.concatenate([np.column_stack([ids, position]), *come.values()])
    every = every[np.argsort(every[:, 0])]
    number = every[:, 0].astype(np.int64)
    own = np.searchsorted(number, ids)
    ghosts = {rank: np.searchsorted(number, rows[:, 0].astype(np.int64)) for rank, rows in come.items()}
    sent = {rank: own[which] for rank, which in sent.items()}
    return number, every[:, 1:].copy(), own, Refresh(comm, sent, ghosts)


class Refresh:
    """Sends the places of own beads to those that have them as ghosts, one message each, and takes theirs in.

    Parameters
    ----------
    comm : Ranks
    sent, received : dict of rank -> int64 array
        Which own beads a rank is sent, and which ghosts it sends, by local numbers; there is no message of none.
    """

    def __init__(self, comm: Ranks, sent: dict, received: dict) -> None:
        self.comm = comm
        self._sent = {rank: which for rank, which in sent.items() if len(which)}
        self._received = {rank: which for rank, which in received.items() if len(which)}

    def __call__(self, position: np.ndarray) -> None:
        """Bring the ghosts' positions up to date."""
        leaving = {rank: position[which].ravel() for rank, which in self._sent.items()}
        for rank, rows in self.comm.exchange_known(leaving, sorted(self._received)).items():
            position[self._received[rank]] = rows.reshape(-1, 3)
