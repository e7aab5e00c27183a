"""Cells of ranks' parts of the box: what two extents have in common, and who reaches what, against sets of cells."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.sector.interest import Cells, Extent, mark, reaches, shortest

BOX = SimpleNamespace(size=np.array([7.0, 5.0, 9.0]), origin=np.array([-3.0, 2.0, 0.5]),
                      boundary=np.array([PERIODIC, OPEN, PERIODIC]))


def numbers(cells, extent):
    """Return the set of an extent's cells, by number in the whole box."""
    axes = [(low + np.arange(n)) % count for low, n, count in
            zip(extent.low, extent.length, cells.counts, strict=True)]
    return set(((axes[0][:, None, None] * cells.counts[1] + axes[1][:, None]) * cells.counts[2] + axes[2]).ravel())


def ordered(cells, extent):
    """Return the numbers of an extent's cells in its own order."""
    axes = np.ix_(*((low + np.arange(n)) % count for low, n, count in
                    zip(extent.low, extent.length, cells.counts, strict=True)))
    return np.ravel((axes[0] * cells.counts[1] + axes[1]) * cells.counts[2] + axes[2])


def some_extent(rng, cells):
    """Return a random extent; it goes through the boundary only along axes that wrap."""
    length = np.array([rng.integers(1, n + 1) for n in cells.counts])
    low = np.array([rng.integers(0, n if wraps else n - have + 1) for n, have, wraps in
                    zip(cells.counts, length, cells.place[3], strict=True)])
    return Extent(low, length)


@pytest.mark.parametrize("seed", range(40))
def test_what_extents_have_in_common(seed):
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, 0.9)
    one, other = some_extent(rng, cells), some_extent(rng, cells)
    both, common = numbers(cells, one) & numbers(cells, other), cells.common(one, other)
    assert both <= numbers(cells, common) <= numbers(cells, one)
    assert bool(both) == bool(common.size)
    flags = rng.integers(0, 2, other.size).astype(np.uint8)
    known = dict(zip(ordered(cells, other).tolist(), flags.tolist(), strict=True))
    assert cells.flags(other, common, flags).tolist() == [known.get(c, 0) for c in ordered(cells, common).tolist()]
    every = np.arange(int(np.prod(cells.counts)))
    assert np.array_equal(np.sort(ordered(cells, one)[cells.within(one, every)]), sorted(numbers(cells, one)))


@pytest.mark.parametrize("seed", range(20))
def test_what_beads_reach(seed):
    """Marked cells are those of the beads' boxes, within the extent made for them, and only who reaches one is hit."""
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, 0.7)
    count = int(rng.integers(1, 6))
    position = BOX.origin + rng.uniform(-0.4, 1.4, 3) * BOX.size + rng.normal(size=(count, 3)) * rng.uniform(0.1, 2.0)
    radius = rng.uniform(0.1, 1.0, count)
    extent = cells.extent(position, radius, int(rng.integers(0, 2)))
    flags, fresh = np.zeros(extent.size, dtype=np.uint8), np.zeros(10000, dtype=np.int64)
    new = mark(flags, extent.low, extent.length, *cells.place, position, radius, fresh)
    expected = set().union(*(set(cells_of(cells, x, r)) for x, r in zip(position, radius, strict=True)))
    assert set(ordered(cells, extent)[flags == 1].tolist()) == expected == set(fresh[:new].tolist())
    assert mark(flags, extent.low, extent.length, *cells.place, position, radius, fresh) == 0

    frame = some_extent(rng, cells)
    seen = rng.integers(0, 4, frame.size).astype(np.uint8) // 3
    occupied = set(ordered(cells, frame)[seen == 1].tolist())
    hit = np.zeros(count, dtype=np.uint8)
    reaches(seen, frame.low, frame.length, *cells.place, position, radius, np.arange(count), hit)
    assert hit.tolist() == [int(bool(occupied & set(cells_of(cells, *b)))) for b in zip(position, radius, strict=True)]


def cells_of(cells, x, r):
    """Return the numbers of the cells that the box of half width r about x reaches."""
    counts, origin, inverse, wraps = cells.place
    spans = []
    for c in range(3):
        first, last = (np.floor((x[c] + d - origin[c]) * inverse[c]) for d in (-r, r))
        span = np.arange(first, last + 1)
        spans.append(np.unique(span % counts[c] if wraps[c] else np.clip(span, 0, counts[c] - 1)).astype(int))
    return [(a * counts[1] + b) * counts[2] + c for a in spans[0] for b in spans[1] for c in spans[2]]


def test_a_cell_outside_is_told():
    cells = Cells(BOX, 0.7)
    place = BOX.origin[None] + 1.0
    extent = cells.extent(place, np.array([0.2]), 0)
    flags, fresh = np.zeros(extent.size, dtype=np.uint8), np.zeros(10, dtype=np.int64)
    assert mark(flags, extent.low, extent.length, *cells.place, place + 2.0, np.array([0.2]), fresh) == -1


@pytest.mark.parametrize("layers, wraps, margin, run", [
    ([3, 4, 5], True, 0, (3, 3)), ([3, 4, 5], True, 2, (1, 7)), ([0, 1, 9], True, 1, (8, 5)),
    ([0, 5], True, 3, (0, 10)), ([0, 9], False, 1, (0, 10)), ([4], False, 1, (3, 3)), ([], True, 1, (0, 0)),
])
def test_the_shortest_run(layers, wraps, margin, run):
    assert shortest(np.array(layers, dtype=np.int64), 10, wraps, margin) == run
