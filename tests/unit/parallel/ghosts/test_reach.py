"""Cells of ranks' parts of the box: what two extents have in common, and who reaches what, against sets of cells."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.parallel.ghosts.first_look import (
    coming_to,
    no_cells,
    set_cells,
    take_cells,
    wanted_since,
)
from hpcchain.parallel.ghosts.reach import WORD, Balls, Cells, Extent, mark_cells, reaches, shortest

BOX = SimpleNamespace(
    size=np.array([7.0, 5.0, 9.0]), origin=np.array([-3.0, 2.0, 0.5]), boundary=np.array([PERIODIC, OPEN, PERIODIC])
)


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


def bits_of(extent, flags):
    """Return the bits of those cells of an extent for which flags (nx, ny, nz) are true."""
    padded = np.zeros((*extent.shape[:2], extent.shape[2] * WORD), dtype=np.uint8)
    padded[:, :, : extent.length[2]] = flags
    return np.packbits(padded, axis=2, bitorder="little").view(np.uint32).ravel()


def flags_of(extent, bits):
    """Return for which cells of an extent bits are set, (nx, ny, nz) bool."""
    octets = bits.view(np.uint8).reshape(*extent.shape[:2], 4 * extent.shape[2])
    return np.unpackbits(octets, axis=2, bitorder="little", count=int(extent.length[2])).astype(bool)


def numbers_of(cells, extent, indices):
    """Return the numbers in the whole box of cells that are given by indices in an extent."""
    return ordered(cells, extent)[indices]


def some_extent(rng, cells):
    """Return a random extent; it goes through the boundary only along axes that wrap."""
    length = np.array([rng.integers(1, n + 1) for n in cells.counts])
    low = np.array(
        [
            rng.integers(0, n if wraps else n - have + 1)
            for n, have, wraps in zip(cells.counts, length, cells.lattice.periodic, strict=True)
        ]
    )
    return Extent(low, length)


@pytest.mark.parametrize("seed", range(40))
def test_what_extents_have_in_common(seed):
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, 0.9)
    one, other = some_extent(rng, cells), some_extent(rng, cells)
    both, common = numbers(cells, one) & numbers(cells, other), cells.common(one, other)
    assert both <= numbers(cells, common) <= numbers(cells, one)
    assert bool(both) == bool(common.size)
    flags = rng.integers(0, 2, other.length).astype(bool)
    bits = bits_of(other, flags)
    assert np.array_equal(flags_of(other, bits), flags) and not flags_of(other, other.nothing()).any()
    known = dict(zip(ordered(cells, other).tolist(), flags.ravel().tolist(), strict=True))
    if common.size:
        seen = flags_of(common, cells.shared(other, common, bits)).ravel()
        assert seen.tolist() == [known.get(c, False) for c in ordered(cells, common).tolist()]
    every = np.arange(int(np.prod(cells.counts)))
    assert np.array_equal(np.sort(ordered(cells, one)[cells.within(one, every)]), sorted(numbers(cells, one)))


def some_balls(rng):
    """Return a few molecules of one to three beads near one another, as kernels take them, and their boxes' radii."""
    first = np.cumsum(rng.integers(1, 4, int(rng.integers(1, 6))))
    first, beads = np.append(0, first[:-1]), int(first[-1])
    position = BOX.origin + rng.uniform(-0.4, 1.4, 3) * BOX.size + rng.normal(size=(beads, 3)) * rng.uniform(0.1, 2.0)
    count = np.diff(np.append(first, beads))
    radius, skin = rng.uniform(0.05, 0.6, beads), rng.uniform(0.05, 0.4, len(first))
    return Balls(position, radius, first, count, skin), radius + np.repeat(skin, count)


@pytest.mark.parametrize("seed", range(30))
def test_what_beads_reach(seed):
    """Marked cells are those of the beads' boxes, within the extent made for them, and only who reaches one is hit."""
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, rng.choice([0.7, 0.2]))  # rows of one word, and of two
    balls, far = some_balls(rng)
    extent = cells.extent(balls.position, far, int(rng.integers(0, 2)))
    bits, fresh = extent.nothing(), np.zeros(100000, dtype=np.int64)
    new = mark_cells(bits, extent.low, extent.length, cells.lattice, balls, fresh)
    boxes = [set(cells_of(cells, x, r)) for x, r in zip(balls.position, far, strict=True)]
    assert set(ordered(cells, extent)[flags_of(extent, bits).ravel()].tolist()) == set().union(*boxes)
    assert sorted(set(fresh[:new].tolist())) == sorted(fresh[:new].tolist()) == sorted(set().union(*boxes))
    assert mark_cells(bits, extent.low, extent.length, cells.lattice, balls, fresh) == 0

    frame = some_extent(rng, cells)
    seen = rng.integers(0, 40, frame.length) == 0
    occupied = set(ordered(cells, frame)[seen.ravel()].tolist())
    hit = np.zeros(len(balls.first), dtype=np.uint8)
    reaches(bits_of(frame, seen), frame.low, frame.length, cells.lattice, balls, hit)
    expected = [
        any(occupied & boxes[i] for i in range(at, at + n)) for at, n in zip(balls.first, balls.size, strict=True)
    ]
    assert hit.tolist() == expected


@pytest.mark.parametrize("seed", range(80))
def test_who_comes_to_a_few_cells(seed):
    """A first look by blocks of cells misses nobody, and is not all that is looked at."""
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, rng.choice([0.7, 0.2]))
    frame = some_extent(rng, cells)
    places = rng.choice(frame.size, min(3, frame.size), replace=False)
    extent = no_cells(frame, cells.lattice)
    bits, blocks = extent.bits, extent.blocks
    set_cells(extent, places)
    assert set(np.flatnonzero(flags_of(frame, bits)).tolist()) == set(places.tolist())
    assert np.count_nonzero(blocks == 2) <= len(places)
    assert np.count_nonzero(blocks) <= 8 * 27 * len(places)
    for _ in range(20):
        balls, _ = some_balls(rng)
        hit, coming = (np.zeros(len(balls.first), dtype=np.uint8) for _ in range(2))
        reaches(bits, frame.low, frame.length, cells.lattice, balls, hit)
        coming_to(extent, cells.lattice, balls, coming)
        assert np.array_equal(coming, hit)


@pytest.mark.parametrize("seed", range(40))
def test_who_is_wanted_since_a_neighbour_has_told_of_cells(seed):
    """Cells told are those of what is common, here too; who reaches them, or has moved to any, is wanted, once."""
    rng = np.random.default_rng(seed)
    cells = Cells(BOX, rng.choice([0.7, 0.2]))
    mine, theirs = some_extent(rng, cells), some_extent(rng, cells)
    common = cells.common(mine, theirs)
    if not common.size:
        return
    known, rest = (rng.integers(0, 40, common.length) == 0 for _ in range(2))
    told, fresh, here = (no_cells(extent, cells.lattice) for extent in (common, common, mine))
    set_cells(told, np.flatnonzero(known))
    places = np.flatnonzero(rest)
    take_cells(places, told, fresh, cells.counts, here)
    assert np.array_equal(flags_of(common, fresh.bits), rest)
    assert np.array_equal(flags_of(common, told.bits), known | rest)
    numbers = set(numbers_of(cells, common, places).tolist())
    assert set(numbers_of(cells, mine, np.flatnonzero(flags_of(mine, here.bits))).tolist()) == numbers
    balls, far = some_balls(rng)
    position, first, count = balls.position, balls.first, balls.size
    boxes = [set(cells_of(cells, x, r)) for x, r in zip(position, far, strict=True)]
    every = numbers | set(numbers_of(cells, common, np.flatnonzero(known)).tolist())
    which = np.arange(len(first))
    moved, coming = which[rng.integers(0, 2, len(which)) == 0], which[rng.integers(0, 2, len(which)) == 0]
    lent, rows = rng.integers(0, 2, len(which)).astype(np.uint8), np.zeros(2 * len(which), dtype=np.int64)
    had = lent.copy()
    number = wanted_since(told, fresh, cells.lattice, balls, moved, coming, lent, rows)
    reach = {k: set().union(*boxes[at : at + n]) for k, at, n in zip(which.tolist(), first, count, strict=True)}
    expected = {k for k in moved.tolist() if reach[k] & every} | {k for k in coming.tolist() if reach[k] & numbers}
    assert sorted(rows[:number].tolist()) == sorted(k for k in expected if not had[k])
    assert np.array_equal(lent, had)


def cells_of(cells, x, r):
    """Return the numbers of the cells that the box of half width r about x reaches."""
    counts, origin, inverse, wraps = cells.lattice
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
    one, none = np.array([1]), np.array([0])
    fresh = np.zeros(10, dtype=np.int64)
    for away in np.eye(3) * 2.0:
        balls = Balls(place + away, np.array([0.1]), none, one, np.array([0.1]))
        assert mark_cells(extent.nothing(), extent.low, extent.length, cells.lattice, balls, fresh) == -1


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
