"""Which ghosts do ranks need? Those whose beads may come to a cell where another rank's molecules may come to, too.

Each molecule stays within its skin of its reference position (`skins`) until it gets a new one. So each of its beads
stays in a box about its place then, and reaches no other cells of a grid than those of this box, made wider by the
bead's radius (`ghost_cells`). Two beads whose boxes have no cell in common cannot touch.

1. All ranks know of all others an *extent*, six numbers: a box of cells, with a margin, where their molecules are.
2. Ranks whose extents have cells in common are *neighbours*. Each marks the cells that its molecules may come to, and
   sends a neighbour those marks that are in what is common: one bit a cell (`exchange_marks`).
3. A rank sends a neighbour, as ghosts, the molecules that may come to a cell that the neighbour has marked.
4. When molecules get new reference positions further cells are marked, and 2 and 3 follow again. Marks are taken off
   only when all is chosen anew. That also comes when a molecule may leave the extent.

What a rank keeps and sends so depends on its own molecules and its neighbours' alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.parallel.ghosts.ghost_cells import Balls, Cells, Extent, mark_cells, reaches

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.agreement import Ranks

MARGIN = 10  # cells by which extents are larger than they need be: when molecules come out of them all is chosen anew
MOST_CELLS = 1 << 22  # in a rank's extent; else all ranks' cells are coarser


class Surroundings:
    """What a rank knows of where molecules, given as Balls, may come to.

    Parameters
    ----------
    box : Box
    width : float
        Least width of cells [length].
    comm : Ranks

    Attributes
    ----------
    cells : Cells
    extent : Extent
        Of this rank's molecules, with a margin.
    marks : uint32 array of three axes
        Which cells of it they may come to (`Extent`).
    neighbours : dict of rank -> Extent
        Ranks that may come to need ghosts from here, and the part of the box where.
    theirs : dict of rank -> uint32 array of three axes
        Which cells there their molecules may come to.
    """

    def __init__(self, box: Box, width: float, comm: Ranks) -> None:
        self.box, self.width, self.comm = box, width, comm
        self.neighbours: dict = {}

    def look_around(self, balls: Balls, requesting: set, everything: bool) -> None:
        """Find the neighbours, and let them know where these molecules may come to; collective.

        Ranks that are `requesting` molecules are neighbours of all, and if `everything` all are.
        """
        width = self.width
        radius = balls.radius + np.repeat(balls.skin, balls.size)
        while True:
            self.cells = Cells.of(self.box, width)
            self.extent = self.cells.extent(balls.position, radius, MARGIN)
            every = self.comm.allgather(self.extent)
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
            if extent.size or everything or mine in requesting or rank in requesting
        }
        self.marks = self.extent.nothing()
        self.mark(balls)
        self.exchange_marks()

    def mark(self, balls: Balls) -> bool:
        """Mark the cells that these molecules may come to; return whether all are within the extent."""
        return mark_cells(self.marks, self.extent, self.cells, balls)

    def exchange_marks(self) -> None:
        """Send the neighbours where molecules here may come to, and receive the same of theirs; collective."""
        marks = {
            rank: as_message(self.cells.shared(self.extent, extent, self.marks))
            for rank, extent in self.neighbours.items()
        }
        received = self.comm.exchange_known(marks, sorted(self.neighbours))
        self.theirs = {rank: from_message(received[rank], extent) for rank, extent in self.neighbours.items()}

    def needed_by(self, rank: int, balls: Balls) -> np.ndarray:
        """Return a mask of those of these molecules that may come to where a neighbour's may."""
        return self._reaching(self.theirs[rank], self.neighbours[rank], balls)

    def needed_here(self, balls: Balls) -> np.ndarray:
        """Return a mask of those of these molecules that may come to where this rank's may."""
        return self._reaching(self.marks, self.extent, balls)

    def _reaching(self, marks: np.ndarray, extent: Extent, balls: Balls) -> np.ndarray:
        """Return a mask of those of these molecules that may come to the marked cells of an extent."""
        hit = np.zeros(len(balls.first), dtype=np.uint8)
        reaches(marks, extent.layers(marks), extent, self.cells, balls, hit)
        return hit != 0


def as_message(marks: np.ndarray) -> np.ndarray:
    """Return marks as a float64 message."""
    return np.append(marks.ravel(), np.zeros(marks.size % 2, dtype=np.uint32)).view(np.float64)


def from_message(message: np.ndarray, extent: Extent) -> np.ndarray:
    """Return the marks of an extent's cells of which `as_message` made a message."""
    return message.view(np.uint32)[: math.prod(extent.shape)].reshape(extent.shape)
