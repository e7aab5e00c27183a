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


def side_by_side(rows: int, *names: str) -> dict[str, np.ndarray]:
    """Return arrays of a sector by name, of so many rows of zeros: columns of one table, as they are read together.

    They stand in it in this order; `arrays.FIELDS` says how far apart its rows are.
    """
    fields = {name: Field(L.FIELDS[name]) for name in names}
    first = fields[names[0]]
    table = aligned_zeros((rows, first.stride * first.dtype.itemsize), np.uint8)
    arrays, at = {}, 0
    for name, field in fields.items():
        width = field.columns * field.dtype.itemsize
        arrays[name] = table[:, at : at + width].view(field.dtype)
        at += width
    return arrays
