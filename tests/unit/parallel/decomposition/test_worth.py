"""How many ranks are worth having molecules: the model, and trials with a clock that is set by hand."""

import numpy as np
import pytest

from hpcchain.model.composition import composition_of
from hpcchain.parallel.decomposition import worth
from hpcchain.parallel.decomposition.worth import Choice, Work
from tests.support.gases import MIXTURE, gas


def cube(beads, size=10, fraction=0.3):
    """Return the Work of equal chains in a cube."""
    edge = (beads * 0.5236 / fraction) ** (1.0 / 3.0)
    return Work(beads, beads // size, worth.REACH + 0.5 * size**0.5, (edge, edge, edge))


def test_the_work_of_a_system():
    system = gas(MIXTURE)
    work = Work.of(composition_of(system.topology), system.box)
    assert (work.beads, work.molecules) == (system.topology.beads, 8)
    assert work.extent == pytest.approx(0.8 * (worth.REACH + 0.5 * (work.beads / 8) ** 0.5))


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
    return Work(beads, beads // size, worth.REACH + worth.LONG * size**0.5, (edge, edge, edge), True)


def test_long_chains_in_stretches_ask_for_wide_sectors():
    """768,000 beads in chains of 200: 2, 4 and 8 ranks took .65 to 1.2 of one's speed, those of 1000 never gained."""
    work = stretched(768_000, 200)
    gains = [work.microseconds(1) / work.microseconds(ranks) for ranks in (2, 4, 8)]
    assert 0.6 < gains[0] < gains[1] < gains[2] < 1.5
    assert [stretched(480_000, 1000).best(ranks) for ranks in (2, 8, 64)] == [1, 1, 1]
    assert stretched(12_000, 200).best(8) == 1 and stretched(10_000_000, 200).best(64) == 64


def test_long_chains_count_where_they_have_most_of_the_beads():
    system = gas(MIXTURE)
    composition = composition_of(system.topology)
    sizes = np.diff(composition.prototypes.first_bead)
    share = sizes * composition.copies / composition.beads
    longest = sizes == sizes.max()
    for divided in (longest, sizes > 1, sizes == 1):
        work = Work.of(composition, system.box, divided.tolist())
        assert work.stretched == (share[divided].sum() > 0.5)
        if work.stretched:
            assert work.molecules == composition.copies[divided].sum()
            assert work.extent == pytest.approx(0.8 * (worth.REACH + worth.LONG * sizes.max() ** 0.5))
        else:
            assert work == Work.of(composition, system.box)
    assert Work.of(composition, system.box, (sizes > 1).tolist()).stretched


def test_ghosts_are_those_of_the_boxes_that_are_cut():
    """A cube of 24 whose ghosts are 3 away: halves have them on both sides of one axis, eighths on all sides."""
    work = Work(8000, 800, 3.0, (24.0, 24.0, 24.0))
    assert work._ghosts(1) == 0.0
    assert work._ghosts(2) == pytest.approx(18.0 / 12.0 - 1.0)
    assert work._ghosts(8) == pytest.approx(1.5**3 - 1.0)


class Clock:
    """Wall seconds that a test sets."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def carried(choice, clock, ranks, pace, seconds, time=0.0):
    """Let an engine run for so many wall seconds, at a pace (seconds for unit time) by ranks; return the ranks used."""
    used = [ranks]
    for _ in range(seconds):
        clock.now, time = clock.now + 1.0, time + 1.0 / pace[ranks]
        ranks = choice.next(ranks, time, 1.0)
        if ranks != used[-1]:
            used.append(ranks)
    return used, ranks, time


def test_a_better_number_is_found_and_kept():
    clock, said = Clock(), []
    choice = Choice(cube(50_000), 4, 0.0, said.append, clock)
    used, ranks, _ = carried(choice, clock, 2, {1: 3.0, 2: 2.0, 4: 1.5}, 300)
    assert used == [2, 4] or used[:2] == [2, 4]
    assert ranks == 4 and said[0].startswith("4 of 4 ranks have the molecules from now on: 1.5 s for unit time, 2 s")


def test_what_is_slower_is_left_soon_and_tried_ever_less():
    clock, said = Clock(), []
    choice = Choice(cube(50_000), 2, 0.0, said.append, clock)
    used, ranks, _ = carried(choice, clock, 2, {1: 3.0, 2: 2.0}, 3000)
    assert ranks == 2 and not said and 3 <= len(used) <= 9


def test_fewer_ranks_that_are_as_fast_are_enough():
    clock = Clock()
    choice = Choice(cube(50_000), 2, 0.0, lambda words: None, clock)
    assert carried(choice, clock, 2, {1: 2.05, 2: 2.0}, 200)[1] == 1


def test_nothing_is_tried_that_the_model_thinks_much_slower():
    clock = Clock()
    choice = Choice(cube(1_000_000), 2, 0.0, lambda words: None, clock)
    assert carried(choice, clock, 2, {2: 2.0}, 400)[0] == [2]
    alone = Choice(cube(200), 1, 0.0, lambda words: None, clock)
    assert not alone.due(1e9)


def test_time_between_calls_does_not_count():
    """The engine takes 1 s for unit time on both numbers of ranks; a minute of output falls into the trial."""
    clock = Clock()
    choice = Choice(cube(50_000), 2, 0.0, lambda words: None, clock)
    used, ranks, time = carried(choice, clock, 2, {1: 3.0, 2: 1.0}, 63)
    clock.now += 60.0
    assert carried(choice, clock, ranks, {1: 3.0, 2: 1.0}, 20, time)[1] == 2
