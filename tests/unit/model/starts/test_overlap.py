"""Beads that overlap are found by the kernel for many as they are in plain NumPy, and as by looking at all pairs."""

import numpy as np
import pytest

from hpcchain.model.starts import overlap
from hpcchain.model.system import OPEN, PERIODIC, WALL, Box
from tests.support.shapes import boxed, rod


def all_pairs(box, position, diameter, nearer):
    i, j = np.triu_indices(len(position), 1)
    apart = position[j] - position[i]
    apart -= np.where(box.boundary == PERIODIC, np.rint(apart / box.size) * box.size, 0.0)
    close = np.sqrt(np.sum(apart**2, axis=1)) < 0.5 * (diameter[i] + diameter[j]) * nearer
    return set(zip(i[close].tolist(), j[close].tolist(), strict=True))


def yielded(pairs):
    found = [pair for i, j in pairs for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("portion", [1, 7, 10**6])
def test_close_pairs_are_those_of_all_pairs(seed, portion):
    rng = np.random.default_rng(seed)
    beads = int(rng.integers(1, 120))
    box = Box(rng.uniform(3.0, 9.0, 3), rng.normal(size=3), rng.choice([PERIODIC, WALL, OPEN], 3))
    position = box.origin + rng.uniform(-0.5, 1.0, (beads, 3)) * box.size
    diameter = rng.uniform(0.5, 1.0, beads)
    expected = all_pairs(box, position, diameter, 1.0)
    assert yielded(overlap.close_pairs(box, position, diameter, 1.0, portion)) == expected
    assert beads < 60 or expected


def test_cells_are_no_more_than_twice_the_beads():
    box = Box(np.full(3, 1e5), np.zeros(3), np.full(3, PERIODIC))
    position = np.array([[1.0, 2.0, 3.0], [1.5, 2.0, 3.0 + 1e5], [9e4, 0.0, 0.0]])
    assert yielded(overlap.close_pairs(box, position, np.ones(3), 1.0)) == {(0, 1)}
    cell, shape = overlap._cells(box, position, 1.0, 6)
    assert np.prod(shape) <= 6 and np.all(cell < shape)


def test_places_that_are_no_numbers_are_near_none():
    box = Box(np.full(3, 5.0), np.zeros(3), np.array([PERIODIC, WALL, OPEN]))
    position = np.array([[1.0, 1.0, 1.0], [np.nan, 1.0, 1.0], [1.2, 1.0, 1.0], [1.0, np.nan, np.inf]])
    assert yielded(overlap.close_pairs(box, position, np.ones(4), 1.0)) == {(0, 2)}


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8])
def test_the_kernel_leaves_out_what_numpy_leaves_out(monkeypatch, shift):
    """Neighbours along a chain lie in one another; the first chain is moved into the second."""
    places = [(1.5 * x, 1.5 * y, 2.0) for x in range(4) for y in range(4)]
    system = boxed([rod(x, 2, 5, np.zeros(3), 0.9) for x in places], (6.0, 6.0, 6.0))
    position = system.state.position.copy()
    position[:5, 1] += shift
    expected = overlap.bead_overlap(system.box, system.topology, position)
    assert (expected is None) == (shift < 0.5)
    monkeypatch.setattr(overlap, "MANY", 0)
    found = overlap.bead_overlap(system.box, system.topology, position)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found[0] < 5 <= found[1] < 10 and found[2] == pytest.approx(expected[2], rel=1e-12)
