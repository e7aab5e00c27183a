"""Whom ghosts' beads are listed with: all owned ones that they may meet, and no ghost's, since that is others' work."""

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from tests.support.gases import MIXTURE, gas
from tests.support.identity import dealt


def listed_and_near(engine, size):
    """Return the pairs of beads, by row, that are listed, and those whose list origins are near enough to be."""
    s = engine.ghosted.sector
    beads = np.flatnonzero(s.lists[: len(engine.ghosted.ids), L.OWNERSHIP] < L.VACANT)
    listed = {
        (int(i), int(j))
        for i in beads
        for j in s.neighbour[s.lists[i, L.LIST_FIRST] : s.lists[i, L.LIST_FIRST] + s.lists[i, L.LIST_LENGTH]]
    }
    apart = s.list_origin[beads, None, :3] - s.list_origin[None, beads, :3]
    apart -= size * np.rint(apart / size)
    reach = s.bounds[beads, L.RADIUS][:, None] + s.bounds[beads, L.RADIUS] + 2.0 * s.par[L.SHELL]
    near = np.sqrt(np.sum(apart**2, axis=2)) < reach * (1.0 - 1e-6)
    other = s.segment[beads, L.MOLECULE][:, None] != s.segment[beads, L.MOLECULE]
    pairs = {(int(beads[a]), int(beads[b])) for a, b in np.argwhere(near & other)}
    return listed, pairs, s.lists[:, L.OWNERSHIP].copy()


def test_ghosts_are_listed_with_owned_molecules_alone():
    system = gas(8 * MIXTURE, seed=4, pitch=4.0)

    def body(exchange):
        engine = WindowedEngine(dealt(system, exchange), exchange, window=0.1)
        found = [listed_and_near(engine, system.box.size)]
        engine.advance(1.5)
        return [*found, listed_and_near(engine, system.box.size)]

    left_out = met = 0
    for listed, near, ownership in (each for found in on_ranks(2, body) for each in found):
        others = {(i, j) for i, j in near if ownership[i] == ownership[j] == L.GHOST}
        assert near - others <= listed
        assert not {(i, j) for i, j in listed if ownership[i] == ownership[j] == L.GHOST}
        left_out += len(others)
        met += len({(i, j) for i, j in near if L.GHOST in (ownership[i], ownership[j])} - others)
    assert left_out > 20 and met > 20
