"""What is packed into the integers of a bead's segment comes out again, and nothing else changes."""

import numpy as np
import pytest

from hpcchain.contact import segment
from hpcchain.propagators.lanes import CURVE, KMAX
from hpcchain.sector.layout import UNMADE

DEPTHS, PLACES = (0, 1, 100001), (0, 5 * CURVE, 2**40)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("struck", [0, 1])
def test_depth_and_whether_struck(depth, struck):
    seg = np.full((3, 4), 7, dtype=np.int64)
    segment.set_start(seg, 1, depth, struck)
    for other in (1 - struck, struck):
        segment.set_struck(seg, 1, other)
        assert (segment.start_depth(seg, 1), segment.struck(seg, 1)) == (depth, other)
    assert np.all(seg[[0, 2]] == 7) and np.all(seg[1, [0, 2, 3]] == 7)


@pytest.mark.parametrize("place", PLACES)
def test_place_and_order(place):
    seg = np.full((3, 4), 7, dtype=np.int64)
    seg[1, 3] = segment.ORDERS * place
    assert segment.series_order(seg, 1) == UNMADE
    for order in (1, KMAX, UNMADE, 0):
        segment.set_order(seg, 1, order)
        assert (segment.series_place(seg, 1), segment.series_order(seg, 1)) == (place, order)
    assert np.all(seg[[0, 2]] == 7) and np.all(seg[1, :3] == 7)
