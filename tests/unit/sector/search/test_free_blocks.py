"""Chains of free blocks: none is lost, none is given twice, and what is cut from a longer one leaves the rest free."""

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.sector.search.neighbour_lists import first_free, let_go, part_of_longer

UNITS = 12


@kernel
def free(array, chains, begin, length):
    """Let go of a block."""
    let_go(array, chains, begin, length)


@kernel
def taken(array, chains, length):
    """Take the first block of a length."""
    return first_free(array, chains, length)


def free_blocks(array, chains, unit):
    """Return how many free blocks each entry is in."""
    found = np.zeros(len(array), dtype=int)
    for length, begin in enumerate(chains):
        while begin >= 0:
            found[begin : begin + unit * length] += 1
            begin = int(array[begin])
    return found


@pytest.mark.parametrize(("unit", "kind"), [(2, np.int32), (4, np.float64)])
def test_blocks_are_taken_cut_and_let_go_of(unit, kind):
    rng = np.random.default_rng(unit)
    lengths = rng.integers(1, UNITS, 60)
    array = np.full(unit * int(lengths.sum()), -1, dtype=kind)
    chains = np.full(UNITS, -1, dtype=np.int64)
    held = list(zip((unit * (np.cumsum(lengths) - lengths)).tolist(), lengths.tolist(), strict=True))
    cut = 0
    for _ in range(400):
        if held and rng.random() < 0.5:
            free(array, chains, *held.pop(int(rng.integers(len(held)))))
        length = int(rng.integers(1, UNITS))
        if chains[length] >= 0:
            held.append((taken(array, chains, length), length))
        else:
            begin = part_of_longer(array, chains, unit, length)
            assert begin >= 0 or np.all(chains[length:] < 0)
            held += [(begin, length)] if begin >= 0 else []
            cut += begin >= 0
        owned = free_blocks(array, chains, unit)
        for begin, its in held:
            owned[begin : begin + unit * its] += 1
        assert np.all(owned == 1)
    assert cut > 20
