"""Ghosts follow what a message tells as it is read, as far as nothing here comes before."""

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.ghosted import GhostedSector
from tests.support.gases import MIXTURE, gas
from tests.support.identity import dealt


def watched(system, end, monkeypatch, **options):
    """Carry a system over two ranks; return an array of what was found after each message, a row for each ghost.

    Columns: segments that it has not followed yet, whether the next of them is what comes next for it, whether it has
    to wait for that (until it has been set back, or for room), segments followed.
    """
    rows = []
    receive = GhostedSector.receive

    def noted(self, message):
        before = self.sector.mol[self.ghost_rows, L.MOL_NUMBER].copy()
        wanted = receive(self, message)
        mol, coming = self.sector.mol[self.ghost_rows], self.sector.molecule_event[self.ghost_rows]
        waits = (mol[:, L.MOL_TARGET] >= 0) | (self.sector.scalars[L.SCALAR_OUT_OF_ROWS] != 0)
        of_owner = coming[:, L.NEXT_HOLDER] == L.BY_HISTORY
        left, followed = mol[:, L.MOL_HISTORY] - mol[:, L.MOL_NUMBER], mol[:, L.MOL_NUMBER] - before
        rows.append(np.column_stack([left, of_owner, waits, followed]))
        return wanted

    monkeypatch.setattr(GhostedSector, "receive", noted)
    on_ranks(2, lambda exchange: WindowedEngine(dealt(system, exchange), exchange, **options).advance(end))
    return np.concatenate(rows)


def test_no_ghost_waits_in_the_queue_for_what_has_been_told(monkeypatch):
    found = watched(gas(8 * MIXTURE, seed=3, pitch=4.0), 3.0, monkeypatch, window=1.0)
    left, of_owner, waits, followed = found.T
    assert (followed >= 0).all()
    assert np.sum(followed) > 200
    assert np.sum(followed > 1) > 30
    assert not np.any((of_owner == 1) & (waits == 0))
    assert np.sum((left > 0) & (waits == 0)) > 5, "nothing has come before a segment told"
