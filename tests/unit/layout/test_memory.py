"""Where a sector's arrays lie."""

import numpy as np
import pytest

from hpcchain.layout.memory import (
    LARGE,
    LINE,
    aligned_bytes,
    bead_lines,
    event_lines,
    queue_lines,
)
from hpcchain.sector.setup.allocate import cell_arrays


@pytest.mark.parametrize("size", [1, LINE, LARGE - 1, LARGE, 5 * LARGE + 3])
def test_a_stretch_is_zeros_that_can_be_written(size):
    block = aligned_bytes(size)
    assert block.shape == (size,) and block.ctypes.data % LINE == 0 and not block.any()
    block[:] = 7
    assert block.min() == 7


@pytest.mark.parametrize("beads", [3, 5000])
def test_columns_of_a_table_stand_side_by_side(beads):
    """Line by line, and none is written by the others."""
    starts, bounds, segment = bead_lines(beads)
    event_time, next_event = event_lines(beads)
    key, winner = queue_lines(beads)
    assert starts.ctypes.data % LINE == event_time.ctypes.data % LINE == key.ctypes.data % LINE == 0
    assert bounds.ctypes.data - starts.ctypes.data == 64 and segment.ctypes.data - starts.ctypes.data == 80
    assert next_event.ctypes.data - event_time.ctypes.data == 16 and winner.ctypes.data - key.ctypes.data == 32
    assert key.strides == (64, 8) and winner.strides == (64, 4)
    assert event_time.strides == next_event.strides == (32, 8)
    assert starts.strides == bounds.strides == segment.strides == (96, 8)
    arrays = starts, bounds, segment, event_time, next_event, key, winner
    for number, array in enumerate(arrays):
        array[:] = number + 1
    assert all(np.all(array == number + 1) for number, array in enumerate(arrays))


@pytest.mark.parametrize("beads", [1, 2, 40, 1000, 3000])
@pytest.mark.parametrize("entries", [1.0, 2.0, 8.0])
def test_cells_have_a_line_each_and_lines_enough_for_any_crowd(beads, entries):
    """However beads are spread over cells, none runs out of lines; the cells' own begin on cache lines."""
    arrays = cell_arrays(np.array([5, 6, 7]), beads, entries)
    assert arrays["cells"].tolist() == [5, 6, 7, 210, 5, 6, 7]
    assert (
        arrays["cell_entries"].shape == (4 * len(arrays["next_line"]), 4)
        and arrays["cell_entries"].ctypes.data % 64 == 0
    )
    rng = np.random.default_rng(beads)
    for cells in (1, 2, 20, 210):
        held = np.bincount(rng.integers(0, cells, int(entries * beads)), minlength=210)
        assert np.maximum(-(-held // 4), 1).sum() <= len(arrays["next_line"])
