"""Cells of ranks' parts of the box: what two extents have in common, and which molecule reaches which, against sets."""

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC, Box
from hpcchain.parallel.ghosts.ghost_cells import Balls, Cells, Extent, mark_cells, reaches, shortest
from hpcchain.parallel.ghosts.surroundings import as_message, from_message

BOX = Box(np.array([7.0, 5.0, 9.0]), np.array([-3.0, 2.0, 0.5]), np.array([PERIODIC, OPEN, PERIODIC]))


def numbers(cells, extent):
    """Return the set of an extent's cells, by number in the whole box."""
    axes = [(low + np.arange(n)) % count for low, n, count in zip(extent.low, extent.length, cells.counts, strict=True)]
    return set(((axes[0][:, None, None] * cells.counts[1] + axes[1][:, None]) * cells.counts[2] + axes[2]).ravel())


def ordered(cells, extent):
    """Return the numbers of an extent's cells in its own order."""
    axes = np.ix_(
        *((low + np.arange(n)) % count for low, n, count in zip(extent.low, extent.length, cells.counts, strict=True))
    )
    return np.ravel((axes[0] * cells.counts[1] + axes[1]) * cells.counts[2] + axes[2])


def some_extent(rng, cells):
    """Return a random extent; it goes through the boundary only along axes that wrap."""
    length = np.array([rng.integers(1, n + 1) for n in cells.counts])
    low = np.array(
        [
            rng.integers(0, n if wraps else n - have + 1)
            for n, have, wraps in zip(cells.counts, length, cells.periodic, strict=True)
        ]
    )
    return Extent(low, length)


@pytest.mark.parametrize("seed", range(40))
def test_what_extents_have_in_common(seed):
    rng = np.random.default_rng(seed)
    cells = Cells.of(BOX, 0.9)
    one, other = some_extent(rng, cells), some_extent(rng, cells)
    both, common = numbers(cells, one) & numbers(cells, other), cells.common(one, other)
    assert both <= numbers(cells, common) <= numbers(cells, one)
    assert bool(both) == bool(common.size)
    flags = rng.integers(0, 2, other.length).astype(np.uint8)
    marks = other.marks(flags)
    assert np.array_equal(other.flags(marks), flags) and not other.flags(other.nothing()).any()
    known = dict(zip(ordered(cells, other).tolist(), flags.ravel().tolist(), strict=True))
    seen = cells.shared(other, common, marks)
    assert np.array_equal(from_message(as_message(seen), common), seen)
    if common.size:
        assert common.flags(seen).ravel().tolist() == [known.get(c, 0) for c in ordered(cells, common).tolist()]


def some_balls(rng):
    """Return a few molecules of one to three beads near one another, as kernels take them, and their boxes' radii."""
    first = np.cumsum(rng.integers(1, 4, int(rng.integers(1, 6))))
    first, beads = np.append(0, first[:-1]), int(first[-1])
    position = BOX.origin + rng.uniform(-0.4, 1.4, 3) * BOX.size + rng.normal(size=(beads, 3)) * rng.uniform(0.1, 2.0)
    count = np.diff(np.append(first, beads))
    radius, skin = rng.uniform(0.05, 0.6, beads), rng.uniform(0.05, 0.4, len(first))
    return Balls(position, radius, first, count, skin), radius + np.repeat(skin, count)


@pytest.mark.parametrize("seed", range(60))
def test_what_beads_reach(seed):
    """Marked cells are those of the beads' boxes, within the extent made for them, and only what reaches one is hit."""
    rng = np.random.default_rng(seed)
    cells = Cells.of(BOX, rng.choice([0.7, 0.2]))  # rows of one word, and of two
    balls, far = some_balls(rng)
    extent = cells.extent(balls.position, far, int(rng.integers(0, 2)))
    marks = extent.nothing()
    assert mark_cells(marks, extent, cells, balls)
    boxes = [set(cells_of(cells, x, r)) for x, r in zip(balls.position, far, strict=True)]
    assert set(ordered(cells, extent)[extent.flags(marks).ravel() != 0].tolist()) == set().union(*boxes)

    frame = some_extent(rng, cells)
    seen = (rng.integers(0, 40, frame.length) == 0).astype(np.uint8)
    occupied = set(ordered(cells, frame)[seen.ravel() != 0].tolist())
    hit, marks = np.zeros(len(balls.first), dtype=np.uint8), frame.marks(seen)
    reaches(marks, frame.layers(marks), frame, cells, balls, hit)
    expected = [
        any(occupied & boxes[i] for i in range(at, at + n)) for at, n in zip(balls.first, balls.size, strict=True)
    ]
    assert hit.tolist() == expected


def cells_of(cells, x, r):
    """Return the numbers of the cells that the box of half width r about x reaches."""
    counts, origin, inverse, wraps = cells
    spans = []
    for c in range(3):
        first, last = (np.floor((x[c] + d - origin[c]) * inverse[c]) for d in (-r, r))
        span = np.arange(first, last + 1)
        spans.append(np.unique(span % counts[c] if wraps[c] else np.clip(span, 0, counts[c] - 1)).astype(int))
    return [(a * counts[1] + b) * counts[2] + c for a in spans[0] for b in spans[1] for c in spans[2]]


def test_a_cell_outside_is_found():
    cells = Cells.of(BOX, 0.7)
    place = BOX.origin[None] + 1.0
    extent = cells.extent(place, np.array([0.2]), 0)
    one, none = np.array([1]), np.array([0])
    for away in np.eye(3) * 2.0:
        balls = Balls(place + away, np.array([0.1]), none, one, np.array([0.1]))
        assert not mark_cells(extent.nothing(), extent, cells, balls)


@pytest.mark.parametrize(
    "layers, wraps, margin, run",
    [
        ([3, 4, 5], True, 0, (3, 3)),
        ([3, 4, 5], True, 2, (1, 7)),
        ([0, 1, 9], True, 1, (8, 5)),
        ([0, 5], True, 3, (0, 10)),
        ([0, 9], False, 1, (0, 10)),
        ([4], False, 1, (3, 3)),
        ([], True, 1, (0, 0)),
    ],
)
def test_the_shortest_run(layers, wraps, margin, run):
    assert shortest(np.array(layers, dtype=np.int64), 10, wraps, margin) == run
