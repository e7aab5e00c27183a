"""Chains of free blocks: none is lost, none is given twice, and what is cut from a longer one leaves the rest free."""

from typing import NamedTuple

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector.search import neighbour_lists
from hpcchain.sector.search.neighbour_lists import STEP

MOST = 12


class Blocks(NamedTuple):
    """The arrays of a sector that the blocks of lists are in."""

    neighbour: np.ndarray
    free_lists: np.ndarray
    scalars: np.ndarray


def free_blocks(s):
    """Return how many free blocks each entry is in; what no list has had counts as one."""
    found = np.zeros(len(s.neighbour), dtype=int)
    found[s.scalars[L.SCALAR_LISTS_END] :] = 1
    for steps, begin in enumerate(s.free_lists):
        while begin >= 0:
            found[begin : begin + STEP * steps] += 1
            begin = int(s.neighbour[begin])
    return found


@pytest.mark.parametrize("unused", [0, 100])
def test_blocks_are_taken_cut_and_let_go_of(unused):
    rng = np.random.default_rng(unused)
    lengths = rng.integers(1, MOST, 60)
    end = STEP * int(lengths.sum())
    neighbour = np.full(end + STEP * unused, -1, dtype=np.int32)
    s = Blocks(neighbour, np.full(MOST, -1, dtype=np.int64), np.zeros(L.SCALARS, dtype=np.int64))
    s.scalars[L.SCALAR_LISTS_END] = end
    held = list(zip((STEP * (np.cumsum(lengths) - lengths)).tolist(), lengths.tolist(), strict=True))
    cut = 0
    for _ in range(400):
        if held and rng.random() < 0.5:
            neighbour_lists._let_go(s, *held.pop(int(rng.integers(len(held)))))
        steps = int(rng.integers(1, MOST))
        own, left = s.free_lists[steps], len(neighbour) - s.scalars[L.SCALAR_LISTS_END]
        begin = int(neighbour_lists._take(s, steps))
        assert begin == own or own < 0
        assert begin >= 0 or (np.all(s.free_lists[steps:] < 0) and left < STEP * steps)
        held += [(begin, steps)] if begin >= 0 else []
        cut += begin >= 0 and own < 0 and left < STEP * steps
        owned = free_blocks(s)
        for begin, its in held:
            owned[begin : begin + STEP * its] += 1
        assert np.all(owned == 1)
    assert cut > 20
    assert neighbour_lists._take(s, MOST) == -1
