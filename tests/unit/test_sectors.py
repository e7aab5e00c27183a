"""Division of the box: equal weights at once, and in steps from a division that does not fit."""

import numpy as np
import pytest

from hpcchain.model.system import PERIODIC, Box
from hpcchain.parallel.balance import imbalance
from hpcchain.parallel.sectors import Bisection, Grid, balanced_cut

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


def test_a_cut_has_the_share_below_it():
    places, weights = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 5.0, 1.0, 1.0])
    assert balanced_cut(places, weights, 0.5) == 1.0
    assert balanced_cut(places, weights, 0.7) == 2.0
    assert balanced_cut(places, weights, 1.0) == 4.0
    assert balanced_cut(places[:0], weights[:0], 0.5) is None


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13])
def test_bisection_gives_equal_weights_and_every_rank_a_box(ranks):
    points = points_of(1)
    weights = np.random.default_rng(2).random(len(points))
    found = loads(Bisection(box(), points, weights, ranks), points, weights, ranks)
    assert imbalance(found) < 1.01 and np.all(found > 0.0)


def test_the_even_split_is_far_from_it():
    points = points_of(1)
    assert imbalance(loads(Grid(box(), (2, 2, 2)), points, np.ones(len(points)), 8)) > 1.6
    assert imbalance(loads(Grid(box(), (1, 1, 8)), points, np.ones(len(points)), 8)) > 5.0


def test_an_empty_box_is_cut_evenly():
    sectors = Bisection(box(), np.empty((0, 3)), np.empty(0), 8)
    points = np.random.default_rng(3).random((8000, 3)) * SIZE + box().origin
    assert imbalance(loads(sectors, points, np.ones(8000), 8)) < 1.1


def test_steps_are_small_and_lead_to_equal_weights():
    """Costs per point differ by a factor of 4 from place to place, and are known only as sums over ranks."""
    points = points_of(4)
    cost = 1.0 + 3.0 * (points[:, 0] > 6.0)
    sectors = Bisection(box(), points, np.ones(len(points)), 8)
    first = imbalance(loads(sectors, points, cost, 8))
    for _ in range(15):
        owner = sectors.owner(points)
        per_point = loads(sectors, points, cost, 8) / np.bincount(owner, minlength=8)
        after = sectors.moved(points, per_point[owner], 0.1)
        for (axis, cut, *_), (other_axis, other_cut, *_) in zip(sectors.cuts, after.cuts, strict=True):
            assert axis == other_axis and (axis < 0 or abs(cut - other_cut) <= 0.1 * SIZE[axis] + 1e-12)
        sectors = after
    assert first > 1.4 and imbalance(loads(sectors, points, cost, 8)) < 1.05


def test_a_rank_that_has_nothing_gets_something():
    """All points in one corner, from a division that was made for an empty box."""
    points = np.random.default_rng(5).random((4000, 3)) * 0.1 * SIZE + box().origin
    sectors = Bisection(box(), np.empty((0, 3)), np.empty(0), 8)
    assert imbalance(loads(sectors, points, np.ones(4000), 8)) == 8.0
    for _ in range(40):
        sectors = sectors.moved(points, np.ones(4000), 0.1)
    assert imbalance(loads(sectors, points, np.ones(4000), 8)) < 1.1
