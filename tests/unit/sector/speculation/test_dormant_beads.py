"""Dormant beads of ghosts: none can touch an owned bead, all are told from others everywhere, and they wake in time."""

import numpy as np
import pytest

from hpcchain.layout.arrays import (
    DORMANT,
    GHOST,
    MOL_BEADS,
    MOL_FIRST,
    MOL_OWNERSHIP,
    MOLECULE,
    OWNED,
    OWNERSHIP,
    WINDOW_DORMANT,
)
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.setup.drift import place_in_frame
from tests.support.gases import gas

WINDOW, RANKS = 0.05, 3
KINDS = ["chain10", "monomer", "chain10", "dimer", "chain5", "ring"]


def places(engine, exchange):
    """Return where all beads are, in the order of their ids."""
    every = exchange.allgather((engine.ids, engine.frame(engine.time)[0]))
    here = np.empty((sum(len(ids) for ids, _ in every), 3))
    for ids, position in every:
        here[ids] = position
    return here


def seen(engine, here):
    """Return what a rank's dormant beads are like after a window: numbers that are to be 0, least gap, greatest way."""
    ghosts, s = engine.ghosts, engine.ghosted.sector
    size, ids = ghosts.system.box.size, engine.ghosted.ids
    dormant = engine.ghosted.dormant
    lists = [s.neighbour[first : first + n] for first, n in s.lists[: len(ids), :2]]
    of = s.segment[dormant, MOLECULE]
    wrong = (
        np.count_nonzero(np.isin(np.concatenate(lists), dormant)) + sum(len(lists[i]) for i in dormant),
        np.count_nonzero(s.mol[of, MOL_OWNERSHIP] != GHOST),
        np.count_nonzero(np.bincount(of, minlength=len(s.mol)) != s.window_molecule[:, WINDOW_DORMANT]),
        np.count_nonzero(ghosts.around.needed_here(ghosts._singly(dormant))),
    )
    apart = here[ids[dormant]][:, None] - here[engine.ids]
    apart -= size * np.rint(apart / size)
    gap = np.sqrt(np.sum(apart**2, axis=2)).min() if len(dormant) else np.inf
    way = 0.0
    for m in np.unique(of):
        beads = slice(s.mol[m, MOL_FIRST], s.mol[m, MOL_FIRST] + s.mol[m, MOL_BEADS])
        moved = place_in_frame(ghosts.system, ghosts.drift, here[ids[beads]], engine.now) - ghosts.balls.position[beads]
        moved -= size * np.rint(moved / size)
        way = max(way, np.sqrt(np.sum(moved**2, axis=1)).max() / ghosts.balls.skin[m])
    return wrong, gap, way, set(ids[dormant].tolist()), int(np.count_nonzero(s.lists[: len(ids), OWNERSHIP] == DORMANT))


def slow_and_fast(seed, slow):
    """Return a gas whose molecules of several beads are as many times slower than they would be."""
    system = gas([KINDS[k % 6] for k in range(48)], seed=seed, pitch=3.6, cells=(12, 2, 2))
    first = system.topology.first_bead
    system.state.velocity[np.repeat(np.diff(first) > 1, np.diff(first))] *= slow
    return system


@pytest.mark.parametrize("slow", [1.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_dormant_beads_touch_none_and_wake_in_time(seed, slow):
    """Also where ghosts stay where they are, and others come to them."""
    system = slow_and_fast(seed, slow)

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=WINDOW)
        rows, woken, before, ghosted = [], 0, set(), None
        for k in range(60 if slow == 1.0 else 160):
            engine.advance((k + 1) * WINDOW)
            rows.append(seen(engine, places(engine, exchange)))
            owned = {int(i) for i in engine.ids}
            if engine.ghosted is ghosted:
                here = set(
                    engine.ghosted.ids[
                        engine.ghosted.sector.lists[: len(engine.ghosted.ids), OWNERSHIP] == GHOST
                    ].tolist()
                )
                woken += len(before & here - owned)
            ghosted, before = engine.ghosted, rows[-1][3]
        assert np.count_nonzero(engine.ghosted.sector.lists[:, OWNERSHIP] == OWNED) == len(engine.ids)
        return rows, woken, engine.ghosts.skin_refreshes

    rows, woken, skin_refreshes = zip(*on_ranks(RANKS, body), strict=True)
    wrong, gaps, ways, _, counts = zip(*(row for each in rows for row in each), strict=True)
    assert not np.any(wrong)
    assert min(gaps) > 0.8 and max(ways) <= 1.0 + 1e-9
    assert max(counts) > 9 and sum(woken) > (3 if slow == 1.0 else 0) and min(skin_refreshes) > 2
    assert max(ways) > (0.3 if slow == 1.0 else 0.05)
