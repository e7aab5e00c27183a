"""Where a sector's arrays lie: on pairs of cache lines, and together on large pages.

The loop reads a few words here and there in tens of megabytes. On pages of 4 KiB a processor then spends a tenth of its
time on finding out where pages are; on the large ones of Linux, which have to be asked for, next to none.
"""

import mmap
from contextlib import suppress

import numpy as np

from hpcchain.layout import arrays as L

BEAD_LINE = CACHE_LINES = 16  # floats: a pair of cache lines, which processors fetch together
BOUNDS_AT = L.START_COLUMNS  # of a bead's lines; `starts` is in front
SEGMENT_AT = BOUNDS_AT + L.BOUNDS_COLUMNS
LINE = 8 * CACHE_LINES  # bytes
PAGE = 1 << 21  # bytes of a large page
LARGE = PAGE // 4  # bytes from which a large page is worth its room


def stretch(size: int) -> np.ndarray:
    """Return (size,) uint8 zeros that begin on a pair of cache lines, on large pages if they are many."""
    if size < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        memory = np.zeros(size + LINE, dtype=np.uint8)
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
    return stretch(size).view(dtype).reshape(shape)


def extended(array: np.ndarray, more: int) -> np.ndarray:
    """Return an array with `more` rows of zeros behind its own."""
    larger = aligned_zeros((len(array) + more, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def bead_lines(beads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `starts`, `bounds` and `segment` of that many beads: columns of one table, as they are read together."""
    return columns_of(aligned_zeros((beads, BEAD_LINE)))


def columns_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of a table of beads' lines that are `starts`, `bounds` and `segment`."""
    whole = table.view(np.int64)
    return table[:, :BOUNDS_AT], table[:, BOUNDS_AT:SEGMENT_AT], whole[:, SEGMENT_AT : SEGMENT_AT + L.SEGMENT_COLUMNS]


def gathered(arrays: dict) -> dict:
    """Return arrays with the same contents, all in one stretch of memory; each is let go of when it has been copied.

    What holds nothing but zeros so far is not copied: its memory takes no room before something is written there.

    Parameters
    ----------
    arrays : dict
        A sector's fields by name, those that are no arrays among them; it is empty afterwards.

    Returns
    -------
    dict
    """
    moved = {name: arrays.pop(name) for name in [*arrays] if not isinstance(arrays[name], np.ndarray)}
    lines = [arrays.pop(name) for name in ("starts", "bounds", "segment")]
    sizes = {name: -(-array.nbytes // LINE) * LINE for name, array in arrays.items()}
    beads = len(lines[0])
    at = beads * LINE
    memory = stretch(at + sum(sizes.values()))
    columns = columns_of(memory[:at].view(np.float64).reshape(beads, BEAD_LINE))
    for name, column, former in zip(("starts", "bounds", "segment"), columns, lines, strict=True):
        column[:] = former
        moved[name] = column
    del lines, former
    for name in [*arrays]:
        array = arrays.pop(name)
        moved[name] = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        if array.any():
            moved[name][...] = array
        at += sizes[name]
    return moved
