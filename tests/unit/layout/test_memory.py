"""Where a sector's arrays lie: nothing of their contents is lost when they are brought together."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from hpcchain.layout.memory import (
    LARGE,
    LINE,
    aligned_bytes,
    aligned_zeros,
    bead_lines,
    event_lines,
    gathered,
    queue_lines,
)
from hpcchain.sector.setup.allocate import cell_arrays

ALIGNED = {"bounds": 64, "segment": 16, "next_event": 16, "winner": 32}  # columns behind the first of their tables


@pytest.mark.parametrize("size", [1, LINE, LARGE - 1, LARGE, 5 * LARGE + 3])
def test_a_stretch_is_zeros_that_can_be_written(size):
    block = aligned_bytes(size)
    assert block.shape == (size,) and block.ctypes.data % LINE == 0 and not block.any()
    block[:] = 7
    assert block.min() == 7


@pytest.mark.parametrize("beads", [3, 5000])
def test_gathered_arrays_keep_their_contents(beads):
    """Rows of `starts`, `bounds`, `segment` stay side by side, line by line; what is no array is handed on."""
    rng = np.random.default_rng(beads)
    starts, bounds, segment = bead_lines(beads)
    starts[:], bounds[:] = rng.normal(size=starts.shape), rng.normal(size=bounds.shape)
    segment[:] = rng.integers(-(2**60), 2**60, segment.shape)
    event_time, next_event = event_lines(beads)
    event_time[:], next_event[:] = rng.normal(size=(beads, 2)), rng.integers(0, 2**60, (beads, 2))
    key, winner = queue_lines(beads // 3)
    key[:], winner[:] = rng.normal(size=key.shape), rng.integers(0, 2**31 - 1, winner.shape)
    arrays = {
        "starts": starts,
        "bounds": bounds,
        "segment": segment,
        "event_time": event_time,
        "next_event": next_event,
        "key": key,
        "winner": winner,
        "mark": np.ones(beads, dtype=np.int8),
        "none": np.zeros((0, 4)),
        "series": aligned_zeros(beads),
        "stepper": None,
    }
    expected = {name: None if array is None else array.copy() for name, array in arrays.items()}
    del starts, bounds, segment, event_time, next_event, key, winner
    moved = gathered(arrays)
    assert not arrays and moved.keys() == expected.keys() and moved["stepper"] is None
    for name in expected.keys() - {"stepper"}:
        assert moved[name].dtype == expected[name].dtype and np.array_equal(moved[name], expected[name]), name
        assert moved[name].size == 0 or moved[name].ctypes.data % ALIGNED.get(name, LINE) == 0
    assert moved["bounds"].ctypes.data - moved["starts"].ctypes.data == 64
    assert moved["segment"].ctypes.data - moved["starts"].ctypes.data == 80
    assert moved["next_event"].ctypes.data - moved["event_time"].ctypes.data == 16
    assert moved["winner"].ctypes.data - moved["key"].ctypes.data == 32
    assert moved["key"].strides == (64, 8) and moved["winner"].strides == (64, 4)
    assert moved["event_time"].strides == moved["next_event"].strides == (32, 8)
    assert moved["starts"].strides == moved["bounds"].strides == moved["segment"].strides == (96, 8)


def test_arrays_are_let_go_as_they_are_copied():
    starts, bounds, segment = bead_lines(2)
    event_time, next_event = event_lines(2)
    old = np.arange(1000.0)
    gone = weakref.ref(old)
    arrays = {"starts": starts, "bounds": bounds, "segment": segment}
    arrays |= {"event_time": event_time, "next_event": next_event, "old": old}
    arrays |= dict(zip(("key", "winner"), queue_lines(1), strict=True))
    del old
    moved = gathered(arrays)
    gc.collect()
    assert gone() is None and moved["old"][999] == 999.0


def test_zeros_take_no_memory_before_they_are_written():
    """Of two arrays of 64 MB the one of zeros is there, but none of its pages is."""
    starts, bounds, segment = bead_lines(2)
    event_time, next_event = event_lines(2)
    ones, zeros = np.ones(8 << 20), np.zeros(8 << 20)
    before = resident()
    arrays = {"starts": starts, "bounds": bounds, "segment": segment, "event_time": event_time}
    arrays |= dict(zip(("key", "winner"), queue_lines(1), strict=True))
    moved = gathered(arrays | {"next_event": next_event, "zeros": zeros, "ones": ones})
    assert 60 << 20 < resident() - before < 80 << 20
    assert not moved["zeros"].any() and moved["ones"].all()
    moved["zeros"][:] = 1.0
    assert moved["ones"].all() and resident() - before > 120 << 20


def resident():
    """Return the bytes of this process's pages that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


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
