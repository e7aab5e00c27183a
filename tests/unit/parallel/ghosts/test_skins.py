"""Molecules' skins: how far one is known to be from its reference position at most is never less than how far it is."""

import numpy as np
import pytest

from hpcchain.layout.arrays import DISTANT, LIST_LENGTH, MOL_BEADS, MOL_FIRST, OWNERSHIP, VACANT
from hpcchain.model.clock import later
from hpcchain.parallel.ghosts.ghost_cells import mark_cells
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from tests.support.gases import MIXTURE, gas
from tests.support.identity import parallel, require_same, serial
from tests.support.shapes import bead, boxed, rod

WINDOW = 0.05


def distances(ghosts, time):
    """Return how far from its reference position each owned molecule is, by its beads' places in a frame of the run."""
    ghosted, builder = ghosts.ghosted, ghosts.builder
    size = builder.system.box.size
    here = np.full((len(ghosted.ids), 3), np.nan)
    here[ghosted.owned_beads] = builder.in_frame(ghosted.frame(*time)[0], time)
    apart = here - ghosts.needs.balls.position
    apart -= size * np.rint(apart / size)
    away = np.sqrt(np.sum(apart**2, axis=1))
    mol = ghosted.sector.mol
    return np.array([away[mol[m, MOL_FIRST] : mol[m, MOL_FIRST] + mol[m, MOL_BEADS]].max() for m in ghosted.owned])


def violation_until(engine, until):
    """Return how far beyond its skin each molecule gets between now and a time."""
    return engine._violation(until)


def watched(seed):
    """Return what is known and true of all molecules after each of many windows, and how often skins were renewed.

    That is an array of rows (distance, skin, excess by what was known, whether anything had to be looked at).
    """
    system = gas([MIXTURE[k % 8] for k in range(27)], seed=seed, pitch=3.4)

    def body(exchange):
        engine, rows = WindowedEngine(system, exchange, window=WINDOW), []
        ghosts = engine.ghosts
        for k in range(40):
            engine.advance((k + 1) * WINDOW)
            owned = ghosts.ghosted.owned
            skin = ghosts.needs.balls.skin[owned]
            looked = np.isfinite(violation_until(engine, engine.now)[owned])
            violation_until(engine, later(engine.now, 20.0 * WINDOW, engine.tick))  # has nearly all looked at
            ghosts.ghosted.sector.away[:] = np.inf
            violation = violation_until(engine, engine.now)[owned]
            rows.append(np.column_stack([distances(ghosts, engine.now), skin, violation, looked]))
        return np.concatenate(rows), ghosts.skin_refreshes

    every = on_ranks(2, body)
    return np.concatenate([rows for rows, _ in every]), every[0][1]


@pytest.mark.parametrize("seed", range(3))
def test_none_is_farther_from_home_than_is_known(seed):
    """While molecules meet, turn and get new reference positions."""
    rows, skin_refreshes = watched(seed)
    away, skin, violation, looked = rows.T
    assert np.all(away <= skin + violation + 1e-9)
    assert np.all(away <= skin + 1e-9), "a window was ended in which somebody got out"
    assert skin_refreshes > 2 and np.max(away / skin) > 0.25, "none gets far"
    assert 0 < np.count_nonzero(looked) < len(looked), "all are looked at, or none"


@pytest.mark.parametrize("seed", range(3))
def test_none_gets_out_of_a_skin(seed):
    """With no looks but the engine's own, of which few are at each molecule."""
    system = gas([MIXTURE[k % 8] for k in range(27)], seed=seed, pitch=3.4)

    def body(exchange):
        engine, away = WindowedEngine(system, exchange, window=WINDOW), []
        for k in range(60):
            engine.advance((k + 1) * WINDOW)
            skin = engine.ghosts.needs.balls.skin[engine.ghosted.owned]
            away.append(np.max(distances(engine.ghosts, engine.now) / skin))
        return max(away)

    assert 0.5 < max(on_ranks(2, body)) <= 1.0 + 1e-9


def test_ways_before_a_contact_count():
    """A heavy bead that a light one hardly slows down goes on: what it has gone before they meet is part of its way."""
    system = boxed([bead((2.0, 4.0, 4.0), (0.1, 0.0, 0.0), 1e6), bead((3.15, 4.0, 4.0), (0.0, 0.0, 0.0))], (8.0,) * 3)

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=1.0)
        rows = []
        for time in (1.0, 2.0):
            engine.advance(time)
            chosen = engine.ghosts
            chosen.ghosted.sector.away[:] = np.inf
            violation = violation_until(engine, engine.now)
            allowed = chosen.needs.balls.skin + violation
            rows.append(np.max(distances(chosen, engine.now) - allowed[chosen.ghosted.owned]))
        return rows, engine.counters["contacts"], engine.ghosts.rebuilds

    [(rows, contacts, rebuilds)] = on_ranks(1, body)
    assert contacts == 1 and rebuilds == 0 and max(rows) < 1e-9


def in_a_long_box(seed):
    """Return a mixture in a box many molecules long, through which one of them flies fast."""
    system = gas([MIXTURE[k % 8] for k in range(81)], seed=seed, pitch=3.2, cells=(27, 2, 2))
    system.state.velocity[system.topology.whole().first_bead[1], 0] = 12.0
    return system


def needed(chosen, exchange):
    """Return the molecules of others that could touch owned ones while all stay in their skins, from all pairs."""
    ghosted, balls, size = chosen.ghosted, chosen.needs.balls, chosen.builder.system.box.size
    own = ghosted.owned_beads
    half_width = balls.radius + np.repeat(balls.skin, balls.size)
    mine = ghosted.ids[own], balls.position[own], half_width[own]
    found = set()
    for rank, (ids, position, far) in enumerate(exchange.allgather(mine)):
        if rank != exchange.rank:
            apart = position[:, None] - mine[1]
            apart = np.abs(apart - size * np.rint(apart / size)).max(axis=2)
            near = np.any(apart <= far[:, None] + mine[2], axis=1)
            found |= set(chosen.composition.molecule_of(ids[near]).tolist())
    return found


def unmarked(chosen):
    """Return how many cells owned molecules may come to that are not marked."""
    around = chosen.needs.around
    marks, own = around.extent.nothing(), chosen.needs.balls.some(chosen.ghosted.owned)
    assert mark_cells(marks, around.extent, around.cells, own)
    return np.count_nonzero(marks & ~around.marks)


@pytest.mark.parametrize("seed", range(3))
def test_all_that_may_touch_are_ghosts(seed):
    """At the start and after every window; all cells that skins half_width are marked, and known to the neighbours."""

    def body(exchange):
        engine = WindowedEngine(in_a_long_box(seed), exchange, window=WINDOW)
        wrong, known, few = 0, [], []
        for k in range(20):
            chosen = engine.ghosts
            wrong += unmarked(chosen)
            around = chosen.needs.around
            mine = {
                rank: around.cells.shared(around.extent, extent, around.marks)
                for rank, extent in around.neighbours.items()
            }
            sent = [exchange.allgather(around.theirs), exchange.allgather(mine)]
            known += [np.array_equal(sent[0][rank][exchange.rank], mine[rank]) for rank in mine]
            here = chosen.ghosted.molecule_ids[chosen.ghosted.ownership != VACANT]
            ghosts = set(here.tolist()) - set(chosen.ghosted.molecule_ids[chosen.ghosted.owned].tolist())
            wrong += len(needed(chosen, exchange) - ghosts)
            few.append(len(ghosts) < chosen.composition.molecules - len(chosen.ghosted.owned))
            engine.advance((k + 1) * WINDOW)
        return wrong, known, few, engine.ghosts.skin_refreshes

    for wrong, known, few, skin_refreshes in on_ranks(3, body):
        assert wrong == 0 and known and all(known) and any(few) and skin_refreshes


@pytest.mark.parametrize("seed", range(3))
def test_skins_leave_no_trace(seed):
    """Also where a fast molecule comes from afar."""
    system = in_a_long_box(seed)
    one = serial(system, 4.0)
    assert len(one.events) > 100
    for ranks in (2, 3):
        require_same(one, parallel(system, 4.0, ranks), f"{ranks} ranks")


def of_rods(seed):
    """Return rods along the longest axis of a box, across which ranks have their sectors."""
    rng = np.random.default_rng(seed)
    places = [np.array([1.0 + 7.0 * k, 1.0 + 2.0 * y, 1.0 + 2.0 * z]) for k in range(6) for y, z in np.ndindex(3, 3)]
    return boxed([rod(place, 0, 6, 2.0 * rng.normal(size=3)) for place in places], (42.0, 6.0, 6.0))


def overlapping(chosen):
    """Return how many distant beads may touch owned ones while all stay in their skins, from all pairs."""
    ghosted, balls, size = chosen.ghosted, chosen.needs.balls, chosen.builder.system.box.size
    half_width = balls.radius + np.repeat(balls.skin, balls.size)
    far, own = chosen.needs.distant, ghosted.owned_beads
    apart = balls.position[far][:, None] - balls.position[own]
    apart = np.abs(apart - size * np.rint(apart / size)).max(axis=2)
    return np.count_nonzero(np.any(apart <= half_width[far][:, None] + half_width[own], axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_beads_that_can_touch_nothing_owned_are_set_aside(seed):
    """Until molecules have come nearer; then they are on lists again, and no bit changes."""
    system = of_rods(seed)

    def body(exchange):
        engine, seen = WindowedEngine(system, exchange, window=WINDOW, sectors=(3, 1, 1)), []
        for k in range(40):
            needs, s = engine.ghosts.needs, engine.ghosted.sector
            far = np.flatnonzero(s.lists[:, OWNERSHIP] == DISTANT)
            np.testing.assert_array_equal(far, np.sort(needs.distant))
            assert np.all(s.lists[far, LIST_LENGTH] == 0) and overlapping(engine.ghosts) == 0
            seen.append((engine.ghosts.rebuilds, len(far)))
            engine.advance((k + 1) * WINDOW)
        return seen

    steps = [(a, b) for seen in on_ranks(3, body) for a, b in zip(seen, seen[1:], strict=False)]
    assert any(a[1] > 0 for a, _ in steps), "none is set aside"
    assert any(a[0] == b[0] and a[1] > b[1] for a, b in steps), "none is attended to again"
    require_same(serial(system, 2.0), parallel(system, 2.0, 3, sectors=(3, 1, 1)), "3 ranks")
