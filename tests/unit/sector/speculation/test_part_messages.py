"""What a message has of a part of a long chain: all that its segment is, to the bit."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.sector.serial import Engine
from hpcchain.sector.speculation.ghost_messages import (
    chain_part_size,
    replay_chain_part,
    same_chain_part,
    write_chain_part,
)
from tests.support.long_chains import crowd, in_parts

ROW = 3


def size_of(s):
    """Return the floats that stand behind the beads of ROW's segment."""
    return int(chain_part_size(s, ROW, s.mol[ROW, L.MOL_ORDER]))


@pytest.fixture
def sent_part():
    """Return a sector whose owner's history has the segment of ROW, and where what stands behind its beads is."""
    engine = Engine(in_parts(crowd(1)))
    engine.advance(0.2)
    s = engine.sector
    at = L.ENTRY_BEADS + L.ENTRY_PER_BEAD * s.mol[ROW, L.MOL_BEADS]
    history = np.full(at + size_of(s) + 1, np.nan)
    s = s._replace(owner_history=history, centre_change=np.zeros((len(s.mol), L.CHANGE_COLUMNS)))
    s.centre_change[ROW] = np.arange(8.0)
    history[L.ENTRY_LENGTH] = s.timing[ROW, L.LENGTH]
    write_chain_part(s, ROW, history, at)
    assert np.isnan(history[-1]) and not np.isnan(history[at:-1]).any()
    return s, at


def test_a_part_is_what_has_been_sent_of_it(sent_part):
    s, at = sent_part
    assert same_chain_part(s, ROW, 0, at)


@pytest.mark.parametrize("index", [L.ENTRY_OF_CHAIN_PART, L.ENTRY_OF_CHAIN_PART + 7, -2])
def test_another_coefficient_is_seen(sent_part, index):
    s, at = sent_part
    place = at + index if index > 0 else index
    s.owner_history[place] = np.nextafter(s.owner_history[place], np.inf)
    assert not same_chain_part(s, ROW, 0, at)


def test_another_sign_of_zero_length_or_order_is_seen(sent_part):
    s, at = sent_part
    begin = W.UNIT * s.mol[ROW, L.MOL_SERIES]
    s.series[begin], s.owner_history[at + L.ENTRY_OF_CHAIN_PART] = 0.0, -0.0
    assert not same_chain_part(s, ROW, 0, at)
    s.owner_history[at + L.ENTRY_OF_CHAIN_PART] = 0.0
    assert same_chain_part(s, ROW, 0, at)
    for place in (L.ENTRY_LENGTH, at + L.ENTRY_ORDER):
        kept, s.owner_history[place] = s.owner_history[place], s.owner_history[place] * 0.5
        assert not same_chain_part(s, ROW, 0, at)
        s.owner_history[place] = kept


def test_what_is_replayed_is_what_was_sent(sent_part):
    s, at = sent_part
    begin, size = (
        W.UNIT * s.mol[ROW, L.MOL_SERIES],
        int(chain_part_size(s, ROW, s.mol[ROW, L.MOL_ORDER])) - L.ENTRY_OF_CHAIN_PART,
    )
    series, order = s.series[begin : begin + size].copy(), int(s.mol[ROW, L.MOL_ORDER])
    s.series[begin : begin + size], s.centre_change[ROW], s.mol[ROW, L.MOL_ORDER] = 1.0, 0.0, 2
    replay_chain_part(s, ROW, at)
    np.testing.assert_array_equal(s.series[begin : begin + size], series)
    np.testing.assert_array_equal(s.centre_change[ROW], np.arange(8.0))
    assert s.mol[ROW, L.MOL_ORDER] == order and same_chain_part(s, ROW, 0, at)
