"""Beads that overlap are found as by looking at all pairs."""

import numpy as np
import pytest

from hpcchain.model.starts import overlap
from hpcchain.model.system import OPEN, PERIODIC, WALL, Box


def all_pairs(box, position, distance):
    i, j = np.triu_indices(len(position), 1)
    apart = position[j] - position[i]
    apart -= np.where(box.boundary == PERIODIC, np.rint(apart / box.size) * box.size, 0.0)
    close = np.sqrt(np.sum(apart**2, axis=1)) < distance
    return set(zip(i[close].tolist(), j[close].tolist(), strict=True))


def yielded(pairs):
    return {tuple(sorted(pair)) for i, j in pairs for pair in zip(i.tolist(), j.tolist(), strict=True)}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_near_pairs_hold_those_of_all_pairs(monkeypatch, seed, chunk):
    monkeypatch.setattr(overlap, "CHUNK", chunk)
    rng = np.random.default_rng(seed)
    beads = int(rng.integers(1, 120))
    box = Box(rng.uniform(3.0, 9.0, 3), rng.normal(size=3), rng.choice([PERIODIC, WALL, OPEN], 3))
    position = box.origin + rng.uniform(-0.5, 1.0, (beads, 3)) * box.size
    expected = all_pairs(box, position, 1.0)
    assert expected <= yielded(overlap.near_pairs(box, position, 1.0))
    assert beads < 60 or expected


def test_cells_of_a_box_of_many_need_no_memory():
    box = Box(np.full(3, 1e5), np.zeros(3), np.full(3, PERIODIC))
    position = np.array([[1.0, 2.0, 3.0], [1.5, 2.0, 3.0 + 1e5], [9e4, 0.0, 0.0]])
    assert yielded(overlap.near_pairs(box, position, 1.0)) == {(0, 1)}


def test_places_that_are_no_numbers_are_near_none():
    box = Box(np.full(3, 5.0), np.zeros(3), np.array([PERIODIC, WALL, OPEN]))
    position = np.array([[1.0, 1.0, 1.0], [np.nan, 1.0, 1.0], [1.2, 1.0, 1.0], [1.0, np.nan, np.inf]])
    assert (0, 2) in yielded(overlap.near_pairs(box, position, 1.0))
