"""A local order of molecules in which neighbours in space are neighbours in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import System


def space_sequence(system: System, molecules: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return these molecules' numbers along a space-filling (Morton) curve of their first beads.

    Parameters
    ----------
    system : System
    molecules : (n,) int64 array
    first : (n,) int64 array
        The state's row of each one's first bead.
    """
    place = (system.state.position[first] - system.box.origin) / system.box.size
    grid = np.floor(np.nan_to_num(place % 1.0) * 1024.0).astype(np.uint64) & np.uint64(1023)
    code = np.zeros(len(first), dtype=np.uint64)
    for bit in range(10):
        for axis in range(3):
            code |= ((grid[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return molecules[np.argsort(code, kind="stable")].astype(np.int64)
