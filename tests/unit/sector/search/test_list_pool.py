"""Lists that share one pool of blocks: no two have the same entries, and what the pool's size is leaves no trace."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector import core
from hpcchain.sector.search.neighbour_lists import STEP
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import list_of

GASES = {"single": ["monomer"] * 64, "mixture": MIXTURE * 4}


def free_blocks(s):
    """Return (first entry, steps) of all free blocks."""
    for steps in range(len(s.free_lists)):
        at = int(s.free_lists[steps])
        while at >= 0:
            yield at, steps
            at = int(s.neighbour[at])


def assert_sound(s):
    """Every entry up to the pool's end is in one block, of a list or free; lists are symmetric and fit."""
    taken = np.zeros(len(s.neighbour), dtype=np.int64)
    for first, length, capacity in s.lists[:, :3]:
        assert length <= capacity and capacity % STEP == 0
        taken[first : first + capacity] += 1
    for at, steps in free_blocks(s):
        taken[at : at + STEP * steps] += 1
    end = s.scalars[L.SCALAR_LISTS_END]
    assert np.all(taken[:end] == 1) and not taken[end:].any()
    lists = [list_of(s, i) for i in range(len(s.lists))]
    assert all(len(set(own)) == len(own) and i not in own for i, own in enumerate(lists))
    assert all(i in lists[j] for i, own in enumerate(lists) for j in own)


@pytest.mark.parametrize("kinds", GASES)
def test_blocks_are_of_one_list_each(kinds, monkeypatch):
    """With hardly any space to spare lists are made anew, on and on; the trajectory has the same bits."""
    system = gas(GASES[kinds], 3, 1.6 if kinds == "single" else 3.6)
    states, grown = [], []
    for spare, least in ((0.0, 0.1), (0.02, 8), (4.0, 1024)):
        monkeypatch.setattr(core, "SPARE_BLOCKS", spare)
        monkeypatch.setattr(core, "LEAST_SPARE", least)
        engine = Engine(system)
        for k in range(1, 7):
            engine.advance(0.5 * k)
            assert_sound(engine.sector)
        grown.append(engine.core.space)
        assert engine.counters["relists"] > 100
        states.append((engine.ids.copy(), engine.state()))
    for ids, state in states[1:]:
        assert np.array_equal(ids, states[0][0])
        assert all(
            np.array_equal(getattr(state, name), getattr(states[0][1], name))
            for name in ("position", "velocity", "ticks", "remainder", "step")
        )
    assert grown[0] > 2.0 and grown[-1] == 1.0, grown
