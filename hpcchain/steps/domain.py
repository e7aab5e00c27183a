"""Which rank owns which molecules, and the ghosts: places of others' beads that own ones may interact with.

Ghosts are chosen whenever neighbour lists are made, at the same steps on all ranks, and owners some of these times. A
rank needs the beads in its own beads' cells and in the cells next to them. Each rank sends all others in which layers
of cells, along each axis, it has beads; those that may have cells in common send each other exactly which. Then one
message goes to each of them at each step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.physics.extended import complete
from hpcchain.model.system import PERIODIC
from hpcchain.parallel.sectors import brought_in, even_part, sectors_for
from hpcchain.steps import motion
from hpcchain.steps.potentials.lists import cells_of, codes

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System

WIDTH = 10
"""Numbers of a bead on its way to another rank: global number, position, velocity, image counts; then its `extra`."""


class Alone:
    """The exchange of one rank with itself."""

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

    def exchange_unknown(self, outgoing: dict) -> Any:
        """Return what ranks have sent: nothing."""
        return {}


@dataclass
class Own:
    """The beads that a rank owns, in ascending order of their global numbers, molecules whole.

    Attributes
    ----------
    molecules : (k,) int64 array
        Global numbers, ascending.
    ids : (m,) int64 array
        Of their beads.
    position, velocity : (m, 3) float64 arrays
        [length], [length / time].
    image : (m, 3) int64 array
        Box lengths to add to positions.
    extra : (m, e) float64 array
        `State.extra`; e is 0 where runs have nothing besides.
    """

    molecules: np.ndarray
    ids: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    image: np.ndarray
    extra: np.ndarray

    def packed(self, rows: np.ndarray) -> np.ndarray:
        """Return (k, WIDTH + e) float64 rows of some of the beads, for a message."""
        parts = (self.ids[rows, None], self.position[rows], self.velocity[rows], self.image[rows], self.extra[rows])
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def changed(self, molecules: np.ndarray, beads: np.ndarray, others: list) -> Own:
        """Return these molecules and their beads, by masks, and those of other Owns, in ascending order."""
        every = [self, *others]
        left = [np.flatnonzero(molecules), np.flatnonzero(beads)]
        numbers = [np.concatenate([getattr(part, name) for part in every]) for name in ("molecules", "ids")]
        rows = []
        for kept, whole, own in zip(left, numbers, (self.molecules, self.ids), strict=True):
            kept = np.concatenate([kept, np.arange(len(own), len(whole))])
            rows.append(kept[np.argsort(whole[kept], kind="stable")])
        tables = ("position", "velocity", "image", "extra")
        arrays = (np.concatenate([getattr(part, name) for part in every])[rows[1]] for name in tables)
        return Own(numbers[0][rows[0]], numbers[1][rows[1]], *arrays)


def unpacked(composition: Composition, rows: np.ndarray) -> Own:
    """Return the Own of rows (m, WIDTH + e) of beads of whole molecules, in any order."""
    rows = rows[np.argsort(rows[:, 0])]
    ids = rows[:, 0].astype(np.int64)
    molecules = composition.molecule_of(ids)
    _, position, velocity, image, extra = np.split(rows, [1, 4, 7, WIDTH], axis=1)
    return Own(
        molecules[np.diff(molecules, prepend=-1) != 0],
        ids,
        position.copy(),
        velocity.copy(),
        image.astype(np.int64),
        extra.copy(),
    )


def part_of(system: System, composition: Composition, comm: Any) -> Own:
    """Return the Own of what a rank is given of a system: its part, or an even part of what every rank has."""
    molecules, state = system.held, system.state
    extra = complete(state.extra, system.physics, 0)
    if molecules is None:
        molecules = even_part(composition.molecules, comm)
        beads = composition.beads_of(molecules)
        return Own(molecules, beads, state.position[beads], state.velocity[beads], state.image[beads], extra[beads])
    beads = composition.beads_of(molecules)
    return Own(molecules, beads, state.position.copy(), state.velocity.copy(), state.image.copy(), extra.copy())


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
    box : Box
    composition : Composition
    comm : Exchange
    sectors : sequence of 3 int or None
    own : Own
        What this rank is given.
    """

    def __init__(self, box: Box, composition: Composition, comm: Any, sectors: tuple | list | None, own: Own) -> None:
        self.box, self.composition, self.comm = box, composition, comm
        if comm.size > 1:
            weights = composition.size_of(own.molecules).astype(np.float64)
            self.sectors = sectors_for(box, sectors, self._points(own), weights, comm)

    def _points(self, own: Own) -> np.ndarray:
        """Return (k, 3) centres of mass of own molecules, in the box."""
        size = self.composition.size_of(own.molecules)
        mass = self.composition.prototypes.mass[self.composition.prototype_of(own.ids), None]
        first = np.cumsum(size) - size
        return brought_in(self.box, np.add.reduceat(mass * own.position, first) / np.add.reduceat(mass, first))

    def settled(self, own: Own) -> Own:
        """Hand molecules over to the ranks whose sectors they are in, and return what is own then; collective."""
        if self.comm.size == 1:
            return own
        owner = self.sectors.owner(self._points(own))
        of_bead = np.repeat(owner, self.composition.size_of(own.molecules))
        going = np.unique(owner[owner != self.comm.rank])
        leaving = {int(to): own.packed(np.flatnonzero(of_bead == to)).ravel() for to in going}
        received = self.comm.exchange_unknown(leaving)
        if not leaving and not received:
            return own
        width = WIDTH + own.extra.shape[1]
        arrived = [unpacked(self.composition, received[rank].reshape(-1, width)) for rank in sorted(received)]
        return own.changed(owner == self.comm.rank, of_bead == self.comm.rank, arrived)

    def ghosts(self, own: Own, cells: np.ndarray | None) -> Ghosts:
        """Return the Ghosts of own beads where the box is cut into `cells` (3,) along its axes; collective.

        None: there are no forces between beads of different molecules.
        """
        if self.comm.size == 1 or cells is None:
            return Ghosts()
        cell = cells_of(self.box, own.position, cells)
        wanted, layers = self._reached(cell, cells)
        near = self._near(layers)
        message = np.packbits(wanted)
        message = np.concatenate([message, np.zeros(-len(message) % 8, np.uint8)]).view(np.float64)
        requests = self.comm.exchange_known(dict.fromkeys(near, message), near)
        code, sent = codes(cell, cells), {}
        for rank in near:
            bits = np.unpackbits(requests[rank].view(np.uint8), count=len(wanted))
            sent[rank] = np.flatnonzero(bits[code])
        rows = {rank: np.column_stack([own.ids[which], own.position[which]]).ravel() for rank, which in sent.items()}
        news = {rank: rows.reshape(-1, 4) for rank, rows in self.comm.exchange_known(rows, near).items()}
        every = np.concatenate([np.zeros((0, 4)), *(news[rank] for rank in near)])
        sequence = np.argsort(every[:, 0])
        number, at, received = np.empty(len(sequence), dtype=np.int64), 0, {}
        number[sequence] = np.arange(len(sequence))
        for rank in near:
            received[rank] = number[at : at + len(news[rank])]
            at += len(news[rank])
        every = every[sequence]
        return Ghosts(
            every[:, 0].astype(np.int64),
            every[:, 1:].copy(),
            {rank: which for rank, which in sent.items() if len(which)},
            {rank: which for rank, which in received.items() if len(which)},
        )

    def _reached(self, cell: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, list]:
        """Return which cells, numbered through, are those of own beads or next to them; and the same for layers."""
        reached = np.zeros(cells, dtype=bool)
        reached[tuple(cell.T)] = True
        layers = []
        for axis in range(3):
            reached = dilated(reached, axis, self.box.boundary[axis] == PERIODIC)
        for axis in range(3):
            layers.append(np.any(reached, axis=tuple(other for other in range(3) if other != axis)))
        return reached.ravel(), layers

    def _near(self, layers: list) -> list:
        """Return the other ranks that may have beads near own ones, or own ones near theirs; each knows the other."""
        every = self.comm.allgather([np.packbits(layer) for layer in layers])
        mine = every[self.comm.rank]
        return [
            rank
            for rank, theirs in enumerate(every)
            if rank != self.comm.rank and all(np.any(a & b) for a, b in zip(mine, theirs, strict=True))
        ]


def dilated(flags: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Return flags of cells that are set where one next to it along an axis is."""
    out = flags.copy()
    for shift in (-1, 1):
        moved = np.roll(flags, shift, axis)
        if not periodic:
            edge: list[Any] = [slice(None)] * 3
            edge[axis] = 0 if shift == 1 else -1
            moved[tuple(edge)] = False
        out |= moved
    return out


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
        self._rows = {rank: np.empty((len(which), 3)) for rank, which in ghosts.sent.items()}
        self._received = {rank: at[which] for rank, which in ghosts.received.items()}
        self._sources = sorted(self._received)

    def __call__(self, position: np.ndarray) -> None:
        """Bring the ghosts' positions up to date."""
        for rank, which in self._sent.items():
            motion.take_out(position, which, self._rows[rank])
        news = self.comm.exchange_known({rank: rows.ravel() for rank, rows in self._rows.items()}, self._sources)
        for rank in self._sources:
            motion.put_in(position, self._received[rank], news[rank].reshape(-1, 3))
