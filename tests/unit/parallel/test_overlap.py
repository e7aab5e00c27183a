"""Overlapping beads that ranks find together, each with a part of the molecules, against all of them on one rank."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.parallel.overlap import overlap_on_ranks
from hpcchain.parallel.thread_ranks import on_ranks
from tests.support.identity import dealt
from tests.support.shapes import boxed, rod

SIZE = (9.0, 8.0, 7.0)


def chains(seed):
    """Return 40 straight chains of 3 on a lattice, each also shifted by box lengths, in a box of mixed boundaries."""
    rng = np.random.default_rng(seed)
    places = np.array([(3.2 * x, 1.5 * y, 1.3 * z) for x in range(2) for y in range(5) for z in range(4)]) + 0.6
    system = boxed([rod(x, 0, 3, rng.normal(size=3)) for x in places], SIZE)
    boundary = np.array([PERIODIC, PERIODIC, rng.choice([PERIODIC, WALL, OPEN])], dtype=np.int8)
    shift = np.where(boundary == PERIODIC, SIZE, 0.0) * rng.integers(-1, 2, (len(places), 3))
    state = replace(system.state, position=system.state.position + np.repeat(shift, 3, axis=0))
    return replace(system, box=replace(system.box, boundary=boundary), state=state)


def found_by(system, ranks, tolerance):
    """Return what each rank says."""
    composition = system.topology

    def on_rank(exchange):
        own = dealt(system, exchange)
        return overlap_on_ranks(exchange, system.box, composition, own.held, own.state.position, tolerance)

    return on_ranks(ranks, on_rank)


@pytest.mark.parametrize("ranks", [2, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (5, 8))])
def test_the_pair_of_one_rank(ranks):
    """One chain is put close to another, or to another's image through a side of the box."""
    for seed in range(8):
        system = chains(seed)
        assert found_by(system, ranks, 1e-9) == [None] * ranks
        rng = np.random.default_rng(seed)
        one, other = rng.choice(40, 2, replace=False)
        position = system.state.position.copy()
        target = position[3 * other + 1] + [0.0, 0.55, 0.3]
        position[3 * one : 3 * one + 3] += target - position[3 * one + 1]
        closer = replace(system, state=replace(system.state, position=position))
        expected = bead_overlap(system.box, system.topology.whole(), position, 0.1)
        found = found_by(closer, ranks, 0.1)
        assert expected is not None and found == [found[0]] * ranks
        low, high, distance = found[0]
        apart = position[high] - position[low]
        apart -= np.where(system.box.boundary == PERIODIC, np.rint(apart / SIZE), 0.0) * SIZE
        assert low < high and distance == pytest.approx(np.linalg.norm(apart)) and distance < 0.9
        assert found_by(closer, ranks, 0.5) == [None] * ranks
