"""Where molecules of this rank may come to, and those of its neighbours: cells of the box, as bits (`reach`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.ghosts.first_look import (
    BLOCK,
    FARTHEST,
    NEAR,
    WITH,
    CellSet,
    bring_nearer,
    coming_to,
    find_blocks,
    no_cells,
    no_distances,
    rooms,
    set_cells,
    take_cells,
    wanted_since,
)
from hpcchain.parallel.ghosts.reach import Balls, Cells, Extent, add_bits, mark_cells, reaches

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.exchange import Exchange

MOST_FRESH = 1 << 16
MARGIN = 10  # cells by which extents are larger than they need be: when molecules come out of them all is chosen anew
MOST_CELLS = 1 << 22  # in a rank's extent; else all ranks' cells are coarser


class Surroundings:
    """What a rank knows of where molecules, given as Balls, may come to.

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
    told : dict of rank -> CellSet
        The same with blocks.
    all_told : CellSet
        Which cells of this rank's extent any neighbour's molecules may come to; it grows as they do.
    far_from_told, far_from_common : uint8 arrays of three axes
        How far blocks of this rank's extent are from those cells, and from what is common with any neighbour, of which
        alone it matters where molecules may come to (`distances`).
    """

    def __init__(self, box: Box, width: float, comm: Exchange) -> None:
        self.box, self.width, self.comm = box, width, comm
        self.neighbours: dict = {}
        self._fresh = np.empty(MOST_FRESH, dtype=np.int64)

    def look_around(self, balls: Balls, asking: set, everything: bool) -> None:
        """Find the neighbours, and let them know where these molecules may come to; collective.

        Parameters
        ----------
        balls : Balls
        asking : set of int
            Ranks that have asked for molecules.
        everything : bool
            All ranks are neighbours.
        """
        width = self.width
        radius = balls.radius + np.repeat(balls.skin, balls.size)
        while True:
            self.cells = Cells(self.box, width)
            self.extent = self.cells.extent(balls.position, radius, MARGIN)
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
        self._find_common([every[rank] for rank in self.neighbours])
        self.bits = self.extent.nothing()
        self.mark(balls)
        self.tell()

    def _find_common(self, theirs: list) -> None:
        """Find out how far from what is common with neighbours, by their extents, blocks of this rank's extent are."""
        here = self._no_cells(self.extent)
        length, blocks = here.length, here.blocks
        self._queue = np.empty(blocks.size, dtype=np.int64)
        for extent in theirs:
            lags = (
                (low + np.arange(n) - first) % count
                for low, n, first, count in zip(
                    extent.low, extent.length, self.extent.low, self.cells.counts, strict=True
                )
            )
            blocks[np.ix_(*(np.unique(lag[lag < n] // BLOCK) for lag, n in zip(lags, length, strict=True)))] = WITH
        self.far_from_common = no_distances(blocks)
        bring_nearer(blocks, here.wraps, self.far_from_common, self._queue, FARTHEST)

    def tell(self) -> None:
        """Tell the neighbours where molecules here may come to, and learn the same of theirs; collective."""
        bits = {
            rank: as_message(self.cells.shared(self.extent, extent, self.bits))
            for rank, extent in self.neighbours.items()
        }
        received = self.comm.exchange_known(bits, sorted(self.neighbours))
        here, self.told = self._no_cells(self.extent), {}
        for rank, extent in self.neighbours.items():
            self.told[rank] = told = self._no_cells(extent)
            told.bits[:] = from_message(received[rank], extent)
            find_blocks(told)
            add_bits(told.bits, told.low, told.length, here.bits, here.low, here.length, self.cells.counts)
        find_blocks(here)
        self.theirs = {rank: told.bits for rank, told in self.told.items()}
        self.all_told, self.far_from_told = here, no_distances(here.blocks)
        bring_nearer(here.blocks, here.wraps, self.far_from_told, self._queue, FARTHEST)

    def mark(self, balls: Balls) -> np.ndarray | None:
        """Set the cells that these molecules may come to; return those that were not set before.

        Those that come to none that is common with a neighbour are left out. Returns None if cells are too many, or
        outside the extent.
        """
        fresh, balls = self._fresh, balls.some(self._rooms(self.far_from_common, balls) <= 0.0)
        count = mark_cells(self.bits, self.extent.low, self.extent.length, self.cells.lattice, balls, fresh)
        return fresh[:count].copy() if 0 <= count <= MOST_FRESH else None

    def cells_message(self, rank: int, cells: np.ndarray) -> np.ndarray:
        """Return, for a message, the indices of cells in what is in common with a neighbour."""
        return self.cells.within(self.neighbours[rank], cells).astype(np.float64)

    def reaching(self, extent: Extent, bits: np.ndarray, balls: Balls) -> np.ndarray:
        """Return a mask of those of these molecules that may come to the set cells of an extent."""
        hit = np.zeros(len(balls.first), dtype=np.uint8)
        reaches(bits, extent.low, extent.length, self.cells.lattice, balls, hit)
        return hit != 0

    def near(self, balls: Balls) -> np.ndarray:
        """Return a mask of those of these molecules that may come to where a neighbour's may."""
        hit = np.zeros(len(balls.first), dtype=np.uint8)
        coming_to(self.all_told, self.cells.lattice, balls, hit)
        return hit != 0

    def rooms(self, balls: Balls) -> np.ndarray:
        """Return how much wider these molecules' skins could be, at least, away from where neighbours' may come to.

        (k,) float64 [length], less than 0 where nothing is known.
        """
        return self._rooms(self.far_from_told, balls)

    def _rooms(self, distance: np.ndarray, balls: Balls) -> np.ndarray:
        room = np.empty(len(balls.first))
        rooms(self.extent.low, self.extent.length, distance, self.cells.lattice, balls, room)
        return room

    def take(self, news: dict) -> tuple[dict, CellSet]:
        """Note cells that neighbours' molecules may come to since now.

        Parameters
        ----------
        news : dict of rank -> (n,) int64 array
            Their indices in what is common with it.

        Returns
        -------
        dict of rank -> CellSet, CellSet
            These cells of each, and those of all that are in this rank's extent.
        """
        here, since = self._no_cells(self.extent), {}
        for rank, indices in news.items():
            since[rank] = self._no_cells(self.neighbours[rank])
            take_cells(indices, self.told[rank], since[rank], self.cells.counts, here)
        every = self.all_told
        np.bitwise_or(every.bits, here.bits, out=every.bits)
        np.maximum(every.blocks, here.blocks, out=every.blocks)  # a block WITH a cell stays one
        bring_nearer(every.blocks, every.wraps, self.far_from_told, self._queue, FARTHEST)
        return since, here

    def wanted_since(
        self, rank: int, fresh: CellSet, balls: Balls, moved: np.ndarray, coming: np.ndarray, lent: np.ndarray
    ) -> np.ndarray:
        """Return rows of molecules that a neighbour needs and has not had, in order; see `first_look.wanted_since`."""
        rows = np.empty(len(moved) + len(coming), dtype=np.int64)
        number = wanted_since(self.told[rank], fresh, self.cells.lattice, balls, moved, coming, lent, rows)
        return np.sort(rows[:number])

    def near_cells(self, cells: CellSet, balls: Balls) -> np.ndarray:
        """Return a mask of the molecules that may come to cells (`take`), and of some others that are near them."""
        distance = no_distances(cells.blocks, NEAR)
        bring_nearer(cells.blocks, cells.wraps, distance, self._queue, NEAR)
        return self._rooms(distance, balls) <= 0.0

    def coming_to(self, indices: np.ndarray, balls: Balls) -> np.ndarray:
        """Return a mask of the molecules that may come to cells, given by their indices in the extent."""
        cells, hit = self._no_cells(self.extent), np.zeros(len(balls.first), dtype=np.uint8)
        set_cells(cells, indices)
        coming_to(cells, self.cells.lattice, balls, hit)
        return hit != 0

    def _no_cells(self, extent: Extent) -> CellSet:
        return no_cells(extent, self.cells.lattice)


def as_message(bits: np.ndarray) -> np.ndarray:
    """Return bits (n,) uint32 as a float64 message."""
    return np.concatenate([bits, np.zeros(len(bits) % 2, dtype=np.uint32)]).view(np.float64)


def from_message(message: np.ndarray, extent: Extent) -> np.ndarray:
    """Return the bits of an extent's cells that `as_message` made a message of."""
    return message.view(np.uint32)[: len(extent.nothing())].copy()
