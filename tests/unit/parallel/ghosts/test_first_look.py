"""Distances from told cells: a skin that is widened by all the room there is reaches none, and stays in the extent."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.parallel.ghosts.first_look import (
    FARTHEST,
    NEAR,
    WITH,
    bring_nearer,
    find_blocks,
    no_cells,
    no_distances,
    rooms,
    set_cells,
)
from hpcchain.parallel.ghosts.reach import Balls, Cells, Extent, mark_cells, reaches

BOX = SimpleNamespace(
    size=np.array([23.0, 18.0, 30.0]), origin=np.array([-3.0, 2.0, 0.5]), boundary=np.array([PERIODIC, OPEN, PERIODIC])
)


def some_extent(rng, cells):
    """Return a random extent, of all cells along some axes, of all but a few along others."""
    length = np.array([rng.choice([n, n - rng.integers(0, 6), rng.integers(1, n + 1)]) for n in cells.counts])
    wraps = cells.lattice.periodic
    low = [rng.integers(0, n if w else n - k + 1) for n, k, w in zip(cells.counts, length, wraps, strict=True)]
    return Extent(np.array(low), length)


def single_beads(rng, number):
    """Return single beads as kernels take molecules."""
    position = BOX.origin + rng.uniform(-0.1, 1.1, (number, 3)) * BOX.size
    each = np.arange(number)
    return Balls(position, rng.uniform(0.05, 0.8, number), each, np.ones_like(each), rng.uniform(0.0, 0.8, number))


@pytest.mark.parametrize("seed", range(60))
def test_room_is_free(seed):
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, rng.choice([0.9, 0.3]))
    frame = some_extent(rng, cells)
    extent = no_cells(frame, cells.lattice)
    low, length, wraps, bits, blocks = extent
    distance, queue = no_distances(blocks), np.empty(blocks.size, dtype=np.int64)
    for _ in range(3):  # cells are told of one after the other
        set_cells(extent, rng.choice(frame.size, 1))
        bring_nearer(blocks, wraps, distance, queue, FARTHEST)
        anew = no_distances(blocks)
        bring_nearer(blocks, wraps, anew, queue, FARTHEST)
        assert np.array_equal(anew, distance) and np.array_equal(distance == 0, blocks == WITH)
        close = no_distances(blocks, NEAR)
        bring_nearer(blocks, wraps, close, queue, NEAR)
        assert np.array_equal(close, np.minimum(distance, NEAR))
        balls, room = single_beads(rng, 200), np.empty(200)
        rooms(low, length, distance, cells.lattice, balls, room)
        there = np.flatnonzero(room > 0.0)
        wide = balls._replace(skin=balls.skin + room * (1.0 - 1e-9)).some(there)
        hit = np.zeros(len(there), dtype=np.uint8)
        reaches(bits, low, length, cells.lattice, wide, hit)
        assert not hit.any()
        assert mark_cells(frame.nothing(), low, length, cells.lattice, wide, np.empty(10**6, dtype=np.int64)) >= 0


def test_room_is_found():
    """Beads far from the only cell have as much as is counted, less what their blocks and balls take."""
    cells = Cells(SimpleNamespace(size=np.full(3, 100.0), origin=np.zeros(3), boundary=np.full(3, PERIODIC)), 0.5)
    extent = no_cells(Extent(np.zeros(3, dtype=np.int64), cells.counts), cells.lattice)
    low, length, wraps, _, blocks = extent
    set_cells(extent, np.array([0]))
    distance = no_distances(blocks)
    bring_nearer(blocks, wraps, distance, np.empty(blocks.size, dtype=np.int64), FARTHEST)
    position = np.array([[1.0, 50.0, 50.0], [6.0, 1.0, 1.0], [0.1, 99.9, 0.1]])
    balls = Balls(position, np.full(3, 0.5), np.arange(3), np.ones(3, dtype=np.int64), np.full(3, 0.4))
    room = np.empty(3)
    rooms(low, length, distance, cells.lattice, balls, room)
    assert room[0] == pytest.approx(0.5 * 4 * (FARTHEST - 1) - 0.9)
    assert room[1] == pytest.approx(0.5 * 4 * 2 - 0.9) and room[2] < 0.0


@pytest.mark.parametrize("seed", range(20))
def test_blocks_of_bits_are_those_of_cells(seed):
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, rng.choice([0.9, 0.3]))
    frame = some_extent(rng, cells)
    one, other = no_cells(frame, cells.lattice), no_cells(frame, cells.lattice)
    set_cells(one, rng.choice(frame.size, min(frame.size, int(rng.integers(1, 30))), replace=False))
    other[3][:] = one[3]
    find_blocks(other)
    assert np.array_equal(one[4], other[4])
