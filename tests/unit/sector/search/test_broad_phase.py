"""The first look at neighbours leaves out only beads that cannot meet during their segments, and most of the others."""

import numpy as np
import pytest

from hpcchain.layout.arrays import MOL_BEADS, MOLECULE, UNBOUNDED
from hpcchain.model.system import PERIODIC, WALL
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import (
    bead_curves,
    candidates,
    chain_bonds,
    first_look,
    first_look_at_single,
    list_of,
    make_system,
)
from tests.support.shapes import bead

SAMPLES = 15


@pytest.mark.parametrize("boundary", [(PERIODIC,) * 3, (WALL, PERIODIC, PERIODIC)])
@pytest.mark.parametrize("growth", [(1.0, 0.0), (0.7, 0.05)])
def test_what_is_left_out_cannot_be_met(boundary, growth):
    system = gas(MIXTURE * 3, 1, 4.3, boundary=boundary)
    engine = Engine(system, growth=growth, shell=1.5)
    s, size = engine.sector, system.box.size * (system.box.boundary == PERIODIC)
    inverse = np.where(size > 0, 1 / system.box.size, 0.0)
    radius = 0.5 * system.topology.whole().diameter[engine.ids]
    left_out = kept = 0
    for time in (0.3, 0.9, 2.0):
        engine.advance(time)
        curves, start, length = bead_curves(s)
        ends = start + length

        def path(i, curves=curves, length=length):
            return (np.linspace(0, length[i], SAMPLES)[:, None] ** np.arange(len(curves[i]))) @ curves[i]

        for i in np.flatnonzero(s.bounds[:, 0] != 0.0):
            near = first_look(s, i)
            kept += len(near)
            for j in set(s.neighbour[s.lists[i, 0] : s.lists[i, 0] + s.lists[i, 1]].tolist()) - set(near):
                apart = path(i)[:, None] - path(j)[None]
                apart -= size * np.rint(apart * inverse)
                width = sum(radius[k] * (growth[0] + growth[1] * ends[k]) for k in (i, j))
                assert np.linalg.norm(apart, axis=-1).min() > width
                left_out += 1
    assert left_out > 300 and kept > 60, (left_out, kept)


def test_single_beads_may_be_anywhere():
    engine = Engine(gas(MIXTURE * 3, 1, 4.3))
    single = engine.sector.bounds[:, 0] == 0.0
    dimer = np.isin(engine.sector.mol[engine.sector.segment[:, MOLECULE], MOL_BEADS], 2)
    assert np.all(engine.sector.swept[single & ~dimer, 3] == UNBOUNDED) and np.any(single)
    assert np.all(engine.sector.swept[dimer, 3] < UNBOUNDED)


def nearest(s, i, j, size):
    """Return how near two single beads come from where both segments exist on, and how fast they do at first."""
    start = s.starts[:, 6] * s.par[0] + s.starts[:, 7]
    begin = max(start[i], start[j])
    r, u = (s.starts[i, c] - s.starts[j, c] for c in (slice(0, 3), slice(3, 6)))
    r = r + s.starts[i, 3:6] * (begin - start[i]) - s.starts[j, 3:6] * (begin - start[j])
    r = r - size * np.rint(r / size)
    rate = r @ u
    return (np.linalg.norm(r - u * rate / (u @ u)) if rate < 0.0 else np.linalg.norm(r)), rate


@pytest.mark.parametrize("seed", [1, 2])
def test_single_beads_left_out_fly_past(seed):
    system = gas(["monomer"] * 90 + ["chain3"] * 9, seed, 1.9, boundary=(PERIODIC,) * 3, diameter=1.0)
    engine = Engine(system, shell=0.6)
    s, size = engine.sector, system.box.size
    single = s.mol[s.segment[:, MOLECULE], MOL_BEADS] == 1
    left_out = kept = 0
    for time in (0.5, 1.0, 4.0):
        engine.advance(time)
        for i in np.flatnonzero(single):
            listed = s.neighbour[s.lists[i, 0] : s.lists[i, 0] + s.lists[i, 1]].tolist()
            near = first_look_at_single(s, i)
            assert set(near) >= {j for j in listed if not single[j]}
            for j in filter(lambda j: single[j], listed):
                least, rate = nearest(s, i, j, size)
                if j in near:
                    kept += least < 1.0
                else:
                    assert least > 1.0 or rate > 0.0
                    left_out += 1
    assert left_out > 1000 and kept > 100, (left_out, kept)


@pytest.mark.parametrize("late", [0.0, 0.7])
@pytest.mark.parametrize("offset", [1.0 - 1e-6, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.0 + 1e-4])
def test_a_graze_between_single_beads_is_looked_at(offset, late):
    point = np.array([4.3, 1.7, -2.9])
    none = np.empty((0, 2), dtype=np.int64)
    still = (none, point[None], np.zeros((1, 3)), np.ones(1))
    passing = (none, point[None] + [[-1.7, offset, 0.0]], np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    pairs = [np.array([[-4.0, y, 3.0], [-3.0, y, 3.0]]) for y in (-2.0, 2.0)]
    others = [(chain_bonds(2), pair, np.zeros((2, 3)), np.ones(2)) for pair in pairs]
    system = make_system([still, passing, *others], [10.0] * 3, (PERIODIC,) * 3)
    engine = Engine(system, shell=1.0)
    engine.advance(late)
    assert (1 in first_look_at_single(engine.sector, 0)) == (offset < 1.00002)
    assert (0 in first_look_at_single(engine.sector, 1)) == (offset < 1.00002)


@pytest.mark.parametrize("first, growth", [(WALL, (1.0, 0.0)), (PERIODIC, (0.7, 0.05))])
def test_walls_and_growth_have_all_looked_at(first, growth):
    engine = Engine(gas(["monomer"] * 27, 3, 1.9, boundary=(first, PERIODIC, PERIODIC)), growth=growth, shell=0.5)
    engine.advance(0.3)
    s = engine.sector
    for i in range(27):
        assert len(first_look_at_single(s, i)) == s.lists[i, 1]
    assert s.lists[:, 1].sum() > 27


@pytest.mark.parametrize("single", [0, 1])
def test_molecules_at_rest_or_in_pure_translation_have_all_looked_at(single):
    """Their accelerations are 0 as those of single beads are; that they fly as such stands nowhere.

    Where no bead is single nothing has a flight.
    """
    pair = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    places = 2.5 * np.array(list(np.ndindex(4, 4, 4)))
    velocity = np.random.default_rng(6).normal(size=(len(places), 1, 3))
    dimers = [(chain_bonds(2), pair + x, v + 0.0 * pair, np.ones(2)) for x, v in zip(places, velocity, strict=True)]
    others = [bead((1.2, 1.2, 1.2), (0.1, 0.2, 0.3))] * single
    engine = Engine(make_system(dimers + others, [10.0] * 3, (PERIODIC,) * 3, diameter=0.9), shell=0.8)
    s = engine.sector
    assert np.all(s.bounds[:, 0] == 0.0) and len(s.flight) == single * len(engine.ids)
    assert s.lists[:, 1].sum() > 500
    for i in np.flatnonzero(s.mol[s.segment[:, MOLECULE], MOL_BEADS] == 2):
        assert sorted(candidates(s, i)) == sorted(list_of(s, i))


def test_single_beads_alone_have_no_course_and_all_looked_at_where_they_tie():
    """What molecules' beads are first looked at by has no rows where there are none; a tie's members ask for it."""
    engine = Engine(gas(["monomer"] * 27, 3, 1.9), shell=0.5)
    engine.advance(0.3)
    s = engine.sector
    assert len(s.swept) == 0 and s.lists[:, 1].sum() > 27
    for i in range(27):
        assert sorted(first_look(s, i)) == sorted(list_of(s, i))
