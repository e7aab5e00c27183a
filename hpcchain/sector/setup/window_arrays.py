"""The arrays that a sector has in windows alone."""

from typing import Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout.memory import aligned_zeros, extended


def window_arrays(beads: int, molecules: int) -> dict:
    """Return the arrays that windows need for so many beads and molecules; without windows nobody reads them."""
    rows = aligned_zeros((molecules, L.WINDOW_COLUMNS), np.int64)
    rows[:, L.WINDOW_PREVIOUS] = rows[:, L.WINDOW_TARGET] = -1
    rows[:, L.WINDOW_HIGHER] = L.SEGMENT_END
    rows[:, L.WINDOW_MATCH] = 1
    return {
        "window_molecule": rows,
        "window_timing": np.zeros((molecules, L.WINDOW_TIMING_COLUMNS)),
        "near_owned": np.zeros(beads, dtype=np.int8),
        "inside": unplaced(max(molecules, 1)),
        "touched": np.zeros(max(molecules, 1), dtype=np.int64),
        "rolled_back": np.zeros(max(molecules, 1), dtype=np.int64),
        "rolled_back_to": np.zeros((max(molecules, 1), 2)),
        "drifted_pairs": np.zeros((4 * beads + 64, 2), dtype=np.int64),
        "stale_cells": np.zeros(max(beads, 1), dtype=np.int64),
    }


def unplaced(molecules: int) -> np.ndarray:
    """Return `inside` of molecules of which nothing is known."""
    inside = aligned_zeros((molecules, L.IN_COLUMNS))
    inside[:, L.IN_UNTIL], inside[:, L.IN_FAR] = -np.inf, np.inf
    return inside


def with_room(s: Any, more: int) -> np.ndarray:
    """Return a sector's series with room for `more` floats behind them, which takes no memory before any is made."""
    if s.scalars[L.SCALAR_SERIAL] == 0 and not s.series.any():
        return aligned_zeros(len(s.series) + more)
    return extended(s.series, more)
