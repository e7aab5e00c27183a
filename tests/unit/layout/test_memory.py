"""Where a sector's arrays lie."""

import mmap

import numpy as np
import pytest

from hpcchain.layout.memory import (
    LARGE,
    LINE,
    PAGE,
    aligned_bytes,
    side_by_side,
)
from hpcchain.model.system import PERIODIC, Box, Physics, State, System
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.allocate import cell_arrays
from tests.support.compositions import composition_of
from tests.support.io_samples import chains


@pytest.mark.parametrize("size", [1, LINE, LARGE - 1, LARGE, 5 * LARGE + 3])
def test_a_stretch_is_zeros_that_can_be_written(size):
    block = aligned_bytes(size)
    assert block.shape == (size,) and block.ctypes.data % LINE == 0 and not block.any()
    block[:] = 7
    assert block.min() == 7


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="no large pages here")
@pytest.mark.parametrize("length", [1, 10])
def test_all_large_arrays_of_a_sector_are_on_large_pages(length):
    """A column of a table may begin within its first line."""
    across = 40
    place = np.stack(np.meshgrid(*[np.arange(float(across))] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    box = Box(np.full(3, float(across)), np.zeros(3), np.full(3, PERIODIC, dtype=np.int8))
    topology = composition_of(chains([length] * (len(place) // length), diameter=0.9))
    system = System(box, topology, State.at_time_zero(place, np.zeros_like(place)), Physics(tick=2.0**-7))
    arrays = Engine(system).core.sector._asdict()
    large = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray) and array.nbytes >= LARGE}
    assert {"starts", "lists", "origin_fractions", "neighbour"} <= set(large)
    assert [name for name, array in large.items() if array.ctypes.data % PAGE >= LINE] == []


@pytest.mark.parametrize("beads", [3, 5000])
def test_columns_of_a_table_stand_side_by_side(beads):
    """Line by line, and none is written by the others."""
    starts, bounds, segment = side_by_side(beads, "starts", "bounds", "segment").values()
    event_time, next_event = side_by_side(beads, "event_time", "next_event").values()
    key, winner = side_by_side(beads, "key", "winner").values()
    flight, lists, origin_fractions = side_by_side(beads, "flight", "lists", "origin_fractions").values()
    assert flight.ctypes.data % LINE == 0
    assert lists.ctypes.data - flight.ctypes.data == 32 and origin_fractions.ctypes.data - lists.ctypes.data == 16
    assert flight.strides == lists.strides == origin_fractions.strides == (64, 4)
    assert starts.ctypes.data % LINE == event_time.ctypes.data % LINE == key.ctypes.data % LINE == 0
    assert bounds.ctypes.data - starts.ctypes.data == 64 and segment.ctypes.data - starts.ctypes.data == 80
    assert next_event.ctypes.data - event_time.ctypes.data == 16 and winner.ctypes.data - key.ctypes.data == 32
    assert key.strides == (64, 8) and winner.strides == (64, 4)
    assert event_time.strides == next_event.strides == (32, 8)
    assert starts.strides == bounds.strides == segment.strides == (96, 8)
    arrays = starts, bounds, segment, event_time, next_event, key, winner, flight, lists, origin_fractions
    for number, array in enumerate(arrays):
        array[:] = number + 1
    assert all(np.all(array == number + 1) for number, array in enumerate(arrays))


@pytest.mark.parametrize("beads", [1, 2, 40, 1000, 3000])
@pytest.mark.parametrize("entries", [1.0, 2.0, 8.0])
def test_cells_have_a_line_each_and_lines_enough_for_any_crowd(beads, entries):
    """However beads are spread over cells, none runs out of lines; the cells' own begin on cache lines."""
    arrays = cell_arrays(np.array([5, 6, 7, 210, 5, 6, 7]), beads, entries)
    assert arrays["cells"].tolist() == [5, 6, 7, 210, 5, 6, 7]
    assert (
        arrays["cell_entries"].shape == (4 * len(arrays["next_line"]), 4)
        and arrays["cell_entries"].ctypes.data % 64 == 0
    )
    rng = np.random.default_rng(beads)
    for cells in (1, 2, 20, 210):
        held = np.bincount(rng.integers(0, cells, int(entries * beads)), minlength=210)
        assert np.maximum(-(-held // 4), 1).sum() <= len(arrays["next_line"])
