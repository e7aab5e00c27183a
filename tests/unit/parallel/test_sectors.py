"""Division of the box: equal weights at once, and in steps from a division that does not fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.model.system import PERIODIC, Box
from hpcchain.parallel.agreement import Ranks
from hpcchain.parallel.sectors import Bisection, Grid, balanced_cuts, even_share
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.tuning.balance import imbalance

SIZE = np.array([10.0, 12.0, 20.0])


def box():
    return Box(SIZE.copy(), np.array([-1.0, 0.0, 2.0]), np.full(3, PERIODIC, dtype=np.int8))


def points_of(seed, count=20000):
    """Return points of a box: three quarters of them in a slab that takes an eighth of it."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 3)) * SIZE
    points[: 3 * count // 4, 2] *= 0.125
    return points + box().origin


def loads(sectors, points, weights, ranks):
    """Return each rank's sum of weights."""
    return np.bincount(sectors.owner(points), weights, ranks)


def cut_of(places, weights, share):
    """Return where a line from 0 to 8 is cut."""
    ends = (np.array([0.0]), np.array([8.0]))
    owner = np.zeros(len(places), dtype=np.int64)
    return balanced_cuts(places, weights, owner, *ends, np.array([share]), Ranks())[0]


@pytest.mark.parametrize(("share", "below"), [(0.3, 0), (0.5, 1), (0.7, 2), (0.85, 3), (0.97, 4)])
def test_a_cut_is_where_the_weight_below_it_is_nearest_to_the_share(share, below):
    places, weights = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 5.0, 1.0, 1.0])
    assert np.sum(places < cut_of(places, weights, share)) == below
    assert np.isnan(cut_of(places[:0], weights[:0], share))


def test_cuts_of_random_weights_against_the_sorted_ones():
    rng = np.random.default_rng(6)
    places, weights = 8.0 * rng.random(1000), np.rint(1000 * rng.random(1000))
    total = np.cumsum(weights[np.argsort(places)])
    for share in rng.random(20):
        found = weights[places < cut_of(places, weights, share)].sum()
        assert abs(found - share * total[-1]) == np.abs(np.append(total, 0.0) - share * total[-1]).min()


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_ranks_that_have_a_part_of_the_points_find_the_cuts_of_one_that_has_all(ranks):
    """Both at once and in steps, to the bit: whoever has which points, and some have none."""
    points = points_of(1, 3000)
    weights = np.random.default_rng(2).random(len(points))
    holder = np.random.default_rng(3).integers(1, ranks, len(points)) if ranks > 2 else np.zeros(len(points), int)

    def on_rank(exchange):
        mine = holder == exchange.rank
        first = Bisection(box(), points[mine], np.ones(np.sum(mine)), exchange.size, exchange)
        return first.cuts, first.moved(points[mine], weights[mine], 0.2, exchange).cuts

    first = Bisection(box(), points, np.ones(len(points)), ranks, Ranks())
    expected = first.cuts, first.moved(points, weights, 0.2, Ranks()).cuts
    assert all(found == expected for found in on_ranks(ranks, on_rank))
    assert expected[0] != expected[1]


@pytest.mark.parametrize("ranks", [1, 2, 7, 13])
def test_sectors_within_a_distance_of_a_point(ranks):
    """Against owners of many points around it, and the owner alone at distance 0."""
    sectors = Bisection(box(), points_of(1, 500), np.ones(500), ranks, Ranks())
    points = points_of(7, 50)
    which, rank = sectors.within(points, 0.0)
    assert np.array_equal(which, np.arange(50)) and np.array_equal(rank, sectors.owner(points))
    which, rank = sectors.within(points, 1.5)
    around = np.random.default_rng(8).uniform(-1.5, 1.5, (400, 3))
    for k, point in enumerate(points):
        assert set(sectors.owner(point + around)) <= set(rank[which == k])
    assert len(set(zip(which, rank, strict=True))) == len(which)
    assert ranks == 1 or len(which) < 50 * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13])
def test_bisection_gives_equal_weights_and_every_rank_a_box(ranks):
    points = points_of(1)
    weights = np.random.default_rng(2).random(len(points))
    found = loads(Bisection(box(), points, weights, ranks, Ranks()), points, weights, ranks)
    assert imbalance(found) < 1.01 and np.all(found > 0.0)


def test_the_even_split_is_far_from_it():
    points = points_of(1)
    assert imbalance(loads(Grid(box(), (2, 2, 2)), points, np.ones(len(points)), 8)) > 1.6
    assert imbalance(loads(Grid(box(), (1, 1, 8)), points, np.ones(len(points)), 8)) > 5.0


def test_an_empty_box_is_cut_evenly():
    sectors = Bisection(box(), np.empty((0, 3)), np.empty(0), 8, Ranks())
    points = np.random.default_rng(3).random((8000, 3)) * SIZE + box().origin
    assert imbalance(loads(sectors, points, np.ones(8000), 8)) < 1.1


def test_steps_are_small_and_lead_to_equal_weights():
    """Costs per point differ by a factor of 4 from place to place, and are known only as sums over ranks."""
    points = points_of(4)
    cost = 1.0 + 3.0 * (points[:, 0] > 6.0)
    sectors = Bisection(box(), points, np.ones(len(points)), 8, Ranks())
    first = imbalance(loads(sectors, points, cost, 8))
    for _ in range(15):
        owner = sectors.owner(points)
        per_point = loads(sectors, points, cost, 8) / np.bincount(owner, minlength=8)
        after = sectors.moved(points, per_point[owner], 0.1, Ranks())
        for (axis, cut, *_), (other_axis, other_cut, *_) in zip(sectors.cuts, after.cuts, strict=True):
            assert axis == other_axis and (axis < 0 or abs(cut - other_cut) <= 0.1 * SIZE[axis] + 1e-12)
        sectors = after
    assert first > 1.4 and imbalance(loads(sectors, points, cost, 8)) < 1.05


def test_a_rank_that_has_nothing_gets_something():
    """All points in one corner, from a division that was made for an empty box."""
    points = np.random.default_rng(5).random((4000, 3)) * 0.1 * SIZE + box().origin
    sectors = Bisection(box(), np.empty((0, 3)), np.empty(0), 8, Ranks())
    assert imbalance(loads(sectors, points, np.ones(4000), 8)) == 8.0
    for _ in range(40):
        sectors = sectors.moved(points, np.ones(4000), 0.1, Ranks())
    assert imbalance(loads(sectors, points, np.ones(4000), 8)) < 1.1


def test_even_parts_are_all_molecules_once():
    for molecules, ranks in ((0, 3), (2, 5), (17, 4)):
        parts = [even_share(molecules, SimpleNamespace(rank=rank, size=ranks)) for rank in range(ranks)]
        assert np.concatenate(parts).tolist() == list(range(molecules))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
