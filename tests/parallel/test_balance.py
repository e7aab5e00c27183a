"""Inhomogeneous boxes on eight ranks: sectors follow what molecules cost, and leave no trace in the bits.

Cost is counted here, segments of beads that a rank has made, for itself, for ghosts and again, so that a busy machine
changes nothing; a run measures the seconds of its processor.
"""

import numpy as np
import pytest

from hpcchain.layout.arrays import N_BEAD_SEGMENTS
from hpcchain.parallel import windows
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.tuning import balance, window_length
from hpcchain.parallel.windows import WindowedEngine
from tests.support.identity import parallel, require_same, serial
from tests.support.shapes import bead, boxed, rod

RANKS, EVEN = 8, (2, 1, 4)


def counted(engine):
    """Return how many beads' segments a rank has made."""
    return float(engine.ghosted.counts[N_BEAD_SEGMENTS])


def places(low, counts, pitch):
    """Return the points of a lattice."""
    return np.array(list(np.ndindex(*map(int, counts)))) * pitch + np.array(low)


def slab(n):
    """Monomers: a dense slab at one end of the box's long side, and a thin gas."""
    rng = np.random.default_rng(1)
    dense = places((0.6, 0.6, 0.6), (2 * n, 2 * n, n), 1.15)
    edge, thick = 2.3 * n, 1.15 * n
    thin = places((1.0, 1.0, thick + 2.0), (edge // 3.5, edge // 3.5, 0.7 * n), 3.5)
    box = (edge, edge, thick + 3.5 * (0.7 * n) + 4.0)
    return boxed([bead(x, rng.normal(size=3)) for x in np.concatenate([dense, thin])], box)


def droplet(n):
    """Monomers: a dense ball off the middle of the box, and a thin gas."""
    rng = np.random.default_rng(2)
    radius = 1.15 * n
    centre, edge = np.full(3, radius + 1.0), 4.4 * radius
    dense = places((0.5, 0.5, 0.5), (2 * n + 2,) * 3, 1.15)
    thin = places((0.5, 0.5, 0.5), (edge // 4.0,) * 3, 4.0)
    distance = [np.linalg.norm(x - centre, axis=1) for x in (dense, thin)]
    points = np.concatenate([dense[distance[0] < radius], thin[distance[1] > radius + 1.2]])
    return boxed([bead(x, rng.normal(size=3)) for x in points], (edge,) * 3)


def lengths(n):
    """Chains of 12 and of 3, and monomers, each sort in a part of the box of its own."""
    rng = np.random.default_rng(3)
    edge, thick = 2.5 * n, 1.25 * n
    pitch = np.array([12.6, 1.25, 1.25])
    molecules = [rod(x, 0, 12, rng.normal(size=3)) for x in places((0.5, 0.6, 0.6), (2, 2 * n, n), pitch)]
    pitch = np.array([4.0, 2.5, 2.2])
    molecules += [rod(x, 0, 3, rng.normal(size=3)) for x in places((0.5, 0.6, thick + 1.0), (6, n, n // 2), pitch)]
    pitch = np.array([2.8, 2.8, 2.8])
    start = (1.0, 1.0, 2.0 * thick + 2.0)
    molecules += [bead(x, rng.normal(size=3)) for x in places(start, (9, edge // 2.8, n), pitch)]
    return boxed(molecules, (25.4, edge, 2.0 * thick + 2.8 * n + 4.0))


def imbalances(system, end, **options):
    """Return the imbalance over the first and over the second half of a run, and how often all was chosen anew."""

    def body(exchange):
        engine, found = WindowedEngine(system, exchange, cost=counted, **options), []
        for time in (0.5 * end, end):
            engine.advance(time)
            found.append(engine.window_report()["imbalance"])
        return [*found, engine.ghosts.rebuilds]

    return on_ranks(RANKS, body)[0]


def followed(system, end):
    """Return the imbalances of the even split and of sectors that move."""
    even, moved = imbalances(system, end, sectors=EVEN), imbalances(system, end)
    assert moved[2] > even[2], f"sectors did not move: all was chosen anew {moved[2]} times, and {even[2]} without"
    return even, moved


def test_sectors_that_move_leave_no_trace(monkeypatch):
    system, seen, moved, observe = slab(5), [], [], balance.Balance.observe

    def noted(self, number, *numbers):
        found = observe(self, number, *numbers)
        seen.append(number)
        moved.extend([] if found is None else [number])
        return found

    monkeypatch.setattr(balance.Balance, "observe", noted)
    found = parallel(system, 2.4, RANKS, cost=counted)
    assert moved and min(moved) < 0.8 * max(seen), "no sectors moved, or only at the end"
    require_same(serial(system, 2.4), found, "sectors moved")


@pytest.mark.long
def test_sectors_follow_the_cost():
    """Few beads: the second half has some 850 segments per rank, and chance leaves the busiest a tenth too many."""
    even, moved = followed(slab(7), 1.2)
    assert even[1] > 2.0 and moved[1] < 1.25, f"even {even}, moved {moved}"


def test_sectors_follow_seconds(monkeypatch):
    """A rank whose processor takes five times as long as others gives molecules away."""
    monkeypatch.setattr(window_length, "MOST", 0.4)  # looks are so many windows apart, and two of them have to say so
    slow = (5.0, 1.0, 1.0, 1.0)
    monkeypatch.setattr(windows, "processor_seconds", lambda engine: counted(engine) * slow[engine.comm.rank])

    def body(exchange):
        engine = WindowedEngine(slab(7), exchange)
        before = len(engine.ids)
        engine.advance(0.6)
        return len(engine.ids) < 0.8 * before

    assert on_ranks(4, body)[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("system", "end"),
    [
        (droplet(10), 1.2),
        (slab(11), 2.0),  # its windows are long, and looks at costs are so many of them apart
        (lengths(10), 2.0),
    ],
    ids=["droplet", "slab", "lengths"],
)
def test_costs_become_equal(system, end):
    """With some 700 beads per rank; the lattices of chains take time until there are contacts to learn from.

    So few beads leave the busiest rank up to a quarter too much by chance, other in each version and for each end.
    """
    even, moved = followed(system, end)
    require_same(serial(system, end), parallel(system, end, RANKS, cost=counted), "sectors moved")
    assert min(even[:2]) > 2.0 and moved[1] - 1.0 < 0.1 * (even[1] - 1.0), f"even {even}, moved {moved}"
