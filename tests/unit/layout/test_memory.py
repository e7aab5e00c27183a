"""Where a sector's arrays lie: nothing of their contents is lost when they are brought together."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from hpcchain.sector.setup.allocate import cell_arrays
from hpcchain.layout.memory import LARGE, LINE, aligned_zeros, gathered, records, stretch


@pytest.mark.parametrize("size", [1, LINE, LARGE - 1, LARGE, 5 * LARGE + 3])
def test_a_stretch_is_zeros_that_can_be_written(size):
    room = stretch(size)
    assert room.shape == (size,) and room.ctypes.data % LINE == 0 and not room.any()
    room[:] = 7
    assert room.min() == 7


@pytest.mark.parametrize("beads", [3, 5000])
def test_gathered_arrays_keep_their_contents(beads):
    """Rows of `line`, `span` and `seg` stay side by side, in steps of a record; what is no array is handed on."""
    rng = np.random.default_rng(beads)
    line, span, seg = records(beads)
    line[:], span[:] = rng.normal(size=line.shape), rng.normal(size=span.shape)
    seg[:] = rng.integers(-(2**60), 2**60, seg.shape)
    arrays = {"line": line, "span": span, "seg": seg, "what": rng.integers(0, 99, (beads, 5)),
              "mark": np.ones(beads, dtype=np.int8), "none": np.zeros((0, 4)), "series": aligned_zeros(beads),
              "stepper": None}  # fmt: skip
    expected = {name: None if array is None else array.copy() for name, array in arrays.items()}
    del line, span, seg
    moved = gathered(arrays)
    assert not arrays and moved.keys() == expected.keys() and moved["stepper"] is None
    for name in expected.keys() - {"stepper"}:
        assert moved[name].dtype == expected[name].dtype and np.array_equal(moved[name], expected[name]), name
        assert moved[name].size == 0 or moved[name].ctypes.data % {"span": 64, "seg": 32}.get(name, LINE) == 0
    assert moved["span"].ctypes.data - moved["line"].ctypes.data == 64
    assert moved["seg"].ctypes.data - moved["line"].ctypes.data == 96
    assert moved["line"].strides == moved["span"].strides == moved["seg"].strides == (LINE, 8)


def test_arrays_are_let_go_as_they_are_copied():
    line, span, seg = records(2)
    old = np.arange(1000.0)
    gone = weakref.ref(old)
    arrays = {"line": line, "span": span, "seg": seg, "old": old}
    del old
    moved = gathered(arrays)
    gc.collect()
    assert gone() is None and moved["old"][999] == 999.0


def test_zeros_take_no_memory_before_they_are_written():
    """Of two arrays of 64 MB the one of zeros is there, but none of its pages is."""
    line, span, seg = records(2)
    ones, zeros = np.ones(8 << 20), np.zeros(8 << 20)
    before = resident()
    moved = gathered({"line": line, "span": span, "seg": seg, "zeros": zeros, "ones": ones})
    assert 60 << 20 < resident() - before < 80 << 20
    assert not moved["zeros"].any() and moved["ones"].all()
    moved["zeros"][:] = 1.0
    assert moved["ones"].all() and resident() - before > 120 << 20


def resident():
    """Return the bytes of this process's pages that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("beads", [1, 2, 40, 1000, 3000])
@pytest.mark.parametrize("crowding", [1.0, 2.0, 8.0])
def test_cells_do_not_all_begin_in_the_same_part_of_the_cache(beads, crowding):
    """They are an odd number of lines of four entries apart, and have the room asked for."""
    arrays = cell_arrays(np.array([5, 6, 7]), beads, crowding)
    capacity = arrays["cells"][3]
    assert capacity % 8 == 4 and arrays["room"].shape == (210 * capacity, 4)
    assert capacity >= min(beads, 8 + 4 * crowding * beads / 210)
