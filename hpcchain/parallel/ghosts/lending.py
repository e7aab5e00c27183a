"""Which of a rank's molecules other ranks hold as ghosts, and which ranks own the ghosts here."""

from __future__ import annotations

import numpy as np


class Lending:
    """Who holds what, since ghosts were last chosen.

    Parameters
    ----------
    rows : int
        Molecule rows of the ghosted sector.
    wanted_by : dict of rank -> (n,) int64 array
        Rows of owned molecules that it holds as ghosts.
    sources : sequence of int
        Ranks that own ghosts here.

    Attributes
    ----------
    lent : dict of rank -> (rows,) uint8 array
        Which owned molecules it holds.
    lent_at_all : (rows,) uint8 array
        Which any rank does.
    sources : list of int
        In ascending order.
    """

    def __init__(self, rows: int, wanted_by: dict, sources: list | dict) -> None:
        self.lent: dict = {}
        self.lent_at_all = np.zeros(rows, dtype=np.uint8)
        self.sources = sorted(sources)
        for rank, wanted in wanted_by.items():
            self.lend(rank, wanted)

    def lend(self, rank: int, rows: np.ndarray) -> None:
        """Note that a rank holds the molecules in these rows as ghosts from now on."""
        if len(rows):
            self.lent.setdefault(rank, np.zeros_like(self.lent_at_all))[rows] = 1
            self.lent_at_all[rows] = 1

    def to(self, rank: int) -> np.ndarray:
        """Return which owned molecules a rank holds, (rows,) uint8."""
        return self.lent.get(rank, np.zeros_like(self.lent_at_all))

    def came_from(self, rank: int) -> None:
        """Note that ghosts of a rank have come here."""
        self.sources = sorted({*self.sources, rank})
