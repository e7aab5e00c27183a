"""How many ranks are worth having molecules: the model."""

import numpy as np
import pytest

from hpcchain.parallel.tuning.ranks_at_work import GHOST_DISTANCE, LONG, Work
from tests.support.gases import MIXTURE, gas


def cube(beads, size=10, fraction=0.3):
    """Return the Work of equal chains in a cube."""
    edge = (beads * 0.5236 / fraction) ** (1.0 / 3.0)
    return Work(beads, beads // size, GHOST_DISTANCE + 0.5 * size**0.5, (edge, edge, edge))


def test_the_work_of_a_system():
    system = gas(MIXTURE)
    work = Work.of(system.topology, system.box)
    assert (work.beads, work.molecules) == (system.topology.beads, 8)
    assert work.extent == pytest.approx(0.8 * (GHOST_DISTANCE + 0.5 * (work.beads / 8) ** 0.5))


def test_small_systems_have_one_rank_and_large_ones_all():
    assert [cube(n, 20, 0.2).best(4) for n in (20, 5000)] == [1, 1]
    assert [cube(1_000_000).best(ranks) for ranks in (1, 2, 8)] == [1, 2, 8]
    assert cube(20).best(64) <= 2


def test_more_beads_never_have_fewer_ranks():
    for size in (1, 10, 50):
        found = [cube(n, size).best(64) for n in (1000, 5000, 20000, 50000, 200000, 1_000_000)]
        assert found == sorted(found) and found[0] == 1 and found[-1] > 8


def test_two_ranks_are_not_worth_it_for_single_beads():
    """98,304 of them: two ranks were 0.6 to 0.75 times as fast as one."""
    work = cube(98_304, 1)
    assert 0.65 < work.microseconds(1) / work.microseconds(2) < 0.85 and work.best(2) == 1


def stretched(beads, size, fraction=0.3):
    """Return the Work of equal long chains in a cube, which move in stretches."""
    edge = (beads * 0.5236 / fraction) ** (1.0 / 3.0)
    return Work(beads, beads // size, GHOST_DISTANCE + LONG * size**0.5, (edge, edge, edge), True)


def test_long_chains_in_stretches_ask_for_wide_sectors():
    """768,000 beads in chains of 200: 2, 4 and 8 ranks took .65 to 1.2 of one's speed, those of 1000 never gained."""
    work = stretched(768_000, 200)
    gains = [work.microseconds(1) / work.microseconds(ranks) for ranks in (2, 4, 8)]
    assert 0.6 < gains[0] < gains[1] < gains[2] < 1.5
    assert [stretched(480_000, 1000).best(ranks) for ranks in (2, 8, 64)] == [1, 1, 1]
    assert stretched(12_000, 200).best(8) == 1 and stretched(10_000_000, 200).best(64) == 64


def test_long_chains_count_where_they_have_most_of_the_beads():
    system = gas(MIXTURE)
    composition = system.topology
    sizes = np.diff(composition.prototypes.first_bead)
    share = sizes * composition.copies / composition.beads
    longest = sizes == sizes.max()
    for divided in (longest, sizes > 1, sizes == 1):
        work = Work.of(composition, system.box, divided.tolist())
        assert work.stretched == (share[divided].sum() > 0.5)
        if work.stretched:
            assert work.molecules == composition.copies[divided].sum()
            assert work.extent == pytest.approx(0.8 * (GHOST_DISTANCE + LONG * sizes.max() ** 0.5))
        else:
            assert work == Work.of(composition, system.box)
    assert Work.of(composition, system.box, (sizes > 1).tolist()).stretched


def test_ghosts_are_those_of_the_boxes_that_are_cut():
    """A cube of 24 whose ghosts are 3 away: halves have them on both sides of one axis, eighths on all sides."""
    work = Work(8000, 800, 3.0, (24.0, 24.0, 24.0))
    assert work._ghosts(1) == 0.0
    assert work._ghosts(2) == pytest.approx(18.0 / 12.0 - 1.0)
    assert work._ghosts(8) == pytest.approx(1.5**3 - 1.0)
