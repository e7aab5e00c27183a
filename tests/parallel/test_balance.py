"""Inhomogeneous boxes on eight ranks: sectors follow what molecules cost, and leave no trace in the bits.

Cost is counted here, segments of beads that a rank has made, for itself, for ghosts and again, so that a busy machine
changes nothing; a run measures the seconds of its processor.
"""

import numpy as np
import pytest
from identity import parallel, require_same, serial
from shapes import bead, boxed, rod

from hpcchain.parallel.threads import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.layout import C

RANKS, EVEN = 8, (2, 2, 2)


def counted(engine):
    """Return how many beads' segments a rank has made."""
    return float(engine.groups.counts()[C["bead_segments"]])


def places(low, counts, pitch):
    """Return the points of a lattice."""
    return np.array(list(np.ndindex(*counts))) * pitch + np.array(low)


def slab():
    """Monomers: a dense slab at one wall of the box's long side, and a thin gas."""
    rng = np.random.default_rng(1)
    dense = places((0.6, 0.6, 0.6), (9, 9, 4), 1.15)
    thin = places((1.0, 1.0, 7.0), (4, 4, 5), np.array([2.6, 2.6, 3.2]))
    return boxed([bead(x, rng.normal(size=3)) for x in np.concatenate([dense, thin])], (10.4, 10.4, 23.0))


def droplet():
    """Monomers: a dense ball off the middle of the box, and a thin gas."""
    rng = np.random.default_rng(2)
    centre = np.array([6.0, 6.0, 6.0])
    dense = places((0.5, 0.5, 0.5), (11, 11, 11), 1.15)
    thin = places((0.5, 0.5, 0.5), (6, 6, 6), 3.6)
    distance = [np.linalg.norm(x - centre, axis=1) for x in (dense, thin)]
    points = np.concatenate([dense[distance[0] < 4.7], thin[distance[1] > 5.9]])
    return boxed([bead(x, rng.normal(size=3)) for x in points], (21.6, 21.6, 21.6))


def lengths():
    """Chains of 12 and of 3, and monomers, each sort in a part of the box of its own."""
    rng = np.random.default_rng(3)
    molecules = [rod(x, 0, 12, rng.normal(size=3)) for x in places((0.5, 0.6, 0.6), (1, 7, 4), 1.2)]
    molecules += [rod(x, 0, 3, rng.normal(size=3)) for x in places((0.5, 0.6, 7.0), (3, 4, 2), np.array([4.0, 2.2, 2.2]))]
    molecules += [bead(x, rng.normal(size=3)) for x in places((1.0, 1.0, 13.0), (5, 4, 4), np.array([2.4, 2.2, 2.5]))]
    return boxed(molecules, (13.0, 9.0, 24.0))


SYSTEMS = {"slab": (slab, 1.2), "droplet": (droplet, 1.2), "lengths": (lengths, 1.2)}


def imbalances(system, end, **options):
    """Return (imbalance since the look before, times that all ghosts were chosen anew) at six times of a run."""

    def body(exchange):
        engine, found = WindowedEngine(system, exchange, cost=counted, **options), []
        for time in np.linspace(0.0, end, 7)[1:]:
            engine.advance(float(time))
            report = engine.window_report()
            found.append((report["imbalance"], report["regroupings"]))
        return found

    return on_ranks(RANKS, body)[0]


@pytest.mark.parametrize("name", SYSTEMS)
def test_sectors_follow_the_cost(name):
    make, end = SYSTEMS[name]
    system = make()
    even = imbalances(system, end, sectors=EVEN)
    moved = imbalances(system, end)
    assert min(value for value, _ in even) > 2.0, even
    assert min(value for value, _ in moved[3:]) < 1.15 and np.mean([value for value, _ in moved[3:]]) < 1.2, moved
    require_same(serial(system, end), parallel(system, end, RANKS, cost=counted), f"{name}, sectors moved")
    assert moved[-1][1] >= 3, moved
