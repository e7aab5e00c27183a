"""What is packed into the integers of a bead's segment comes out again, and nothing else changes."""

import numpy as np
import pytest

from hpcchain.jit.shared_rows import OWN_COLUMNS, SharedRows
from hpcchain.layout import segment_bits
from hpcchain.layout.arrays import MOL_SERIES, UNMADE
from hpcchain.layout.arrays import WHOLE_CONTACT as CONTACT
from hpcchain.layout.workspace import KMAX, UNIT, curve

DEPTHS, MARKS, MOLECULE = (-1, 0, 1, 100001), 0, 1


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("struck", [0, 1])
@pytest.mark.parametrize("left", [0, 1, CONTACT])
def test_what_began_a_segment(depth, struck, left):
    segment = np.full((3, 2), 7, dtype=np.int64)
    segment_bits.set_order(segment, 1, UNMADE)
    segment_bits.set_in_contact(segment, 1, left)
    segment_bits.set_start(segment, 1, depth, struck)
    for other in (1 - struck, struck):
        segment_bits.set_struck(segment, 1, other)
        assert (
            segment_bits.start_depth(segment, 1),
            segment_bits.struck(segment, 1),
            segment_bits.in_contact(segment, 1),
        ) == (depth, other, left)
        for now in (CONTACT - left, left):
            segment_bits.set_in_contact(segment, 1, now)
            assert (segment_bits.start_depth(segment, 1), segment_bits.struck(segment, 1)) == (depth, other)
            assert segment_bits.in_contact(segment, 1) == now
    packed = segment_bits.packed_starts(*(np.array([value]) for value in (depth, struck, left)))
    assert packed.tolist() == [segment[1, MARKS]]
    assert [array.tolist() for array in segment_bits.unpacked_starts(packed)] == [[depth], [bool(struck)], [left]]
    assert np.all(segment[[0, 2]] == 7) and segment[1, MOLECULE] == 7


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("left", [0, CONTACT])
def test_order_and_where_the_series_begins(depth, left):
    """Molecule 7 has rows 0 to 2; its series begin far behind those of others."""
    segment = np.full((3, 2), 7, dtype=np.int64)
    mol = SharedRows(np.zeros((8, OWN_COLUMNS), dtype=np.int32), np.zeros((1, 8), dtype=np.int64))
    mol[7, MOL_SERIES] = 2**31 - 1
    segment[1, MARKS] = segment_bits.packed_starts(*(np.array([value]) for value in (depth, 1, left)))[0]
    assert segment_bits.series_order(segment, 1) == UNMADE
    for order in (1, KMAX, UNMADE, 0, 9):
        segment_bits.set_order(segment, 1, order)
        assert segment_bits.series_order(segment, 1) == order
        assert segment_bits.start_depth(segment, 1) == depth and segment_bits.in_contact(segment, 1) == left
        assert segment_bits.struck(segment, 1) == 1
        assert segment_bits.series_begin(mol, segment, 1) == UNIT * (2**31 - 1) + curve(order)
    assert np.all(segment[[0, 2]] == 7) and segment[1, MOLECULE] == 7


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ((3, 1, CONTACT), (3, 1, CONTACT), True),
        ((3, 1, CONTACT), (3, 1, 0), True),
        ((3, 1, 5), (3, 0, 5), False),
        ((3, 1, 5), (4, 1, 5), False),
        ((-1, 0, 0), (-1, 0, 9), True),
    ],
)
def test_one_event_began_both_whatever_is_left_of_earlier_contacts(first, second, same):
    segment = np.zeros((2, 2), dtype=np.int64)
    segment[:, MARKS] = segment_bits.packed_starts(*np.array([first, second]).T)
    for order in (3, UNMADE):
        segment_bits.set_order(segment, 0, order)
        assert segment_bits.same_start(segment, 0, 1) == same
