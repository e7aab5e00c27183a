"""Where molecules of this rank may come to, and those of its neighbours: cells of the box, as bits (`reach`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.ghosts.reach import Cells, Extent, mark_cells, may_reach, reaches, set_cells

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.exchange import Exchange

MOST_FRESH = 1 << 16
SPAN = 3  # cells that most beads' balls reach from their own: for a first look at what may come to fresh ones
MARGIN = 5  # cells by which extents are larger than they need be: when molecules come out of them all is chosen anew
MOST_CELLS = 1 << 22  # in a rank's extent; else all ranks' cells are coarser


class Surroundings:
    """What a rank knows of where molecules may come to.

    Molecules are given as *balls*: what tells kernels where they may come to (`reach.mark_cells`).

    Parameters
    ----------
    box : Box
    width : float
        Least width of cells [length].
    comm : Exchange

    Attributes
    ----------
    cells : Cells
    extent : Extent
        Of this rank's molecules, with a margin.
    bits : uint32 array
        Which cells of it they may come to.
    neighbours : dict of rank -> Extent
        Ranks that may come to need ghosts from here, and the part of the box where.
    theirs : dict of rank -> uint32 array
        Which cells there their molecules may come to, as bits.
    all_theirs : uint32 array
        Which cells of this rank's extent any neighbour's molecules may come to, as bits; it grows as `theirs` do.
    """

    def __init__(self, box: Box, width: float, comm: Exchange) -> None:
        self.box, self.width, self.comm = box, width, comm
        self.neighbours: dict = {}

    def look_around(self, balls: tuple, asking: set, everything: bool) -> None:
        """Find the neighbours, and let them know where these molecules may come to; collective.

        Parameters
        ----------
        balls : tuple
        asking : set of int
            Ranks that have asked for molecules.
        everything : bool
            All ranks are neighbours.
        """
        width = self.width
        position, radius, _, size, skin = balls
        radius = radius + np.repeat(skin, size)
        while True:
            self.cells = Cells(self.box, width)
            self.extent = self.cells.extent(position, radius, MARGIN)
            every = [Extent(*pair) for pair in self.comm.allgather((self.extent.low, self.extent.length))]
            if max(extent.size for extent in every) <= MOST_CELLS:
                break
            width *= 2.0
        mine = self.comm.rank
        common = {
            rank: self.cells.common(every[min(mine, rank)], every[max(mine, rank)])
            for rank in range(self.comm.size)
            if rank != mine
        }
        self.neighbours = {
            rank: extent
            for rank, extent in common.items()
            if extent.size or everything or mine in asking or rank in asking
        }
        self.bits = self.extent.nothing()
        self.mark(balls)
        self.tell()

    def tell(self) -> None:
        """Tell the neighbours where molecules here may come to, and learn the same of theirs; collective."""
        bits = {
            rank: as_message(self.cells.shared(self.extent, extent, self.bits))
            for rank, extent in self.neighbours.items()
        }
        received = self.comm.exchange_known(bits, sorted(self.neighbours))
        self.theirs = {rank: from_message(received[rank], extent) for rank, extent in self.neighbours.items()}
        taken = np.zeros(self.extent.size, dtype=bool)
        for rank, extent in self.neighbours.items():
            cells = self.cells.numbers(extent, np.flatnonzero(extent.flags(self.theirs[rank])))
            taken[self.cells.within(self.extent, cells)] = True
        self.all_theirs = self.extent.bits(taken.reshape(tuple(self.extent.length)))

    def mark(self, balls: tuple) -> np.ndarray | None:
        """Set the cells that these molecules may come to; return those that were not set before.

        Returns None if they are too many, or outside the extent.
        """
        fresh = np.empty(MOST_FRESH, dtype=np.int64)
        count = mark_cells(self.bits, self.extent.low, self.extent.length, self.cells.place, balls, fresh)
        return fresh[:count] if 0 <= count <= MOST_FRESH else None

    def cells_message(self, rank: int, cells: np.ndarray) -> np.ndarray:
        """Return, for a message, the places of cells in what is in common with a neighbour."""
        return self.cells.within(self.neighbours[rank], cells).astype(np.float64)

    def reaching(self, extent: Extent, bits: np.ndarray, balls: tuple) -> np.ndarray:
        """Return a mask of those of these molecules that may come to the set cells of an extent."""
        hit = np.zeros(len(balls[2]), dtype=np.uint8)
        reaches(bits, extent.low, extent.length, self.cells.place, balls, hit)
        return hit != 0

    def near(self, balls: tuple) -> np.ndarray:
        """Return a mask of those of these molecules that may come to where a neighbour's may."""
        return self.reaching(self.extent, self.all_theirs, balls)

    def coming_to(self, places: np.ndarray, balls: tuple) -> tuple[np.ndarray, np.ndarray]:
        """Return the bits of cells, given by their places in the extent, and which molecules may come to them."""
        cells, _, _, periodic = self.cells.place
        extent = self.extent
        fresh, wide = extent.nothing(), extent.nothing()
        set_cells(fresh, wide, extent.length, cells, periodic, places, SPAN)
        near = np.zeros(len(balls[2]), dtype=np.uint8)
        may_reach(wide, extent.low, extent.length, self.cells.place, balls, SPAN, near)
        near = np.flatnonzero(near)
        position, radius, *others = balls
        return fresh, near[self.reaching(extent, fresh, (position, radius, *(of[near] for of in others)))]


def as_message(bits: np.ndarray) -> np.ndarray:
    """Return bits (n,) uint32 as a float64 message."""
    return np.concatenate([bits, np.zeros(len(bits) % 2, dtype=np.uint32)]).view(np.float64)


def from_message(message: np.ndarray, extent: Extent) -> np.ndarray:
    """Return the bits of an extent's cells that `as_message` made a message of."""
    return message.view(np.uint32)[: len(extent.nothing())].copy()
