"""What is packed of an event comes out again."""

from itertools import product

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import MOST_DEPTH
from hpcchain.layout.memory import side_by_side
from hpcchain.layout.segment_bits import event_depth, partner_of, set_event, tied_with

PARTNERS = (L.NO_EVENT, L.RELIST, L.REDRAW, L.SEGMENT_END, -40, -1, 0, 1, 2**31 - 1)
DEPTHS = (L.REOPENS, 0, 1, MOST_DEPTH + 1, 2**29)


@pytest.mark.parametrize(("partner", "depth", "tied"), [*product(PARTNERS, DEPTHS, (0, 1, L.AWAITED))])
def test_every_part_is_kept(partner, depth, tied):
    event_time, next_event = side_by_side(3, "event_time", "next_event").values()
    event_time[:] = np.inf
    set_event(next_event, 1, np.int64(partner), np.int64(2**62 + 1), np.int64(depth), np.int64(tied))
    assert partner_of(next_event, 1) == partner and event_depth(next_event, 1) == depth
    assert tied_with(next_event, 1) == tied and next_event[1, L.PARTNER_SERIAL] == 2**62 + 1
    assert not next_event[[0, 2]].any() and np.isinf(event_time).all()
