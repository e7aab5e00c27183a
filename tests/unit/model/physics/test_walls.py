"""Walls as tables: what room they leave, when they meet, and what reaches beyond them."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.model.physics.constants import WallConstants
from hpcchain.model.physics.walls import enclosures, outside, volume_within

SPHERE = WallConstants(None, "sphere", (5.0, 5.0, 5.0), 4.0, None, 0.5, 0.0, 1.0)
TUBE = WallConstants(None, "cylinder", (5.0, 5.0, 0.0), 2.0, "z", 0.0, 0.0, 1.0)
BOX = SimpleNamespace(size=np.array([10.0, 12.0, 20.0]))


def side(name, velocity):
    return WallConstants(name, None, None, None, None, velocity, 0.0, 1.0)


@pytest.mark.parametrize("wall", [SPHERE, TUBE])
def test_beads_reach_beyond_a_wall_by_what_lies_outside(wall):
    """Of random beads: the farthest point of each, found on a fine net of its surface."""
    rng = np.random.default_rng(3)
    position, radius = rng.uniform(0.0, 10.0, (40, 3)), rng.uniform(0.1, 1.0, 40)
    net = rng.normal(size=(20000, 3))
    net /= np.linalg.norm(net, axis=1)[:, None]
    across = np.array([axis != wall.axis for axis in "xyz"])
    for place, r, reach in zip(position, radius, outside([wall], position, radius)[:, 0], strict=True):
        away = np.linalg.norm((place + r * net - wall.center)[:, across], axis=1)
        assert away.max() - wall.radius == pytest.approx(reach, abs=2e-3)


def test_the_least_volume_counts():
    """By counting random points within each wall."""
    points = np.random.default_rng(5).uniform(0.0, 1.0, (200000, 3)) * BOX.size
    inside = outside([SPHERE, TUBE], points, np.zeros(len(points))) < 0.0
    shares = inside.mean(axis=0) * np.prod(BOX.size)
    assert volume_within(BOX.size, [SPHERE]) == pytest.approx(shares[0], rel=0.02)
    assert volume_within(BOX.size, [SPHERE, TUBE]) == pytest.approx(shares.min(), rel=0.02)
    assert volume_within(BOX.size, []) == np.prod(BOX.size)


def test_enclosures_say_along_which_axes():
    rows = enclosures([SPHERE, side("x-", 1.0), TUBE])
    assert rows.tolist() == [[5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 4.0], [5.0, 5.0, 0.0, 1.0, 1.0, 0.0, 2.0]]
