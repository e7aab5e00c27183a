"""Where a sector's arrays lie: on pairs of cache lines, and large ones on large pages.

The loop reads a few words here and there in tens of megabytes. On pages of 4 KiB a processor then spends a tenth of its
time on finding out where pages are; on the large ones of Linux, which have to be requested, next to none.
"""

import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from hpcchain.jit.struct import Field
from hpcchain.layout import arrays as L

CACHE_LINES = 16  # floats: a pair of cache lines, which processors fetch together
BEAD_LINE = L.BEAD_COLUMNS
EVENT_LINE = 4  # floats of a bead's earliest event: `event_time` in front, then `next_event`
EVENT_AT = 2
LIST_LINE = 16  # 32-bit numbers of a bead's list: `flight` in front, then `lists` and `origin_fractions`
LISTS_AT, ORIGINS_AT = 8, 12
MATCH_LINE = 8  # floats of a row of the queue: `key` in front, then `winner`, in the first half of what is left
BOUNDS_AT = L.START_COLUMNS  # of a bead's lines; `starts` is in front
SEGMENT_AT = BOUNDS_AT + L.BOUNDS_COLUMNS
LINE = 8 * CACHE_LINES  # bytes
PAGE = 1 << 21  # bytes of a large page
LARGE = PAGE // 4  # bytes from which a large page is worth its space


def aligned_bytes(size: int) -> np.ndarray:
    """Return (size,) uint8 zeros that begin on a pair of cache lines, on large pages if they are many."""
    if size < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        memory = np.zeros(-(-size // LINE) * LINE + LINE, dtype=np.uint8)  # no other array is on the last line
        start = -memory.ctypes.data % LINE
    else:
        block = mmap.mmap(-1, (size // PAGE + 2) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system that has none has pages of the usual size
            block.madvise(mmap.MADV_HUGEPAGE)
        memory = np.frombuffer(block, dtype=np.uint8)
        start = -memory.ctypes.data % PAGE
    return memory[start : start + size]


def aligned_zeros(shape: int | tuple, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Return zeros that begin on a pair of cache lines, so that rows of sixteen floats lie on one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return aligned_bytes(size).view(dtype).reshape(shape)


def aligned(values: ArrayLike, shape: int | tuple, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Return an array that begins as `aligned_zeros` does, of one value or of as many as it has rows or entries."""
    array = aligned_zeros(shape, dtype)
    array[...] = values
    return array


def blank(**rows: int) -> dict[str, np.ndarray]:
    """Return arrays of a sector by name (`arrays.FIELDS`), of so many rows each, all zeros."""
    fields = {name: Field(L.FIELDS[name]) for name in rows}
    return {
        name: aligned_zeros((count, fields[name].columns)[: fields[name].axes], fields[name].dtype)
        for name, count in rows.items()
    }


def extended(array: np.ndarray, more: int) -> np.ndarray:
    """Return an array with `more` rows of zeros behind its own; what nothing is written to takes no memory."""
    larger = aligned_zeros((len(array) + more, *array.shape[1:]), array.dtype)
    if array.view(np.uint8).any():
        larger[: len(array)] = array
    return larger


def bead_lines(beads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `starts`, `bounds` and `segment` of that many beads: columns of one table, as they are read together."""
    table = aligned_zeros((beads, BEAD_LINE))
    whole = table.view(np.int64)
    return table[:, :BOUNDS_AT], table[:, BOUNDS_AT:SEGMENT_AT], whole[:, SEGMENT_AT : SEGMENT_AT + L.SEGMENT_COLUMNS]


def event_lines(beads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `event_time` and `next_event` of that many beads: columns of one table, as they are read together."""
    table = aligned_zeros((beads, EVENT_LINE))
    return table[:, :EVENT_AT], table.view(np.int64)[:, EVENT_AT : EVENT_AT + L.NEXT_EVENT_COLUMNS]


def list_lines(beads: int, flights: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `flight` (of `flights` beads), `lists` and `origin_fractions`: all that others' lists read of a bead."""
    table = aligned_zeros((beads, LIST_LINE), np.int32)
    return table.view(np.float32)[:flights, :LISTS_AT], table[:, LISTS_AT:ORIGINS_AT], table[:, ORIGINS_AT:]


def queue_lines(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `key` and `winner` of that many rows of the queue: columns of one table, a cache line each."""
    table = aligned_zeros((rows, MATCH_LINE))
    return table[:, : L.MATCH], table.view(np.int32)[:, 2 * L.MATCH : 3 * L.MATCH]
